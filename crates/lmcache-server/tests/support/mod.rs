//! Objects for the tests, and what becomes of them.

use lmcache_api::{AnyObject, IpcMode, Kind, decode};
use lmcache_server::{Place, Process, process, validate, warnings};
use serde_json::{Value, json};

/// An object in the namespace `serving`.
pub fn object(spec: Value) -> Value {
    json!({"metadata": {"name": "kv", "namespace": "serving"}, "spec": spec})
}

/// An engine of 60 GB that runs this release, with more members.
pub fn engine(release: &str, more: Value) -> Value {
    let mut spec = json!({"l1": {"sizeGB": 60}, "server": {"release": release}, "nodeSelector": {"gpu": "yes"},
        "image": {"tag": "pinned"}});
    merge(&mut spec, more);
    object(spec)
}

/// A coordinator that runs this release, with more members.
pub fn coordinator(release: &str, more: Value) -> Value {
    let mut spec = json!({"release": release, "image": {"tag": "pinned"}});
    merge(&mut spec, more);
    object(spec)
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

pub fn read(kind: Kind, object: &Value) -> AnyObject {
    let mut object = decode(kind, object).object;
    object.set_defaults();
    object
}

/// The process, registered with a coordinator if the object names one.
pub fn run(kind: Kind, object: &Value) -> Process {
    let read = read(kind, object);
    let url = read
        .engine()
        .and_then(|spec| spec.coordinator())
        .map(|_| "http://fleet:9300");
    let place = Place {
        ipc_default: IpcMode::HostIPC,
        coordinator_url: url,
    };
    process(&read, &place)
}

pub fn args(object: &Value) -> Vec<String> {
    run(Kind::LMCacheEngine, object).args
}

/// The value behind a flag, or an empty text behind a switch.
pub fn value<'a>(args: &'a [String], flag: &str) -> Option<&'a str> {
    let place = args.iter().position(|arg| arg == flag)?;
    let next = args.get(place + 1).map(String::as_str).unwrap_or_default();
    Some(if next.starts_with("--") { "" } else { next })
}

/// The faults, as texts.
pub fn faults(kind: Kind, object: &Value) -> Vec<String> {
    let found = validate(kind, object, IpcMode::HostIPC);
    found.iter().map(ToString::to_string).collect()
}

/// The warnings.
pub fn doubts(kind: Kind, object: &Value) -> Vec<String> {
    warnings(kind, object, IpcMode::HostIPC)
}

/// The only fault begins with its path and says what is expected.
pub fn one_fault(object: &Value, path: &str, says: &[&str]) {
    only(Kind::LMCacheEngine, object, path, says);
}

pub fn only(kind: Kind, object: &Value, path: &str, says: &[&str]) {
    let found = faults(kind, object);
    assert_eq!(found.len(), 1, "{found:?}");
    let holds = found[0].starts_with(&format!("{path}: ")) && says.iter().all(|text| found[0].contains(text));
    assert!(holds, "{found:?}");
}

pub fn fine(object: &Value) {
    assert_eq!(faults(Kind::LMCacheEngine, object), Vec::<String>::new());
}
