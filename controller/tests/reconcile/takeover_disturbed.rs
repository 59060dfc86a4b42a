//! Takeovers that others, or the end of the process, get in the way of.

use serde_json::{Value, json};

use crate::objects::{child, coordinator, custom_id, id, id_of, key_of};
use crate::recorded::recorded;
use crate::takeover::{pass, workload, world_of};
use crate::world::World;

/// Somebody else writes between the look and the takeover: nothing of theirs is lost, and the next pass takes over.
#[tokio::test(start_paused = true)]
async fn a_takeover_that_came_too_late_is_made_again() {
    let recorded = recorded("minimal");
    let (mut world, key) = world_of(&recorded);
    let set = id_of(workload(&recorded));
    let place = set.clone();
    let change = move |store: &mut crate::api::Store| {
        let change = |set: &mut Value| set["metadata"]["annotations"]["mine"] = json!("x");
        store.edit(&place, "kubectl-edit", "", change).unwrap();
    };
    world
        .server
        .plan("JSON daemonsets", 1, crate::api::Answer::After(Box::new(change)));
    let calls = pass(&mut world, &key).await;
    assert!(!calls.contains(&"APPLY! daemonsets/minimal".to_owned()), "{calls:#?}");
    // That passes by itself, and is no news.
    assert_eq!(world.reconciled(&key).1, "Conflict");
    assert!(calls.iter().all(|call| !call.contains("events")), "{calls:#?}");
    assert!(world.next[&key].is_some());
    pass(&mut world, &key).await;
    let after = world.get(&set);
    assert_eq!(child(&after).inherited(), None);
    assert_eq!(after["metadata"]["annotations"]["mine"], "x");
    assert_eq!(after["spec"]["template"], workload(&recorded)["spec"]["template"]);
    assert_eq!(world.reconciled(&key).0, "True");
    assert_eq!(pass(&mut world, &key).await, [""; 0]);
}

/// The controller stops between the patch and the apply: the rest follows.
#[tokio::test(start_paused = true)]
async fn a_takeover_that_ended_half_way_is_finished() {
    let recorded = recorded("full");
    let (mut world, key) = world_of(&recorded);
    world.server.plan("APPLY!", 20, crate::api::Answer::Refuse(500, "down"));
    pass(&mut world, &key).await;
    world.server.forget_plans();
    world.restart();
    pass(&mut world, &key).await;
    for before in &recorded.children {
        let after = world.get(&id_of(before));
        assert_eq!(after["spec"]["template"], before["spec"]["template"]);
        assert_eq!(child(&after).inherited(), None);
    }
    assert_eq!(pass(&mut world, &key).await, [""; 0]);
}

/// The Go operator runs once more, say after a failed upgrade, and is taken over again.
#[tokio::test(start_paused = true)]
async fn what_the_go_operator_writes_again_is_taken_over_again() {
    let recorded = recorded("minimal");
    let (mut world, key) = world_of(&recorded);
    pass(&mut world, &key).await;
    world.edit(&custom_id(&key), |custom| custom["spec"]["logLevel"] = json!("DEBUG"));
    pass(&mut world, &key).await;
    let set = id_of(workload(&recorded));
    let ours = world.get(&set)["spec"]["template"].clone();
    let theirs = workload(&recorded)["spec"]["template"].clone();
    world
        .server
        .state()
        .store
        .edit(&set, "manager", "", |set| set["spec"]["template"] = theirs)
        .unwrap();
    let calls = pass(&mut world, &key).await;
    assert_eq!(calls[..2], ["JSON daemonsets/minimal", "APPLY! daemonsets/minimal"]);
    assert_eq!(world.get(&set)["spec"]["template"], ours);
    assert_eq!(child(&world.get(&set)).inherited(), None);
    assert_eq!(pass(&mut world, &key).await, [""; 0]);
}

/// A coordinator that this controller made, and that the Go operator had in between: what it added to the template stays as
/// on any other takeover, and no Pod restarts.
#[tokio::test(start_paused = true)]
async fn what_the_go_operator_added_to_a_template_of_ours_restarts_nothing() {
    let mut world = World::new();
    let custom = coordinator("fleet", json!({"prometheus": {"enabled": true}}));
    world.create(&custom);
    world.settle().await;
    let key = key_of(&custom);
    let deployment = id("deployments", "fleet");
    let scraped = json!({"containerPort": 9090, "name": "metrics", "protocol": "TCP"});
    world
        .server
        .state()
        .store
        .edit(&deployment, "manager", "", |deployment| {
            let ports = &mut deployment["spec"]["template"]["spec"]["containers"][0]["ports"];
            ports.as_array_mut().unwrap().push(scraped);
        })
        .unwrap();
    let theirs = world.get(&deployment);
    world.settle().await;
    let after = world.get(&deployment);
    assert_eq!(after["spec"]["template"], theirs["spec"]["template"]);
    assert_eq!(after["metadata"]["generation"], theirs["metadata"]["generation"]);
    assert_eq!(child(&after).inherited(), None);
    assert_eq!(world.reconciled(&key).1, "LegacyTemplateKept");
    assert_eq!(pass(&mut world, &key).await, [""; 0]);
}

/// `kubectl rollout restart` replaces the Pods and nothing else, whoever made the template.
#[tokio::test(start_paused = true)]
async fn a_rollout_restart_of_a_kept_template_is_left_alone() {
    let recorded = recorded("minimal");
    let (mut world, key) = world_of(&recorded);
    pass(&mut world, &key).await;
    let set = id_of(workload(&recorded));
    world.edit(&set, |set| {
        set["spec"]["template"]["metadata"]["annotations"] = json!({"kubectl.kubernetes.io/restartedAt": "now"});
    });
    let before = world.get(&set);
    let calls = pass(&mut world, &key).await;
    assert_eq!(calls, ["MERGE lmcacheengines/minimal/status"]);
    assert_eq!(world.get(&set), before);
    assert_eq!(world.reconciled(&key).1, "LegacyTemplateKept");
}

/// What people set on the Go operator's objects before the takeover stays theirs.
#[tokio::test(start_paused = true)]
async fn what_others_set_before_is_kept() {
    let recorded = recorded("minimal");
    let (mut world, key) = world_of(&recorded);
    let set = id_of(workload(&recorded));
    let before = world.edit(&set, |set| {
        set["spec"]["updateStrategy"] = json!({"type": "OnDelete"});
        set["spec"]["minReadySeconds"] = json!(7);
        set["metadata"]["annotations"]["mine"] = json!("x");
        set["metadata"]["labels"]["team"] = json!("a");
    });
    let kept = |object: &Value| {
        let mut kept = object.clone();
        let metadata = kept["metadata"].as_object_mut().unwrap();
        metadata.retain(|name, _| !matches!(name.as_str(), "managedFields" | "resourceVersion"));
        kept
    };
    pass(&mut world, &key).await;
    let after = world.get(&set);
    assert_eq!(kept(&after), kept(&before));
    assert_eq!(child(&after).inherited(), None);
    assert_eq!(pass(&mut world, &key).await, [""; 0]);
}
