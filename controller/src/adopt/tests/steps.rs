use serde_json::{Value, json};

use super::support::{controller, crds, documents, go_operator, go_webhooks, ours, report, root, stored};
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
