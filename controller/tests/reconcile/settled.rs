//! Where nothing, or nothing but a status, is to be done.

use std::time::Duration;

use lmcache_controller::run::metrics::Outcome;
use serde_json::{Value, json};

use crate::nodes::client_pod;
use crate::objects::{custom_id, engine, id, kv};
use crate::world::World;

/// An engine that serves on two nodes.
async fn running(spec: Value) -> World {
    let mut world = World::new();
    world.create(&engine(spec));
    world.settle().await;
    world.run_servers("kv", &[("node-a", true), ("node-b", true)]);
    world.settle().await;
    world
}

#[tokio::test(start_paused = true)]
async fn a_settled_engine_causes_no_request() {
    let mut world = running(json!({})).await;
    for _ in 0..3 {
        let (pass, calls) = world.pass(&kv()).await;
        assert!(calls.is_empty(), "{calls:?}");
        assert_eq!((pass.outcome, pass.next), (Outcome::Settled, None::<Duration>));
    }
}

#[tokio::test(start_paused = true)]
async fn nor_does_the_controllers_next_start() {
    let mut world = running(json!({"prometheus": {"serviceMonitor": {"enabled": true}}})).await;
    world.restart();
    assert_eq!(world.settle().await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn nor_a_watch_that_was_closed_and_lists_again() {
    let mut world = running(json!({})).await;
    world.list_everything();
    assert_eq!(world.due(), [""; 0]);
    // What happened in between is in the list.
    world.edit(&id("services", "kv"), |service| {
        service["spec"]["internalTrafficPolicy"] = json!("Cluster");
    });
    world.delete(&id("configmaps", "kv-connection"));
    world.list_everything();
    assert_eq!(
        world.settle().await,
        ["APPLY configmaps/kv-connection", "APPLY! services/kv"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_is_no_longer_ready_is_one_status_write() {
    let mut world = running(json!({})).await;
    world.run_servers("kv", &[("node-a", false), ("node-b", true)]);
    assert_eq!(
        world.settle().await,
        ["MERGE lmcacheengines/kv/status", "POST events NotAllReady"]
    );
    let status = world.status(&kv());
    assert_eq!(
        (&status["phase"], &status["readyInstances"]),
        (&json!("Degraded"), &json!(1))
    );
    let ready: Vec<_> = status["endpoints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pod| &pod["ready"])
        .collect();
    assert_eq!(ready, [false, true]);
    world.run_servers("kv", &[("node-a", true), ("node-b", true)]);
    assert_eq!(
        world.settle().await,
        ["MERGE lmcacheengines/kv/status", "POST events AllReady"]
    );
}

/// The status patch holds what differs and of which object and version, nothing else.
#[tokio::test(start_paused = true)]
async fn the_status_write_says_what_changed() {
    let mut world = running(json!({})).await;
    world.daemon_set_status("kv", &[("node-a", true), ("node-b", true), ("node-c", false)]);
    let calls = world.settle_calls().await;
    let custom = world.get(&custom_id(&kv()));
    let body = &calls[0].body;
    let version = calls[0].body["metadata"]["resourceVersion"].as_str().unwrap();
    assert!(custom["metadata"]["resourceVersion"].as_str().unwrap() > version);
    assert_eq!(
        body["metadata"],
        json!({"uid": custom["metadata"]["uid"], "resourceVersion": version})
    );
    let written: Vec<&String> = body["status"].as_object().unwrap().keys().collect();
    assert_eq!(written, ["phase", "desiredInstances", "conditions"]);
}

#[tokio::test(start_paused = true)]
async fn labels_and_annotations_of_the_engine_cause_no_request() {
    let mut world = running(json!({})).await;
    world.edit(&custom_id(&kv()), |engine| {
        engine["metadata"]["labels"] = json!({"team": "a"});
        engine["metadata"]["annotations"] = json!({"note": "x"});
    });
    assert_eq!(world.due(), ["LMCacheEngine inference/kv"]);
    assert_eq!(world.settle().await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn the_interval_of_the_service_monitor_rolls_nothing() {
    let monitored = |interval: &str| json!({"serviceMonitor": {"enabled": true, "interval": interval}});
    let mut world = running(json!({"prometheus": monitored("30s")})).await;
    let before = world.get(&id("daemonsets", "kv"));
    world.edit(&custom_id(&kv()), |engine| {
        engine["spec"]["prometheus"] = monitored("60s")
    });
    assert_eq!(
        world.settle().await,
        ["APPLY! servicemonitors/kv", "MERGE lmcacheengines/kv/status"]
    );
    assert_eq!(world.get(&id("daemonsets", "kv")), before);
    assert_eq!(
        world.get(&id("servicemonitors", "kv"))["spec"]["endpoints"][0]["interval"],
        "60s"
    );
}

#[tokio::test(start_paused = true)]
async fn somebody_elses_status_change_is_put_right_once() {
    let mut world = running(json!({})).await;
    world.edit_status(&custom_id(&kv()), "somebody", |engine| {
        engine["status"]["phase"] = json!("Failed")
    });
    assert_eq!(world.settle().await, ["MERGE lmcacheengines/kv/status"]);
    assert_eq!(world.status(&kv())["phase"], "Running");
}

/// Of clients the counts are written, and an Event goes to the Pod itself.
#[tokio::test(start_paused = true)]
async fn a_client_that_was_skipped_is_counted_and_told() {
    let mut world = running(json!({})).await;
    let mut pod = client_pod(
        "vllm",
        "node-a",
        json!({"lmcache.ai/lmcache-skip-reason": "command-override"}),
        json!([]),
    );
    pod["metadata"]["creationTimestamp"] = json!("2100-01-01T00:00:00Z");
    world.put_pod(pod);
    let calls = world.settle_calls().await;
    let written: Vec<String> = calls.iter().map(ToString::to_string).collect();
    assert_eq!(written, ["MERGE lmcacheengines/kv/status", "POST events ClientSkipped"]);
    assert_eq!(calls[1].body["regarding"]["kind"], "Pod");
    assert_eq!(calls[1].body["regarding"]["name"], "vllm");
    assert_eq!(world.status(&kv())["clients"]["skipped"], 1);
    let (pass, calls) = world.pass(&kv()).await;
    assert_eq!((pass.outcome, calls.len()), (Outcome::Settled, 0));
}
