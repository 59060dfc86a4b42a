//! What holds for every Pod, however odd, and whatever the cluster answers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]
#![cfg(not(target_arch = "wasm32"))]

mod support;

use json_patch::PatchOperation;
use policy_kit::pod::{
    CACHEBLEND_INJECTION, CONNECTION_INJECTION, Mutator, PAYLOAD_STAGING, POD_INJECTION, Settings, admit,
};
use policy_kit::request::Request;
use policy_kit::text::WARNING_BYTES;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use support::{Answers, any_json, cluster, pod, settings};

const MUTATORS: [&Mutator; 4] = [
    &CONNECTION_INJECTION,
    &PAYLOAD_STAGING,
    &CACHEBLEND_INJECTION,
    &POD_INJECTION,
];

/// One run of a policy: the Pod afterwards, and the answer.
fn run(mutator: &Mutator, pod: &Value, settings: &Value, cluster: &Answers) -> (Value, Value) {
    // A key that a policy does not know would be refused.
    let mut settings = settings.clone();
    if !["cacheblend-injection", "pod-injection"].contains(&mutator.name) {
        settings.as_object_mut().unwrap().remove("cacheblendArguments");
    }
    let payload = json!({"settings": settings, "request": {
        "operation": "CREATE", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "namespace": "team-a", "object": pod
    }});
    let bytes = serde_json::to_vec(&payload).unwrap();
    let answer = admit(mutator, &Request::read(&bytes), cluster).encode().unwrap();
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    let after = match &answer["mutated_object"] {
        Value::Null => pod.clone(),
        mutated => mutated.clone(),
    };
    (after, answer)
}

/// Entries that are exactly what is appended: among themselves they may change places.
fn appended(entry: &Value) -> bool {
    let shm = json!({"name": "lmcache-dev-shm", "hostPath": {"path": "/dev/shm", "type": "Directory"}});
    [
        json!({"name": "PYTHONHASHSEED", "value": "0"}),
        json!({"name": "PYTHONPATH", "value": "/lmcache-payload"}),
        json!({"name": "PYTHONPATH", "value": "/lmcache-payload:$(PYTHONPATH)"}),
        json!({"name": "PYTHONPATH", "value": "/cb-plugin"}),
        json!({"name": "PYTHONPATH", "value": "/cb-plugin:$(PYTHONPATH)"}),
        json!({"name": "VLLM_NIXL_SIDE_CHANNEL_HOST", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}),
        json!({"name": "VLLM_NIXL_SIDE_CHANNEL_PORT", "value": "5558"}),
        json!({"name": "lmcache-dev-shm", "emptyDir": {"medium": "Memory"}}),
        shm,
        json!({"name": "lmcache-payload", "emptyDir": {}}),
        json!({"name": "cb-plugin", "emptyDir": {}}),
        json!({"name": "lmcache-dev-shm", "mountPath": "/dev/shm"}),
        json!({"name": "lmcache-payload", "mountPath": "/lmcache-payload", "readOnly": true}),
        json!({"name": "cb-plugin", "mountPath": "/cb-plugin", "readOnly": true}),
    ]
    .contains(entry)
}

/// What is not the policies' to change.
fn foreign(pod: &Value) -> Value {
    let mut pod = pod.clone();
    if let Some(metadata) = pod["metadata"].as_object_mut() {
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            for key in ["injected", "skip-reason", "payload-staged", "payload-skip-reason"] {
                annotations.shift_remove(&format!("lmcache.ai/lmcache-{key}"));
                annotations.shift_remove(&format!("lmcache.ai/cacheblend-{key}"));
            }
        }
        if metadata
            .get("annotations")
            .is_some_and(|map| *map == json!({}) || map.is_null())
        {
            metadata.shift_remove("annotations");
        }
    }
    if let Some(spec) = pod["spec"].as_object_mut() {
        for key in [
            "hostIPC",
            "enableServiceLinks",
            "volumes",
            "initContainers",
            "imagePullSecrets",
        ] {
            spec.shift_remove(key);
        }
    }
    for container in pod["spec"]["containers"].as_array_mut().into_iter().flatten() {
        if let Some(container) = container.as_object_mut() {
            for key in ["args", "env", "volumeMounts"] {
                container.shift_remove(key);
            }
        }
    }
    pod
}

fn entries(owner: &Value, key: &str) -> Vec<Value> {
    owner[key].as_array().cloned().unwrap_or_default()
}

/// The user's entries of a list, in their order. A search path counts without what was put in front of it.
fn users(owner: &Value, key: &str) -> Vec<Value> {
    let mut kept = Vec::new();
    for mut entry in entries(owner, key) {
        if entry["name"] == "PYTHONPATH" && entry.get("valueFrom").is_none() {
            let value = entry["value"].as_str().unwrap_or_default();
            let parts: Vec<&str> = value
                .split(':')
                .filter(|part| !["", "/lmcache-payload", "/cb-plugin", "$(PYTHONPATH)"].contains(part))
                .collect();
            if parts.is_empty() {
                continue;
            }
            entry["value"] = json!(parts.join(":"));
        }
        if !appended(&entry) {
            kept.push(entry);
        }
    }
    kept
}

