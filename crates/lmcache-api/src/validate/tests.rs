#[cfg(not(target_arch = "wasm32"))]
use core::prelude::v1 as test_runner;
use rstest::rstest;
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
mod test_runner {
    pub use wasm_bindgen_test::wasm_bindgen_test as test;
}

mod beyond_go;

use super::validate;
use crate::{FaultKind, Kind};
use FaultKind::{Duplicate, Forbidden, Invalid, NotSupported, Required, TypeInvalid};

/// A valid object of the kind with members of `spec` replaced.
fn object(kind: Kind, spec: Value) -> Value {
    let mut base = match kind {
        Kind::LMCacheEngine => json!({"l1": {"sizeGB": 60}}),
        Kind::CacheBlendEngine => {
            json!({"l1": {"sizeGB": 60}, "injection": {"payloadImage": {"repository": "registry.example.com/blend"}}})
        }
        Kind::LMCacheCoordinator => json!({}),
    };
    base.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    json!({"metadata": {"name": "cache-a", "namespace": "team-a"}, "spec": base})
}

fn faults(kind: Kind, spec: Value) -> Vec<(String, FaultKind)> {
    validate(kind, &object(kind, spec))
        .into_iter()
        .map(|fault| (fault.path, fault.kind))
        .collect()
}

#[rstest]
#[case(json!({"l1": {"sizeGB": 0}}), "spec.l1.sizeGB", Invalid)]
#[case(json!({"l1": {"sizeGB": -1.5}}), "spec.l1.sizeGB", Invalid)]
#[case(json!({"l1": {}}), "spec.l1.sizeGB", Required)]
#[case(json!({"l1": null}), "spec.l1", Required)]
#[case(json!({"l1": {"sizeGB": "60"}}), "spec.l1.sizeGB", TypeInvalid)]
#[case(json!({"server": {"port": 1023}}), "spec.server.port", Invalid)]
#[case(json!({"server": {"port": 65536}}), "spec.server.port", Invalid)]
#[case(json!({"server": {"port": 5555.5}}), "spec.server.port", TypeInvalid)]
#[case(json!({"server": {"port": 1e30}}), "spec.server.port", Invalid)]
#[case(json!({"server": {"port": "5555"}}), "spec.server.port", TypeInvalid)]
#[case(json!({"server": []}), "spec.server", TypeInvalid)]
#[case(json!({"eviction": {"policy": "noop"}}), "spec.eviction.policy", NotSupported)]
#[case(json!({"eviction": {"policy": "ARC"}}), "spec.eviction.policy", NotSupported)]
#[case(json!({"eviction": {"triggerWatermark": 0}}), "spec.eviction.triggerWatermark", Invalid)]
#[case(json!({"eviction": {"triggerWatermark": 1.01}}), "spec.eviction.triggerWatermark", Invalid)]
#[case(json!({"eviction": {"evictionRatio": 0}}), "spec.eviction.evictionRatio", Invalid)]
#[case(json!({"eviction": {"evictionRatio": 2}}), "spec.eviction.evictionRatio", Invalid)]
#[case(json!({"l2Backend": {}}), "spec.l2Backend", Required)]
#[case(json!({"l2Backend": {"storePolicy": "skip_l1"}}), "spec.l2Backend", Required)]
#[case(json!({"l2Backend": {"resp": {"host": "h", "port": 1}, "raw": {"type": "fs"}}}), "spec.l2Backend", Invalid)]
#[case(json!({"l2Backend": {"resp": {"host": "", "port": 1}}}), "spec.l2Backend.resp.host", Required)]
#[case(json!({"l2Backend": {"resp": {"port": 1}}}), "spec.l2Backend.resp.host", Required)]
#[case(json!({"l2Backend": {"resp": {"host": "h"}}}), "spec.l2Backend.resp.port", Required)]
#[case(json!({"l2Backend": {"resp": {"host": "h", "port": 0}}}), "spec.l2Backend.resp.port", Invalid)]
#[case(json!({"l2Backend": {"resp": {"host": "h", "port": 65536}}}), "spec.l2Backend.resp.port", Invalid)]
#[case(json!({"l2Backend": {"resp": {"host": "h", "port": 1, "authSecretRef": {"name": ""}}}}), "spec.l2Backend.resp.authSecretRef.name", Required)]
#[case(json!({"l2Backend": {"resp": {"host": "h", "port": 1, "authSecretRef": {}}}}), "spec.l2Backend.resp.authSecretRef.name", Required)]
#[case(json!({"l2Backend": {"resp": "redis"}}), "spec.l2Backend.resp", TypeInvalid)]
#[case(json!({"l2Backend": {"raw": {"type": ""}}}), "spec.l2Backend.raw.type", Required)]
#[case(json!({"l2Backend": {"raw": {}}}), "spec.l2Backend.raw.type", Required)]
#[case(json!({"l2Backend": {"raw": {"type": "fs"}, "serde": {}}}), "spec.l2Backend.serde", Required)]
#[case(json!({"l2Backend": {"raw": {"type": "fs"}, "serde": {"aesgcm": {"masterKeySecretRef": {}}}}}), "spec.l2Backend.serde.aesgcm.masterKeySecretRef.name", Required)]
#[case(json!({"l2Backend": {"raw": {"type": "fs"}, "serde": {"aesgcm": {}}}}), "spec.l2Backend.serde.aesgcm.masterKeySecretRef", Required)]
#[case(json!({"l2Backend": {"raw": {"type": "fs", "config": {"serde": {}}}, "serde": {"aesgcm": {"masterKeySecretRef": {"name": "k"}}}}}), "spec.l2Backend.serde", Invalid)]
#[case(json!({"l2Backend": {"raw": {"type": "fs"}, "serde": {"aesgcm": {"masterKeySecretRef": {"name": "k"}, "aesBits": 192}}}}), "spec.l2Backend.serde.aesgcm.aesBits", NotSupported)]
#[case(json!({"coordinator": {}}), "spec.coordinator", Required)]
#[case(json!({"coordinator": {"ref": {"name": ""}, "url": ""}}), "spec.coordinator", Required)]
#[case(json!({"coordinator": {"ref": {"name": "fleet"}, "url": "http://fleet"}}), "spec.coordinator", Invalid)]
#[case(json!({"coordinator": {"url": 5}}), "spec.coordinator.url", TypeInvalid)]
#[case(json!({"coordinator": {"url": "http://fleet", "heartbeatInterval": 0}}), "spec.coordinator.heartbeatInterval", Invalid)]
#[case(json!({"coordinator": {"url": "http://fleet", "l2EventFlushInterval": -1}}), "spec.coordinator.l2EventFlushInterval", Invalid)]
#[case(json!({"gpuVendor": "AMD"}), "spec.gpuVendor", NotSupported)]
#[case(json!({"logLevel": "info"}), "spec.logLevel", NotSupported)]
#[case(json!({"hostIPC": "true"}), "spec.hostIPC", TypeInvalid)]
#[case(json!({"nodeSelector": {"a": true}}), "spec.nodeSelector.a", TypeInvalid)]
#[case(json!({"podLabels": {"example.com/a": 1}}), "spec.podLabels[example.com/a]", TypeInvalid)]
#[case(json!({"extraArgs": "--port 1"}), "spec.extraArgs", TypeInvalid)]
#[case(json!({"extraArgs": ["a", 1]}), "spec.extraArgs[1]", TypeInvalid)]
#[case(json!({"env": [{"name": "A"}, null]}), "spec.env[1]", TypeInvalid)]
#[case(json!({"imagePullSecrets": [{"name": 1}]}), "spec.imagePullSecrets[0].name", TypeInvalid)]
#[case(json!({"terminationGracePeriodSeconds": -1}), "spec.terminationGracePeriodSeconds", Invalid)]
#[case(json!({"server": {"chunkSize": 0}}), "spec.server.chunkSize", Invalid)]
#[case(json!({"server": {"maxWorkers": 0}}), "spec.server.maxWorkers", Invalid)]
#[case(json!({"server": {"httpPort": 80}}), "spec.server.httpPort", Invalid)]
#[case(json!({"prometheus": {"port": 0}}), "spec.prometheus.port", Invalid)]
#[case(json!({"prometheus": {"port": 65536}}), "spec.prometheus.port", Invalid)]
#[case(json!({"prometheus": {"serviceMonitor": {"interval": "soon"}}}), "spec.prometheus.serviceMonitor.interval", Invalid)]
#[case(json!({"l2Backend": {"raw": {"type": "fs"}, "prefetchMaxInFlight": 0}}), "spec.l2Backend.prefetchMaxInFlight", Invalid)]
#[case(json!({"l2Backend": {"resp": {"host": "h", "port": 1, "numWorkers": 0}}}), "spec.l2Backend.resp.numWorkers", Invalid)]
#[case(json!({"l2Backend": {"resp": {"host": "h", "port": 1, "waitSeconds": 0}}}), "spec.l2Backend.resp.waitSeconds", Invalid)]
#[case(json!({"l2Backend": {"resp": {"host": "h", "port": 1, "authSecretRef": {"name": "Redis_Auth"}}}}), "spec.l2Backend.resp.authSecretRef.name", Invalid)]
#[case(json!({"l2Backend": {"resp": {"host": "h", "port": 1, "authSecretRef": {"name": "a", "namespace": "a.b"}}}}), "spec.l2Backend.resp.authSecretRef.namespace", Invalid)]
#[case(json!({"l2Backend": {"raw": {"type": "fs"}, "serde": {"aesgcm": {"masterKeySecretRef": {"name": "-k"}}}}}), "spec.l2Backend.serde.aesgcm.masterKeySecretRef.name", Invalid)]
#[case(json!({"l2Backend": {"raw": {"type": "fs", "config": {"type": "s3"}}}}), "spec.l2Backend.raw.config.type", Invalid)]
#[case(json!({"coordinator": {"ref": {"name": "Fleet"}}}), "spec.coordinator.ref.name", Invalid)]
#[case(json!({"coordinator": {"url": "fleet:9300"}}), "spec.coordinator.url", Invalid)]
#[case(json!({"pd": {"nixlSideChannelPort": 80}}), "spec.pd.nixlSideChannelPort", Invalid)]
#[case(json!({"pd": {"enforceHandshakeCompat": "yes"}}), "spec.pd.enforceHandshakeCompat", TypeInvalid)]
#[case(json!({"injection": {"payloadImage": {}}}), "spec.injection.payloadImage.repository", Required)]
#[case(json!({"injection": {"payloadImage": {"repository": ""}}}), "spec.injection.payloadImage.repository", Required)]
#[case(json!({"injection": {"payloadImage": {"repository": "lmcache/vllm-openai", "tag": "v0.5.5"}}}), "spec.injection.payloadImage.repository", Invalid)]
#[case(json!({"injection": {"payloadImage": {"repository": "docker.io/lmcache/vllm-openai"}}}), "spec.injection.payloadImage.repository", Invalid)]
#[case(json!({"image": {"repository": ""}}), "spec.image.repository", Invalid)]
#[case(json!({"image": {"tag": ""}}), "spec.image.tag", Invalid)]
#[case(json!({"image": {"repository": "a/b:v1"}}), "spec.image.repository", Invalid)]
#[case(json!({"image": {"tag": "v1 "}}), "spec.image.tag", Invalid)]
#[case(json!({"image": {"pullPolicy": "always"}}), "spec.image.pullPolicy", NotSupported)]
#[case(json!({"server": {"release": "newest"}}), "spec.server.release", Invalid)]
#[case(json!({"connection": {"extraConfig": {"lmcache.mp.host": "x"}}}), "spec.connection.extraConfig[lmcache.mp.host]", Forbidden)]
#[case(json!({"connection": {"extraConfig": {"cb.check_layer": 2}}}), "spec.connection.extraConfig[cb.check_layer]", Forbidden)]
#[case(json!({"initContainers": [{"name": "warm"}, {"name": "lmcache"}]}), "spec.initContainers[1].name", Duplicate)]
#[case(json!({"l2Backend": {"raw": {"type": "fs"}, "serde": {"aesgcm": {"masterKeySecretRef": {"name": "k"}}}}, "volumes": [{"name": "l2-master-key"}]}), "spec.volumes[0].name", Duplicate)]
#[test_runner::test]
fn one_fault_of_an_lmcache_engine(#[case] spec: Value, #[case] path: &str, #[case] kind: FaultKind) {
    assert_eq!(faults(Kind::LMCacheEngine, spec), [(path.to_owned(), kind)]);
}

