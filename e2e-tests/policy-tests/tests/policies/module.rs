//! The modules as files: size and metadata.

use policy_host::metadata::remove_custom_section;
use policy_tests::{POLICIES, load, module};

/// Largest policy, in bytes. Every request makes an instance of it, and every PolicyServer holds it in memory.
const MAX_BYTES: usize = 400_000;

#[test]
fn no_policy_is_larger_than_400_kilobytes() {
    for policy in POLICIES {
        let wasm =
            std::fs::read(module(policy)).unwrap_or_else(|error| panic!("{policy}: {error}: run `make build` first"));
        let bare = remove_custom_section(&wasm, "io.kubewarden.metadata").unwrap();
        assert!(bare.len() <= MAX_BYTES, "{policy}: {} bytes", bare.len());
    }
}

#[test]
fn the_metadata_says_what_the_policies_need_and_no_more() {
    for (name, mutating, audit, reads) in [
        (
            "engine-validation",
            false,
            true,
            &["CacheBlendEngine", "LMCacheCoordinator", "LMCacheEngine"][..],
        ),
        (
            "connection-injection",
            true,
            false,
            &["ConfigMap", "LMCacheEngine", "Namespace"],
        ),
        (
            "payload-staging",
            true,
            false,
            &["ConfigMap", "LMCacheEngine", "Namespace"],
        ),
        (
            "cacheblend-injection",
            true,
            false,
            &["CacheBlendEngine", "ConfigMap", "Namespace"],
        ),
        (
            "pod-injection",
            true,
            false,
            &["CacheBlendEngine", "ConfigMap", "LMCacheEngine", "Namespace"],
        ),
        (
            "injection-guard",
            false,
            false,
            &["CacheBlendEngine", "ConfigMap", "LMCacheEngine"],
        ),
        (
            "workload-preflight",
            false,
            false,
            &["CacheBlendEngine", "ConfigMap", "LMCacheEngine", "Namespace"],
        ),
    ] {
        assert!(POLICIES.contains(&name));
        let policy = load(name).unwrap();
        let metadata = serde_json::to_value(policy.metadata().expect("annotated")).unwrap();
        assert_eq!(metadata["mutating"], mutating, "{name}");
        assert_eq!(metadata["backgroundAudit"], audit, "{name}");
        assert_eq!(
            metadata["hostCapabilities"],
            serde_json::json!(["kubernetes/get_resource"]),
            "{name}"
        );
        let mut kinds: Vec<&str> = metadata["contextAwareResources"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|resource| resource["kind"].as_str())
            .collect();
        kinds.sort_unstable();
        assert_eq!(kinds, reads, "{name}");
    }
}

#[test]
fn the_protocol_is_version_1() {
    for name in POLICIES {
        assert_eq!(load(name).unwrap().protocol_version().unwrap(), "v1");
    }
}
