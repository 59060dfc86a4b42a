use serde_json::{Value, json};

use super::support::{
    controller, crds, documents, found, go_operator, go_webhooks, of_kind, ours, report, root, stored,
};
use crate::adopt::codes as code;
use crate::adopt::steps::Step;

fn next(parts: &[&[Value]]) -> Option<u8> {
    let objects: Vec<Value> = parts.iter().flat_map(|part| part.to_vec()).collect();
    report(objects).next.map(|Step { step, .. }| step)
}

/// What our controller leaves of an engine.
fn taken_over() -> Vec<Value> {
    let mut objects = stored("minimal");
    for object in &mut objects {
        for entry in object["metadata"]["managedFields"].as_array_mut().unwrap() {
            if entry["manager"] == "manager" && entry.get("subresource").is_none() {
                entry["manager"] = json!("lmcache-controller");
                entry["operation"] = json!("Apply");
            }
        }
    }
    objects
}

/// The whole way.
#[test]
fn one_step_leads_to_the_next() {
    let engine = stored("minimal");
    let (theirs, owned) = (crds(false), crds(true));
    let mut released = crds(false);
    for crd in &mut released {
        crd["metadata"]["annotations"] = json!({"meta.helm.sh/release-name": "cache"});
    }
    let go = [go_operator(1)];
    let stopped = [go_operator(0)];
    let webhooks = [go_webhooks("Ignore")];
    let closed = [go_webhooks("Fail")];
    let looks = ours(&["lmcache-engine-validation", "lmcache-workload-preflight"]);
    let wires = ours(&["lmcache-pod-injection", "cacheblend-pod-injection"]);
    let guard = ours(&["lmcache-guard"]);
    let controller = [controller(2)];
    let taken = taken_over();
    for (expected, parts) in [
        (Some(1), &[&released[..], &engine, &go, &webhooks][..]),
        (Some(2), &[&theirs, &engine, &go, &webhooks]),
        (Some(3), &[&theirs, &engine, &go, &webhooks, &looks]),
        (Some(4), &[&theirs, &engine, &go, &webhooks, &looks, &wires]),
        (Some(5), &[&theirs, &engine, &go, &looks, &wires]),
        (Some(6), &[&theirs, &engine, &stopped, &looks, &wires]),
        // It has started, and has not come to every object yet.
        (Some(6), &[&owned, &engine, &stopped, &looks, &wires, &controller]),
        (Some(8), &[&owned, &taken, &stopped, &looks, &wires, &controller]),
        (
            Some(9),
            &[&owned, &taken, &stopped, &looks, &wires, &controller, &guard],
        ),
        (None, &[&owned, &taken, &looks, &wires, &controller, &guard]),
        // Nothing may be removed while that takes the CRDs along.
        (
            Some(1),
            &[&released, &taken, &stopped, &looks, &wires, &controller, &guard],
        ),
        // The wrong order: the webhooks first, whatever else there is.
        (Some(4), &[&theirs, &engine, &stopped, &closed]),
        (Some(3), &[&theirs, &engine, &stopped, &webhooks, &looks]),
    ] {
        assert_eq!(next(parts), expected, "{parts:#?}");
    }
}

#[test]
fn the_steps_are_those_of_the_page() {
    let page = std::fs::read_to_string(root().join("docs/migrate-from-go-operator.md")).unwrap();
    let headings: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("## Step ")).collect();
    let steps: Vec<String> = crate::adopt::STEPS
        .iter()
        .enumerate()
        .map(|(number, title)| format!("{}: {title}", number + 1))
        .collect();
    assert_eq!(headings, steps);
    assert!(documents(&root().join("deploy/adopt/rbac.yaml")).len() == 1);
}

