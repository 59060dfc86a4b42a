//! Objects that ask for one thing only, so that what admission says about that thing meets the parser alone.

use lmcache_api::{IpcMode, Kind};
use lmcache_server::table::{ADAPTERS, EVICTIONS, SERDES};
use serde_json::{Value, json};

use crate::input::{Input, Source};
use crate::{adapters, generate};

/// All of them.
pub fn all() -> Vec<Input> {
    let mut rules = fields();
    rules.extend(adapter_types());
    rules.extend(adapter_members());
    rules.extend(resp_values());
    rules.extend(extra_args());
    rules
}

/// One field, or a pair that goes together.
fn fields() -> Vec<Input> {
    let resp = json!({"host": "redis", "port": 6379});
    let with = |key: &str, value: Value| json!({"l2Backend": {"resp": with_member(&resp, key, value)}});
    let mut rules = vec![
        engine("nothing", json!({})),
        engine("prometheus off", json!({"prometheus": {"enabled": false}})),
        engine("prometheus port", json!({"prometheus": {"port": 9191}})),
        engine("resp", json!({"l2Backend": {"resp": resp.clone()}})),
        engine(
            "resp with password",
            with("authSecretRef", json!({"name": "redis-auth"})),
        ),
        engine("resp with capacity", with("maxCapacityGB", json!(10))),
        engine(
            "store policy",
            json!({"l2Backend": {"resp": resp.clone(), "storePolicy": "skip_l1"}}),
        ),
        engine(
            "no eviction",
            json!({"l2Backend": {"resp": resp.clone(), "storePolicy": "skip_l1"}, "eviction": {"policy": "noop"}}),
        ),
        engine(
            "prefetch policy",
            json!({"l2Backend": {"resp": resp.clone(), "prefetchPolicy": "retain"}}),
        ),
        engine(
            "prefetch in flight",
            json!({"l2Backend": {"resp": resp.clone(), "prefetchMaxInFlight": 2}}),
        ),
        engine(
            "encryption",
            json!({"l2Backend": {"resp": resp, "serde": {"aesgcm": {"masterKeySecretRef": {"name": "key"}}}}}),
        ),
        engine(
            "coordinator by URL",
            json!({"coordinator": {"url": "http://fleet:9300"}}),
        ),
        engine(
            "coordinator by name",
            json!({"coordinator": {"ref": {"name": "fleet"}}}),
        ),
        engine(
            "event reporting",
            json!({"coordinator": {"url": "http://fleet:9300", "l2EventReporting": true, "l2EventFlushInterval": 2}}),
        ),
        engine("isolated IPC", json!({"isolatedIPC": true})),
        engine("no host IPC", json!({"hostIPC": false})),
        engine("host IPC", json!({"hostIPC": true})),
        coordinator("coordinator", json!({})),
        coordinator("blend chunk size", json!({"blendChunkSize": 512})),
        coordinator("blend probe stride", json!({"blendProbeStride": 2})),
        coordinator("trigger watermark 2", json!({"triggerWatermark": 2})),
        coordinator("eviction ratio 2", json!({"evictionRatio": 2})),
        coordinator("instance timeout 0", json!({"instanceTimeout": 0})),
    ];
    rules.push(rule("CacheBlend", Kind::CacheBlendEngine, json!({})));
    rules.push(Input {
        ipc_default: IpcMode::Isolated,
        ..engine("isolated IPC by default", json!({}))
    });
    rules
}

/// Each type with all its keys, and without each that it requires.
fn adapter_types() -> Vec<Input> {
    let mut names: Vec<_> = ADAPTERS.iter().map(|adapter| adapter.name).collect();
    names.sort_unstable();
    names.dedup();
    let mut rules = vec![raw("adapter of no release", "bogus", json!({"base_path": "/kv"}))];
    for name in names {
        let config = adapters::config(name).unwrap_or_default();
        for key in config.as_object().into_iter().flat_map(|config| config.keys()) {
            let mut without = config.clone();
            if let Some(without) = without.as_object_mut() {
                without.shift_remove(key);
            }
            rules.push(raw(&format!("adapter {name} without {key}"), name, without));
        }
        rules.push(raw(&format!("adapter {name}"), name, config));
    }
    rules
}