#[rstest]
#[case(json!({}))]
#[case(json!({"server": {"port": 1024, "httpPort": 65535}}))]
#[case(json!({"server": {"port": 5555.0}}))]
#[case(json!({"server": null, "eviction": {}, "prometheus": {}, "image": {}}))]
#[case(json!({"eviction": {"policy": "noop"}, "l2Backend": {"raw": {"type": "fs"}, "storePolicy": "skip_l1"}}))]
#[case(json!({"eviction": {"triggerWatermark": 1, "evictionRatio": 1e-9}}))]
#[case(json!({"l2Backend": {"resp": {"host": "h", "port": 65535, "maxCapacityGB": -1}}}))]
#[case(json!({"l2Backend": {"raw": {"type": "fs", "config": {"type": "fs", "x": null}}}}))]
#[case(json!({"l2Backend": {"raw": {"type": "fs"}}, "volumes": [{"name": "l2-master-key"}]}))]
#[case(json!({"coordinator": {"ref": {"name": "fleet"}, "url": ""}}))]
#[case(json!({"coordinator": {"ref": {}, "url": "https://[fd00::1]:9300/base"}}))]
#[case(json!({"injection": {}}))]
#[case(json!({"injection": {"payloadImage": {"repository": "registry.example.com/lmcache/vllm-openai"}}}))]
#[case(json!({"image": {"repository": "registry.example.com:5000/kv/server", "tag": format!("v1@sha256:{}", "0".repeat(64))}}))]
#[case(json!({"image": {"repository": format!("kv/server@sha256:{}", "a".repeat(64))}}))]
#[case(json!({"connection": {"extraConfig": {"lmcache.mp.mq_timeout": 30}}}))]
#[case(json!({"initContainers": [{"name": "lmcache-wait"}]}))]
#[case(json!({"isolatedIPC": true}))]
#[case(json!({"isolatedIPC": false, "image": {"tag": "v0.5.4"}}))]
#[case(json!({"unknownField": {"anything": 1}}))]
#[case(json!({"resourceOverrides": {}}))]
#[case(json!({"pd": {}}))]
#[test_runner::test]
fn a_valid_lmcache_engine(#[case] spec: Value) {
    assert_eq!(faults(Kind::LMCacheEngine, spec), []);
}

