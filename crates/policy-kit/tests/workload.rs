//! What holds for the advice about every workload, whatever its templates are and whatever the cluster answers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]
#![cfg(not(target_arch = "wasm32"))]

mod support;

use policy_kit::cluster::Cluster;
use policy_kit::pod::{POD_INJECTION, admit};
use policy_kit::request::Request;
use policy_kit::text::WARNING_BYTES;
use policy_kit::workload::{outlooks, preflight};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use support::{any_json, cluster, pod};

/// The answer to a request, as the host reads it.
fn answer(request: &Value, settings: &Value, cluster: &dyn Cluster) -> Value {
    let payload = serde_json::to_vec(&json!({"request": request, "settings": settings})).unwrap();
    let response = preflight("workload-preflight", &Request::read(&payload), cluster);
    serde_json::from_slice(&response.encode().unwrap()).unwrap()
}

fn warnings(answer: &Value) -> Vec<String> {
    serde_json::from_value(answer["warnings"].clone()).unwrap_or_default()
}

fn check(answer: &Value) -> Result<(), TestCaseError> {
    prop_assert_eq!(&answer["accepted"], &json!(true), "never refuses");
    prop_assert_eq!(&answer["mutated_object"], &Value::Null, "never changes");
    for warning in warnings(answer) {
        prop_assert!(warning.len() <= WARNING_BYTES && warning.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
        prop_assert!(
            !warning.contains("recreate the Pod;") && !warning.ends_with("recreate the Pod"),
            "{}",
            warning
        );
        prop_assert!(!warning.contains(": not wired"), "{}", warning);
    }
    Ok(())
}

fn kinds() -> impl Strategy<Value = (&'static str, &'static str)> {
    select(vec![
        ("apps", "Deployment"),
        ("apps", "StatefulSet"),
        ("apps", "DaemonSet"),
        ("apps", "ReplicaSet"),
        ("batch", "Job"),
        ("batch", "CronJob"),
        ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
    ])
}

/// A workload of the kind, with one template in every place where a kind may keep one.
fn workload(kind: &str, first: &Value, second: &Value, own: &Value) -> Value {
    let spec = match kind {
        "CronJob" => json!({"jobTemplate": {"metadata": own, "spec": {"template": first}}}),
        "LeaderWorkerSet" => json!({"leaderWorkerTemplate": {"leaderTemplate": first, "workerTemplate": second}}),
        _ => json!({"template": first}),
    };
    json!({"metadata": own, "spec": spec})
}

fn settings() -> impl Strategy<Value = Value> {
    let word = |words: &[&'static str]| select(words.to_vec());
    (word(&["Admit", "Deny"]), word(&["Admit", "Deny"]), word(&["Label", "Annotation"]), word(&["Full", "Minimal"])).prop_map(
        |(missing, unavailable, opt_in, arguments)| {
            json!({"onMissingEngine": missing, "onUnavailable": unavailable, "optIn": opt_in, "cacheblendArguments": arguments})
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, max_global_rejects: 1_000_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn accepted_with_warnings_that_a_header_can_carry(
        (group, kind) in kinds(), first in pod(), second in pod(), own in pod(), cluster in cluster(), settings in settings(),
    ) {
        let object = workload(kind, &first, &second, &own["metadata"]);
        let request = json!({"operation": "CREATE", "namespace": "team-a", "kind": {"group": group, "kind": kind}, "object": object});
        let created = answer(&request, &settings, &cluster);
        check(&created)?;
        // A Pod uses one engine, so one template asks three questions; two templates share the Namespace at least.
        let most = if kind == "LeaderWorkerSet" { 5 } else { 3 };
        prop_assert!(cluster.asked.get() <= most, "{} look-ups", cluster.asked.get());
        let asked = cluster.asked.get();

        // What did not change is not judged again, whoever writes it.
        let mut request = request;
        request["operation"] = json!("UPDATE");
        request["oldObject"] = object.clone();
        request["object"]["status"] = json!({"replicas": 1});
        request["object"]["spec"]["replicas"] = json!(7);
        let scaled = answer(&request, &settings, &cluster);
        prop_assert_eq!((warnings(&scaled), cluster.asked.get()), (Vec::new(), asked));
    }

    #[test]
    fn what_a_pod_would_be_told_its_template_is_told(pod in pod(), cluster in cluster(), settings in settings()) {
        let request = |group: &str, kind: &str, object: &Value| {
            json!({"operation": "CREATE", "namespace": "team-a", "kind": {"group": group, "kind": kind}, "object": object})
        };
        let payload = serde_json::to_vec(&json!({"request": request("", "Pod", &pod), "settings": settings})).unwrap();
        let of_pod = admit(&POD_INJECTION, &Request::read(&payload), &cluster).encode().unwrap();
        let of_pod: Value = serde_json::from_slice(&of_pod).unwrap();
        let object = workload("Deployment", &pod, &pod, &json!({"name": "chat"}));
        let advice = warnings(&answer(&request("apps", "Deployment", &object), &settings, &cluster));
        let is_said = |text: &str| advice.iter().any(|warning| warning.contains(text));
        for warning in warnings(&of_pod) {
            let (problem, remedy) = warning.split_once(": not wired; ").unwrap_or((&warning, ""));
            // A problem that had to be cut may be cut a little earlier here.
            let problem = problem.strip_prefix("the Pod ").unwrap_or(problem);
            let problem = problem.get(..180).unwrap_or(problem);
            let remedy = remedy.strip_suffix(", then recreate the Pod").unwrap_or(remedy);
            prop_assert!(is_said(problem) && is_said(remedy), "{:?} is not in {:?}", warning, advice);
        }
        prop_assert_eq!(of_pod["accepted"] == json!(false), is_said("Pods will be refused"));
    }

    #[test]
    fn the_outlook_is_the_pod_that_admission_makes(pod in pod(), cluster in cluster(), settings in settings()) {
        let request = json!({
            "operation": "CREATE", "namespace": "team-a", "kind": {"group": "", "kind": "Pod"}, "object": pod,
        });
        let payload = serde_json::to_vec(&json!({"request": request, "settings": settings})).unwrap();
        let admitted = admit(&POD_INJECTION, &Request::read(&payload), &cluster).encode().unwrap();
        let admitted: Value = serde_json::from_slice(&admitted).unwrap();
        let object = workload("Deployment", &pod, &pod, &json!({"name": "chat"}));
        let read = (POD_INJECTION.settings)(&settings.to_string()).unwrap();
        let outlooks = outlooks("apps", "Deployment", &object, "team-a", &read, &cluster);
        prop_assert_eq!(outlooks.len(), 1);
        // A refused Pod is not made at all.
        if admitted["accepted"] == json!(true) {
            let mutated = if admitted["mutated_object"].is_null() { &pod } else { &admitted["mutated_object"] };
            prop_assert_eq!(&outlooks[0].pod, mutated);
        }
        let advised = warnings(&answer(
            &json!({
                "operation": "CREATE", "namespace": "team-a", "kind": {"group": "apps", "kind": "Deployment"}, "object": object,
            }),
            &settings,
            &cluster,
        ));
        for warning in policy_kit::text::warnings(outlooks[0].warnings.clone()) {
            prop_assert!(advised.contains(&warning), "{:?} is not in {:?}", warning, advised);
        }
    }

    #[test]
    fn any_json_is_accepted((group, kind) in kinds(), object in any_json(), old in any_json(), settings in any_json(), cluster in cluster()) {
        for operation in ["CREATE", "UPDATE"] {
            let request = json!({
                "operation": operation, "kind": {"group": group, "kind": kind}, "object": object, "oldObject": old,
            });
            check(&answer(&request, &settings, &cluster))?;
        }
    }
}
