//! The Deployment of a coordinator.

use lmcache_api::go_json;
use serde_json::{Value, json};

use super::args::Line;
use super::pod;
use super::resource::Resource;

pub(super) fn deployment(coordinator: &Resource) -> Value {
    let mut spec = pod::spec(coordinator);
    pod::set(&mut spec, "volumes", Some(json!(pod::volumes(coordinator))));
    spec.insert("containers".to_owned(), json!([container(coordinator)]));
    let spec = json!({
        "replicas": coordinator.integer("/replicas", 1),
        "selector": {"matchLabels": coordinator.selector_labels()},
        "template": {"metadata": pod::metadata(coordinator), "spec": spec},
    });
    coordinator.child("apps/v1", "Deployment", "", coordinator.labels(), ("spec", spec))
}

fn container(coordinator: &Resource) -> Value {
    let mut container = pod::container(coordinator, "coordinator", "coordinator", args(coordinator));
    let mut ports = vec![pod::port("http", coordinator.coordinator_port())];
    if coordinator.serves_metrics() {
        ports.push(pod::port("metrics", coordinator.metrics_port()));
    }
    container.insert("ports".to_owned(), json!(ports));
    let env = pod::env(coordinator, vec![pod::log_level(coordinator)]);
    container.insert("env".to_owned(), env);
    pod::set(&mut container, "resources", pod::resource_overrides(coordinator));
    let get = json!({"path": "/healthz", "port": coordinator.coordinator_port()});
    let startup = json!({"httpGet": get, "initialDelaySeconds": 5, "periodSeconds": 5, "failureThreshold": 30});
    let probe = |period: i64| json!({"httpGet": get, "periodSeconds": period, "failureThreshold": 3});
    container.insert("startupProbe".to_owned(), startup);
    container.insert("livenessProbe".to_owned(), probe(10));
    container.insert("readinessProbe".to_owned(), probe(5));
    pod::set(
        &mut container,
        "volumeMounts",
        Some(json!(pod::volume_mounts(coordinator))),
    );
    Value::Object(container)
}

fn args(coordinator: &Resource) -> Vec<String> {
    let mut line = Line::default();
    line.pair("--host", coordinator.text("/host", "0.0.0.0"));
    line.pair("--port", coordinator.coordinator_port());
    for (flag, pointer, default) in [
        ("--instance-timeout", "/instanceTimeout", 30.0),
        ("--health-check-interval", "/healthCheckInterval", 10.0),
        ("--eviction-check-interval", "/evictionCheckInterval", 5.0),
        ("--eviction-ratio", "/evictionRatio", 0.2),
        ("--trigger-watermark", "/triggerWatermark", 1.0),
    ] {
        line.pair(flag, go_json::decimal_text(coordinator.number(pointer, default)));
    }
    for (flag, pointer) in [
        ("--blend-chunk-size", "/blendChunkSize"),
        ("--blend-probe-stride", "/blendProbeStride"),
    ] {
        if coordinator.at(pointer).is_some() {
            line.pair(flag, coordinator.integer(pointer, 0));
        }
    }
    line.end(coordinator.texts("/extraArgs"))
}
