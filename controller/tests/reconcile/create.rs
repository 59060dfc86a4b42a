//! Custom resources that are new.

use lmcache_api::Kind;
use lmcache_controller::live::Key;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::api::{Answer, NAMESPACE};
use crate::objects::{cacheblend, coordinator, custom_id, engine, id, key_of, kv};
use crate::world::{FIRST_STATUS, World};

async fn created(object: &Value) -> (World, Vec<String>) {
    let mut world = World::new();
    world.create(object);
    let calls = world.settle().await;
    (world, calls)
}

#[tokio::test(start_paused = true)]
async fn an_engine_is_created_with_four_children_and_one_status() {
    let (mut world, calls) = created(&engine(json!({}))).await;
    assert_eq!(
        calls,
        [
            "APPLY configmaps/kv-connection",
            "APPLY services/kv",
            "APPLY services/kv-metrics",
            "APPLY daemonsets/kv",
            "MERGE lmcacheengines/kv/status",
        ]
    );
    let custom = world.get(&custom_id(&kv()));
    for child in [
        id("configmaps", "kv-connection"),
        id("services", "kv"),
        id("services", "kv-metrics"),
        id("daemonsets", "kv"),
    ] {
        assert_eq!(
            world.get(&child)["metadata"]["ownerReferences"],
            json!([{"apiVersion": "lmcache.lmcache.ai/v1alpha1", "kind": "LMCacheEngine", "name": "kv",
                "uid": custom["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true}])
        );
    }
    let status = world.status(&kv());
    assert_eq!(status["phase"], "Pending");
    assert_eq!(status["observedGeneration"], 1);
    assert_eq!(world.reconciled(&kv()), ("True".to_owned(), "Reconciled".to_owned()));
    assert!(custom["metadata"].get("finalizers").is_none());
    assert_eq!(world.settle().await, [""; 0]);
}

/// What it would say before is that nobody has looked at the DaemonSet yet.
#[tokio::test(start_paused = true)]
async fn the_first_status_waits_for_whoever_looks_after_the_workload() {
    let mut world = World::new();
    world.create(&engine(json!({})));
    world.deliver();
    let (made, calls) = world.pass(&kv()).await;
    assert_eq!((calls.len(), made.next), (4, Some(FIRST_STATUS)));
    assert!(world.status(&kv()).is_null());
    sleep(FIRST_STATUS / 2).await;
    let (again, calls) = world.pass(&kv()).await;
    assert_eq!(
        (calls.len(), again.next),
        (0, Some(FIRST_STATUS / 2)),
        "it is not put off anew"
    );
    world.run_servers("kv", &[("node-a", true)]);
    let calls = world.settle().await;
    assert_eq!(
        calls.iter().filter(|call| call.starts_with("MERGE")).count(),
        1,
        "{calls:#?}"
    );
    assert_eq!(world.status(&kv())["phase"], "Running");
    assert_eq!(world.next[&kv()], None);
}

#[tokio::test(start_paused = true)]
async fn a_first_status_that_nobody_looks_after_comes_in_the_end() {
    let mut world = World::new();
    world.create(&engine(json!({})));
    world.deliver();
    world.pass(&kv()).await;
    sleep(FIRST_STATUS).await;
    let (late, calls) = world.pass(&kv()).await;
    assert_eq!((calls.len(), late.next), (1, None));
    assert_eq!(world.status(&kv())["phase"], "Pending");
}

/// What was put off by a process that ended is not forgotten.
#[tokio::test(start_paused = true)]
async fn the_controllers_next_start_puts_a_first_status_off_for_as_long_and_not_for_ever() {
    let mut world = World::new();
    world.create(&engine(json!({})));
    world.deliver();
    world.pass(&kv()).await;
    world.restart();
    let (pass, calls) = world.pass(&kv()).await;
    assert_eq!((calls.len(), pass.next), (0, Some(FIRST_STATUS)));
    sleep(FIRST_STATUS).await;
    let (_, calls) = world.pass(&kv()).await;
    assert_eq!(
        calls.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["MERGE lmcacheengines/kv/status"]
    );
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_is_made_anew_has_its_own_time() {
    let mut world = World::new();
    world.create(&engine(json!({})));
    world.deliver();
    world.pass(&kv()).await;
    sleep(FIRST_STATUS).await;
    // With it, as its owner references have it, go its children.
    world.delete(&custom_id(&kv()));
    for (plural, name) in [
        ("configmaps", "kv-connection"),
        ("services", "kv"),
        ("services", "kv-metrics"),
        ("daemonsets", "kv"),
    ] {
        world.delete(&id(plural, name));
    }
    // Before any pass sees that it is gone.
    world.create(&engine(json!({})));
    world.deliver();
    let (pass, calls) = world.pass(&kv()).await;
    assert_eq!((calls.len(), pass.next), (4, Some(FIRST_STATUS)));
}

/// A step before the children that failed may be tried again late, and is told until then.
#[tokio::test(start_paused = true)]
async fn a_first_status_does_not_wait_for_a_step_that_failed() {
    let mut world = World::new();
    let mut left = engine(json!({}));
    left["metadata"]["finalizers"] = json!(["lmcache.ai/cleanup"]);
    world.create(&left);
    world.server.plan("JSON lmcacheengines", 1, Answer::Refuse(500, "no"));
    world.deliver();
    let (_, calls) = world.pass(&kv()).await;
    assert_eq!(calls.last().unwrap().to_string(), "MERGE lmcacheengines/kv/status");
}

/// Only the first: who waits for a generation learns at once that it was seen.
#[tokio::test(start_paused = true)]
async fn later_statuses_are_written_at_once() {
    let (mut world, _) = created(&engine(json!({}))).await;
    world.edit(&custom_id(&kv()), |custom| {
        custom["spec"]["server"] = json!({"port": 6000})
    });
    world.deliver();
    let (pass, _) = world.pass(&kv()).await;
    assert_eq!(
        (world.status(&kv())["observedGeneration"].as_u64(), pass.next),
        (Some(2), None)
    );
}

/// What went wrong is told at once.
#[tokio::test(start_paused = true)]
async fn a_first_status_with_bad_news_does_not_wait() {
    let mut world = World::new();
    world.create(&engine(json!({})));
    world
        .server
        .plan("APPLY services/kv-metrics", 1, Answer::Refuse(422, "no"));
    world.deliver();
    world.pass(&kv()).await;
    assert_eq!(world.reconciled(&kv()).0, "False");
}

#[tokio::test(start_paused = true)]
async fn a_cacheblend_engine_likewise() {
    let (world, calls) = created(&cacheblend(json!({}))).await;
    assert_eq!(
        calls,
        [
            "APPLY configmaps/kv-connection",
            "APPLY services/kv",
            "APPLY services/kv-metrics",
            "APPLY daemonsets/kv",
            "MERGE cacheblendengines/kv/status",
        ]
    );
    let key = Key::new(Kind::CacheBlendEngine, NAMESPACE, "kv");
    assert_eq!(world.status(&key)["phase"], "Pending");
}

#[tokio::test(start_paused = true)]
async fn a_coordinator_is_created_with_its_service_and_deployment() {
    let object = coordinator("fleet", json!({}));
    let (mut world, calls) = created(&object).await;
    assert_eq!(
        calls,
        [
            "APPLY services/fleet",
            "APPLY deployments/fleet",
            "MERGE lmcachecoordinators/fleet/status",
        ]
    );
    let key = key_of(&object);
    assert_eq!(world.status(&key)["endpoint"], "http://fleet.inference.svc:9300");
    world.deployment_status("fleet", 1);
    assert_eq!(
        world.settle().await,
        [
            "MERGE lmcachecoordinators/fleet/status",
            "POST events AtLeastOneReady",
            "POST events AllReady",
        ]
    );
    assert_eq!(world.status(&key)["phase"], "Running");
}

#[tokio::test(start_paused = true)]
async fn with_a_service_monitor_that_comes_last() {
    let monitored = json!({"prometheus": {"serviceMonitor": {"enabled": true}}});
    let (_, calls) = created(&engine(monitored.clone())).await;
    assert_eq!(
        calls[4..],
        ["APPLY servicemonitors/kv", "MERGE lmcacheengines/kv/status"]
    );
    let (_, calls) = created(&coordinator("fleet", monitored)).await;
    assert_eq!(
        calls,
        [
            "APPLY services/fleet",
            "APPLY services/fleet-metrics",
            "APPLY deployments/fleet",
            "APPLY servicemonitors/fleet",
            "MERGE lmcachecoordinators/fleet/status",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn that_the_servers_are_up_is_told_once() {
    let (mut world, _) = created(&engine(json!({}))).await;
    world.run_servers("kv", &[("node-b", true), ("node-a", true)]);
    assert_eq!(
        world.settle().await,
        [
            "MERGE lmcacheengines/kv/status",
            "POST events AtLeastOneReady",
            "POST events AllReady",
        ]
    );
    let status = world.status(&kv());
    assert_eq!(status["phase"], "Running");
    assert_eq!(
        (&status["desiredInstances"], &status["readyInstances"]),
        (&json!(2), &json!(2))
    );
    assert_eq!(world.condition(&kv(), "Ready").0, "True");
}
