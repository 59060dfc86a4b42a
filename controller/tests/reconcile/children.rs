//! Children that differ from what they should be, and what others may change about them.

use serde_json::{Value, json};
use tokio::time::sleep;

use crate::objects::{custom_id, engine, id, id_of, key_of, kv};
use crate::recorded::recorded;
use crate::world::{FIRST_STATUS, World};

async fn settled(spec: Value) -> World {
    let mut world = World::new();
    world.create(&engine(spec));
    world.settle().await;
    world
}

fn template(world: &World) -> Value {
    world.get(&id("daemonsets", "kv"))["spec"]["template"].clone()
}

#[tokio::test(start_paused = true)]
async fn a_changed_specification_writes_what_differs() {
    let mut world = settled(json!({})).await;
    world.edit(&custom_id(&kv()), |engine| engine["spec"]["logLevel"] = json!("DEBUG"));
    assert_eq!(
        world.settle().await,
        ["APPLY! daemonsets/kv", "MERGE lmcacheengines/kv/status"]
    );
    assert_eq!(world.status(&kv())["observedGeneration"], 2);
    assert_eq!(world.condition(&kv(), "AllInstancesReady").1, "RolloutNotObserved");

    world.edit(&custom_id(&kv()), |engine| {
        engine["spec"]["server"] = json!({"port": 6000})
    });
    assert_eq!(
        world.settle().await,
        [
            "APPLY! daemonsets/kv",
            "APPLY! configmaps/kv-connection",
            "APPLY! services/kv",
            "MERGE lmcacheengines/kv/status",
        ]
    );
    let ports = world.get(&id("services", "kv"))["spec"]["ports"].clone();
    let ports: Vec<_> = ports
        .as_array()
        .unwrap()
        .iter()
        .map(|port| port["port"].clone())
        .collect();
    assert_eq!(ports, [6000, 8080]);
}

