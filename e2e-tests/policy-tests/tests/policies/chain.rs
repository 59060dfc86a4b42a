//! The three policies that do one step each, one after another, make what `pod-injection` makes alone.

use policy_host::fixture::{Case, load_all};
use policy_host::{AdmissionRequest, EvaluationContext, Policy};
use policy_tests::{load, root};
use serde_json::{Value, json};

const STEPS: [&str; 3] = ["connection-injection", "payload-staging", "cacheblend-injection"];
const ORDERS: [[usize; 3]; 3] = [[0, 1, 2], [1, 2, 0], [2, 1, 0]];

/// Settings that the policy knows.
fn known(settings: &Value, policy: &str) -> Value {
    let mut settings = settings.clone();
    if let Some(members) = settings.as_object_mut() {
        members.remove("steps");
        if !["cacheblend-injection", "pod-injection"].contains(&policy) {
            members.remove("cacheblendArguments");
        }
    }
    settings
}

/// One step: the Pod afterwards, or `None` where it was refused.
fn step(policy: &Policy, name: &str, case: &Case, pod: &Value) -> Option<Value> {
    let mut request = case.request.value().clone();
    request["object"] = pod.clone();
    let request = AdmissionRequest::from_value(request).unwrap();
    let context = policy.grant_context_aware(EvaluationContext::new(case.cluster.clone()));
    let response = policy
        .validate(&request, &known(&case.settings, name), &context)
        .response;
    if !response.allowed {
        return None;
    }
    let mut after = pod.clone();
    if let Some(patch) = &response.patch {
        json_patch::patch(&mut after, patch).unwrap();
    }
    Some(after)
}

#[test]
fn in_any_order() {
    let steps = STEPS.map(|name| load(name).unwrap());
    let whole = load("pod-injection").unwrap();
    let mut failures = Vec::new();
    for case in load_all(root().join("fixtures/pod-injection")).unwrap() {
        let Some(pod) = case.request.object() else {
            continue;
        };
        // A case about `steps` is about a part of the chain.
        if case.settings.get("steps").is_some() {
            continue;
        }
        let expected = step(&whole, "pod-injection", &case, pod);
        for order in ORDERS {
            let chain = order.iter().try_fold(pod.clone(), |pod, &index| {
                step(&steps[index], STEPS[index], &case, &pod)
            });
            if chain != expected {
                let difference = json_patch::diff(&json!(expected), &json!(chain));
                failures.push(format!("{} in order {order:?}: {difference}", case.name()));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
