use lmcache_api::FaultKind::{self, Invalid, NotSupported, TypeInvalid};
use rstest::rstest;
use serde_json::json;

use super::*;
use crate::legacy::fields::ENGINE;

fn stored(spec: Value) -> Stored {
    store(State::Newest, &ENGINE, &json!({ "spec": spec }))
}

/// What Kubernetes 1.36 answers for each value; a type that is wrong does not hide what else is.
#[rstest]
#[case::word(json!({"logLevel": "LOUD"}), &[(NotSupported, "spec.logLevel")], true)]
#[case::word_of_another_type(json!({"logLevel": 5}), &[(NotSupported, "spec.logLevel"), (TypeInvalid, "spec.logLevel")], false)]
#[case::list_for_a_word(json!({"gpuVendor": ["amd"]}), &[(NotSupported, "spec.gpuVendor"), (TypeInvalid, "spec.gpuVendor")], false)]
#[case::fraction(json!({"server": {"port": 5555.5}}), &[(TypeInvalid, "spec.server.port")], false)]
#[case::fraction_out_of_bounds(json!({"server": {"port": 80.5}}), &[(Invalid, "spec.server.port"), (TypeInvalid, "spec.server.port")], false)]
#[case::text_for_an_integer(json!({"server": {"port": "80"}}), &[(TypeInvalid, "spec.server.port")], false)]
#[case::wider_than_an_int32(json!({"server": {"chunkSize": 4294967296_i64}}), &[(Invalid, "spec.server.chunkSize")], false)]
#[case::wider_than_an_int64(json!({"server": {"port": 1e20}}), &[(Invalid, "spec.server.port"), (TypeInvalid, "spec.server.port")], false)]
#[case::whole_float(json!({"server": {"port": 5556.0}}), &[], true)]
#[case::null_in_a_list(json!({"extraArgs": ["--a", null]}), &[(TypeInvalid, "spec.extraArgs[1]")], false)]
#[case::number_in_a_map(json!({"nodeSelector": {"example.com/a": 1}}), &[(TypeInvalid, "spec.nodeSelector.example.com/a")], false)]
#[case::no_quantity(json!({"resourceOverrides": {"limits": {"cpu": "two"}}}), &[(Invalid, "spec.resourceOverrides.limits.cpu")], false)]
fn faults(#[case] more: Value, #[case] expected: &[(FaultKind, &str)], #[case] readable: bool) {
    let mut spec = json!({"l1": {"sizeGB": 1}});
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let stored = stored(spec);
    let mut found: Vec<_> = stored
        .faults
        .iter()
        .map(|fault| (fault.kind, fault.path.as_str()))
        .collect();
    found.sort_by_key(|(kind, _)| format!("{kind:?}"));
    assert_eq!(found, expected);
    assert_eq!(stored.readable, readable);
}

#[test]
fn what_is_stored() {
    let Stored { spec, faults, .. } = stored(json!({
        "l1": {"sizeGB": 1, "later": 2}, "server": {"port": null, "maxWorkers": 2.0}, "image": {}, "eviction": null,
        "podLabels": {"a": null, "b": ""}, "l2Backend": {"raw": {"type": "fs", "config": {"a": null, "b": {"c": null}}}},
    }));
    assert_eq!(faults, []);
    assert_eq!(spec["l1"], json!({"sizeGB": 1}));
    assert_eq!(
        spec["server"],
        json!({"port": 5555, "chunkSize": 256, "maxWorkers": 2, "hashAlgorithm": "blake3", "httpPort": 8080})
    );
    assert_eq!(spec["image"]["repository"], "lmcache/vllm-openai");
    assert_eq!(spec["podLabels"], json!({"b": ""}));
    assert_eq!(spec["l2Backend"]["raw"]["config"], json!({"b": {"c": null}}));
    assert!(spec.get("eviction").is_none());
    assert_eq!((&spec["hostIPC"], &spec["logLevel"]), (&json!(false), &json!("INFO")));
}
