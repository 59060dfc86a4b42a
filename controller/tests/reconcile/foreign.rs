//! Objects of a child's name that are somebody else's.

use std::time::Duration;

use lmcache_controller::run::metrics::Outcome;
use rstest::rstest;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::api::{Answer, NAMESPACE, Store};
use crate::failures::pass;
use crate::objects::{custom_id, engine, id, id_of, key_of, kv};
use crate::recorded::recorded;
use crate::world::{FIRST_STATUS, World};

/// The ways in which an object is not ours, the owners of such a one, and what is said of it.
fn owners() -> [(&'static str, Value, &'static str); 5] {
    let owner = |kind: &str, uid: &str, controller: bool| json!([{"apiVersion": "lmcache.lmcache.ai/v1alpha1", "kind": kind, "name": "kv", "uid": uid, "controller": controller}]);
    [
        ("nobody's", json!([]), "exists and has no controlling owner"),
        (
            "another kind's",
            owner("ReplicaSet", "1", true),
            "exists and is controlled by ReplicaSet kv (uid 1)",
        ),
        (
            "another kind of ours that had the name",
            owner("CacheBlendEngine", "1", true),
            "belongs to a former CacheBlendEngine kv (uid 1)",
        ),
        (
            "a predecessor's",
            owner("LMCacheEngine", "2", true),
            "belongs to a former LMCacheEngine kv (uid 2)",
        ),
        (
            "not controlled",
            owner("LMCacheEngine", "UID", false),
            "exists and has no controlling owner",
        ),
    ]
}

fn object(kind: &str, name: &str, labelled: bool, owners: Value) -> Value {
    let (group, rest) = match kind {
        "DaemonSet" => (
            "apps/v1",
            json!({"spec": {"selector": {"matchLabels": {"app": "mine"}}, "template": {
                "metadata": {"labels": {"app": "mine"}}, "spec": {"containers": [{"name": "mine", "image": "i:1"}]}}}}),
        ),
        "Service" => (
            "v1",
            json!({"spec": {"ports": [{"port": 80}], "selector": {"app": "mine"}}}),
        ),
        "Secret" => ("v1", json!({"data": {"mine": "eA=="}})),
        _ => ("v1", json!({"data": {"mine": "x"}})),
    };
    let mut object = json!({"apiVersion": group, "kind": kind, "metadata": {"name": name, "ownerReferences": owners}});
    if labelled {
        object["metadata"]["labels"] = json!({"app.kubernetes.io/managed-by": "lmcache-operator"});
    }
    object
        .as_object_mut()
        .unwrap()
        .extend(rest.as_object().unwrap().clone());
    object
}

/// An engine with a login, beside an object of this kind and name.
async fn beside(kind: &str, name: &str, labelled: bool, mut owners: Value) -> (World, Value, Vec<String>) {
    let mut world = World::new();
    let login = json!({"name": "login"});
    world.create(
        &json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}, "data": {"password": "cHc="}}),
    );
    let custom = world.create(&engine(
        json!({"l2Backend": {"resp": {"host": "redis", "port": 6379, "authSecretRef": login}}}),
    ));
    if owners[0]["uid"] == "UID" {
        owners[0]["uid"] = custom["metadata"]["uid"].clone();
    }
    let before = world.create(&object(kind, name, labelled, owners));
    let calls = world.settle().await;
    (world, before, calls)
}

