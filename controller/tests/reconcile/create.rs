//! Custom resources that are new.

use lmcache_api::Kind;
use lmcache_controller::live::Key;
use serde_json::{Value, json};

use crate::api::NAMESPACE;
use crate::objects::{cacheblend, coordinator, custom_id, engine, id, key_of, kv};
use crate::world::World;

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