/// The members that every type of adapter has.
fn adapter_members() -> Vec<Input> {
    let fs = |key: &str, value: Value| json!({"base_path": "/kv", key: value});
    let mut rules = Vec::new();
    for word in EVICTIONS.iter().map(|word| word.text).chain(["lru", "bogus"]) {
        let member = json!({"eviction_policy": word});
        rules.push(raw(&format!("adapter eviction {word}"), "fs", fs("eviction", member)));
    }
    for word in SERDES.iter().map(|word| word.text) {
        rules.push(raw(
            &format!("adapter serde {word}"),
            "fs",
            fs("serde", json!({"type": word})),
        ));
    }
    for (name, key, value) in [
        ("adapter eviction without policy", "eviction", json!({})),
        ("adapter eviction a text", "eviction", json!("LRU")),
        (
            "adapter serde without type",
            "serde",
            json!({"fp8_dtype": "float8_e4m3fn"}),
        ),
        ("adapter serde a text", "serde", json!("fp8")),
        ("adapter eviction null", "eviction", Value::Null),
        ("adapter serde null", "serde", Value::Null),
    ] {
        rules.push(raw(name, "fs", fs(key, value)));
    }
    rules
}

/// Values that the RESP adapter looks at, as its own configuration.
fn resp_values() -> Vec<Input> {
    let values = [
        ("port", json!("6379")),
        ("port", json!(0)),
        ("port", json!(-1)),
        ("port", json!(6379.5)),
        ("host", json!("")),
        ("host", json!(7)),
        ("num_workers", json!(0)),
        ("num_workers", json!("8")),
        ("num_workers", json!(2)),
        ("max_capacity_gb", json!(-1)),
        ("max_capacity_gb", json!("10")),
        ("max_capacity_gb", json!(0.5)),
        ("num_workers", Value::Null),
        ("max_capacity_gb", Value::Null),
        ("unknown_key", json!(1)),
    ];
    let rule = |(key, value): (&str, Value)| {
        let name = format!("raw resp {key} {value}");
        let config = json!({"host": "redis", "port": 6379});
        raw(&name, "resp", with_member(&config, key, value))
    };
    values.into_iter().map(rule).collect()
}

/// Each list alone.
fn extra_args() -> Vec<Input> {
    let rules_for = |kind: Kind| {
        let made = move |args: Value| rule(&format!("{kind} extraArgs {args}"), kind, json!({"extraArgs": args}));
        generate::extra_args(kind).into_iter().map(made)
    };
    Kind::ALL.into_iter().flat_map(rules_for).collect()
}

fn raw(name: &str, type_: &str, config: Value) -> Input {
    engine(name, json!({"l2Backend": {"raw": {"type": type_, "config": config}}}))
}

fn engine(name: &str, spec: Value) -> Input {
    rule(name, Kind::LMCacheEngine, spec)
}

fn coordinator(name: &str, spec: Value) -> Input {
    rule(name, Kind::LMCacheCoordinator, spec)
}

/// An object with the fields that its kind requires.
fn rule(name: &str, kind: Kind, spec: Value) -> Input {
    let l1 = json!({"sizeGB": 60});
    let payload = json!({"payloadImage": {"repository": "registry.example.com/llm/payload", "tag": "v1"}});
    let spec = match kind {
        Kind::LMCacheEngine => with_member(&spec, "l1", l1),
        Kind::CacheBlendEngine => with_member(&with_member(&spec, "l1", l1), "injection", payload),
        Kind::LMCacheCoordinator => spec,
    };
    Input {
        source: Source::Rule,
        name: name.to_owned(),
        kind,
        object: json!({
            "apiVersion": lmcache_api::API_VERSION,
            "kind": kind.as_str(),
            "metadata": {"name": "kv", "namespace": "serving"},
            "spec": spec,
        }),
        ipc_default: IpcMode::HostIPC,
    }
}

fn with_member(object: &Value, key: &str, value: Value) -> Value {
    let mut members = object.as_object().cloned().unwrap_or_default();
    members.insert(key.to_owned(), value);
    Value::Object(members)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_rule_has_a_name_of_its_own() {
        let rules = all();
        let mut seen = BTreeSet::new();
        for rule in &rules {
            assert!(seen.insert(&rule.name), "{} twice", rule.name);
        }
    }
}
