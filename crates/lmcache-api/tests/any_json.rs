//! Any JSON is read, judged and rendered without a panic.

#![cfg(not(target_arch = "wasm32"))]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test helpers"
)]

use lmcache_api::{
    AnyObject, EngineRef, IpcMode, Kind, connection_config, decode, image_refs, ipc_mode, server_release, validate,
    warnings,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Keys that mean something somewhere, so that random objects reach deep.
const KEYS: &[&str] = &[
    "metadata",
    "spec",
    "name",
    "namespace",
    "generateName",
    "labels",
    "l1",
    "sizeGB",
    "server",
    "port",
    "httpPort",
    "chunkSize",
    "release",
    "eviction",
    "policy",
    "triggerWatermark",
    "prometheus",
    "enabled",
    "serviceMonitor",
    "interval",
    "l2Backend",
    "resp",
    "host",
    "raw",
    "type",
    "config",
    "serde",
    "aesgcm",
    "masterKeySecretRef",
    "aesBits",
    "storePolicy",
    "coordinator",
    "ref",
    "url",
    "injection",
    "payloadImage",
    "repository",
    "tag",
    "imagePullSecrets",
    "blend",
    "recompRatio",
    "pd",
    "connection",
    "extraConfig",
    "lmcache.mp.host",
    "resourceOverrides",
    "limits",
    "requests",
    "memory",
    "nodeSelector",
    "podLabels",
    "extraArgs",
    "initContainers",
    "volumes",
    "env",
    "hostIPC",
    "isolatedIPC",
    "gpuVendor",
    "replicas",
];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        prop_oneof![Just(0), Just(1), Just(256), Just(5555), Just(8080), Just(9090)].prop_map(|number| json!(number)),
        "\\PC{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            "",
            "lmcache",
            "l2-master-key",
            "noop",
            "nvidia",
            "amd",
            "v0.4.4",
            "1Gi",
            "--port",
            "30s"
        ])
        .prop_map(Value::from),
    ]
}

fn json() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(6, 64, 8, |inner| {
        let key = prop_oneof![8 => prop::sample::select(KEYS).prop_map(str::to_owned), 1 => "\\PC{0,8}"];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..8).prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// An object with every block, so that one changed value meets all the rules around it.
fn complete() -> Value {
    json!({
        "metadata": {"name": "cache-a", "namespace": "team-a", "labels": {"a": "b"}},
        "spec": {
            "l1": {"sizeGB": 60}, "server": {"port": 5555, "httpPort": 8080, "chunkSize": 256, "release": "0.5.5"},
            "eviction": {"policy": "noop"}, "prometheus": {"port": 9090, "serviceMonitor": {"interval": "30s"}},
            "l2Backend": {"raw": {"type": "fs", "config": {"a": 1}}, "storePolicy": "skip_l1",
                "serde": {"aesgcm": {"masterKeySecretRef": {"name": "k"}, "aesBits": 128}}},
            "coordinator": {"url": "http://fleet"}, "image": {"repository": "a/b", "tag": "v0.5.5"},
            "injection": {"payloadImage": {"repository": "c/d", "tag": "v0.5.5"}, "imagePullSecrets": [{"name": "s"}]},
            "blend": {"recompRatio": 0.15}, "pd": {"nixlSideChannelPort": 5558},
            "connection": {"extraConfig": {"lmcache.mp.mq_timeout": 30}},
            "resourceOverrides": {"limits": {"memory": "80Gi"}, "requests": {"memory": "70Gi"}},
            "nodeSelector": {"gpu": "yes"}, "volumes": [{"name": "v"}], "initContainers": [{"name": "i"}],
            "extraArgs": ["--port", "6000"], "isolatedIPC": true, "replicas": 1,
        }
    })
}

/// Replaces the value at the `index`-th place of a tree, counted depth first.
fn replace(tree: &mut Value, index: &mut usize, with: &Value) {
    if *index == 0 {
        *tree = with.clone();
        *index = usize::MAX;
        return;
    }
    *index = index.saturating_sub(1);
    let children: Vec<&mut Value> = match tree {
        Value::Object(map) => map.values_mut().collect(),
        Value::Array(items) => items.iter_mut().collect(),
        _ => return,
    };
    for child in children {
        if *index < usize::MAX / 2 {
            replace(child, index, with);
        }
    }
}

fn exercise(object: &Value) -> Result<(), TestCaseError> {
    for kind in Kind::ALL {
        let decoded = decode(kind, object);
        let faults = validate(kind, object);
        for (index, fault) in faults.iter().enumerate() {
            let twice = faults
                .iter()
                .skip(index + 1)
                .any(|other| other.path == fault.path && other.kind == fault.kind);
            prop_assert!(!twice, "{kind}: twice: {fault}");
        }
        for fault in &decoded.faults {
            prop_assert!(faults.contains(fault), "{kind}: validate lost {fault}");
        }
        prop_assert_eq!(&faults, &validate(kind, object));
        for warning in warnings(kind, object) {
            prop_assert!(warning.len() <= 256 && warning.is_ascii(), "{}", warning);
        }
        prop_assert!(!image_refs(&decoded.object).is_empty());
        let mut with_defaults = decoded.object.clone();
        with_defaults.set_defaults();
        for object in [&decoded.object, &with_defaults] {
            render(object)?;
        }
    }
    Ok(())
}

fn render(object: &AnyObject) -> Result<(), TestCaseError> {
    let Some(spec) = object.engine() else { return Ok(()) };
    let _ = server_release(spec);
    let mode = ipc_mode(spec, IpcMode::Isolated);
    let config = connection_config(
        &EngineRef {
            name: "a",
            namespace: "b",
            spec,
        },
        mode,
        "cluster.local",
    );
    for text in config.data().into_values() {
        prop_assert!(serde_json::from_str::<Map<String, Value>>(text).is_ok(), "{}", text);
    }
    Ok(())
}

proptest! {
    #[test]
    fn random_json(object in json()) {
        exercise(&object)?;
    }

    #[test]
    fn random_specs(spec in json(), name in "\\PC{0,70}") {
        exercise(&json!({"metadata": {"name": name}, "spec": spec}))?;
    }

    #[test]
    fn one_changed_value(index in 0_usize..90, value in json()) {
        let mut object = complete();
        replace(&mut object, &mut { index }, &value);
        exercise(&object)?;
    }
}

#[test]
fn the_complete_object_is_valid() {
    let mut object = complete();
    assert_eq!(validate(Kind::LMCacheEngine, &object), []);
    object["spec"]["extraArgs"] = json!([]);
    assert_eq!(validate(Kind::CacheBlendEngine, &object), []);
}
