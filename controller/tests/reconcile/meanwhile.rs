//! Objects that change or go while a pass is under way.

use serde_json::{Value, json};
use tokio::time::sleep;

use crate::api::{Answer, Store};
use crate::failures::{pass, settled};
use crate::objects::{custom_id, engine, id, kv};
use crate::weaknesses::CREATED;
use crate::world::{FIRST_STATUS, World};

/// What a status says was seen and built: a status that was made of another version is not written.
#[tokio::test(start_paused = true)]
async fn weakness_06_a_specification_that_changes_meanwhile_is_neither_observed_nor_found_valid() {
    let mut world = World::new();
    world.create(&engine(json!({})));
    let change = |store: &mut Store| {
        let invalid = |engine: &mut Value| engine["spec"]["server"] = json!({"port": 8080});
        store.edit(&custom_id(&kv()), "kubectl-edit", "", invalid).unwrap();
    };
    world
        .server
        .plan("APPLY configmaps", 1, Answer::After(Box::new(change)));
    pass(&mut world).await;
    assert_eq!(world.get(&custom_id(&kv()))["metadata"]["generation"], 2);
    assert_eq!(world.status(&kv()), Value::Null);
    let args = world.get(&id("daemonsets", "kv"))["spec"]["template"]["spec"]["containers"][0]["args"].clone();
    assert!(args.as_array().unwrap().contains(&json!("5555")));
    // Then it is seen.
    let calls = world.settle().await;
    assert_eq!(
        calls,
        ["MERGE lmcacheengines/kv/status", "POST events ValidationFailed"]
    );
    let status = world.status(&kv());
    assert_eq!(status["observedGeneration"], 2);
    for condition in status["conditions"].as_array().unwrap() {
        assert_eq!(condition["observedGeneration"], 2, "{condition}");
    }
    assert_eq!(world.condition(&kv(), "ConfigValid").0, "False");
}

/// A child changes between the look and the write: what is applied is applied onto the new state.
#[tokio::test(start_paused = true)]
async fn a_child_that_changes_meanwhile_keeps_what_others_set() {
    let mut world = settled().await;
    world.edit(&custom_id(&kv()), |engine| engine["spec"]["logLevel"] = json!("DEBUG"));
    let change = |store: &mut Store| {
        let change = |set: &mut Value| set["metadata"]["annotations"]["mine"] = json!("x");
        store.edit(&id("daemonsets", "kv"), "kubectl-edit", "", change).unwrap();
    };
    world
        .server
        .plan("APPLY! daemonsets", 1, Answer::After(Box::new(change)));
    let calls = world.settle().await;
    assert_eq!(calls, ["APPLY! daemonsets/kv", "MERGE lmcacheengines/kv/status"]);
    assert_eq!(
        world.get(&id("daemonsets", "kv"))["metadata"]["annotations"]["mine"],
        "x"
    );
}

/// A child is replaced between the look and the write: the write is for the object that was seen, and fails.
#[tokio::test(start_paused = true)]
async fn a_child_that_was_replaced_meanwhile_is_not_touched() {
    let mut world = settled().await;
    world.edit(&custom_id(&kv()), |engine| {
        engine["spec"]["server"] = json!({"port": 6000})
    });
    let theirs = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "kv"},
        "spec": {"ports": [{"port": 80}], "selector": {"app": "mine"}}});
    let replace = move |store: &mut Store| {
        store.delete(&id("services", "kv"), None).unwrap();
        store.create(id("services", "kv"), theirs.clone(), "theirs").unwrap();
    };
    world
        .server
        .plan("APPLY! services/kv", 1, Answer::After(Box::new(replace)));
    world.settle().await;
    assert_eq!(
        world.get(&id("services", "kv"))["spec"]["selector"],
        json!({"app": "mine"})
    );
    assert_eq!(world.reconciled(&kv()).1, "ForeignObject");
}

/// The engine is deleted before the last of the writes: what is created then goes with it, since it names its uid. Its status
/// is nobody's.
#[tokio::test(start_paused = true)]
async fn an_engine_that_is_deleted_meanwhile() {
    let mut world = World::new();
    let custom = world.create(&engine(json!({})));
    let delete = |store: &mut Store| store.delete(&custom_id(&kv()), None).unwrap();
    world
        .server
        .plan("APPLY daemonsets", 1, Answer::After(Box::new(delete)));
    let (_, calls) = pass(&mut world).await;
    assert_eq!(calls, CREATED[..4]);
    sleep(FIRST_STATUS).await;
    // Before the watch tells.
    let (first, calls) = world.pass(&kv()).await;
    assert_eq!(calls.iter().map(ToString::to_string).collect::<Vec<_>>(), CREATED[4..]);
    assert!(world.server.state().store.get(&custom_id(&kv())).is_err());
    assert_eq!(first.next, None, "that it is gone is no failure");
    assert_eq!(
        world.get(&id("daemonsets", "kv"))["metadata"]["ownerReferences"][0]["uid"],
        custom["metadata"]["uid"]
    );
    assert_eq!(world.settle().await, [""; 0]);
    assert_eq!(pass(&mut world).await.1, [""; 0]);
}

/// And created again: the successor does not get the status of its predecessor.
#[tokio::test(start_paused = true)]
async fn an_engine_that_is_replaced_meanwhile() {
    let mut world = World::new();
    world.create(&engine(json!({})));
    let replace = |store: &mut Store| {
        store.delete(&custom_id(&kv()), None).unwrap();
        store
            .create(custom_id(&kv()), engine(json!({})), "kubectl-create")
            .unwrap();
    };
    world
        .server
        .plan("MERGE lmcacheengines", 1, Answer::After(Box::new(replace)));
    pass(&mut world).await;
    sleep(FIRST_STATUS).await;
    pass(&mut world).await;
    assert!(world.status(&kv()).is_null());
    // Its predecessor's children are somebody else's until they are gone.
    world.settle().await;
    assert_eq!(world.reconciled(&kv()).1, "ForeignObject");
    for (plural, name) in [
        ("configmaps", "kv-connection"),
        ("services", "kv"),
        ("services", "kv-metrics"),
        ("daemonsets", "kv"),
    ] {
        world.delete(&id(plural, name));
    }
    let calls = world.settle().await;
    assert_eq!(
        calls.iter().filter(|call| call.starts_with("APPLY ")).count(),
        4,
        "{calls:#?}"
    );
    assert_eq!(world.reconciled(&kv()).0, "True");
}
