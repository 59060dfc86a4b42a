use serde_json::json;

use super::support::{found, go_operator, go_webhooks, ours, report};
use crate::adopt::codes as code;

/// Of a configuration that holds webhooks of others too, the Go operator's alone are to go.
#[test]
fn what_is_somebody_elses_stays() {
    let mut shared = go_webhooks("Fail");
    let other = json!({
        "name": "mpod.example.com", "failurePolicy": "Fail",
        "clientConfig": {"service": {"name": "other", "namespace": "other-system", "path": "/mutate"}},
    });
    shared["metadata"]["name"] = json!("cluster-webhooks");
    shared["webhooks"].as_array_mut().unwrap().insert(1, other);
    let patch = "kubectl patch mutatingwebhookconfiguration cluster-webhooks --type=json -p '[\
                 {\"op\":\"test\",\"path\":\"/webhooks/2/name\",\"value\":\"mlmcachepod.lmcache.ai\"},\
                 {\"op\":\"remove\",\"path\":\"/webhooks/2\"},\
                 {\"op\":\"test\",\"path\":\"/webhooks/0/name\",\"value\":\"mcacheblendpod.lmcache.ai\"},\
                 {\"op\":\"remove\",\"path\":\"/webhooks/0\"}]'";
    let wiring = ours(&["lmcache-pod-injection", "cacheblend-pod-injection"]);
    for (replicas, policies, expected) in [
        (1, &[][..], [code::WEBHOOK_FAILS_CLOSED, code::GO_WEBHOOKS]),
        (0, &[], [code::PODS_REFUSED, code::GO_WEBHOOKS]),
        (1, &wiring, [code::WEBHOOK_FAILS_CLOSED, code::BOTH_WEBHOOKS]),
    ] {
        let report = report([&[go_operator(replicas), shared.clone()], policies].concat());
        for code in expected {
            let finding = found(&report, code);
            // To be copied as it stands.
            assert!(finding.todo.ends_with(patch), "{finding:?}");
            assert!(!finding.todo.contains("kubectl delete mutating"), "{finding:?}");
            assert!(finding.todo.contains("mpod.example.com"), "{finding:?}");
        }
        assert_eq!(
            report
                .webhooks
                .iter()
                .filter(|webhook| webhook.name.ends_with("example.com"))
                .count(),
            0
        );
    }
    let text = report([go_operator(1), shared]).to_string();
    assert!(text.contains("beside others there: mpod.example.com"), "{text}");
    // Where all are the Go operator's, the whole goes.
    let report = report([go_operator(1), go_webhooks("Fail")]);
    for code in [code::WEBHOOK_FAILS_CLOSED, code::GO_WEBHOOKS] {
        let finding = found(&report, code);
        let whole = "kubectl delete mutatingwebhookconfiguration lmcache-operator-mutating-webhook-configuration";
        assert!(finding.todo.ends_with(whole), "{finding:?}");
    }
}