#[rstest]
#[case(json!({"server": {"chunkSize": 128}}), "spec.server.chunkSize", Invalid)]
#[case(json!({"server": {"chunkSize": 0}}), "spec.server.chunkSize", Invalid)]
#[case(json!({"blend": {"checkLayer": -1}}), "spec.blend.checkLayer", Invalid)]
#[case(json!({"blend": {"recompRatio": 0}}), "spec.blend.recompRatio", Invalid)]
#[case(json!({"blend": {"recompRatio": 1.5}}), "spec.blend.recompRatio", Invalid)]
#[case(json!({"blend": {"partialBucket": 0}}), "spec.blend.partialBucket", Invalid)]
#[case(json!({"injection": null}), "spec.injection.payloadImage", Required)]
#[case(json!({"injection": {}}), "spec.injection.payloadImage", Required)]
#[case(json!({"injection": "x"}), "spec.injection", TypeInvalid)]
#[case(json!({"injection": {"payloadImage": {"tag": "v1"}}}), "spec.injection.payloadImage.repository", Required)]
#[case(json!({"injection": {"payloadImage": {"repository": "lmcache/vllm-openai"}}}), "spec.injection.payloadImage.repository", Invalid)]
#[case(json!({"injection": {"payloadImage": {"repository": ""}}, "pd": {}}), "spec.injection.payloadImage.repository", Required)]
#[case(json!({"injection": {"payloadImage": {"repository": "a/b"}, "cudagraph": "full"}}), "spec.injection.cudagraph", NotSupported)]
#[case(json!({"eviction": {"policy": "noop"}}), "spec.eviction.policy", NotSupported)]
#[test_runner::test]
fn one_fault_of_a_cacheblend_engine(#[case] spec: Value, #[case] path: &str, #[case] kind: FaultKind) {
    assert_eq!(faults(Kind::CacheBlendEngine, spec), [(path.to_owned(), kind)]);
}

