//! Resident memory of the index: 1,000 engines with their children as the Go operator leaves them, `managedFields` and all,
//! then 20 Pods of servers for each, then as many clients. Every object is read from JSON text, as from a list.

use std::fmt::Display;
use std::path::Path;

use kube::runtime::watcher::Event;
use lmcache_api::Kind;
use lmcache_controller::index::{ClientWatch, Index};
use lmcache_controller::live::{Cached, ChildKind, Facts};
use serde_json::{Map, Value, json};

const ENGINES: usize = 1000;
const PODS: usize = 20;
const NAMESPACE: &str = "inference";

/// A benchmark that cannot run ends the program with the reason.
fn or_exit<T, E: Display>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1)
        }
    }
}

/// Resident memory in kB: the second number of `statm`, in pages of 4 kB.
fn resident() -> usize {
    let statm = or_exit(std::fs::read_to_string("/proc/self/statm"));
    let pages = statm.split_whitespace().nth(1).unwrap_or_default();
    or_exit(pages.parse::<usize>()) * 4
}

/// The recorded engine with every field, and its DaemonSet.
fn recorded() -> (Value, Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/go-operator/july/live/full.yaml");
    let text = or_exit(std::fs::read_to_string(path));
    let mut case: Value = or_exit(yaml_serde::from_str(&text));
    let mut take = |key: &str| case.get_mut(key).map(Value::take).unwrap_or_default();
    (take("input"), take("workload"))
}

/// What `fieldsV1` says of someone who wrote all of a value.
fn fields(value: &Value) -> Value {
    let mut all = Map::new();
    match value {
        Value::Object(members) => {
            all.extend(members.iter().map(|(key, value)| (format!("f:{key}"), fields(value))));
        }
        Value::Array(items) if items.iter().all(|item| item.get("name").is_some()) => {
            for item in items {
                let name = json!({"name": item.get("name")});
                let mut of_item = fields(item);
                if let Some(members) = of_item.as_object_mut() {
                    members.insert(".".to_owned(), json!({}));
                }
                all.insert(format!("k:{name}"), of_item);
            }
        }
        _ => {}
    }
    Value::Object(all)
}

/// An object as it is stored: with `managedFields` about all of it. Its owner, of this version and kind, has the engine's
/// name, with which its own begins.
fn stored(mut object: Value, name: &str, number: usize, owner: Option<(&str, &str)>) -> Value {
    let entry = json!({
        "manager": "manager", "operation": "Update", "apiVersion": "v1", "time": "2026-11-29T12:16:42Z",
        "fieldsType": "FieldsV1", "fieldsV1": fields(&object),
    });
    let owner = owner.map(|(api_version, kind)| {
        let owner = name.chars().take("engine-0000".len()).collect::<String>();
        json!({
            "apiVersion": api_version, "kind": kind, "name": owner, "uid": uid(&owner),
            "controller": true, "blockOwnerDeletion": true,
        })
    });
    if let Some(members) = object.as_object_mut() {
        let metadata = members.entry("metadata").or_insert(json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.extend([
                ("name".to_owned(), json!(name)),
                ("namespace".to_owned(), json!(NAMESPACE)),
                ("uid".to_owned(), json!(uid(name))),
                ("resourceVersion".to_owned(), json!((1_000_000 + number).to_string())),
                ("generation".to_owned(), json!(1)),
                ("creationTimestamp".to_owned(), json!("2026-11-29T12:16:42Z")),
                (
                    "ownerReferences".to_owned(),
                    owner.map_or(json!([]), |owner| json!([owner])),
                ),
                ("managedFields".to_owned(), json!([entry])),
            ]);
        }
    }
    object
}

/// Of the length of a uid.
fn uid(name: &str) -> String {
    format!("{name:->36}")
}

fn labels(engine: &str) -> Value {
    json!({
        "app.kubernetes.io/component": "cache-engine",
        "app.kubernetes.io/instance": engine,
        "app.kubernetes.io/managed-by": "lmcache-operator",
        "app.kubernetes.io/name": "lmcache",
    })
}

fn service(engine: &str, ports: &[(&str, u16)]) -> Value {
    let port = |(name, port): &(&str, u16)| json!({"name": name, "port": port, "protocol": "TCP", "targetPort": port});
    json!({
        "kind": "Service", "apiVersion": "v1", "metadata": {"labels": labels(engine)},
        "spec": {
            "clusterIP": "10.96.17.23", "clusterIPs": ["10.96.17.23"], "internalTrafficPolicy": "Local",
            "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "sessionAffinity": "None", "type": "ClusterIP",
            "ports": ports.iter().map(port).collect::<Vec<_>>(), "selector": labels(engine),
        },
        "status": {"loadBalancer": {}},
    })
}

fn config_map(engine: &str) -> Value {
    let connection = r#"{"kv_connector":"LMCacheMPConnector","kv_connector_module_path":"lmcache.integration.vllm.lmcache_mp_connector","kv_connector_extra_config":{"lmcache.mp.host":"tcp://full.inference.svc.cluster.local","lmcache.mp.port":"6555"},"kv_role":"kv_both"}"#;
    json!({
        "kind": "ConfigMap", "apiVersion": "v1", "metadata": {"labels": labels(engine)},
        "data": {"kv-transfer-config.json": connection},
    })
}

