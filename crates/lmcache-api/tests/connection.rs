//! The connection JSON and the IPC mode.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test helpers"
)]

#[cfg(not(target_arch = "wasm32"))]
use core::prelude::v1 as test_runner;
use lmcache_api::IpcMode::{HostIPC, HostShm, Isolated};
use lmcache_api::{
    CONNECTION_KEY, CONNECTION_KEY_DECODER, CONNECTION_KEY_PREFILLER, EngineRef, EngineSpec, IpcMode, Kind, PdRole,
    connection_config, connection_key, decode, ipc_mode,
};
use rstest::rstest;
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
mod test_runner {
    pub use wasm_bindgen_test::wasm_bindgen_test as test;
}

fn config(kind: Kind, spec: Value, mode: IpcMode) -> lmcache_api::ConnectionConfig {
    let decoded = decode(kind, &json!({"metadata": {}, "spec": spec}));
    let spec = decoded.object.engine().unwrap();
    connection_config(
        &EngineRef {
            name: "cache-a",
            namespace: "team-a",
            spec,
        },
        mode,
        "cluster.local",
    )
}

const PLAIN: &str = r#"{
  "kv_connector": "LMCacheMPConnector",
  "kv_connector_extra_config": {
    "lmcache.mp.host": "tcp://cache-a.team-a.svc.cluster.local",
    "lmcache.mp.port": "5555"
  },
  "kv_connector_module_path": "lmcache.integration.vllm.lmcache_mp_connector",
  "kv_role": "kv_both"
}"#;

#[rstest]
#[case(json!({}), HostIPC)]
#[case(json!({"server": {}}), HostShm)]
#[case(json!({"server": {"port": 5555}, "hostIPC": true}), HostIPC)]
#[test_runner::test]
fn plain(#[case] spec: Value, #[case] mode: IpcMode) {
    let config = config(Kind::LMCacheEngine, spec, mode);
    assert_eq!(config.plain, PLAIN);
    assert_eq!((config.prefiller, config.decoder), (None, None));
}

#[test_runner::test]
fn cacheblend() {
    let text = r#"{
  "kv_connector": "CBKVConnector",
  "kv_connector_extra_config": {
    "cb.check_layer": 3,
    "cb.partial_bucket": 128,
    "cb.recomp_ratio": 1,
    "lmcache.mp.host": "tcp://cache-a.team-a.svc.cluster.local",
    "lmcache.mp.port": "6000"
  },
  "kv_connector_module_path": "lmcache_cacheblend.connector",
  "kv_role": "kv_both"
}"#;
    let spec = json!({"server": {"port": 6000}, "blend": {"checkLayer": 3, "recompRatio": 1.0, "partialBucket": 128}});
    // Even where the mode says so: the plugin has no isolated mode.
    assert_eq!(config(Kind::CacheBlendEngine, spec, Isolated).plain, text);
}

#[test_runner::test]
fn cacheblend_without_defaults_is_cacheblend_with_defaults() {
    let mut decoded = decode(Kind::CacheBlendEngine, &json!({"spec": {}}));
    let render = |spec: &dyn EngineSpec| {
        connection_config(
            &EngineRef {
                name: "a",
                namespace: "b",
                spec,
            },
            HostIPC,
            "cluster.local",
        )
        .plain
    };
    let before = render(decoded.object.engine().unwrap());
    decoded.object.set_defaults();
    assert_eq!(before, render(decoded.object.engine().unwrap()));
    assert!(
        before.contains("\"cb.check_layer\": 1,\n    \"cb.recomp_ratio\": 0.15,"),
        "{before}"
    );
}

#[test_runner::test]
fn isolated_and_extra_keys_and_cluster_domain() {
    let spec = json!({"connection": {"extraConfig": {
        "lmcache.mp.mq_timeout": 30.0, "a<b": {"z": 1, "y": null}, "none": null,
        "lmcache.mp.host": "tcp://elsewhere", "lmcache.mp.port": 1,
    }}});
    let decoded = decode(Kind::LMCacheEngine, &json!({"spec": spec}));
    let engine = EngineRef {
        name: "cache-a",
        namespace: "team-a",
        spec: decoded.object.engine().unwrap(),
    };
    let text = r#"{
  "kv_connector": "LMCacheMPConnector",
  "kv_connector_extra_config": {
    "a\u003cb": {
      "y": null,
      "z": 1
    },
    "lmcache.mp.host": "tcp://cache-a.team-a.svc.corp.example",
    "lmcache.mp.isolated_ipc": true,
    "lmcache.mp.mq_timeout": 30,
    "lmcache.mp.port": "5555"
  },
  "kv_connector_module_path": "lmcache.integration.vllm.lmcache_mp_connector",
  "kv_role": "kv_both"
}"#;
    assert_eq!(connection_config(&engine, Isolated, "corp.example").plain, text);
    assert!(
        connection_config(&engine, Isolated, "")
            .plain
            .contains("svc.cluster.local\"")
    );
}

