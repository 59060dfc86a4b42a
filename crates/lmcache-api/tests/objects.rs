//! Reading, defaulting, images, releases and warnings.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test helpers"
)]

#[cfg(not(target_arch = "wasm32"))]
use core::prelude::v1 as test_runner;
use lmcache_api::{
    AnyObject, FaultKind, ImageSpec, Kind, LMCacheEngineSpec, Release, decode, image_refs, server_release, warnings,
};
use rstest::rstest;
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
mod test_runner {
    pub use wasm_bindgen_test::wasm_bindgen_test as test;
}

fn engine(spec: Value) -> LMCacheEngineSpec {
    match decode(Kind::LMCacheEngine, &json!({"spec": spec})).object {
        AnyObject::LMCacheEngine(object) => object.spec,
        other => panic!("{other:?}"),
    }
}

#[rstest]
#[case(json!({"l1": {"sizeGB": 60.0}}))]
#[case(json!({"nodeSelector": {}, "server": {}, "prometheus": {"serviceMonitor": {}}, "resourceOverrides": {}, "affinity": {}}))]
#[case(json!({"runtimeClassName": "", "extraArgs": [], "env": [], "pd": {}, "injection": {"payloadImage": {}}}))]
#[case(json!({"hostIPC": false, "isolatedIPC": true, "coordinator": {"advertiseIP": "10.0.0.1", "ref": {"name": ""}}}))]
#[case(json!({"env": [{"name": "A", "value": "", "future": [1.0, 10_000_000_000_000_000_000_u64]}], "resourceOverrides": {"limits": {"cpu": 4}}}))]
#[test_runner::test]
fn blocks_survive_a_round_trip(#[case] spec: Value) {
    let typed = engine(spec.clone());
    assert_eq!(serde_json::to_value(&typed).unwrap(), spec);
    assert_eq!(serde_json::from_value::<LMCacheEngineSpec>(spec).unwrap(), typed);
}

#[test_runner::test]
fn null_counts_as_absent() {
    let spec = json!({"nodeSelector": null, "server": {"port": null}, "podLabels": {"a": null, "b": "c"},
        "l2Backend": {"raw": {"type": "fs", "config": {"a": null, "b": {"c": null}}}}});
    let expected = json!({"server": {}, "podLabels": {"b": "c"}, "l2Backend": {"raw": {"type": "fs", "config": {"b": {"c": null}}}}});
    assert_eq!(serde_json::to_value(engine(spec)).unwrap(), expected);
}

#[test_runner::test]
fn what_cannot_be_read_is_left_out_and_named() {
    let spec = json!({"l1": {"sizeGB": 60}, "server": {"port": 80, "httpPort": "x", "chunkSize": 512.0},
        "gpuVendor": "intel", "extraArgs": ["a", 1, "b"], "env": "none", "hostIPC": true});
    let decoded = decode(
        Kind::LMCacheEngine,
        &json!({"metadata": {"name": 5, "namespace": "n"}, "spec": spec}),
    );
    let faults: Vec<_> = decoded
        .faults
        .iter()
        .map(|fault| (fault.path.as_str(), fault.kind))
        .collect();
    assert_eq!(
        faults,
        [
            ("spec.server.port", FaultKind::Invalid),
            ("spec.server.httpPort", FaultKind::TypeInvalid),
            ("spec.gpuVendor", FaultKind::NotSupported),
            ("spec.env", FaultKind::TypeInvalid),
            ("spec.extraArgs[1]", FaultKind::TypeInvalid),
        ]
    );
    assert_eq!(
        (
            decoded.object.metadata().name.as_deref(),
            decoded.object.metadata().namespace.as_deref()
        ),
        (None, Some("n"))
    );
    let AnyObject::LMCacheEngine(object) = decoded.object else {
        panic!("kind")
    };
    let left = json!({"l1": {"sizeGB": 60.0}, "server": {"chunkSize": 512}, "extraArgs": ["a", "b"], "hostIPC": true});
    assert_eq!(serde_json::to_value(object.spec).unwrap(), left);
}

