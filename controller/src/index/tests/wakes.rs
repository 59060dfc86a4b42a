//! Who is woken by what.

use super::*;

const NOBODY: [&str; 0] = [];
const A: &str = "LMCacheEngine a";
const B: &str = "LMCacheEngine b";

#[test]
fn a_custom_resource_wakes_itself_whenever_it_changed() {
    let mut index = Index::new();
    let mut apply = |version| names(&index.custom(Kind::LMCacheEngine, Event::Apply(engine("a", version))));
    assert_eq!(apply(1), [A]);
    assert_eq!(apply(1), NOBODY);
    assert_eq!(apply(2), [A]);
    assert_eq!(apply(1), NOBODY, "older than what is held");
    let gone = index.custom(Kind::LMCacheEngine, Event::Delete(engine("a", 3)));
    assert_eq!(names(&gone), [A], "whoever keeps something about it has to hear of it");
    assert_eq!(index.keys().count(), 0);
}

#[test]
fn rivals_wake_each_other_when_they_come_go_or_end() {
    let rival = |version| custom(Kind::LMCacheCoordinator, "a", version, json!({}));
    let both = [A, "LMCacheCoordinator a"];
    let mut index = index_of_engines();
    let mut take = |event| names(&index.custom(Kind::LMCacheCoordinator, event));
    assert_eq!(take(Event::Apply(rival(3))), both);
    assert_eq!(
        take(Event::Apply(rival(4))),
        ["LMCacheCoordinator a"],
        "its specification is no news for others"
    );
    let mut ending = rival(5).value();
    ending["metadata"]["deletionTimestamp"] = json!("2026-11-29T12:00:00Z");
    assert_eq!(take(Event::Apply(Custom::read(ending))), both);
    assert_eq!(take(Event::Delete(rival(6))), both);
}

#[test]
fn a_coordinator_wakes_the_engines_that_refer_to_it() {
    let refers = |version, to: &str| {
        let spec = json!({"coordinator": {"ref": {"name": to}}});
        Event::Apply(custom(Kind::CacheBlendEngine, "e", version, spec))
    };
    let coordinator = |version: u64, generation: u64| {
        let mut value = custom(Kind::LMCacheCoordinator, "c", version, json!({})).value();
        value["metadata"]["generation"] = json!(generation);
        value["status"] = json!({"version": version});
        Custom::read(value)
    };
    let mut index = Index::new();
    index.custom(Kind::CacheBlendEngine, refers(1, "c"));
    let both = ["CacheBlendEngine e", "LMCacheCoordinator c"];
    let mut take = |event| names(&index.custom(Kind::LMCacheCoordinator, event));
    assert_eq!(take(Event::Apply(coordinator(2, 1))), both);
    assert_eq!(
        take(Event::Apply(coordinator(3, 1))),
        ["LMCacheCoordinator c"],
        "a status is no news for engines"
    );
    assert_eq!(take(Event::Apply(coordinator(4, 2))), both);
    assert_eq!(take(Event::Delete(coordinator(5, 2))), both);
    index.custom(Kind::CacheBlendEngine, refers(6, "other"));
    let wake = index.custom(Kind::LMCacheCoordinator, Event::Apply(coordinator(7, 1)));
    assert_eq!(names(&wake), ["LMCacheCoordinator c"]);
}

#[test]
fn a_secret_wakes_those_that_name_it() {
    let mut index = index_of_engines();
    index.custom(
        Kind::LMCacheEngine,
        Event::Apply(custom(Kind::LMCacheEngine, "a", 3, login("s"))),
    );
    let mut take = |event| names(&index.secret(&named("s"), event));
    assert_eq!(take(Event::Init), NOBODY);
    assert_eq!(take(Event::InitDone), [A], "it is known to be missing");
    assert_eq!(take(Event::Apply(secret("s", 4))), [A]);
    assert_eq!(take(Event::Apply(secret("s", 4))), NOBODY);
    assert_eq!(take(Event::Apply(secret("s", 5))), [A]);
    assert_eq!(take(Event::Delete(secret("s", 6))), [A]);
    assert_eq!(names(&index.secret_forbidden(&named("s"))), [A]);
    assert_eq!(names(&index.secret_forbidden(&named("s"))), NOBODY);
    assert_eq!(names(&index.secret(&named("other"), Event::InitDone)), NOBODY);
}