#[rstest]
#[case(json!({}))]
#[case(json!({"injection": null, "pd": {}}))]
#[case(json!({"blend": {}, "server": {}}))]
#[case(json!({"blend": {"recompRatio": 1, "checkLayer": 0, "partialBucket": 1}, "server": {"chunkSize": 256}}))]
// Fields that the kind does not have are pruned by the API server.
#[case(json!({"isolatedIPC": "x", "hostNetwork": 1, "initContainers": 5}))]
#[test_runner::test]
fn a_valid_cacheblend_engine(#[case] spec: Value) {
    assert_eq!(faults(Kind::CacheBlendEngine, spec), []);
}

#[rstest]
#[case(json!({"port": 0}), "spec.port", Invalid)]
#[case(json!({"port": 65536}), "spec.port", Invalid)]
#[case(json!({"replicas": -1}), "spec.replicas", Invalid)]
#[case(json!({"instanceTimeout": 0}), "spec.instanceTimeout", Invalid)]
#[case(json!({"healthCheckInterval": -1}), "spec.healthCheckInterval", Invalid)]
#[case(json!({"evictionCheckInterval": -0.1}), "spec.evictionCheckInterval", Invalid)]
#[case(json!({"evictionRatio": -0.1}), "spec.evictionRatio", Invalid)]
#[case(json!({"evictionRatio": 1.1}), "spec.evictionRatio", Invalid)]
#[case(json!({"triggerWatermark": 0}), "spec.triggerWatermark", Invalid)]
#[case(json!({"triggerWatermark": 1.1}), "spec.triggerWatermark", Invalid)]
#[case(json!({"blendChunkSize": 0}), "spec.blendChunkSize", Invalid)]
#[case(json!({"blendProbeStride": 0}), "spec.blendProbeStride", Invalid)]
#[case(json!({"release": "newest"}), "spec.release", Invalid)]
#[case(json!({"image": {"repository": "a b"}}), "spec.image.repository", Invalid)]
#[case(json!({"prometheus": {"serviceMonitor": {"interval": "30"}}}), "spec.prometheus.serviceMonitor.interval", Invalid)]
#[case(json!({"resourceOverrides": {"limits": {"memory": "64GB"}}}), "spec.resourceOverrides.limits.memory", Invalid)]
#[test_runner::test]
fn one_fault_of_a_coordinator(#[case] spec: Value, #[case] path: &str, #[case] kind: FaultKind) {
    assert_eq!(faults(Kind::LMCacheCoordinator, spec), [(path.to_owned(), kind)]);
}

