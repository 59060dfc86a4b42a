//! Specifications with faults.

use lmcache_controller::run::metrics::Outcome;
use serde_json::{Value, json};

use crate::objects::{custom_id, engine, id, id_of, key_of, kv};
use crate::recorded::recorded;
use crate::world::World;

fn invalidate(engine: &mut Value) {
    // The port of the HTTP server.
    engine["spec"]["server"] = json!({"port": 8080});
}

/// One status write and one Event. Nothing of the former state is left in it, nothing is tried again by itself, and children
/// stay as they are.
#[tokio::test(start_paused = true)]
async fn weakness_09_an_invalid_specification_is_one_status_write() {
    let mut world = World::new();
    world.create(&engine(json!({})));
    world.settle().await;
    world.run_servers("kv", &[("node-a", true)]);
    world.settle().await;
    world.edit(&custom_id(&kv()), invalidate);
    let children = [
        "configmaps/kv-connection",
        "services/kv",
        "services/kv-metrics",
        "daemonsets/kv",
    ];
    let children = children.map(|child| child.split_once('/').unwrap());
    let before = children.map(|(plural, name)| world.get(&id(plural, name)));
    assert_eq!(
        world.settle().await,
        ["MERGE lmcacheengines/kv/status", "POST events ValidationFailed"]
    );
    assert_eq!(children.map(|(plural, name)| world.get(&id(plural, name))), before);
    let status = world.status(&kv());
    assert_eq!(
        (&status["phase"], &status["observedGeneration"]),
        (&json!("Failed"), &json!(2))
    );
    let (valid, reason, message) = world.condition(&kv(), "ConfigValid");
    assert_eq!((valid.as_str(), reason.as_str()), ("False", "ValidationFailed"));
    assert!(message.contains("spec.server"), "{message}");
    assert_eq!(world.condition(&kv(), "Ready").0, "False");
    // The servers run on, and are counted.
    assert_eq!(world.condition(&kv(), "Available").0, "True");
    assert_eq!(status["endpoints"][0]["port"], 5555);
    world.run_servers("kv", &[("node-a", false)]);
    let calls = world.settle().await;
    assert_eq!(calls[0], "MERGE lmcacheengines/kv/status");
    assert_eq!(world.status(&kv())["readyInstances"], 0);
    // No storm.
    let (pass, calls) = world.pass(&kv()).await;
    assert_eq!((pass.outcome, pass.next, calls.len()), (Outcome::Invalid, None, 0));
    // Drift is not repaired: nobody knows what to.
    world.edit(&id("services", "kv"), |service| {
        service["spec"]["selector"] = json!({"app": "x"})
    });
    assert_eq!(world.settle().await, [""; 0]);
    // Corrected, it is all caught up.
    world.edit(&custom_id(&kv()), |engine| {
        engine["spec"]["server"] = json!({"port": 6000})
    });
    let calls = world.settle().await;
    assert_eq!(
        calls[..4],
        [
            "APPLY! daemonsets/kv",
            "APPLY! configmaps/kv-connection",
            "APPLY! services/kv",
            "MERGE lmcacheengines/kv/status",
        ]
    );
    assert_eq!(world.condition(&kv(), "ConfigValid").0, "True");
}

#[tokio::test(start_paused = true)]
async fn a_new_engine_with_faults_gets_no_children() {
    let mut world = World::new();
    world.create(&engine(json!({"server": {"port": 8080}})));
    assert_eq!(
        world.settle().await,
        ["MERGE lmcacheengines/kv/status", "POST events ValidationFailed"]
    );
    world.restart();
    assert_eq!(world.settle().await, [""; 0]);
}

/// What the Go operator refused is refused, with the rest of the status that it left out.
#[tokio::test(start_paused = true)]
async fn what_the_go_operator_refused_is_one_status_write() {
    let recorded = recorded("invalid");
    let mut world = World::new();
    world
        .server
        .state()
        .store
        .put(id_of(&recorded.custom), recorded.custom.clone());
    world.list_everything();
    // It said so before: no Event unless the faults are others.
    let calls = world.settle().await;
    assert_eq!(calls[0], "MERGE lmcacheengines/invalid/status");
    assert!(calls.len() <= 2, "{calls:#?}");
    let key = key_of(&recorded.custom);
    assert_eq!(world.status(&key)["phase"], "Failed");
    assert_eq!(world.condition(&key, "Ready").0, "False");
    let (pass, calls) = world.pass(&key).await;
    assert_eq!((pass.outcome, pass.next, calls.len()), (Outcome::Invalid, None, 0));
}
