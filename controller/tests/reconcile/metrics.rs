//! What metrics say of a custom resource.

use serde_json::json;

use crate::api::{Answer, NAMESPACE};
use crate::objects::{custom_id, engine, kv};
use crate::world::World;

/// The series about the engine `kv`, without what is the same for all.
fn series(world: &World) -> Vec<String> {
    let text = world.metrics.text().unwrap();
    let about = format!(r#"namespace="{NAMESPACE}",kind="LMCacheEngine",name="kv""#);
    let lines = text.lines().filter(|line| line.contains(&about));
    let short = lines.map(|line| line.replace("lmcache_controller_", "").replace(&about, ""));
    short.collect()
}

fn condition(of_type: &str, status: &str, reason: &str) -> String {
    format!(r#"condition{{,type="{of_type}",status="{status}",reason="{reason}"}} 1"#)
}

#[tokio::test(start_paused = true)]
async fn conditions_and_numbers_are_those_of_the_last_pass_and_go_with_the_engine() {
    let mut world = World::new();
    world.create(&engine(json!({})));
    world.settle().await;
    world.run_servers("kv", &[("node-a", true), ("node-b", false)]);
    world.settle().await;
    assert_eq!(
        series(&world),
        [
            condition("Ready", "False", "NotAllReady"),
            condition("ConfigValid", "True", "Valid"),
            condition("Reconciled", "True", "Reconciled"),
            condition("Available", "True", "AtLeastOneReady"),
            condition("AllInstancesReady", "False", "NotAllReady"),
            condition("ClientsCovered", "True", "NoClients"),
            "instances_desired{} 2".to_owned(),
            "instances_ready{} 1".to_owned(),
        ]
    );
    world.run_servers("kv", &[("node-a", true), ("node-b", true)]);
    world.settle().await;
    assert!(series(&world).contains(&condition("Ready", "True", "AllReady")));
    assert!(!series(&world).contains(&condition("Ready", "False", "NotAllReady")));

    // After a start, a pass that writes nothing tells as much.
    let before = series(&world);
    world.restart();
    assert_eq!(series(&world), [""; 0]);
    assert_eq!(world.settle().await, [""; 0]);
    assert_eq!(series(&world), before);

    world.delete(&custom_id(&kv()));
    world.settle().await;
    assert_eq!(series(&world), [""; 0]);
}

/// An alert must not wait for what the API server does not take.
#[tokio::test(start_paused = true)]
async fn what_was_found_is_shown_where_the_status_cannot_be_written() {
    let mut world = World::new();
    world.create(&engine(json!({})));
    world.settle().await;
    world.server.plan("MERGE lmcacheengines", 1, Answer::Refuse(500, "no"));
    world.edit(&custom_id(&kv()), |engine| {
        engine["spec"]["server"] = json!({"port": 8080})
    });
    world.deliver();
    world.pass(&kv()).await;
    assert_eq!(world.condition(&kv(), "ConfigValid").0, "True");
    assert!(series(&world).contains(&condition("ConfigValid", "False", "ValidationFailed")));
}
