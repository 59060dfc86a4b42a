//! What the tests share.

use std::path::{Path, PathBuf};

use lmcache_api::IpcMode;
use lmcache_controller::render::{Options, Report, render};
use serde_json::{Value, json};

/// The top of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

pub fn options() -> Options {
    Options {
        ipc_default: IpcMode::HostIPC,
        cluster_domain: "cluster.local".to_owned(),
        namespace: "default".to_owned(),
        legacy: None,
    }
}

/// An object `kv` of this kind in the namespace `serving`.
pub fn object(kind: &str, spec: Value) -> Value {
    json!({"apiVersion": "lmcache.lmcache.ai/v1alpha1", "kind": kind,
        "metadata": {"name": "kv", "namespace": "serving"}, "spec": spec})
}

/// An LMCacheEngine of 60 GB that runs the newest release that is known here, with more members.
pub fn engine(more: Value) -> Value {
    with(
        object(
            "LMCacheEngine",
            json!({"image": {"tag": "v0.5.6"}, "l1": {"sizeGB": 60}}),
        ),
        more,
    )
}

/// A CacheBlendEngine likewise.
pub fn cacheblend(more: Value) -> Value {
    let spec = json!({"image": {"tag": "v0.5.6"}, "l1": {"sizeGB": 60},
        "injection": {"payloadImage": {"repository": "registry.example.com/plugin", "tag": "v0.5.6"}}});
    with(object("CacheBlendEngine", spec), more)
}

/// An LMCacheCoordinator likewise.
pub fn coordinator(more: Value) -> Value {
    with(object("LMCacheCoordinator", json!({"image": {"tag": "v0.5.6"}})), more)
}

/// An object with more members in its spec.
pub fn with(mut object: Value, more: Value) -> Value {
    merge(&mut object["spec"], more);
    object
}

fn merge(into: &mut Value, more: Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (key, value) in more {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more,
    }
}

/// Renders objects, each from a file of its own: `0.yaml`, `1.yaml`, ...
pub fn report_with(objects: &[Value], options: &Options) -> Report {
    let files: Vec<_> = objects
        .iter()
        .enumerate()
        .map(|(index, object)| (format!("{index}.yaml"), object.to_string()))
        .collect();
    render(&files, options)
}

pub fn report(objects: &[Value]) -> Report {
    report_with(objects, &options())
}

/// The children of an object without faults.
pub fn children(object: &Value) -> Vec<Value> {
    let report = report(std::slice::from_ref(object));
    assert_eq!(report.faults, Vec::<String>::new());
    report.objects
}

/// The faults of an object, without its name in front.
pub fn faults(object: &Value) -> Vec<String> {
    let report = report(std::slice::from_ref(object));
    assert!(report.objects.is_empty(), "{:?}", report.objects);
    let title = format!("0.yaml: {} serving/kv: ", object["kind"].as_str().unwrap());
    let faults = report
        .faults
        .iter()
        .map(|fault| fault.strip_prefix(&title).unwrap_or(fault));
    faults.map(str::to_owned).collect()
}

/// The child of this kind whose name ends so; there is only one.
pub fn child<'a>(children: &'a [Value], kind: &str, suffix: &str) -> &'a Value {
    optional(children, kind, suffix).unwrap_or_else(|| panic!("no {kind} kv{suffix} in {children:?}"))
}

pub fn optional<'a>(children: &'a [Value], kind: &str, suffix: &str) -> Option<&'a Value> {
    let name = format!("kv{suffix}");
    let mut found = children
        .iter()
        .filter(|child| child["kind"] == kind && child["metadata"]["name"] == *name);
    let child = found.next();
    assert!(found.next().is_none());
    child
}

/// The Pod of the workload among the children.
pub fn pod(children: &[Value]) -> &Value {
    let workload = |child: &&Value| child["kind"] == "DaemonSet" || child["kind"] == "Deployment";
    &children.iter().find(workload).unwrap()["spec"]["template"]["spec"]
}

/// The main container of that Pod.
pub fn container(children: &[Value]) -> &Value {
    &pod(children)["containers"][0]
}

/// The value behind a flag of the main container.
pub fn flag(children: &[Value], flag: &str) -> Option<String> {
    let args = container(children)["args"].as_array().unwrap();
    let place = args.iter().position(|arg| arg == flag)?;
    Some(
        args.get(place + 1)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned(),
    )
}