/// Nothing that step 6 does helps an engine of which the controller says that something is wrong with it.
#[test]
fn an_engine_that_waits_for_somebody_is_named_and_does_not_hold_the_rest_back() {
    let mut faulty = stored("minimal");
    of_kind(&mut faulty, "LMCacheEngine")["spec"]["server"] = json!({"port": 70000});
    let (owned, controller) = (crds(true), [controller(2)]);
    let wires = ours(&["lmcache-pod-injection", "cacheblend-pod-injection"]);
    let guard = ours(&["lmcache-guard"]);
    let before = [&owned[..], &faulty, &wires].concat();
    assert_eq!(next(&[&before]), Some(6));
    let running = [&before[..], &controller].concat();
    assert_eq!(next(&[&running]), Some(8));
    let told = report(running.clone());
    let finding = found(&told, code::ENGINE_NEEDS_YOU);
    for words in ["LMCacheEngine inference/minimal", "not taken over"] {
        assert!(finding.found.contains(words), "{finding:?}");
    }
    assert!(finding.todo.contains("without a restart"), "{finding:?}");

    // It is not done with either.
    let last = report([&running[..], &guard].concat());
    assert_eq!(last.next.as_ref().map(|next| next.step), Some(6));
    let text = last.to_string();
    let line = text.lines().last().unwrap();
    for words in ["LMCacheEngine inference/minimal", "ValidationFailed: spec.server.port"] {
        assert!(line.contains(words), "{line}");
    }
    let json = serde_json::to_value(&last).unwrap();
    assert!(
        json["next"]["instead"]
            .as_str()
            .unwrap()
            .contains("LMCacheEngine inference/minimal"),
        "{json:#}"
    );

    // One that is being deleted is nothing to wait for.
    let mut ending = stored("minimal");
    of_kind(&mut ending, "LMCacheEngine")["metadata"]["deletionTimestamp"] = json!("2026-11-29T11:00:00Z");
    assert_eq!(next(&[&owned, &ending, &wires, &controller, &guard]), None);
}

/// A login that is not there, or not shared, keeps the controller from the servers. Secrets are not read here, so that it did
/// not come to them is what tells.
#[test]
fn an_engine_that_waits_for_a_login_does_not_hold_the_rest_back() {
    let mut waits = stored("minimal");
    of_kind(&mut waits, "LMCacheEngine")["spec"]["l2Backend"] =
        json!({"resp": {"host": "redis", "port": 6379, "authSecretRef": {"name": "redis-login"}}});
    let (owned, controller) = (crds(true), [controller(2)]);
    let wires = ours(&["lmcache-pod-injection", "cacheblend-pod-injection"]);
    let before = [&owned[..], &waits, &wires].concat();
    assert_eq!(next(&[&before]), Some(6));
    let running = [&before[..], &controller].concat();
    assert_eq!(next(&[&running]), Some(8));
    let told = report(running);
    assert!(
        found(&told, code::ENGINE_NEEDS_YOU).found.contains("not taken over"),
        "{:#?}",
        told.findings
    );
}

/// The Go operator's webhooks go when ours wire all that is asked for.
#[test]
fn step_4_waits_for_policies_of_both_systems_where_both_are_asked_for() {
    let asks = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "blend", "namespace": "inference",
        "labels": {"lmcache.ai/cacheblend-inject": "true"}, "annotations": {"lmcache.ai/cacheblend-engine": "kv"}},
        "spec": {"containers": [{"name": "vllm", "image": "vllm/vllm-openai"}]}, "status": {"phase": "Running"}});
    let (theirs, engine) = (crds(false), stored("minimal"));
    let before = [&theirs[..], &engine, &[go_operator(1), go_webhooks("Ignore"), asks]].concat();
    let one = ours(&["lmcache-engine-validation", "lmcache-pod-injection"]);
    assert_eq!(next(&[&before, &one]), Some(3));
    let both = ours(&["lmcache-pod-injection", "cacheblend-pod-injection"]);
    assert_eq!(next(&[&before, &both]), Some(4));
}

/// Where no Deployment of it is recognised, nobody knows whether a webhook is answered.
#[test]
fn what_is_not_known_is_no_reason_to_skip_steps() {
    let (theirs, engine, closed) = (crds(false), stored("minimal"), [go_webhooks("Fail")]);
    let looks = ours(&["lmcache-engine-validation", "lmcache-workload-preflight"]);
    assert_eq!(next(&[&theirs, &engine, &closed]), Some(2));
    assert_eq!(next(&[&theirs, &engine, &closed, &looks]), Some(3));
}