#[test]
fn a_child_wakes_its_controller_its_instance_and_its_namesakes() {
    let mut index = index_of_engines();
    let take = |index: &mut Index, kind, event| names(&index.child(kind, event));
    let kind = ChildKind::Service;
    let mut value = child(kind, "b-metrics", 3, "a").value();
    assert_eq!(
        take(&mut index, kind, Event::Apply(Child::read(value.clone()))),
        [A, B],
        "controller a, namesake b"
    );
    value["metadata"]["resourceVersion"] = json!("4");
    value["metadata"].as_object_mut().unwrap().remove("ownerReferences");
    value["metadata"]["labels"]["app.kubernetes.io/instance"] = json!("b");
    let lost = Child::read(value);
    assert_eq!(
        take(&mut index, kind, Event::Apply(lost.clone())),
        [A, B],
        "a has lost it"
    );
    assert_eq!(take(&mut index, kind, Event::Apply(lost)), NOBODY);
    let named = child(ChildKind::ConfigMap, "a-connection", 5, "nobody");
    assert_eq!(take(&mut index, ChildKind::ConfigMap, Event::Apply(named)), [A]);
    let other_kind = child(ChildKind::Deployment, "a", 6, "nobody");
    assert_eq!(
        take(&mut index, ChildKind::Deployment, Event::Apply(other_kind)),
        NOBODY,
        "no child of an engine"
    );
    assert_eq!(
        take(&mut index, kind, Event::Delete(child(kind, "b-metrics", 7, "a"))),
        [B]
    );
}

#[test]
fn a_server_wakes_its_instance_only_when_what_is_kept_changed() {
    let mut index = index_of_engines();
    index.custom(
        Kind::LMCacheCoordinator,
        Event::Apply(custom(Kind::LMCacheCoordinator, "a", 3, json!({}))),
    );
    let mut take = |event| names(&index.server_pod(event));
    let both = [A, "LMCacheCoordinator a"];
    assert_eq!(take(Event::Apply(server("p", 4, "a", "n1"))), both);
    assert_eq!(take(Event::Apply(server("p", 5, "a", "n1"))), NOBODY);
    assert_eq!(take(Event::Apply(server("p", 6, "a", "n2"))), both);
    assert_eq!(
        take(Event::Apply(server("p", 7, "b", "n2"))),
        [A, B, "LMCacheCoordinator a"]
    );
    assert_eq!(take(Event::Delete(server("p", 8, "b", "n2"))), [B]);
    assert_eq!(take(Event::Apply(server("q", 9, "unknown", "n1"))), NOBODY);
}

#[test]
fn a_client_wakes_its_engine_and_the_one_before() {
    let mut index = index_of_engines();
    let mut take = |event| names(&index.client_pod(ClientWatch::LMCache, event));
    assert_eq!(take(Event::Apply(client("p", 3, "a"))), [A]);
    assert_eq!(take(Event::Apply(client("p", 4, "a"))), NOBODY);
    assert_eq!(take(Event::Apply(client("p", 5, " inference / b "))), [A, B]);
    assert_eq!(take(Event::Apply(client("p", 6, "elsewhere/b"))), [B]);
    assert_eq!(take(Event::Apply(client("p", 7, "/a"))), [A]);
    assert_eq!(take(Event::Delete(client("p", 8, "a"))), [A]);
}

#[test]
fn a_client_with_both_labels_counts_once() {
    let mut index = index_of_engines();
    let (lmcache, cacheblend) = (ClientWatch::LMCache, ClientWatch::CacheBlend);
    let mut take = |watch, event| names(&index.client_pod(watch, event));
    assert_eq!(take(lmcache, Event::Apply(client("p", 3, "a"))), [A]);
    assert_eq!(take(cacheblend, Event::Apply(client("p", 3, "a"))), NOBODY);
    assert_eq!(take(cacheblend, Event::Apply(client("p", 4, "b"))), [A, B]);
    assert_eq!(take(lmcache, Event::Apply(client("p", 4, "b"))), NOBODY);
    assert_eq!(
        take(lmcache, Event::Delete(client("p", 5, "b"))),
        NOBODY,
        "it lost one of the labels"
    );
    assert_eq!(take(cacheblend, Event::Delete(client("p", 6, "b"))), [B]);
    assert_eq!(index.counts().client_pods, [(lmcache, 0), (cacheblend, 0)].into());
}

#[test]
fn monitors_wake_those_that_want_or_have_one() {
    let wants = json!({"prometheus": {"serviceMonitor": {"enabled": true}}});
    let mut index = index_of_engines();
    assert!(!index.wants_monitors());
    index.custom(
        Kind::LMCacheEngine,
        Event::Apply(custom(Kind::LMCacheEngine, "a", 3, wants)),
    );
    index.custom(Kind::LMCacheEngine, Event::Apply(engine("c", 3)));
    assert!(index.wants_monitors());
    assert_eq!(names(&index.monitors(Monitors::NotServed)), [A]);
    assert_eq!(names(&index.monitors(Monitors::NotServed)), NOBODY);
    let monitor = child(ChildKind::ServiceMonitor, "b", 4, "b");
    index.child(ChildKind::ServiceMonitor, Event::Apply(monitor));
    assert_eq!(names(&index.monitors(Monitors::Served)), [A, B]);
    assert_eq!(index.inputs(&key(Kind::LMCacheEngine, "b")).unwrap().children.len(), 1);
    assert_eq!(names(&index.monitors(Monitors::Forbidden)), [A, B]);
    assert_eq!(
        index.inputs(&key(Kind::LMCacheEngine, "b")).unwrap().children.len(),
        0,
        "no longer known"
    );
    index.custom(Kind::LMCacheEngine, Event::Delete(engine("a", 5)));
    assert!(!index.wants_monitors());
}
