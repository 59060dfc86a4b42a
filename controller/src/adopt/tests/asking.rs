//! Who asks for the cache: what has to be wired, whoever makes it.

use rstest::rstest;
use serde_json::{Value, json};

use super::support::{codes, report};
use crate::adopt::{Level, codes as code};

fn pod(owner: Option<(&str, &str)>) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "chat-0", "namespace": "team-a",
            "labels": {"lmcache.ai/lmcache-inject": "true"}, "annotations": {"lmcache.ai/lmcache-engine": "kv"},
        },
        "spec": {"containers": [{"name": "vllm", "image": "vllm/vllm-openai:v0.24.0"}]},
        "status": {"phase": "Running"},
    });
    if let Some((api_version, kind)) = owner {
        pod["metadata"]["ownerReferences"] =
            json!([{"apiVersion": api_version, "kind": kind, "name": "chat", "controller": true}]);
    }
    pod
}

fn job(status: Value) -> Value {
    let mut job = pod(None);
    let template = json!({"metadata": job["metadata"], "spec": job["spec"]});
    job["apiVersion"] = json!("batch/v1");
    job["kind"] = json!("Job");
    job["spec"] = json!({"template": template});
    job["status"] = status;
    job
}

fn is_unwired(object: Value) -> bool {
    codes(&report([object]), Level::First).contains(&code::PODS_UNWIRED)
}

#[rstest]
#[case::of_ray(Some(("ray.io/v1", "RayCluster")))]
#[case::of_a_rollout(Some(("apps/v1", "ReplicaSet")))]
#[case::of_anything(Some(("example.com/v1", "Serving")))]
#[case::of_nobody(None)]
fn pods_ask_whoever_makes_them(#[case] owner: Option<(&str, &str)>) {
    assert!(is_unwired(pod(owner)));
    let mut ended = pod(owner);
    ended["status"]["phase"] = json!("Succeeded");
    assert!(!is_unwired(ended));
    let mut ending = pod(owner);
    ending["metadata"]["deletionTimestamp"] = json!("2026-11-29T11:00:00Z");
    assert!(!is_unwired(ending));
    let mut other = pod(owner);
    other["metadata"]["labels"] = json!({});
    assert!(!is_unwired(other.clone()));
    // Unless the annotation is enough, as the policies are told.
    let policy = json!({
        "apiVersion": "policies.kubewarden.io/v1", "kind": "ClusterAdmissionPolicy",
        "metadata": {"name": "lmcache-pod-injection"}, "spec": {"settings": {"optIn": "Annotation"}},
    });
    assert_eq!(codes(&report([other, policy]), Level::First), [code::PODS_UNWIRED]);
}

#[rstest]
#[case::running(json!({"active": 1}), true)]
#[case::complete(json!({"completionTime": "2026-11-01T00:00:00Z"}), false)]
#[case::complete_by_condition(json!({"conditions": [{"type": "Complete", "status": "True"}]}), false)]
#[case::failed(json!({"conditions": [{"type": "Failed", "status": "True"}]}), false)]
#[case::suspended(json!({"conditions": [{"type": "Suspended", "status": "True"}]}), true)]
fn jobs_that_ended_ask_for_nothing(#[case] status: Value, #[case] asks: bool) {
    let job = job(status);
    assert_eq!(is_unwired(job.clone()), asks);
    assert_eq!(report([job]).workloads.len(), usize::from(asks));
}

#[test]
fn what_is_being_deleted_asks_for_nothing() {
    let mut ending = job(json!({}));
    ending["metadata"]["deletionTimestamp"] = json!("2026-11-29T11:00:00Z");
    assert!(!is_unwired(ending));
}