#[rstest]
#[case("ConfigMap", "kv-connection")]
#[case("Service", "kv")]
#[case("Service", "kv-metrics")]
#[case("DaemonSet", "kv")]
#[case("Secret", "kv-resp-auth")]
#[tokio::test(start_paused = true)]
async fn a_foreign_object_is_left_alone_and_named(#[case] kind: &str, #[case] name: &str) {
    for (whose, owners, said) in owners() {
        for labelled in [false, true] {
            let (mut world, before, calls) = beside(kind, name, labelled, owners.clone()).await;
            let what = format!("{kind} {name}, {whose}, labelled: {labelled}: {calls:#?}");
            assert_eq!(world.get(&id_of(&before)), before, "{what}");
            let (plural, ..) = id_of(&before);
            // Without the operator's labels no watch shows it: it is found where it would be created.
            let look = [format!("APPLY {plural}/{name}"), format!("GET {plural}/{name}")];
            let look = if labelled { &[][..] } else { &look[..] };
            let (about, rest): (Vec<String>, Vec<String>) = calls
                .iter()
                .filter(|call| !call.contains("events"))
                .cloned()
                .partition(|call| call.ends_with(&format!(" {plural}/{name}")));
            assert_eq!(about, look, "{what}");
            // Everything else is reconciled: four children are created, and the status is written.
            assert_eq!(rest.len(), 5, "{what}");
            assert_eq!(
                rest.iter().filter(|call| call.starts_with("APPLY ")).count(),
                4,
                "{what}"
            );
            let (status, reason, message) = world.condition(&kv(), "Reconciled");
            assert_eq!((status.as_str(), reason.as_str()), ("False", "ForeignObject"), "{what}");
            assert!(message.contains(&format!("{kind} {name}: {said}, ")), "{message}");
            assert_eq!(calls.last().unwrap(), "POST events ForeignObject", "{what}");
            assert_eq!(world.next[&kv()], Some(Duration::from_secs(120)), "{what}");
            // The next look costs two requests at most, and writes nothing either.
            let (pass, calls) = world.pass(&kv()).await;
            let calls: Vec<String> = calls.iter().map(ToString::to_string).collect();
            assert_eq!(calls, look, "{what}");
            assert_eq!(pass.outcome, Outcome::Failed);
            assert_eq!(world.get(&id_of(&before)), before, "{what}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_foreign_daemon_set_is_a_failure_and_a_foreign_config_map_is_not() {
    let (world, ..) = beside("DaemonSet", "kv", false, json!([])).await;
    assert_eq!(world.status(&kv())["phase"], "Failed");
    assert_eq!(world.status(&kv())["desiredInstances"], 0);
    let (world, ..) = beside("ConfigMap", "kv-connection", false, json!([])).await;
    assert_eq!(world.status(&kv())["phase"], "Pending");
}

#[tokio::test(start_paused = true)]
async fn the_child_is_created_when_the_foreign_object_is_gone() {
    let (mut world, before, _) = beside("ConfigMap", "kv-connection", false, json!([])).await;
    world.delete(&id_of(&before));
    assert_eq!(world.due(), [""; 0], "no watch shows it");
    world.wake(&kv());
    assert_eq!(
        world.settle().await,
        [
            "APPLY configmaps/kv-connection",
            "MERGE lmcacheengines/kv/status",
            "POST events Reconciled",
        ]
    );
    assert_eq!(world.next[&kv()], None);
}

/// Somebody creates an object of this kind and name just before the next request that begins like this is answered.
fn comes_before(world: &World, request: &str, kind: &str, name: &str, labelled: bool) {
    let theirs = object(kind, name, labelled, json!([]));
    let place = id_of(&theirs);
    let come = move |store: &mut Store| drop(store.create(place.clone(), theirs.clone(), "theirs").unwrap());
    world.server.plan(request, 1, Answer::After(Box::new(come)));
}

/// Somebody creates it when the request to create it is under way: nothing is written on it, not even what nobody would have
/// contradicted, such as labels and an owner.
#[rstest]
#[case("ConfigMap", "kv-connection")]
#[case("Service", "kv")]
#[case("Service", "kv-metrics")]
#[case("DaemonSet", "kv")]
#[case("Secret", "kv-resp-auth")]
#[tokio::test(start_paused = true)]
async fn a_foreign_object_that_comes_at_the_last_moment_is_not_written_at_all(
    #[case] kind: &str,
    #[case] name: &str,
    #[values(false, true)] labelled: bool,
) {
    let mut alone = Store::default();
    let theirs = object(kind, name, labelled, json!([]));
    let place = id_of(&theirs);
    let theirs = alone.create(place.clone(), theirs, "theirs").unwrap();

    let mut world = World::new();
    world.create(&crate::login::source(NAMESPACE, json!({"password": "cHc="}), json!({})));
    world.create(&crate::login::with_login(NAMESPACE));
    let request = format!("APPLY {}/{name}", place.0);
    comes_before(&world, &request, kind, name, labelled);
    let (_, calls) = pass(&mut world).await;
    let about: Vec<&String> = calls
        .iter()
        .filter(|call| call.ends_with(&format!(" {}/{name}", place.0)))
        .collect();
    assert_eq!(about, [&request, &format!("GET {}/{name}", place.0)]);
    assert_eq!(world.reconciled(&kv()).1, "ForeignObject");
    world.settle().await;
    let mut found = world.get(&place);
    for given in ["uid", "resourceVersion"] {
        found["metadata"][given] = theirs["metadata"][given].clone();
    }
    for given in ["clusterIP", "clusterIPs"] {
        if !theirs["spec"][given].is_null() {
            found["spec"][given] = theirs["spec"][given].clone();
        }
    }
    assert_eq!(found, theirs);
    assert_eq!(world.reconciled(&kv()).1, "ForeignObject");
}

/// It is there, and at the look it is gone: the child is created.
#[tokio::test(start_paused = true)]
async fn a_foreign_object_that_goes_at_the_last_moment_is_in_nobodys_way() {
    let mut world = World::new();
    world.create(&engine(json!({})));
    world.create(&object("Service", "kv", false, json!([])));
    let go = |store: &mut Store| store.delete(&id("services", "kv"), None).unwrap();
    world.server.plan("GET services/kv", 1, Answer::After(Box::new(go)));
    let (_, calls) = pass(&mut world).await;
    assert_eq!(
        calls[1..4],
        ["APPLY services/kv", "GET services/kv", "APPLY services/kv"]
    );
    sleep(FIRST_STATUS).await;
    pass(&mut world).await;
    assert_eq!(world.reconciled(&kv()).0, "True");
    assert_eq!(
        world.get(&id("services", "kv"))["metadata"]["ownerReferences"][0]["name"],
        "kv"
    );
}

/// One goes at the look, and another one comes before the second attempt, which is for no version: what they set stays theirs.
#[tokio::test(start_paused = true)]
async fn a_foreign_object_that_comes_at_the_second_attempt_is_not_overwritten() {
    let mut world = World::new();
    world.create(&engine(json!({})));
    let theirs = object("Service", "kv", false, json!([]));
    world
        .server
        .plan("APPLY services/kv", 1, Answer::Refuse(409, "there is one"));
    comes_before(&world, "APPLY services/kv", "Service", "kv", false);
    let (_, calls) = pass(&mut world).await;
    assert_eq!(
        calls[1..4],
        ["APPLY services/kv", "GET services/kv", "APPLY services/kv"]
    );
    let service = world.get(&id("services", "kv"));
    assert_eq!(service["spec"]["selector"], theirs["spec"]["selector"]);
    assert!(service["metadata"].get("ownerReferences").is_none());
    assert_eq!(world.reconciled(&kv()).1, "Conflict");
    world.wake(&kv());
    world.settle().await;
    assert_eq!(world.reconciled(&kv()).1, "ForeignObject");
}

/// What the Go operator overwrote without adopting it is still somebody else's.
#[tokio::test(start_paused = true)]
async fn what_the_go_operator_overwrote_is_left_alone() {
    let recorded = recorded("foreign");
    let mut world = World::new();
    for object in recorded.children.iter().chain([&recorded.custom]) {
        world.server.state().store.put(id_of(object), object.clone());
    }
    world.list_everything();
    let key = key_of(&recorded.custom);
    let calls = world.settle().await;
    assert_eq!(
        calls,
        [
            "MERGE lmcacheengines/foreign/status",
            // Its login is not there either.
            "POST events SecretNotFound",
            "POST events NoReadyInstances",
        ]
    );
    for child in &recorded.children {
        assert_eq!(world.get(&id_of(child)), *child);
    }
    let (_, _, message) = world.condition(&key, "Reconciled");
    for name in [
        "ConfigMap foreign-connection",
        "Service foreign",
        "Service foreign-metrics",
    ] {
        assert!(message.contains(&format!("{name}: exists and ")), "{name}: {message}");
    }
    assert_eq!(world.status(&key)["readyInstances"], 0);
    assert_eq!(world.settle().await, [""; 0]);
}

/// `kubectl delete --cascade=orphan` leaves the children behind, and a successor of the same name does not take them.
#[tokio::test(start_paused = true)]
async fn what_a_predecessor_left_behind_is_somebody_elses() {
    let mut world = World::new();
    world.create(&engine(json!({})));
    world.settle().await;
    world.delete(&custom_id(&kv()));
    assert_eq!(world.settle().await, [""; 0]);
    for (plural, name) in [
        ("configmaps", "kv-connection"),
        ("services", "kv"),
        ("services", "kv-metrics"),
        ("daemonsets", "kv"),
    ] {
        world.edit(&id(plural, name), |child| {
            child["metadata"]
                .as_object_mut()
                .unwrap()
                .shift_remove("ownerReferences");
        });
    }
    let left: Vec<Value> = world.server.state().store.all().cloned().collect();
    world.create(&engine(json!({"logLevel": "DEBUG"})));
    let calls = world.settle().await;
    assert_eq!(calls, ["MERGE lmcacheengines/kv/status", "POST events ForeignObject"]);
    for child in left {
        assert_eq!(world.get(&id_of(&child)), child);
    }
    assert!(
        world
            .condition(&kv(), "Reconciled")
            .2
            .contains("has no controlling owner")
    );
}
