//! Engines and the coordinator that they refer to.

use serde_json::{Value, json};

use crate::objects::{coordinator, custom_id, engine, id, kv};
use crate::world::World;

fn connected() -> Value {
    engine(json!({"coordinator": {"ref": {"name": "fleet"}}}))
}

fn args(world: &World) -> String {
    world.get(&id("daemonsets", "kv"))["spec"]["template"]["spec"]["containers"][0]["args"].to_string()
}

fn fleet() -> crate::api::Id {
    id("lmcachecoordinators", "fleet")
}

/// What Pods need to be wired is there at once; the servers wait, which is named, and come when the coordinator does.
#[tokio::test(start_paused = true)]
async fn weakness_11_a_missing_coordinator_holds_back_the_servers_alone() {
    let mut world = World::new();
    world.create(&connected());
    assert_eq!(
        world.settle().await,
        [
            "APPLY configmaps/kv-connection",
            "APPLY services/kv",
            "APPLY services/kv-metrics",
            "MERGE lmcacheengines/kv/status",
            "POST events CoordinatorNotFound",
        ]
    );
    let (status, reason, message) = world.condition(&kv(), "Reconciled");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "CoordinatorNotFound"));
    assert!(
        message.contains("\"fleet\"") && message.contains("inference"),
        "{message}"
    );
    assert_eq!(world.status(&kv())["phase"], "Pending");
    assert_eq!(world.next[&kv()], None, "a watch tells when it comes");

    world.create(&coordinator("fleet", json!({})));
    let calls = world.settle().await;
    let about_engine: Vec<&String> = calls.iter().filter(|call| !call.contains("fleet")).collect();
    assert_eq!(
        about_engine,
        [
            "APPLY daemonsets/kv",
            "MERGE lmcacheengines/kv/status",
            "POST events Reconciled",
        ]
    );
    assert!(args(&world).contains("http://fleet.inference.svc:9300"));
}

#[tokio::test(start_paused = true)]
async fn weakness_11_a_coordinators_new_port_reaches_its_engines() {
    let mut world = World::new();
    world.create(&coordinator("fleet", json!({})));
    world.create(&connected());
    world.create(&coordinator("other", json!({})));
    world.settle().await;
    world.edit(&fleet(), |fleet| fleet["spec"]["port"] = json!(9400));
    let calls = world.settle().await;
    let about_engine: Vec<&String> = calls.iter().filter(|call| call.contains("/kv")).collect();
    assert_eq!(about_engine, ["APPLY! daemonsets/kv", "MERGE lmcacheengines/kv/status"]);
    assert!(args(&world).contains("http://fleet.inference.svc:9400"));
    // What is not of its specification, and other coordinators, wake nobody.
    world.deployment_status("fleet", 1);
    world.edit(&id("lmcachecoordinators", "other"), |other| {
        other["spec"]["port"] = json!(9500)
    });
    assert!(!world.due().contains(&"LMCacheEngine inference/kv".to_owned()));
}

/// The servers run on, also where the engine's specification changes meanwhile; and what leads clients to them stays as
/// long as they do.
#[tokio::test(start_paused = true)]
async fn weakness_11_without_its_coordinator_an_engine_runs_on() {
    let mut world = World::new();
    world.create(&coordinator("fleet", json!({})));
    world.create(&connected());
    world.settle().await;
    let before = world.get(&id("daemonsets", "kv"));
    world.delete(&fleet());
    assert_eq!(
        world.settle().await,
        ["MERGE lmcacheengines/kv/status", "POST events CoordinatorNotFound"]
    );
    world.edit(&custom_id(&kv()), |engine| {
        engine["spec"]["server"] = json!({"port": 6000})
    });
    world.run_servers("kv", &[("node-a", true)]);
    let calls = world.settle().await;
    assert!(calls.iter().all(|call| !call.starts_with("APPLY")), "{calls:?}");
    assert_eq!(world.get(&id("daemonsets", "kv"))["spec"], before["spec"]);
    assert_eq!(world.get(&id("services", "kv"))["spec"]["ports"][0]["port"], 5555);
    assert_eq!(world.status(&kv())["observedGeneration"], 2);
    assert_eq!(world.reconciled(&kv()).0, "False");
    // With it, everything follows, the servers first.
    world.create(&coordinator("fleet", json!({})));
    let calls = world.settle().await;
    assert_eq!(
        calls
            .iter()
            .filter(|call| call.starts_with("APPLY! "))
            .collect::<Vec<_>>(),
        [
            "APPLY! daemonsets/kv",
            "APPLY! configmaps/kv-connection",
            "APPLY! services/kv"
        ]
    );
}

/// Servers that stay as they are keep what they refer to.
#[tokio::test(start_paused = true)]
async fn what_held_servers_need_is_not_deleted() {
    let mut world = World::new();
    world.create(
        &json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}, "data": {"password": "cHc="}}),
    );
    world.create(&coordinator("fleet", json!({})));
    let mut object = connected();
    object["spec"]["l2Backend"] = json!({"resp": {"host": "redis", "port": 6379, "authSecretRef": {"name": "login"}}});
    world.create(&object);
    world.settle().await;
    world.run_servers("kv", &[("node-a", true)]);
    world.settle().await;
    world.delete(&fleet());
    world.settle().await;
    world.edit(&custom_id(&kv()), |engine| {
        engine["spec"]["l2Backend"] = json!(null);
        engine["spec"]["prometheus"] = json!({"enabled": false});
    });
    let calls = world.settle().await;
    assert!(calls.iter().all(|call| !call.starts_with("DELETE")), "{calls:?}");
    world.create(&coordinator("fleet", json!({})));
    world.settle().await;
    world.run_servers("kv", &[("node-a", true)]);
    let calls = world.settle().await;
    assert!(calls.contains(&"DELETE secrets/kv-resp-auth".to_owned()), "{calls:?}");
}

#[tokio::test(start_paused = true)]
async fn a_coordinator_of_another_namespace_is_none() {
    let mut world = World::new();
    let mut elsewhere = coordinator("fleet", json!({}));
    elsewhere["metadata"]["namespace"] = json!("other");
    world.create(&elsewhere);
    world.create(&connected());
    world.settle().await;
    assert_eq!(world.reconciled(&kv()).1, "CoordinatorNotFound");
}

#[tokio::test(start_paused = true)]
async fn a_url_needs_no_coordinator() {
    let mut world = World::new();
    world.create(&engine(json!({"coordinator": {"url": "http://fleet.example:9300"}})));
    assert_eq!(world.settle().await, crate::weaknesses::CREATED);
    assert!(args(&world).contains("http://fleet.example:9300"));
}