fn check_kept(before: &Value, after: &Value) -> Result<(), TestCaseError> {
    prop_assert_eq!(foreign(before), foreign(after));
    let (old, new) = (&before["spec"], &after["spec"]);
    prop_assert_eq!(users(old, "volumes"), users(new, "volumes"));
    for key in ["initContainers", "imagePullSecrets"] {
        let (old, new) = (entries(old, key), entries(new, key));
        prop_assert!(new.starts_with(&old), "{} only grows", key);
    }
    let pairs = entries(old, "containers").into_iter().zip(entries(new, "containers"));
    let mut changed = 0;
    for (old, new) in pairs.filter(|(old, new)| old != new) {
        changed += 1;
        for key in ["env", "volumeMounts"] {
            prop_assert_eq!(users(&old, key), users(&new, key));
        }
    }
    prop_assert!(changed <= 1, "{} containers changed", changed);
    Ok(())
}

/// Removes are for annotations of ours and for the end of the arguments.
fn check_removes(before: &Value, after: &Value) -> Result<(), TestCaseError> {
    for operation in json_patch::diff(before, after).0 {
        if let PatchOperation::Remove(operation) = operation {
            let path = operation.path.to_string();
            let reason = path.starts_with("/metadata/annotations/lmcache.ai~1")
                && ["skip-reason", "payload-staged"].iter().any(|end| path.ends_with(end));
            // Members of an entry that is exactly what is appended, and changes places with another such.
            let (entry, _) = path.rsplit_once('/').unwrap_or_default();
            let moves = before.pointer(entry).is_some_and(appended);
            prop_assert!(reason || moves || path.contains("/args/"), "removes {}", path);
        }
    }
    Ok(())
}

/// A Pod that is not wired changes by its reasons alone; a stamp that nothing stands behind may go.
fn check_skip(before: &Value, after: &Value) -> Result<(), TestCaseError> {
    for operation in json_patch::diff(before, after).0 {
        let path = operation.path().to_string();
        let reason = path.starts_with("/metadata/annotations")
            && ["skip-reason", "payload-staged", "annotations"]
                .iter()
                .any(|end| path.ends_with(end));
        prop_assert!(reason, "a skip touches {}", path);
    }
    Ok(())
}

/// What other webhooks do to Pods between two of our policies.
fn meddled(pod: &Value, how: usize) -> Value {
    let mut pod = pod.clone();
    let spec = &mut pod["spec"];
    match how {
        0 => {
            if let Some(containers) = spec["containers"].as_array_mut() {
                containers.insert(0, json!({"name": "log-agent", "image": "acme/agent:1"}));
            }
        }
        1 => {
            for volume in spec["volumes"].as_array_mut().into_iter().flatten() {
                if volume.get("emptyDir").is_some_and(Value::is_object) {
                    volume["emptyDir"]["sizeLimit"] = json!("10Gi");
                }
            }
        }
        _ => {
            for container in spec["initContainers"].as_array_mut().into_iter().flatten() {
                let image = container["image"].as_str().unwrap_or_default();
                let pinned = format!("mirror.example/{image}@sha256:{}", "a".repeat(64));
                container["image"] = json!(pinned);
            }
        }
    }
    pod
}