#[rstest]
#[case(json!({}))]
#[case(json!({"replicas": 0, "healthCheckInterval": 0, "evictionCheckInterval": 0, "evictionRatio": 0, "triggerWatermark": 1}))]
#[case(json!({"port": 1, "blendChunkSize": 1, "blendProbeStride": 1, "release": "v0.5.3"}))]
#[test_runner::test]
fn a_valid_coordinator(#[case] spec: Value) {
    assert_eq!(faults(Kind::LMCacheCoordinator, spec), []);
}

#[rstest]
#[case(json!(null))]
#[case(json!([]))]
#[case(json!({"metadata": {"name": "a"}}))]
#[case(json!({"metadata": {"name": "a"}, "spec": null}))]
#[case(json!({"metadata": {"name": "a"}, "spec": "x"}))]
#[test_runner::test]
fn an_unreadable_spec_is_one_fault(#[case] object: Value) {
    for kind in Kind::ALL {
        let found = validate(kind, &object);
        assert_eq!(
            found.iter().filter(|fault| fault.path.starts_with("spec")).count(),
            1,
            "{kind}: {found:?}"
        );
    }
}

#[test_runner::test]
fn faults_come_in_the_go_operators_order() {
    let spec = json!({
        "coordinator": {"l2EventFlushInterval": -0.5, "heartbeatInterval": 0, "url": "http://a", "ref": {"name": "b"}},
        "l2Backend": {"raw": {"type": ""}, "resp": {"authSecretRef": {"name": ""}, "port": 0, "host": ""}},
        "server": {"port": 80},
        "eviction": {"evictionRatio": 1.5, "triggerWatermark": 0, "policy": "FIFO"},
        "l1": {"sizeGB": 0},
        "prometheus": {"port": 0},
    });
    let paths: Vec<_> = faults(Kind::LMCacheEngine, spec)
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    assert_eq!(
        paths,
        [
            "spec.l1.sizeGB",
            "spec.eviction.policy",
            "spec.eviction.triggerWatermark",
            "spec.eviction.evictionRatio",
            "spec.server.port",
            "spec.l2Backend",
            "spec.l2Backend.resp.host",
            "spec.l2Backend.resp.port",
            "spec.l2Backend.resp.authSecretRef.name",
            "spec.l2Backend.raw.type",
            "spec.coordinator",
            "spec.coordinator.heartbeatInterval",
            "spec.coordinator.l2EventFlushInterval",
            "spec.prometheus.port",
        ]
    );
}

