//! The DaemonSet of an engine.

use serde_json::{Map, Value, json};

use super::kubernetes::CONTAINER;
use super::resource::Resource;
use super::{State, args, go, pod};

const DEV_SHM: &str = "/dev/shm";
const DEV_SHM_VOLUME: &str = "lmcache-dev-shm";
const MASTER_KEY_VOLUME: &str = "l2-master-key";

pub(super) fn daemon_set(engine: &Resource) -> Value {
    let spec = json!({
        "selector": {"matchLabels": engine.selector_labels()},
        "template": {"metadata": pod::metadata(engine), "spec": pod_spec(engine)},
    });
    engine.child("apps/v1", "DaemonSet", "", engine.labels(), ("spec", spec))
}

fn pod_spec(engine: &Resource) -> Value {
    let mut spec = pod::spec(engine);
    // Before 0.5.4 there was no choice.
    let asked = engine.state < State::V0_5_4 || engine.flag("/hostIPC", false);
    let host_ipc = asked && !engine.is_isolated();
    pod::set(&mut spec, "hostIPC", host_ipc.then_some(json!(true)));
    if engine.flag("/hostNetwork", false) {
        spec.insert("hostNetwork".to_owned(), json!(true));
        spec.insert("dnsPolicy".to_owned(), json!("ClusterFirstWithHostNet"));
    }
    let runtime_class = engine.text("/runtimeClassName", if engine.runs_on_nvidia() { "nvidia" } else { "" });
    pod::set(
        &mut spec,
        "runtimeClassName",
        (!runtime_class.is_empty()).then(|| json!(runtime_class)),
    );
    pod::set(
        &mut spec,
        "initContainers",
        go::objects(&CONTAINER, engine.at("/initContainers")),
    );

    let (mut volumes, mut mounts) = (pod::volumes(engine), pod::volume_mounts(engine));
    if !engine.is_isolated() && !host_ipc {
        add_dev_shm(&mut volumes, &mut mounts);
    }
    if let Some(secret) = engine.at("/l2Backend/serde/aesgcm/masterKeySecretRef/name") {
        let items = json!([{"key": "master", "path": "master"}]);
        // 256 is 0400.
        let source = json!({"secretName": secret, "items": items, "defaultMode": 256});
        volumes.push(json!({"name": MASTER_KEY_VOLUME, "secret": source}));
        mounts.push(json!({"name": MASTER_KEY_VOLUME, "mountPath": "/etc/lmcache/keys", "readOnly": true}));
    }
    pod::set(&mut spec, "volumes", Some(json!(volumes)));
    spec.insert("containers".to_owned(), json!([container(engine, mounts)]));
    Value::Object(spec)
}

/// The host's shared memory, unless the user mounted something there. Paths are compared as texts.
fn add_dev_shm(volumes: &mut Vec<Value>, mounts: &mut Vec<Value>) {
    let mounted = mounts.iter().any(|mount| mount["mountPath"] == DEV_SHM);
    let taken = volumes.iter().any(|volume| volume["name"] == DEV_SHM_VOLUME);
    if !mounted && !taken {
        volumes.push(json!({"name": DEV_SHM_VOLUME, "hostPath": {"path": DEV_SHM, "type": "Directory"}}));
        mounts.push(json!({"name": DEV_SHM_VOLUME, "mountPath": DEV_SHM}));
    }
}

fn container(engine: &Resource, mounts: Vec<Value>) -> Value {
    let mut container = pod::container(engine, "lmcache", "server", args::server(engine));
    let mut ports = vec![
        pod::port("server", engine.server_port()),
        pod::port("http", engine.http_port()),
    ];
    if engine.serves_metrics() {
        ports.push(pod::port("metrics", engine.metrics_port()));
    }
    container.insert("ports".to_owned(), json!(ports));
    container.insert("env".to_owned(), pod::env(engine, own_env(engine)));
    let resources = pod::resource_overrides(engine).unwrap_or_else(|| computed_resources(engine));
    pod::set(&mut container, "resources", Some(resources));
    // In 0.5.0 there was no choice.
    let privileged = engine.state < State::July || engine.flag("/privileged", false);
    container.insert("securityContext".to_owned(), json!({"privileged": privileged}));
    probes(engine, &mut container);
    pod::set(&mut container, "volumeMounts", Some(json!(mounts)));
    Value::Object(container)
}

fn own_env(engine: &Resource) -> Vec<Value> {
    let mut env = vec![pod::log_level(engine)];
    if engine.runs_on_nvidia() {
        env.push(json!({"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}));
        env.push(json!({"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "all"}));
    }
    if engine.resp_source().is_some() {
        let name = engine.resp_secret_name();
        let password = json!({"name": name, "key": "password"});
        let username = json!({"name": name, "key": "username", "optional": true});
        env.push(json!({"name": "LMCACHE_RESP_PASSWORD", "valueFrom": {"secretKeyRef": password}}));
        env.push(json!({"name": "LMCACHE_RESP_USERNAME", "valueFrom": {"secretKeyRef": username}}));
    }
    if !engine.coordinator_url.is_empty() && engine.text("/coordinator/advertiseIP", "").is_empty() {
        let address = json!({"fieldRef": {"fieldPath": "status.podIP"}});
        env.push(json!({"name": "LMCACHE_COORDINATOR_ADVERTISE_IP", "valueFrom": address}));
    }
    env
}

/// From the size of the first tier, with GB taken for Gi.
fn computed_resources(engine: &Resource) -> Value {
    let request = (engine.number("/l1/sizeGB", 0.0) + 5.0).ceil();
    let limit = (request * 1.5).ceil();
    let gi = |amount: f64| format!("{}Gi", amount as i64);
    json!({"requests": {"cpu": "4", "memory": gi(request)}, "limits": {"memory": gi(limit)}})
}

fn probes(engine: &Resource, container: &mut Map<String, Value>) {
    let socket = json!({"port": engine.server_port()});
    // Since 0.5.4 a large first tier has more time: it is pinned before the port opens.
    let failures = if engine.state < State::V0_5_4 {
        30
    } else {
        ((engine.number("/l1/sizeGB", 0.0) / 5.0) as i64).max(30)
    };
    let startup = json!({
        "tcpSocket": socket,
        "initialDelaySeconds": 5,
        "periodSeconds": 5,
        "failureThreshold": failures,
    });
    container.insert("startupProbe".to_owned(), startup);
    container.insert(
        "livenessProbe".to_owned(),
        json!({"tcpSocket": socket, "periodSeconds": 10}),
    );
    container.insert(
        "readinessProbe".to_owned(),
        json!({"tcpSocket": socket, "periodSeconds": 5}),
    );
}
