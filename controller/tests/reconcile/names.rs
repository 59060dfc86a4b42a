//! Two kinds of one name, and the finalizer of early versions of the Go operator.

use lmcache_api::Kind;
use lmcache_controller::live::Key;
use lmcache_controller::run::metrics::Outcome;
use rstest::rstest;
use serde_json::{Value, json};

use crate::api::NAMESPACE;
use crate::objects::{cacheblend, coordinator, custom_id, engine, id, kv};
use crate::world::World;

fn aged(mut object: Value, created: &str) -> Value {
    object["metadata"]["creationTimestamp"] = json!(created);
    object
}

fn blend() -> Key {
    Key::new(Kind::CacheBlendEngine, NAMESPACE, "kv")
}

const OLD: &str = "2026-11-30T00:00:00Z";
const NEW: &str = "2026-11-30T00:00:01Z";

/// The older one has the name. The other one writes its status and nothing else, however often it is asked.
#[tokio::test(start_paused = true)]
async fn weakness_03_of_two_kinds_of_one_name_the_older_one_is_built() {
    let mut world = World::new();
    world.create(&aged(engine(json!({})), OLD));
    world.create(&aged(cacheblend(json!({})), NEW));
    let calls = world.settle().await;
    let blends: Vec<&String> = calls.iter().filter(|call| call.contains("cacheblend")).collect();
    assert_eq!(blends, ["MERGE cacheblendengines/kv/status"]);
    assert_eq!(
        calls.iter().filter(|call| call.starts_with("APPLY")).count(),
        4,
        "{calls:#?}"
    );
    assert!(calls.contains(&"POST events NameConflict".to_owned()), "{calls:#?}");
    assert_eq!(
        world.get(&id("daemonsets", "kv"))["metadata"]["ownerReferences"][0]["kind"],
        "LMCacheEngine"
    );
    assert_eq!(world.status(&kv())["phase"], "Pending");
    assert_eq!(world.status(&blend())["phase"], "Failed");
    let (status, reason, message) = world.condition(&blend(), "Reconciled");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "NameConflict"));
    assert!(message.contains("LMCacheEngine inference/kv"), "{message}");
    for key in [kv(), blend()] {
        let (pass, calls) = world.pass(&key).await;
        assert!(calls.is_empty(), "{calls:?}");
        assert_eq!(pass.next, None);
        assert_ne!(pass.outcome, Outcome::Failed);
    }
    // The Pods of the one are not the other's.
    world.run_servers("kv", &[("node-a", true)]);
    world.settle().await;
    assert_eq!(world.status(&kv())["readyInstances"], 1);
    assert_eq!(world.status(&blend())["readyInstances"], 0);
}

#[tokio::test(start_paused = true)]
async fn weakness_03_whoever_comes_first_to_be_reconciled() {
    let mut world = World::new();
    world.create(&aged(cacheblend(json!({})), OLD));
    world.create(&aged(engine(json!({})), NEW));
    world.create(&aged(coordinator("kv", json!({})), NEW));
    world.settle().await;
    assert_eq!(
        world.get(&id("daemonsets", "kv"))["metadata"]["ownerReferences"][0]["kind"],
        "CacheBlendEngine"
    );
    assert!(!world.exists(&id("deployments", "kv")));
    assert_eq!(world.reconciled(&kv()).1, "NameConflict");
    // It goes, and so do its children; the name is free.
    world.delete(&custom_id(&blend()));
    for (plural, name) in [
        ("configmaps", "kv-connection"),
        ("services", "kv"),
        ("services", "kv-metrics"),
        ("daemonsets", "kv"),
    ] {
        world.delete(&id(plural, name));
    }
    world.settle().await;
    // Of two of one second the uid decides.
    assert_eq!(
        world.get(&id("daemonsets", "kv"))["metadata"]["ownerReferences"][0]["kind"],
        "LMCacheEngine"
    );
    assert_eq!(world.reconciled(&kv()).0, "True");
    assert!(!world.exists(&id("deployments", "kv")));
}

/// A finalizer that nobody else would take away.
fn with_finalizers(finalizers: &[&str], is_ending: bool) -> Value {
    let mut object = engine(json!({}));
    object["metadata"]["finalizers"] = json!(finalizers);
    if is_ending {
        object["metadata"]["deletionTimestamp"] = json!(NEW);
    }
    object
}

const OURS: &str = "lmcache.ai/cleanup";
const THEIRS: &str = "other.io/keep";

#[tokio::test(start_paused = true)]
async fn the_legacy_finalizer_goes_and_the_engine_is_built() {
    let mut world = World::new();
    world.create(&with_finalizers(&[THEIRS, OURS], false));
    let calls = world.settle().await;
    assert_eq!(calls[0], "JSON lmcacheengines/kv");
    assert_eq!(calls[1..], crate::weaknesses::CREATED);
    assert_eq!(world.get(&custom_id(&kv()))["metadata"]["finalizers"], json!([THEIRS]));
    assert_eq!(world.settle().await, [""; 0]);
}

#[rstest]
#[case::alone(&[OURS], None)]
#[case::with_another(&[OURS, THEIRS], Some(json!([THEIRS])))]
#[tokio::test(start_paused = true)]
async fn of_an_engine_that_is_being_deleted_nothing_but_the_finalizer_is_written(
    #[case] finalizers: &[&str],
    #[case] left: Option<Value>,
) {
    let mut world = World::new();
    world.create(&with_finalizers(finalizers, true));
    assert_eq!(world.settle().await, ["JSON lmcacheengines/kv"]);
    match left {
        None => assert!(!world.exists(&custom_id(&kv()))),
        Some(left) => assert_eq!(world.get(&custom_id(&kv()))["metadata"]["finalizers"], left),
    }
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_is_being_deleted_is_left_to_kubernetes() {
    let mut world = World::new();
    world.create(&with_finalizers(&[THEIRS], false));
    world.settle().await;
    world.edit(&custom_id(&kv()), |engine| {
        engine["metadata"]["deletionTimestamp"] = json!(NEW)
    });
    let mut ending = world.get(&custom_id(&kv()));
    ending["metadata"]["deletionTimestamp"] = json!(NEW);
    ending["metadata"]["resourceVersion"] = json!("900");
    world.server.state().store.put(custom_id(&kv()), ending);
    world.delete(&id("services", "kv"));
    assert_eq!(world.settle().await, [""; 0], "neither children nor status");
}

/// Somebody else changes the list at the same time: theirs is not touched, and ours goes with the next pass.
#[tokio::test(start_paused = true)]
async fn the_finalizer_patch_fails_where_the_list_has_changed() {
    let mut world = World::new();
    world.create(&with_finalizers(&[OURS], true));
    let change = |store: &mut crate::api::Store| {
        store
            .edit(&custom_id(&kv()), "theirs", "", |engine| {
                engine["metadata"]["finalizers"] = json!([THEIRS, OURS])
            })
            .unwrap();
    };
    world
        .server
        .plan("JSON", 1, crate::api::Answer::After(Box::new(change)));
    assert_eq!(
        world.settle().await,
        ["JSON lmcacheengines/kv", "JSON lmcacheengines/kv"]
    );
    assert_eq!(world.get(&custom_id(&kv()))["metadata"]["finalizers"], json!([THEIRS]));
}