#[test_runner::test]
fn a_cacheblend_engine_has_its_sections_in_the_middle() {
    let spec = json!({
        "l1": {"sizeGB": -3}, "server": {"port": 1000, "chunkSize": 64}, "blend": {"recompRatio": 7, "checkLayer": -2},
        "injection": null, "coordinator": {}, "l2Backend": {}, "eviction": {"evictionRatio": -1},
    });
    let paths: Vec<_> = faults(Kind::CacheBlendEngine, spec)
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    assert_eq!(
        paths,
        [
            "spec.l1.sizeGB",
            "spec.eviction.evictionRatio",
            "spec.server.port",
            "spec.server.chunkSize",
            "spec.blend.checkLayer",
            "spec.blend.recompRatio",
            "spec.injection.payloadImage",
            "spec.l2Backend",
            "spec.coordinator",
        ]
    );
}

/// What was wrong before may stay on an update, so the same value at the same path must give the same fault, and
/// another value another one.
#[rstest]
#[case(json!({"l1": {"sizeGB": -1}}), json!({"l1": {"sizeGB": -2}}))]
#[case(json!({"gpuVendor": "AMD"}), json!({"gpuVendor": "Amd"}))]
#[case(json!({"image": {"tag": "a b"}}), json!({"image": {"tag": "a c"}}))]
#[case(json!({"image": {"tag": format!("{}!", "a".repeat(300))}}), json!({"image": {"tag": format!("{}?", "a".repeat(300))}}))]
#[case(json!({"server": {"port": {"a": 1}}}), json!({"server": {"port": {"a": 2}}}))]
#[case(json!({"resourceOverrides": {"limits": {"cpu": "x"}}}), json!({"resourceOverrides": {"limits": {"cpu": "y"}}}))]
#[case(json!({"connection": {"extraConfig": {"lmcache.mp.port": 1}}}), json!({"connection": {"extraConfig": {"lmcache.mp.port": 2}}}))]
#[test_runner::test]
fn equal_faults_are_equal_values(#[case] left: Value, #[case] right: Value) {
    let of = |spec: &Value| validate(Kind::LMCacheEngine, &object(Kind::LMCacheEngine, spec.clone()));
    assert_eq!(of(&left), of(&left));
    let (left, right) = (of(&left), of(&right));
    assert_eq!((left.len(), right.len()), (1, 1));
    assert_eq!(left[0].path, right[0].path);
    assert_ne!(left[0], right[0]);
}

#[rstest]
#[case(json!({"l1": {"sizeGB": -1}}), "spec.l1.sizeGB: Invalid value: -1: must be greater than 0")]
#[case(json!({"l1": {"sizeGB": -1e-7}}), "spec.l1.sizeGB: Invalid value: -1e-07: must be greater than 0")]
#[case(json!({"server": {"port": 80}}), "spec.server.port: Invalid value: 80: must be in [1024, 65535]")]
#[case(json!({"logLevel": "info"}), r#"spec.logLevel: Unsupported value: "info": supported values: "DEBUG", "INFO", "WARNING", "ERROR""#)]
#[case(json!({"l2Backend": {}}), "spec.l2Backend: Required value: exactly one of resp or raw must be set")]
#[case(json!({"hostIPC": "yes"}), r#"spec.hostIPC: Invalid value: "yes": must be true or false"#)]
#[test_runner::test]
fn faults_read_like_those_of_kubernetes(#[case] spec: Value, #[case] text: &str) {
    let found = validate(Kind::LMCacheEngine, &object(Kind::LMCacheEngine, spec));
    assert_eq!(found.iter().map(ToString::to_string).collect::<Vec<_>>(), [text]);
}

/// What follows from an unreadable value is not reported beside it.
#[test_runner::test]
fn an_unreadable_backend_is_not_called_missing() {
    assert_eq!(
        faults(Kind::LMCacheEngine, json!({"l2Backend": {"raw": 5}})),
        [("spec.l2Backend.raw".to_owned(), TypeInvalid)]
    );
}