fn pod(labels: Value, annotations: Value, node: usize, spec: &Value) -> Value {
    let statuses = json!([{
        "name": "lmcache", "ready": true, "restartCount": 0, "image": "registry.example.com/lmcache/vllm-openai:v0.5.2",
        "state": {"running": {"startedAt": "2026-11-29T12:17:02Z"}},
    }]);
    let conditions = [
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
    ];
    let conditions =
        conditions.map(|name| json!({"type": name, "status": "True", "lastTransitionTime": "2026-11-29T12:17:02Z"}));
    let mut spec = spec.clone();
    if let Some(members) = spec.as_object_mut() {
        members.insert("nodeName".to_owned(), json!(format!("gpu-node-{node:04}")));
    }
    json!({
        "kind": "Pod", "apiVersion": "v1", "metadata": {"labels": labels, "annotations": annotations}, "spec": spec,
        "status": {
            "phase": "Running", "hostIP": "10.128.17.123", "conditions": conditions, "containerStatuses": statuses,
        },
    })
}

/// As an answer of the API server arrives: as text.
fn read<F: Facts>(object: &Value) -> Event<Cached<F>> {
    Event::InitApply(or_exit(serde_json::from_str(&object.to_string())))
}

fn engines(index: &mut Index, engine: &Value, daemon_set: &Value) {
    let ports = [("server", 6555), ("http", 8090)];
    for number in 0..ENGINES {
        let name = format!("engine-{number:04}");
        let mut daemon_set = daemon_set.clone();
        if let Some(members) = daemon_set.as_object_mut() {
            let status = json!({"desiredNumberScheduled": PODS, "numberReady": PODS, "observedGeneration": 1});
            members.insert("status".to_owned(), status);
        }
        index.custom(Kind::LMCacheEngine, read(&stored(engine.clone(), &name, number, None)));
        let mut child = |kind: ChildKind, end: &str, object: Value| {
            let object = stored(
                object,
                &format!("{name}{end}"),
                number,
                Some(("lmcache.lmcache.ai/v1alpha1", "LMCacheEngine")),
            );
            index.child(kind, read(&object));
        };
        child(ChildKind::DaemonSet, "", daemon_set);
        child(ChildKind::Service, "", service(&name, &ports));
        child(ChildKind::Service, "-metrics", service(&name, &[("metrics", 9191)]));
        child(ChildKind::ConfigMap, "-connection", config_map(&name));
    }
}

fn pods(index: &mut Index, spec: &Value, clients: bool) {
    for number in 0..ENGINES * PODS {
        let engine = format!("engine-{:04}", number / PODS);
        let node = number % PODS;
        if clients {
            let labels = json!({"app": "vllm", "lmcache.ai/lmcache-inject": "true"});
            let annotations = json!({"lmcache.ai/lmcache-engine": engine, "lmcache.ai/lmcache-injected": "true"});
            let connection = json!({"kv_connector_extra_config": {
                "lmcache.mp.host": format!("tcp://{engine}.{NAMESPACE}.svc.cluster.local"), "lmcache.mp.port": "6555",
            }});
            let args = json!(["vllm", "serve", "--kv-transfer-config", connection.to_string()]);
            let spec = json!({"containers": [{"name": "vllm", "command": args}]});
            let pod = pod(labels, annotations, node, &spec);
            let pod = stored(pod, &format!("vllm-{number:05}-7d9c5b8f6-x2x4z"), number, None);
            index.client_pod(ClientWatch::LMCache, read(&pod));
        } else {
            let pod = pod(labels(&engine), json!({}), node, spec);
            let pod = stored(
                pod,
                &format!("{engine}-{number:05}"),
                number,
                Some(("apps/v1", "DaemonSet")),
            );
            index.server_pod(read(&pod));
        }
    }
}

fn main() {
    let (engine, daemon_set) = recorded();
    let spec = daemon_set.pointer("/spec/template/spec").cloned().unwrap_or_default();
    let (mut index, empty) = (Index::new(), resident());
    let tell = |what: &str| {
        let now = resident();
        let kept = now.saturating_sub(empty);
        eprintln!(
            "{what:<60} {:>6.1} MB, {:>6.1} MB of it for them",
            mega(now),
            mega(kept)
        );
    };
    tell("nothing");
    engines(&mut index, &engine, &daemon_set);
    tell("1,000 engines, each with 4 children");
    pods(&mut index, &spec, false);
    tell("and 20,000 Pods of servers");
    pods(&mut index, &spec, true);
    tell("and 20,000 Pods of clients");
    let counts = index.counts();
    let all = counts
        .customs
        .values()
        .chain(counts.children.values())
        .chain(counts.client_pods.values());
    eprintln!("{} objects held", all.sum::<usize>() + counts.server_pods);
}

/// Megabytes of kilobytes.
fn mega(kilo: usize) -> f64 {
    kilo as f64 / 1024.0
}
