//! What a pass is given.

use super::*;
use crate::plan::Sought;

#[test]
fn a_pass_gets_what_belongs_to_its_custom_resource() {
    let kind = Kind::LMCacheEngine;
    let mut index = Index::new();
    let mut spec = login("s");
    spec["coordinator"] = json!({"ref": {"name": "c"}});
    index.custom(kind, Event::Apply(custom(kind, "a", 1, spec)));
    index.custom(
        Kind::LMCacheCoordinator,
        Event::Apply(custom(Kind::LMCacheCoordinator, "c", 2, json!({}))),
    );
    index.custom(
        Kind::CacheBlendEngine,
        Event::Apply(custom(Kind::CacheBlendEngine, "a", 3, json!({}))),
    );
    for (kind, name, owner) in [
        (ChildKind::DaemonSet, "a", "a"),
        (ChildKind::Service, "a", "another"),
        (ChildKind::Service, "a-metrics", "a"),
        (ChildKind::Service, "an-old-name", "a"),
        (ChildKind::Service, "b", "b"),
        (ChildKind::Deployment, "a", "another"),
    ] {
        index.child(kind, Event::Apply(child(kind, name, 4, owner)));
    }
    for (name, node) in [("p3", "n1"), ("p1", "n2"), ("p2", "n1")] {
        index.server_pod(Event::Apply(server(name, 5, "a", node)));
    }
    index.server_pod(Event::Apply(server("p4", 5, "b", "n1")));
    for (name, engine) in [("z", "a"), ("y", "inference/a"), ("x", "b")] {
        index.client_pod(ClientWatch::LMCache, Event::Apply(client(name, 6, engine)));
    }
    index.monitors(Monitors::NotServed);

    let inputs = index.inputs(&key(kind, "a")).unwrap();
    assert_eq!(inputs.custom.uid(), uid(kind, "a"));
    let rivals: Vec<_> = inputs
        .rivals
        .iter()
        .map(|rival| (rival.key.kind, rival.uid.as_str()))
        .collect();
    assert_eq!(rivals, [(Kind::CacheBlendEngine, "CacheBlendEngine-a")]);
    let children: Vec<_> = inputs.children.keys().map(ToString::to_string).collect();
    assert_eq!(
        children,
        ["Service a", "Service a-metrics", "Service an-old-name", "DaemonSet a"]
    );
    assert_eq!(inputs.coordinator.unwrap().name(), "c");
    let servers: Vec<_> = inputs.servers.iter().map(|pod| pod.name()).collect();
    assert_eq!(servers, ["p2", "p3", "p1"], "by node, then name");
    let clients: Vec<_> = inputs.clients.iter().map(|pod| pod.name()).collect();
    assert_eq!(clients, ["y", "z"]);
    assert_eq!(inputs.monitors, Monitors::NotServed);

    let other = index.inputs(&key(Kind::CacheBlendEngine, "a")).unwrap();
    assert_eq!(
        (other.clients.len(), other.servers.len(), other.children.len()),
        (0, 3, 3)
    );
    assert!(index.inputs(&key(kind, "nobody")).is_none());
}

#[test]
fn a_rival_that_is_being_deleted_is_none() {
    let mut index = index_of_engines();
    let mut rival = custom(Kind::CacheBlendEngine, "a", 3, json!({})).value();
    rival["metadata"]["deletionTimestamp"] = json!("2026-11-29T12:00:00Z");
    index.custom(Kind::CacheBlendEngine, Event::Apply(Custom::read(rival)));
    assert_eq!(index.inputs(&key(Kind::LMCacheEngine, "a")).unwrap().rivals, []);
}

#[test]
fn secrets_are_sought_by_those_that_name_them() {
    let kind = Kind::LMCacheEngine;
    let mut index = index_of_engines();
    let look = |index: &Index| index.inputs(&key(kind, "a")).unwrap();
    let is_known = |index: &Index| match look(index).login {
        Sought::NotNamed => "not named",
        Sought::Unknown => "unknown",
        Sought::Missing => "missing",
        Sought::Forbidden => "forbidden",
        Sought::Found(_) => "found",
    };
    assert_eq!(is_known(&index), "not named");
    index.custom(kind, Event::Apply(custom(kind, "a", 3, login("s"))));
    assert_eq!(index.named_secrets(), [named("s")].into());
    assert_eq!(is_known(&index), "unknown");
    index.secret_forbidden(&named("s"));
    assert_eq!(is_known(&index), "forbidden");
    index.secret(&named("s"), Event::Init);
    assert_eq!(is_known(&index), "forbidden", "asked again, not answered yet");
    index.secret(&named("s"), Event::InitDone);
    assert_eq!(is_known(&index), "missing");
    index.secret(&named("s"), Event::Apply(secret("s", 4)));
    assert_eq!(is_known(&index), "found");
    assert_eq!(index.counts().secrets, 1);
    assert!(matches!(look(&index).master_key, Sought::NotNamed));
    index.custom(kind, Event::Apply(custom(kind, "a", 5, json!({}))));
    assert_eq!(index.named_secrets(), [].into());
    index.secret_unwatched(&named("s"));
    assert_eq!(index.counts().secrets, 0);
    index.custom(kind, Event::Apply(custom(kind, "a", 6, login("s"))));
    assert_eq!(is_known(&index), "unknown", "until a new watch tells");
}

/// `helm upgrade` writes labels and data as one manager, so Kubernetes dates both alike.
#[test]
fn a_secret_whose_labels_changed_has_not_changed_since() {
    let kind = Kind::LMCacheEngine;
    let mut index = index_of_engines();
    index.custom(kind, Event::Apply(custom(kind, "a", 3, login("s"))));
    let mut take = |version, password: &str, time: &str| {
        let entry = json!({"manager": "helm", "time": time, "fieldsV1": {"f:data": {}, "f:metadata": {}}});
        let secret = json!({"metadata": {"managedFields": [entry]}, "data": {"password": password}});
        index.secret(&named("s"), Event::Apply(object("s", version, secret)));
        match index.inputs(&key(kind, "a")).unwrap().login {
            Sought::Found(secret) => secret.facts.changed.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(take(4, "b25l", "2026-11-01T00:00:00Z"), "2026-11-01T00:00:00Z");
    assert_eq!(take(5, "b25l", "2026-11-02T00:00:00Z"), "2026-11-01T00:00:00Z");
    assert_eq!(take(6, "dHdv", "2026-11-03T00:00:00Z"), "2026-11-03T00:00:00Z");
}

#[test]
fn counts_are_of_everything() {
    let mut index = index_of_engines();
    index.child(ChildKind::Service, Event::Apply(child(ChildKind::Service, "a", 3, "a")));
    index.server_pod(Event::Apply(server("p", 4, "a", "n")));
    let counts = index.counts();
    assert_eq!(counts.customs[&Kind::LMCacheEngine], 2);
    assert_eq!(counts.customs[&Kind::LMCacheCoordinator], 0);
    assert_eq!(counts.children[&ChildKind::Service], 1);
    assert_eq!(counts.server_pods, 1);
}
