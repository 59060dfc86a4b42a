//! The guard against the Go operator: Pods that it wired may come from a cluster where both run, or be created anew from a
//! copy.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]
#![cfg(not(target_arch = "wasm32"))]

mod recordings;

use policy_kit::cluster::Cluster;
use policy_kit::guard;
use policy_kit::request::Request;
use recordings::{Recorded, document, documents, entries};
use serde_json::{Value, json};

const STAMPS: [&str; 3] = [
    "lmcache.ai/lmcache-injected",
    "lmcache.ai/lmcache-payload-staged",
    "lmcache.ai/cacheblend-injected",
];

/// The Pods that are refused, and what they lack.
const REFUSED: [(&str, &str); 13] = [
    // The stamp stood in the template, and the operator takes a stamped Pod for one that it has wired.
    ("july/cacheblend-already-stamped", "no container carries CBKVConnector"),
    // It adds a flag where none of that spelling is, and does not see that the user's opposite comes later.
    (
        "july/cacheblend-bare-flag-then-opposite",
        "runs without --no-enable-chunked-prefill",
    ),
    // It stamps without a connection where the ConfigMap has none.
    (
        "july/cacheblend-configmap-without-key",
        "no container carries CBKVConnector",
    ),
    // Something else is mounted where the code belongs.
    (
        "july/cacheblend-mount-path-taken",
        "does not mount volume cb-plugin at /cb-plugin",
    ),
    // As above: the stamp of the template; no connection to add.
    (
        "july/lmcache-already-stamped",
        "no container carries LMCacheMPConnector",
    ),
    (
        "july/lmcache-args-empty-no-json",
        "no container carries LMCacheMPConnector",
    ),
    // Edited by hand, it leads elsewhere; and no engine controls it, so it is not the engine's word.
    (
        "july/lmcache-configmap-edited",
        "no container carries LMCacheMPConnector",
    ),
    // It is no JSON, or lacks the key, as above.
    (
        "july/lmcache-configmap-not-json",
        "no container carries LMCacheMPConnector",
    ),
    (
        "july/lmcache-configmap-without-key",
        "no container carries LMCacheMPConnector",
    ),
    // A CacheBlendEngine's connection under an LMCache stamp.
    (
        "july/lmcache-engine-of-other-kind",
        "no container carries LMCacheMPConnector",
    ),
    // The user's dotted flags replace the whole connection that it adds.
    ("july/lmcache-kv-user-dotted", "no container carries LMCacheMPConnector"),
    // As above.
    (
        "newest/lmcache-already-stamped",
        "no container carries LMCacheMPConnector",
    ),
    (
        "newest/lmcache-pd-configmap-without-role-key",
        "no container carries LMCacheMPConnector",
    ),
];

fn is_stamped(pod: &Value) -> bool {
    STAMPS
        .iter()
        .any(|stamp| pod["metadata"]["annotations"][stamp] == "true")
}

fn created(pod: &Value, namespace: &str, cluster: &dyn Cluster) -> guard::Verdict {
    let request = json!({
        "operation": "CREATE", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "namespace": namespace, "object": pod,
    });
    let bytes = serde_json::to_vec(&json!({"settings": {}, "request": request})).unwrap();
    guard::decide(&Request::read(&bytes), &guard::Settings::default(), cluster)
}

/// Pods that the Go operator stamped, in both of its recorded states. It stamps some that hold less than the stamp says.
#[test]
fn pods_of_the_go_operator() {
    let mut stamped = 0;
    let mut refused = Vec::new();
    for state in ["july", "newest"] {
        for case in entries(&format!("{state}/pod")) {
            let pod = document(&case.join("expected-pod.yaml"));
            if !is_stamped(&pod) {
                continue;
            }
            stamped += 1;
            let cluster = Recorded {
                objects: documents(&case.join("cluster.yaml")),
                ..Recorded::default()
            };
            let scenario = document(&case.join("scenario.yaml"));
            let verdict = created(&pod, scenario["namespace"].as_str().unwrap(), &cluster);
            if let Some((message, _)) = verdict.refusal() {
                let name = format!("{state}/{}", case.file_name().unwrap().to_str().unwrap());
                refused.push((name, message));
            }
        }
    }
    refused.sort();
    assert_eq!(stamped, 164);
    let names: Vec<&str> = refused.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, REFUSED.map(|(name, _)| name), "{refused:#?}");
    for ((name, message), (_, lacks)) in refused.iter().zip(REFUSED) {
        assert!(message.contains(lacks), "{name}: {message}");
    }
}