/// What only admission refuses is kept: the object may be stored already.
#[test_runner::test]
fn what_only_breaks_a_limit_is_kept() {
    let decoded = decode(
        Kind::CacheBlendEngine,
        &json!({"spec": {"l1": {"sizeGB": 1}, "blend": {"recompRatio": 7}}}),
    );
    assert_eq!(decoded.faults, []);
    assert_eq!(
        decoded.object.engine().unwrap().blend().unwrap().recomp_ratio,
        Some(7.0)
    );
}

#[test_runner::test]
fn metadata_is_read() {
    let metadata = json!({"name": "a", "generateName": "a-", "namespace": "n", "uid": "u", "generation": 3,
        "labels": {"x": "y", "bad": 1}, "annotations": {}, "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["f", 1]});
    let decoded = decode(Kind::LMCacheCoordinator, &json!({"metadata": metadata, "spec": {}}));
    let read = decoded.object.metadata();
    assert_eq!(read.uid.as_deref(), Some("u"));
    assert_eq!(read.generation, Some(3));
    assert_eq!(read.labels.as_ref().unwrap().len(), 1);
    assert!(read.annotations.as_ref().unwrap().is_empty());
    assert_eq!(read.deletion_timestamp.as_deref(), Some("2026-01-01T00:00:00Z"));
    assert_eq!(read.finalizers, ["f"]);
}

fn defaulted(kind: Kind, spec: Value) -> Value {
    let mut object = decode(kind, &json!({"spec": spec})).object;
    object.set_defaults();
    let once = object.clone();
    object.set_defaults();
    assert_eq!(once, object, "defaults are idempotent");
    match object {
        AnyObject::LMCacheEngine(object) => serde_json::to_value(object.spec).unwrap(),
        AnyObject::CacheBlendEngine(object) => serde_json::to_value(object.spec).unwrap(),
        AnyObject::LMCacheCoordinator(object) => serde_json::to_value(object.spec).unwrap(),
    }
}

#[rstest]
#[case(Kind::LMCacheEngine, json!({}), json!({"logLevel": "INFO", "gpuVendor": "nvidia", "nodeSelector": {"nvidia.com/gpu.present": "true"}}))]
#[case(Kind::LMCacheEngine, json!({"nodeSelector": {}}), json!({"logLevel": "INFO", "gpuVendor": "nvidia", "nodeSelector": {}}))]
#[case(Kind::LMCacheEngine, json!({"gpuVendor": "amd", "logLevel": "DEBUG"}), json!({"logLevel": "DEBUG", "gpuVendor": "amd"}))]
#[case(Kind::LMCacheEngine, json!({"gpuVendor": "amd", "injection": {"payloadImage": {}}}), json!({"logLevel": "INFO", "gpuVendor": "amd", "injection": {"payloadImage": {}}}))]
#[case(Kind::CacheBlendEngine, json!({"gpuVendor": "amd"}), json!({"logLevel": "INFO", "gpuVendor": "amd", "server": {"chunkSize": 256}, "blend": {"checkLayer": 1, "recompRatio": 0.15}, "injection": {"cudagraph": "eager"}}))]
#[case(Kind::CacheBlendEngine, json!({"gpuVendor": "amd", "server": {"chunkSize": 64}, "blend": {"checkLayer": 0}, "injection": {"payloadImage": {}, "cudagraph": "piecewise"}}), json!({"logLevel": "INFO", "gpuVendor": "amd", "server": {"chunkSize": 64}, "blend": {"checkLayer": 0, "recompRatio": 0.15}, "injection": {"payloadImage": {"tag": "latest", "pullPolicy": "IfNotPresent"}, "cudagraph": "piecewise"}}))]
#[case(Kind::LMCacheCoordinator, json!({}), json!({"logLevel": "INFO", "replicas": 1}))]
#[case(Kind::LMCacheCoordinator, json!({"replicas": 0, "logLevel": "ERROR"}), json!({"logLevel": "ERROR", "replicas": 0}))]
#[test_runner::test]
fn defaults(#[case] kind: Kind, #[case] spec: Value, #[case] expected: Value) {
    assert_eq!(defaulted(kind, spec), expected);
}

#[rstest]
#[case("v0.5.3", Some("0.5.3"))]
#[case("0.5.3", Some("0.5.3"))]
#[case("v0.5.3-cu129", Some("0.5.3"))]
#[case("v0.5.3.post1", Some("0.5.3"))]
#[case("0.5.3rc1", Some("0.5.3"))]
#[case("v0.10.12@sha256:00", Some("0.10.12"))]
#[case("latest", None)]
#[case("nightly", None)]
#[case("nightly-2026-08-01", None)]
#[case("v0.5", None)]
#[case("v0", None)]
#[case("", None)]
#[case("sha256:0123", None)]
#[case("4f2d1a9", None)]
#[case("2026.8.1", None)]
#[case("0.5.99999999999", None)]
#[case("v0.5.3 ", None)]
#[case("version-0.5.3", None)]
#[test_runner::test]
fn releases(#[case] tag: &str, #[case] release: Option<&str>) {
    assert_eq!(
        Release::from_tag(tag).map(|release| release.to_string()).as_deref(),
        release
    );
}

#[test_runner::test]
fn releases_are_ordered_by_number() {
    let read = |tag| Release::from_tag(tag).unwrap();
    assert!(read("0.5.10") > read("0.5.9") && read("0.10.0") > read("0.9.9") && read("1.0.0") > read("0.99.0"));
}

#[rstest]
#[case(json!({}), None)]
#[case(json!({"image": {"tag": "v0.5.3"}}), Some("0.5.3"))]
#[case(json!({"image": {"tag": "v0.5.3"}, "server": {"release": "0.5.5"}}), Some("0.5.5"))]
#[case(json!({"image": {"tag": "v0.5.3"}, "server": {"release": "own build"}}), None)]
#[case(json!({"image": {"repository": "a/b@sha256:00", "tag": "v0.5.3"}}), None)]
#[case(json!({"image": {"repository": "reg:5000/a/b:v0.5.4@sha256:00", "tag": "v0.5.3"}}), Some("0.5.4"))]
#[case(json!({"image": {"repository": "a/b", "tag": "v0.5.3@sha256:00"}}), Some("0.5.3"))]
#[test_runner::test]
fn release_of_the_server(#[case] spec: Value, #[case] release: Option<&str>) {
    assert_eq!(
        server_release(&engine(spec))
            .map(|release| release.to_string())
            .as_deref(),
        release
    );
}

#[rstest]
#[case(None, None, "lmcache/vllm-openai:latest")]
#[case(Some("a/b"), None, "a/b:latest")]
#[case(None, Some("v1"), "lmcache/vllm-openai:v1")]
#[case(Some("a/b"), Some("v1@sha256:00"), "a/b:v1@sha256:00")]
#[case(Some("a/b@sha256:00"), Some("latest"), "a/b@sha256:00")]
#[test_runner::test]
fn references(#[case] repository: Option<&str>, #[case] tag: Option<&str>, #[case] expected: &str) {
    let image = ImageSpec {
        repository: repository.map(Into::into),
        tag: tag.map(Into::into),
        pull_policy: None,
    };
    assert_eq!(image.reference(lmcache_api::DEFAULT_REPOSITORY), expected);
}

#[test_runner::test]
fn images_in_effect() {
    let refs = |kind, spec: Value| -> Vec<(String, String, Option<String>, bool)> {
        image_refs(&decode(kind, &json!({"spec": spec})).object)
            .into_iter()
            .map(|image| (image.tag_path, image.repository, image.tag, image.floating))
            .collect()
    };
    let image = |path: &str, repository: &str, tag: Option<&str>, floating| {
        (path.to_owned(), repository.to_owned(), tag.map(str::to_owned), floating)
    };
    assert_eq!(
        refs(Kind::LMCacheEngine, json!({})),
        [image("spec.image.tag", "lmcache/vllm-openai", Some("latest"), true)]
    );
    assert_eq!(
        refs(
            Kind::CacheBlendEngine,
            json!({"image": {"repository": "a/b@sha256:00", "tag": "v1"}, "injection": {"payloadImage": {"repository": "c", "tag": "v2"}}})
        ),
        [
            image("spec.image.tag", "a/b", None, false),
            image("spec.injection.payloadImage.tag", "c", Some("v2"), false)
        ]
    );
    assert_eq!(
        refs(Kind::LMCacheCoordinator, json!({"image": {"tag": "v1"}})),
        [image("spec.image.tag", "lmcache/vllm-openai", Some("v1"), false)]
    );
    let containers =
        json!([{"image": "r:5000/x"}, {"image": "r:5000/x:v1@sha256:00"}, {"name": "none"}, {"image": "y:nightly"}]);
    assert_eq!(
        refs(
            Kind::LMCacheEngine,
            json!({"image": {"tag": "v1"}, "initContainers": containers})
        )[1..],
        [
            image("spec.initContainers[0].image", "r:5000/x", Some("latest"), true),
            image("spec.initContainers[1].image", "r:5000/x", Some("v1"), false),
            image("spec.initContainers[3].image", "y", Some("nightly"), true)
        ]
    );
}

#[rstest]
#[case("x/y", "x/y", None)]
#[case("x/y:v1", "x/y", Some("v1"))]
#[case("x/y:v1@sha256:ab", "x/y", Some("v1"))]
#[case("x/y@sha256:ab", "x/y", None)]
#[case("host:5000/y", "host:5000/y", None)]
#[case("host:5000/y:v1", "host:5000/y", Some("v1"))]
#[case("", "", None)]
#[test_runner::test]
fn repository_and_tag(#[case] reference: &str, #[case] repository: &str, #[case] tag: Option<&str>) {
    assert_eq!(lmcache_api::image_parts(reference), (repository, tag));
}

#[test_runner::test]
fn the_trait_reads_both_kinds() {
    let spec = json!({"injection": {"payloadImage": {"repository": "a/b"}, "imagePullSecrets": [{"name": "s"}], "targetContainer": "vllm"},
        "server": {"port": 6000}, "gpuVendor": "amd", "hostIPC": true, "extraArgs": ["-v"], "l1": {"sizeGB": 2}, "pd": {}});
    for kind in [Kind::LMCacheEngine, Kind::CacheBlendEngine] {
        let decoded = decode(kind, &json!({"spec": spec}));
        let engine = decoded.object.engine().unwrap();
        assert_eq!(engine.kind(), kind);
        assert_eq!(engine.payload_image().unwrap().repository.as_deref(), Some("a/b"));
        assert_eq!(engine.payload_pull_secrets()[0].name(), Some("s"));
        assert_eq!(engine.target_container(), Some("vllm"));
        assert_eq!(engine.server().unwrap().port, Some(6000));
        assert_eq!((engine.host_ipc(), engine.isolated_ipc()), (Some(true), None));
        assert_eq!(engine.extra_args(), ["-v"]);
        assert_eq!(engine.l1().unwrap().size_gb, Some(2.0));
        assert!(engine.pd().is_some() && engine.image().is_none() && engine.connection().is_none());
    }
}

const PINNED: &str = "v0.5.5";

/// A quiet engine with members of `spec` replaced.
fn warned(kind: Kind, name: &str, spec: Value) -> Vec<String> {
    let mut base = json!({"l1": {"sizeGB": 60}, "image": {"tag": PINNED}});
    base.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    warnings(kind, &json!({"metadata": {"name": name}, "spec": base}))
}

#[rstest]
#[case(json!({}), None)]
#[case(json!({"image": {}}), Some("spec.image is lmcache/vllm-openai:latest"))]
#[case(json!({"image": null}), Some("spec.image is lmcache/vllm-openai:latest"))]
#[case(json!({"image": {"repository": "a/b", "tag": "nightly"}}), Some("spec.image is a/b:nightly"))]
#[case(json!({"image": {"tag": "latest-cu129"}}), Some("spec.image is lmcache/vllm-openai:latest-cu129"))]
#[case(json!({"image": {"tag": "nightly-2026-08-01"}}), None)]
#[case(json!({"image": {"tag": "latest@sha256:00"}}), None)]
#[case(json!({"image": {"repository": "a/b@sha256:00"}}), None)]
#[case(json!({"injection": {"payloadImage": {"repository": "a/b"}}}), Some("spec.injection.payloadImage is a/b:latest"))]
#[case(json!({"injection": {"payloadImage": {"repository": "a/b", "tag": PINNED}}}), None)]
#[case(json!({"injection": {"payloadImage": {"repository": "a/b", "tag": "v0.5.3"}}}), Some("spec.injection.payloadImage is release 0.5.3 but the server is 0.5.5"))]
#[case(json!({"nodeSelector": {}}), Some("spec.nodeSelector has no key about GPUs"))]
#[case(json!({"nodeSelector": {"pool": "a"}}), Some("spec.nodeSelector has no key about GPUs"))]
#[case(json!({"nodeSelector": {"cloud.google.com/gke-accelerator": "h100"}}), None)]
#[case(json!({"gpuVendor": "amd"}), Some("spec.nodeSelector is not set"))]
#[case(json!({"gpuVendor": "amd", "nodeSelector": {"pool": "mi300"}}), None)]
#[case(json!({"resourceOverrides": {"limits": {"memory": "32Gi"}}}), Some("spec.resourceOverrides.limits.memory 32Gi is below spec.l1.sizeGB 60"))]
#[case(json!({"resourceOverrides": {"limits": {"memory": 1_000_000}}}), Some("spec.resourceOverrides.limits.memory 1000000 is below"))]
#[case(json!({"resourceOverrides": {"limits": {"memory": "60G"}}}), None)]
#[case(json!({"resourceOverrides": {"requests": {"memory": "1Gi"}}}), None)]
#[case(json!({"server": {"chunkSize": 100}}), Some("spec.server.chunkSize 100 is no multiple of 16"))]
#[case(json!({"server": {"chunkSize": 512}}), None)]
#[case(json!({"podLabels": {"app.kubernetes.io/name": "mine", "team": "a"}}), Some("spec.podLabels[app.kubernetes.io/name] is ignored"))]
#[test_runner::test]
fn warnings_of_an_engine(#[case] spec: Value, #[case] beginning: Option<&str>) {
    let found = warned(Kind::LMCacheEngine, "cache-a", spec);
    assert_eq!(found.len(), usize::from(beginning.is_some()), "{found:?}");
    assert!(
        found
            .iter()
            .all(|warning| warning.starts_with(beginning.unwrap_or_default())),
        "{found:?}"
    );
}

#[rstest]
#[case(Kind::LMCacheEngine, "vllm", Some("VLLM_*"))]
#[case(Kind::LMCacheEngine, "vllm-cache", Some("VLLM_*"))]
#[case(Kind::CacheBlendEngine, "lmcache", Some("LMCACHE_*"))]
#[case(Kind::CacheBlendEngine, "lmcache-a", Some("LMCACHE_*"))]
#[case(Kind::LMCacheEngine, "vllmcache", None)]
#[case(Kind::LMCacheEngine, "my-vllm", None)]
#[case(Kind::LMCacheCoordinator, "vllm", Some("VLLM_*"))]
#[case(Kind::LMCacheCoordinator, "lmcache-coordinator", None)]
#[test_runner::test]
fn names_that_make_variables(#[case] kind: Kind, #[case] name: &str, #[case] variables: Option<&str>) {
    let found = warned(kind, name, json!({}));
    assert_eq!(found.len(), usize::from(variables.is_some()), "{found:?}");
    assert!(
        found
            .iter()
            .all(|warning| warning.contains(variables.unwrap_or_default())),
        "{found:?}"
    );
}

#[test_runner::test]
fn warnings_fit_into_a_header() {
    let long = "é\n".repeat(500);
    for warning in warned(
        Kind::LMCacheEngine,
        "vllm",
        json!({"image": {"repository": long}, "nodeSelector": {}}),
    ) {
        assert!(
            warning.len() <= 256 && warning.bytes().all(|byte| (0x20..0x7f).contains(&byte)),
            "{warning}"
        );
    }
}