#[tokio::test(start_paused = true)]
async fn what_is_removed_from_the_specification_goes() {
    let spec = json!({
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
        "tolerations": [{"operator": "Exists"}],
        "podLabels": {"team": "a"},
        "podAnnotations": {"note": "x"},
        "nodeSelector": {"pool": "gpu"},
    });
    let mut world = settled(spec).await;
    assert_eq!(template(&world)["metadata"]["labels"]["team"], "a");
    world.edit(&custom_id(&kv()), |engine| {
        let spec = engine["spec"].as_object_mut().unwrap();
        spec.retain(|name, _| {
            !matches!(
                name.as_str(),
                "tolerations" | "podLabels" | "podAnnotations" | "nodeSelector"
            )
        });
        spec.insert("env".to_owned(), json!([{"name": "B", "value": "2"}]));
    });
    assert_eq!(
        world.settle().await,
        ["APPLY! daemonsets/kv", "MERGE lmcacheengines/kv/status"]
    );
    let template = template(&world);
    assert!(template["metadata"]["labels"].get("team").is_none());
    assert!(template["metadata"].get("annotations").is_none());
    assert!(template["spec"].get("tolerations").is_none());
    assert!(template["spec"]["nodeSelector"].get("pool").is_none());
    let env = template["spec"]["containers"][0]["env"].to_string();
    assert!(env.contains("\"B\"") && !env.contains("\"A\""), "{env}");
    assert_eq!(world.settle().await, [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn drift_is_repaired_child_by_child() {
    let mut world = settled(json!({"prometheus": {"serviceMonitor": {"enabled": true}}})).await;
    let whole = |world: &World, plural: &str, name: &str| {
        let object = world.get(&id(plural, name));
        (
            object["spec"].clone(),
            object["data"].clone(),
            object["metadata"]["labels"].clone(),
        )
    };
    type Change = fn(&mut Value);
    let changes: [(&str, &str, Change); 8] = [
        ("configmaps", "kv-connection", |map| {
            map["data"]["kv-transfer-config.json"] = json!("{}");
        }),
        ("services", "kv", |service| {
            service["spec"]["selector"] = json!({"app": "mine"});
        }),
        ("services", "kv", |service| {
            service["spec"]["ports"][0]["port"] = json!(1)
        }),
        ("services", "kv-metrics", |service| {
            service["metadata"]["labels"]["app.kubernetes.io/instance"] = json!("other");
        }),
        ("daemonsets", "kv", |set| {
            set["spec"]["template"]["spec"]["containers"][0]["args"] = json!([]);
        }),
        ("daemonsets", "kv", |set| {
            let env = &mut set["spec"]["template"]["spec"]["containers"][0]["env"];
            env[0]["value"] = json!("x");
        }),
        ("daemonsets", "kv", |set| {
            set["spec"]["template"]["spec"]["nodeSelector"]["more"] = json!("x");
        }),
        ("servicemonitors", "kv", |monitor| {
            monitor["spec"]["selector"]["matchLabels"]["more"] = json!("x");
        }),
    ];
    for (plural, name, change) in changes {
        let before = whole(&world, plural, name);
        world.edit(&id(plural, name), change);
        assert_ne!(whole(&world, plural, name), before);
        let calls = world.settle().await;
        assert_eq!(calls[0], format!("APPLY! {plural}/{name}"));
        let statuses: &[&str] = if plural == "daemonsets" {
            &["MERGE lmcacheengines/kv/status"]
        } else {
            &[]
        };
        assert_eq!(calls[1..], *statuses, "the DaemonSet's generation shows in the status");
        let mut after = whole(&world, plural, name);
        if let Some(ports) = after.0.pointer_mut("/ports").and_then(Value::as_array_mut) {
            // A port of another number is another port, and somebody else's.
            ports.retain(|port| port["port"] != 1);
        }
        assert_eq!(after, before, "{plural}");
        assert_eq!(world.settle().await, [""; 0]);
    }
}

/// An object that loses the operator's labels leaves the watch, as one that is deleted does. It is not created again: it is
/// there, is looked up, and is still ours.
#[tokio::test(start_paused = true)]
async fn a_child_that_lost_its_labels_gets_them_back() {
    let mut world = settled(json!({})).await;
    world.edit(&id("configmaps", "kv-connection"), |map| {
        map["metadata"]["labels"] = json!({"mine": "x"});
    });
    assert_eq!(
        world.settle().await,
        [
            "APPLY configmaps/kv-connection",
            "GET configmaps/kv-connection",
            "APPLY! configmaps/kv-connection"
        ]
    );
    let labels = world.get(&id("configmaps", "kv-connection"))["metadata"]["labels"].clone();
    assert_eq!(labels["app.kubernetes.io/managed-by"], "lmcache-operator");
    assert_eq!(labels["mine"], "x");
}

#[tokio::test(start_paused = true)]
async fn a_child_that_was_deleted_is_created_again() {
    let mut world = settled(json!({})).await;
    for (plural, name) in [
        ("configmaps", "kv-connection"),
        ("services", "kv"),
        ("services", "kv-metrics"),
        ("daemonsets", "kv"),
    ] {
        world.delete(&id(plural, name));
        assert_eq!(world.settle().await, [format!("APPLY {plural}/{name}")]);
    }
}

/// With `--cascade=foreground` a child stays for a while; nothing is created in its place before it is gone.
#[tokio::test(start_paused = true)]
async fn a_child_that_is_being_deleted_is_waited_for() {
    let mut world = settled(json!({})).await;
    let set = id("daemonsets", "kv");
    let mut ending = world.get(&set);
    ending["metadata"]["deletionTimestamp"] = json!("2026-11-30T01:00:00Z");
    ending["metadata"]["resourceVersion"] = json!("900");
    ending["metadata"]["finalizers"] = json!(["foregroundDeletion"]);
    world.server.state().store.put(set.clone(), ending);
    let calls = world.settle().await;
    assert!(calls.iter().all(|call| !call.contains("daemonsets")), "{calls:?}");
    world.delete(&set);
    let calls = world.settle().await;
    assert_eq!(calls[0], "APPLY daemonsets/kv");
}

#[tokio::test(start_paused = true)]
async fn a_rollout_restart_is_left_alone_and_survives_the_next_change() {
    let mut world = settled(json!({"podAnnotations": {"note": "x"}})).await;
    world.edit(&id("daemonsets", "kv"), |set| {
        set["spec"]["template"]["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"] = json!("now");
    });
    let calls = world.settle().await;
    assert_eq!(calls, ["MERGE lmcacheengines/kv/status"], "a rollout is under way");
    world.edit(&custom_id(&kv()), |engine| engine["spec"]["logLevel"] = json!("DEBUG"));
    world.settle().await;
    let annotations = template(&world)["metadata"]["annotations"].clone();
    assert_eq!(
        annotations,
        json!({"note": "x", "kubectl.kubernetes.io/restartedAt": "now"})
    );
}

#[tokio::test(start_paused = true)]
async fn what_others_set_and_we_do_not_is_theirs() {
    let mut world = settled(json!({})).await;
    world.edit(&id("daemonsets", "kv"), |set| {
        set["spec"]["updateStrategy"] = json!({"type": "OnDelete"});
        set["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = json!(5);
        set["metadata"]["annotations"]["team"] = json!("a");
        set["metadata"]["labels"]["team"] = json!("a");
    });
    world.edit(&id("services", "kv"), |service| {
        service["metadata"]["annotations"] = json!({"team": "a"});
        service["spec"]["sessionAffinity"] = json!("ClientIP");
    });
    world.edit(&id("configmaps", "kv-connection"), |map| {
        map["data"]["mine"] = json!("x")
    });
    let calls = world.settle().await;
    assert_eq!(calls, ["MERGE lmcacheengines/kv/status"], "a rollout is under way");
    world.edit(&custom_id(&kv()), |engine| {
        engine["spec"]["server"] = json!({"port": 6000})
    });
    world.settle().await;
    let set = world.get(&id("daemonsets", "kv"));
    assert_eq!(set["spec"]["updateStrategy"]["type"], "OnDelete");
    assert_eq!(set["spec"]["template"]["spec"]["terminationGracePeriodSeconds"], 5);
    assert_eq!(
        (
            &set["metadata"]["annotations"]["team"],
            &set["metadata"]["labels"]["team"]
        ),
        (&json!("a"), &json!("a"))
    );
    let service = world.get(&id("services", "kv"));
    assert_eq!(service["metadata"]["annotations"]["team"], "a");
    assert_eq!(service["spec"]["sessionAffinity"], "ClientIP");
    assert_eq!(world.get(&id("configmaps", "kv-connection"))["data"]["mine"], "x");
}

/// Selectors cannot be changed, and those of former releases had other labels.
#[tokio::test(start_paused = true)]
async fn a_label_more_in_the_live_selector_is_kept() {
    let mut world = World::new();
    let mut recorded = recorded("minimal");
    for child in &mut recorded.children {
        if child["kind"] == "DaemonSet" {
            child["spec"]["selector"]["matchLabels"]["example.com/legacy-selector"] = json!("original");
            child["spec"]["template"]["metadata"]["labels"]["example.com/legacy-selector"] = json!("original");
        }
        world.server.state().store.put(id_of(child), child.clone());
    }
    world
        .server
        .state()
        .store
        .put(id_of(&recorded.custom), recorded.custom.clone());
    let key = key_of(&recorded.custom);
    world.list_everything();
    world.settle().await;
    world.edit(&custom_id(&key), |engine| {
        engine["spec"]["podLabels"] = json!({"example.com/legacy-selector": "mine", "team": "a"});
    });
    let calls = world.settle().await;
    assert_eq!(
        calls,
        ["APPLY! daemonsets/minimal", "MERGE lmcacheengines/minimal/status"]
    );
    let set = world.get(&id("daemonsets", "minimal"));
    for labels in [
        &set["spec"]["selector"]["matchLabels"],
        &set["spec"]["template"]["metadata"]["labels"],
    ] {
        assert_eq!(labels["example.com/legacy-selector"], "original");
    }
    assert_eq!(set["spec"]["template"]["metadata"]["labels"]["team"], "a");
    assert_eq!(world.reconciled(&key).0, "True");
    assert_eq!(world.settle().await, [""; 0]);
}

/// What the watches deliver late is older than what the controller's own writes answered.
#[tokio::test(start_paused = true)]
async fn old_reads_cause_no_second_write() {
    let mut world = settled(json!({})).await;
    let old: Vec<Value> = world.server.state().store.all().cloned().collect();
    world.edit(&custom_id(&kv()), |engine| {
        engine["spec"]["server"] = json!({"port": 6000})
    });
    assert_eq!(world.settle().await.len(), 4);
    for _ in 0..2 {
        old.iter().for_each(|object| world.tell(object, true));
        world.wake(&kv());
        assert_eq!(world.settle().await, [""; 0]);
    }
}

/// Nor does a watch that delivers nothing at all.
#[tokio::test(start_paused = true)]
async fn passes_see_their_own_writes_before_any_watch() {
    let mut world = World::new();
    world.create(&engine(json!({})));
    world.deliver();
    let (_, calls) = world.pass(&kv()).await;
    assert_eq!(calls.len(), 4);
    assert_eq!(world.pass(&kv()).await.1.len(), 0);
    sleep(FIRST_STATUS).await;
    assert_eq!(world.pass(&kv()).await.1.len(), 1);
    for _ in 0..2 {
        assert_eq!(world.pass(&kv()).await.1.len(), 0);
    }
    let map = id("configmaps", "kv-connection");
    world.edit(&map, |map| map["data"]["kv-transfer-config.json"] = json!("{}"));
    world.deliver();
    let (_, calls) = world.pass(&kv()).await;
    assert_eq!(calls.len(), 1);
    assert_eq!(world.pass(&kv()).await.1.len(), 0);
}
