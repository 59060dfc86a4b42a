//! Objects that ask for one thing only, so that what admission says about that thing meets the parser alone.

use lmcache_api::{IpcMode, Kind};
use lmcache_server::table::{ADAPTERS, EVICTIONS, SERDES};
use serde_json::{Value, json};

use crate::adapters;
use crate::input::{Input, Source};

/// All of them.
pub fn all() -> Vec<Input> {
    let mut rules = fields();
    rules.extend(adapter_types());
    rules.extend(adapter_members());
    rules.extend(resp_values());
    rules
}

/// One field, or a pair that goes together.
fn fields() -> Vec<Input> {
    let resp = json!({"host": "redis", "port": 6379});
    let with = |key: &str, value: Value| {
        let mut resp = resp.clone();
        resp[key] = value;
        json!({"l2Backend": {"resp": resp}})
    };
    let mut rules = vec![
        engine("nothing", json!({})),
        engine("prometheus off", json!({"prometheus": {"enabled": false}})),
        engine("prometheus port", json!({"prometheus": {"port": 9191}})),
        engine("resp", json!({"l2Backend": {"resp": resp.clone()}})),
        engine("resp with password", with("authSecretRef", json!({"name": "redis-auth"}))),
        engine("resp with capacity", with("maxCapacityGB", json!(10))),
        engine("store policy", json!({"l2Backend": {"resp": resp.clone(), "storePolicy": "skip_l1"}})),
        engine(
            "no eviction",
            json!({"l2Backend": {"resp": resp.clone(), "storePolicy": "skip_l1"}, "eviction": {"policy": "noop"}}),
        ),
        engine("prefetch policy", json!({"l2Backend": {"resp": resp.clone(), "prefetchPolicy": "retain"}})),
        engine("prefetch in flight", json!({"l2Backend": {"resp": resp.clone(), "prefetchMaxInFlight": 2}})),
        engine(
            "encryption",
            json!({"l2Backend": {"resp": resp, "serde": {"aesgcm": {"masterKeySecretRef": {"name": "key"}}}}}),
        ),
        engine("coordinator by URL", json!({"coordinator": {"url": "http://fleet:9300"}})),
        engine("coordinator by name", json!({"coordinator": {"ref": {"name": "fleet"}}})),
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
        coordinator("blend chunk size 0", json!({"blendChunkSize": 0})),
        coordinator("blend probe stride 0", json!({"blendProbeStride": 0})),
    ];
    let blend = json!({"injection": {"payloadImage": {"repository": "registry.example.com/llm/payload", "tag": "v1"}}});
    rules.push(rule("CacheBlend", Kind::CacheBlendEngine, blend));
    rules.push(Input {
        ipc_default: IpcMode::Isolated,
        ..engine("isolated IPC by default", json!({}))
    });
    rules
}

/// Each type with all its keys, and without each that it requires.
fn adapter_types() -> Vec<Input> {
    let mut names: Vec<_> = ADAPTERS.iter().map(|adapter| adapter.name).collect();
    names.dedup();
    let mut rules = vec![raw("bogus", "bogus", json!({"base_path": "/kv"}))];
    for name in names {
        let config = adapters::config(name).unwrap_or_default();
        for key in config.as_object().into_iter().flat_map(|config| config.keys()) {
            let mut without = config.clone();
            without.as_object_mut().and_then(|config| config.shift_remove(key));
            rules.push(raw(&format!("{name} without {key}"), name, without));
        }
        rules.push(raw(name, name, config));
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
        rules.push(raw(&format!("adapter serde {word}"), "fs", fs("serde", json!({"type": word}))));
    }
    for (name, key, value) in [
        ("adapter eviction without policy", "eviction", json!({})),
        ("adapter eviction a text", "eviction", json!("LRU")),
        ("adapter serde without type", "serde", json!({"fp8_dtype": "float8_e4m3fn"})),
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
        ("port", json!(true)),
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
        let mut config = json!({"host": "redis", "port": 6379});
        config[key] = value;
        raw(&name, "resp", config)
    };
    values.into_iter().map(rule).collect()
}

fn raw(name: &str, type_: &str, config: Value) -> Input {
    engine(name, json!({"l2Backend": {"raw": {"type": type_, "config": config}}}))
}

fn engine(name: &str, mut spec: Value) -> Input {
    spec["l1"] = json!({"sizeGB": 60});
    rule(name, Kind::LMCacheEngine, spec)
}

fn coordinator(name: &str, spec: Value) -> Input {
    rule(name, Kind::LMCacheCoordinator, spec)
}

fn rule(name: &str, kind: Kind, mut spec: Value) -> Input {
    if kind == Kind::CacheBlendEngine {
        spec["l1"] = json!({"sizeGB": 60});
    }
    Input {
        source: Source::Generated,
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_rule_has_a_name_of_its_own() {
        let rules = all();
        let names: BTreeSet<_> = rules.iter().map(|rule| &rule.name).collect();
        assert_eq!(names.len(), rules.len());
    }
}