fn arguments() -> impl Strategy<Value = &'static str> {
    select(vec!["Full", "Minimal"])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, max_global_rejects: 1_000_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_pod_keeps_everything_we_do_not_own(
        before in pod(), cluster in cluster(), settings in settings(), arguments in arguments(), which in 0..4usize
    ) {
        let mut settings = settings;
        settings["cacheblendArguments"] = json!(arguments);
        let mutator = MUTATORS[which];
        let (after, answer) = run(mutator, &before, &settings, &cluster);
        prop_assert!(cluster.asked.get() <= 3, "{} look-ups", cluster.asked.get());
        if answer["accepted"] == false {
            prop_assert!(answer["code"] == 404 || answer["code"] == 503);
            prop_assert_eq!(&before, &after);
            return Ok(());
        }
        check_kept(&before, &after)?;
        check_removes(&before, &after)?;
        let outcomes = [&answer["audit_annotations"]["outcome"], &answer["audit_annotations"]["cacheblend-outcome"]];
        if outcomes.iter().all(|outcome| ["skipped", "not-needed"].iter().any(|word| *outcome == word) || outcome.is_null()) {
            check_skip(&before, &after)?;
        }
        if outcomes.iter().all(|outcome| outcome.is_null()) {
            prop_assert!(before == after && cluster.asked.get() == 0);
        }
        for warning in answer["warnings"].as_array().into_iter().flatten() {
            let warning = warning.as_str().unwrap();
            prop_assert!(warning.len() <= WARNING_BYTES && warning.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
        }
        let (twice, _) = run(mutator, &after, &settings, &cluster);
        prop_assert_eq!(after, twice, "a second run changes nothing");
    }

    #[test]
    fn what_was_staged_is_wired_in_the_same_container(
        before in pod(), cluster in cluster(), settings in settings(), how in 0..3usize
    ) {
        let (staged, answer) = run(&PAYLOAD_STAGING, &before, &settings, &cluster);
        if answer["audit_annotations"]["outcome"] != "staged" {
            return Ok(());
        }
        let (wired, answer) = run(&CONNECTION_INJECTION, &meddled(&staged, how), &settings, &cluster);
        prop_assert_eq!(&answer["audit_annotations"]["outcome"], "wired");
        let containers = |pod: &Value| entries(&pod["spec"], "containers");
        let flags = |container: &Value| container["args"].to_string().matches("--kv-transfer-config\"").count();
        for (old, new) in containers(&meddled(&staged, how)).iter().zip(containers(&wired)) {
            if flags(&new) > flags(old) {
                let mounts = entries(&new, "volumeMounts");
                prop_assert!(mounts.iter().any(|mount| mount["name"] == "lmcache-payload"), "{}", new);
            }
        }
    }

    #[test]
    fn a_pod_that_asks_for_both_gets_one_connector_and_one_clear_reason(before in pod(), cluster in cluster(), settings in settings()) {
        let mut before = before;
        let mut settings = settings;
        settings["optIn"] = json!("Label");
        if !before["metadata"]["annotations"].is_object() {
            before["metadata"]["annotations"] = json!({});
        }
        before["metadata"]["labels"] = json!({"lmcache.ai/lmcache-inject": "true", "lmcache.ai/cacheblend-inject": "true"});
        before["metadata"]["annotations"]["lmcache.ai/lmcache-engine"] = json!("kv-pool");
        before["metadata"]["annotations"]["lmcache.ai/cacheblend-engine"] = json!("blend");
        let (after, answer) = run(&POD_INJECTION, &before, &settings, &cluster);
        if answer["accepted"] == false {
            return Ok(());
        }
        let annotations = &after["metadata"]["annotations"];
        prop_assert_eq!(&annotations["lmcache.ai/lmcache-skip-reason"], "cacheblend-takes-precedence");
        prop_assert_eq!(
            &annotations["lmcache.ai/lmcache-injected"], &before["metadata"]["annotations"]["lmcache.ai/lmcache-injected"]
        );
        let connectors = |pod: &Value| pod.to_string().matches("LMCacheMPConnector").count();
        prop_assert!(connectors(&after) <= connectors(&before), "a second connector");
        if answer["audit_annotations"]["cacheblend-outcome"] == "skipped" {
            prop_assert!(annotations["lmcache.ai/cacheblend-skip-reason"].is_string());
        }
    }
}

proptest! {
    // One case is 31 runs of a policy.
    #![proptest_config(ProptestConfig { cases: 400, max_global_rejects: 1_000_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_policies_commute(before in pod(), cluster in cluster(), settings in settings(), arguments in arguments()) {
        let mut settings = settings;
        settings["cacheblendArguments"] = json!(arguments);
        let (whole, answer) = run(&POD_INJECTION, &before, &settings, &cluster);
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut after = before.clone();
            let mut accepted = true;
            for index in order {
                let (next, answer) = run(MUTATORS[index], &after, &settings, &cluster);
                after = next;
                accepted &= answer["accepted"] == true;
            }
            prop_assert_eq!(answer["accepted"] == true, accepted, "{:?}", order);
            if !accepted {
                continue;
            }
            prop_assert_eq!(&whole, &after, "{:?}", order);
            for mutator in MUTATORS {
                let (again, _) = run(mutator, &after, &settings, &cluster);
                prop_assert_eq!(&after, &again, "{} after {:?}", mutator.name, order);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_json_gets_an_answer(object in any_json(), cluster in cluster(), which in 0..4usize) {
        let (after, answer) = run(MUTATORS[which], &object, &json!({}), &cluster);
        prop_assert!(answer["accepted"] == true);
        let (twice, _) = run(MUTATORS[which], &after, &json!({}), &cluster);
        prop_assert_eq!(after, twice);
    }

    #[test]
    fn any_settings_get_an_answer(settings in any_json()) {
        for read in [Settings::read, Settings::read_cacheblend, Settings::read_all] {
            let answer = read(&settings.to_string());
            prop_assert!(answer.is_ok() || answer.is_err_and(|complaint| !complaint.is_empty()));
        }
    }
}