#[test_runner::test]
fn roles_of_an_lmcache_engine() {
    let spec = json!({"pd": {"nixlLoadFailurePolicy": "ignore", "enforceHandshakeCompat": false}});
    let config = config(Kind::LMCacheEngine, spec, Isolated);
    let decoder = r#"{
  "kv_connector": "MultiConnector",
  "kv_connector_extra_config": {
    "connectors": [
      {
        "kv_connector": "NixlConnector",
        "kv_connector_extra_config": {
          "enforce_handshake_compat": false
        },
        "kv_load_failure_policy": "ignore",
        "kv_role": "kv_consumer"
      },
      {
        "kv_connector": "LMCacheMPConnector",
        "kv_connector_extra_config": {
          "lmcache.mp.host": "tcp://cache-a.team-a.svc.cluster.local",
          "lmcache.mp.isolated_ipc": true,
          "lmcache.mp.port": "5555"
        },
        "kv_connector_module_path": "lmcache.integration.vllm.lmcache_mp_connector",
        "kv_role": "kv_both"
      }
    ]
  },
  "kv_role": "kv_consumer"
}"#;
    assert_eq!(config.decoder.as_deref(), Some(decoder));
    assert_eq!(config.prefiller, Some(decoder.replace("kv_consumer", "kv_producer")));
    let keys: Vec<_> = config.data().into_keys().collect();
    assert_eq!(keys, [CONNECTION_KEY_DECODER, CONNECTION_KEY_PREFILLER, CONNECTION_KEY]);
    assert_eq!(config.for_role(Some(PdRole::Decoder)), Some(decoder));
    assert_eq!(
        connection_key(Some(PdRole::Prefiller)),
        "kv-transfer-config-prefiller.json"
    );
}

#[test_runner::test]
fn a_cacheblend_decoder_only_receives() {
    let config = config(Kind::CacheBlendEngine, json!({"pd": {}}), HostIPC);
    let decoder = "{\n  \"kv_connector\": \"NixlConnector\",\n  \"kv_load_failure_policy\": \"fail\",\n  \"kv_role\": \"kv_consumer\"\n}";
    assert_eq!(config.decoder.as_deref(), Some(decoder));
    let prefiller: Value = serde_json::from_str(config.prefiller.as_deref().unwrap()).unwrap();
    let connectors = &prefiller["kv_connector_extra_config"]["connectors"];
    assert_eq!(connectors[0]["kv_role"], "kv_producer");
    assert_eq!(connectors[1]["kv_connector"], "CBKVConnector");
}

#[rstest]
// isolatedIPC, hostIPC, vendor -> mode under an install default of HostIPC, HostShm, Isolated
#[case(json!({}), [HostIPC, HostShm, Isolated])]
#[case(json!({"gpuVendor": "amd"}), [HostIPC, HostShm, HostShm])]
#[case(json!({"hostIPC": true}), [HostIPC, HostIPC, HostIPC])]
#[case(json!({"hostIPC": false}), [Isolated, Isolated, Isolated])]
#[case(json!({"hostIPC": false, "gpuVendor": "amd"}), [HostShm, HostShm, HostShm])]
#[case(json!({"isolatedIPC": true}), [Isolated, Isolated, Isolated])]
#[case(json!({"isolatedIPC": true, "hostIPC": true}), [Isolated, Isolated, Isolated])]
#[case(json!({"isolatedIPC": true, "gpuVendor": "amd"}), [Isolated, Isolated, Isolated])]
#[case(json!({"isolatedIPC": false}), [HostShm, HostShm, HostShm])]
#[case(json!({"isolatedIPC": false, "hostIPC": false}), [HostShm, HostShm, HostShm])]
#[case(json!({"isolatedIPC": false, "hostIPC": true}), [HostIPC, HostIPC, HostIPC])]
#[case(json!({"isolatedIPC": null, "hostIPC": null}), [HostIPC, HostShm, Isolated])]
#[test_runner::test]
fn ipc_mode_of_an_lmcache_engine(#[case] spec: Value, #[case] expected: [IpcMode; 3]) {
    assert_eq!(modes(Kind::LMCacheEngine, &spec), expected);
}

#[rstest]
#[case(json!({}), [HostIPC, HostShm, HostShm])]
#[case(json!({"hostIPC": true}), [HostIPC, HostIPC, HostIPC])]
#[case(json!({"hostIPC": false}), [HostShm, HostShm, HostShm])]
// The kind has no such field.
#[case(json!({"isolatedIPC": true}), [HostIPC, HostShm, HostShm])]
#[test_runner::test]
fn ipc_mode_of_a_cacheblend_engine(#[case] spec: Value, #[case] expected: [IpcMode; 3]) {
    assert_eq!(modes(Kind::CacheBlendEngine, &spec), expected);
}

fn modes(kind: Kind, spec: &Value) -> [IpcMode; 3] {
    let decoded = decode(kind, &json!({"spec": spec}));
    [HostIPC, HostShm, Isolated].map(|default| ipc_mode(decoded.object.engine().unwrap(), default))
}

#[test_runner::test]
fn ipc_mode_is_written_as_one_word() {
    for mode in [HostIPC, HostShm, Isolated] {
        assert_eq!(serde_json::to_value(mode).unwrap(), json!(mode.to_string()));
        assert_eq!(mode.to_string().parse::<IpcMode>().unwrap(), mode);
    }
    assert!("hostipc".parse::<IpcMode>().is_err());
}
