//! Weaknesses of the Go operator's reconcilers that are no situation of their own: see the other modules for 1, 3, 6, 9 and
//! 11 to 14.

use lmcache_controller::live::{Child, Custom, NamespacedName};
use rstest::rstest;
use serde_json::{Value, json};

use crate::api::{Call, Verb};
use crate::nodes::client_pod;
use crate::objects::{coordinator, custom_id, engine, id, key_of, kv};
use crate::world::World;

/// The requests that create an engine.
pub const CREATED: [&str; 5] = [
    "APPLY configmaps/kv-connection",
    "APPLY services/kv",
    "APPLY services/kv-metrics",
    "APPLY daemonsets/kv",
    "MERGE lmcacheengines/kv/status",
];

/// Every write is for an object that was seen to be ours, or for none: applied by its uid, or created without force and for
/// the version that no object has, so that one which is there is not written. The owner is in it.
#[tokio::test(start_paused = true)]
async fn weakness_02_every_write_is_for_an_object_of_ours() {
    let mut world = World::new();
    let custom = world.create(&engine(json!({})));
    let mut calls = world.settle_calls().await;
    world.edit(&custom_id(&kv()), |engine| {
        engine["spec"]["server"] = json!({"port": 6000})
    });
    calls.extend(world.settle_calls().await);
    let writes: Vec<&Call> = calls
        .iter()
        .filter(|call| call.is_write() && call.subresource.is_empty())
        .collect();
    assert_eq!(writes.len(), 7);
    for call in writes {
        assert_eq!(
            call.body["metadata"]["ownerReferences"][0]["uid"], custom["metadata"]["uid"],
            "{call}"
        );
        let live = world.get(&id(&call.resource, &call.name));
        match call.verb {
            Verb::Apply => {
                assert!(call.body["metadata"].get("uid").is_none(), "{call}");
                assert_eq!(call.body["metadata"]["resourceVersion"], "1", "{call}");
            }
            Verb::ForceApply => {
                assert_eq!(call.body["metadata"]["uid"], live["metadata"]["uid"], "{call}");
                assert!(call.body["metadata"].get("resourceVersion").is_none(), "{call}");
            }
            _ => panic!("{call}"),
        }
    }
}

/// Every Service's selector is put right, an engine's too.
#[tokio::test(start_paused = true)]
async fn weakness_04_a_services_selector_is_put_right() {
    let mut world = World::new();
    world.create(&engine(json!({})));
    world.create(&coordinator("fleet", json!({})));
    world.settle().await;
    for name in ["kv", "kv-metrics", "fleet"] {
        let service = id("services", name);
        let before = world.get(&service)["spec"].clone();
        world.edit(&service, |service| service["spec"]["selector"]["more"] = json!("x"));
        assert_eq!(world.settle().await, [format!("APPLY! services/{name}")]);
        assert_eq!(world.get(&service)["spec"], before);
    }
}

/// Whatever step fails is a condition and, unless it passes by itself, an Event.
#[rstest]
#[case::config_map("APPLY configmaps", "ConfigMap kv-connection")]
#[case::service("APPLY services/kv-metrics", "Service kv-metrics")]
#[case::daemon_set("APPLY daemonsets", "DaemonSet kv")]
#[case::secret("APPLY secrets", "Secret kv-resp-auth")]
#[case::monitor("APPLY servicemonitors", "ServiceMonitor kv")]
#[tokio::test(start_paused = true)]
async fn weakness_08_whatever_fails_shows_in_status_and_events(#[case] request: &str, #[case] child: &str) {
    let mut world = World::new();
    world.create(&crate::login::source(
        "inference",
        json!({"password": "cHc="}),
        json!({}),
    ));
    let mut object = crate::login::with_login("inference");
    object["spec"]["prometheus"] = json!({"serviceMonitor": {"enabled": true}});
    world.create(&object);
    world.server.plan(
        request,
        1,
        crate::api::Answer::Refuse(422, "spec.replicas: Invalid value: x"),
    );
    let calls = world.settle_calls().await;
    let (status, reason, message) = world.condition(&kv(), "Reconciled");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "Rejected"));
    assert!(
        message.contains(&format!(
            "{child}: could not be created: spec.replicas: Invalid value: x"
        )),
        "{message}"
    );
    assert_eq!(world.condition(&kv(), "Ready").0, "False");
    assert_eq!(world.condition(&kv(), "ConfigValid").0, "True");
    let event = calls.iter().find(|call| call.is_event()).unwrap();
    assert_eq!(event.body["type"], "Warning");
    assert_eq!(event.body["reason"], "Rejected");
    assert!(event.body["note"].as_str().unwrap().contains(child));
    assert_eq!(event.body["regarding"]["name"], "kv");
}

/// The objects in the index are cut down: what no pass looks at is not kept.
#[tokio::test(start_paused = true)]
async fn weakness_15_secrets_and_pods_that_concern_nobody_are_not_kept() {
    let mut world = World::new();
    world.create(&crate::login::source(
        "inference",
        json!({"password": "cHc="}),
        json!({}),
    ));
    world.create(&crate::login::with_login("inference"));
    let secret = |name: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": {"password": "eA=="}});
    for number in 0..50 {
        world.create(&secret(&format!("other-{number}")));
        let config_map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("map-{number}")}});
        world.create(&config_map);
        let mut pod = client_pod(&format!("pod-{number}"), "node-a", json!({}), json!([]));
        pod["metadata"]["labels"] = json!({"app": "web"});
        world.put_pod(pod);
    }
    world.settle().await;
    let counts = world.shared.with(|index| index.counts());
    assert_eq!(counts.secrets, 1);
    assert_eq!(counts.children.values().sum::<usize>(), 5);
    assert_eq!((counts.server_pods, counts.client_pods.values().sum::<usize>()), (0, 0));
    let named = world.shared.with(|index| index.named_secrets());
    assert_eq!(
        named.into_iter().collect::<Vec<_>>(),
        [NamespacedName::new("inference", "login")]
    );
    // Named no more, it is watched no more.
    world.edit(&custom_id(&kv()), |engine| engine["spec"]["l2Backend"] = json!(null));
    world.settle().await;
    assert_eq!(world.shared.with(|index| index.counts()).secrets, 0);
}

#[test]
fn weakness_15_of_a_child_its_status_and_its_owners_notes_are_not_kept() {
    let recorded = crate::recorded::recorded("full");
    for child in &recorded.children {
        let kept = Child::read(child.clone()).value();
        assert!(kept.get("status").is_none());
        assert!(kept["metadata"].get("managedFields").is_none());
    }
    let kept = Custom::read(recorded.custom).value();
    assert!(kept["metadata"].get("managedFields").is_none());
    assert!(!kept["status"].is_null(), "it is what a pass compares with");
}

/// A pass writes what differs, and nothing that it did not set: nobody is fought over defaults, or over fields of their own.
#[tokio::test(start_paused = true)]
async fn weakness_16_another_writer_is_not_fought() {
    let mut world = World::new();
    world.create(&engine(json!({})));
    world.settle().await;
    let set = id("daemonsets", "kv");
    let changes: [fn(&mut Value); 6] = [
        |set| set["spec"]["template"]["metadata"]["annotations"] = json!({"kubectl.kubernetes.io/restartedAt": "now"}),
        |set| set["spec"]["template"]["metadata"]["labels"]["injected"] = json!("x"),
        |set| set["spec"]["template"]["spec"]["priority"] = json!(5),
        |set| {
            set["spec"]["template"]["spec"]["containers"][0]["terminationMessagePolicy"] =
                json!("FallbackToLogsOnError")
        },
        |set| {
            let containers = &mut set["spec"]["template"]["spec"]["containers"];
            containers
                .as_array_mut()
                .unwrap()
                .push(json!({"name": "sidecar", "image": "i:1"}));
        },
        |set| set["spec"]["minReadySeconds"] = json!(5),
    ];
    for change in changes {
        let after = world.edit(&set, change);
        let calls = world.settle_calls().await;
        // That a new template is not rolled out yet shows in the status.
        assert!(calls.iter().all(|call| call.subresource == "status"), "{calls:#?}");
        assert_eq!(world.get(&set), after);
        world.wake(&kv());
        assert_eq!(world.settle().await, [""; 0]);
    }
}

/// Even where a comparison of ours did not understand a value, the API server's answer ends it: what changed nothing is not
/// applied again.
#[tokio::test(start_paused = true)]
async fn weakness_16_what_the_api_server_spells_otherwise_is_applied_once() {
    let mut world = World::new();
    let spelled =
        json!({"resourceOverrides": {"requests": {"memory": "2048Mi", "cpu": "0.5"}, "limits": {"memory": "4096Mi"}}});
    world.create(&engine(spelled));
    world.settle().await;
    for _ in 0..3 {
        assert_eq!(world.pass(&kv()).await.1.len(), 0);
    }
    // Stored so, a field is still the one that was applied: nobody else has written it.
    let set = id("daemonsets", "kv");
    let mut stored = world.get(&set);
    let resources = &mut stored["spec"]["template"]["spec"]["containers"][0]["resources"];
    *resources = json!({"requests": {"memory": "2Gi", "cpu": "500m"}, "limits": {"memory": "4Gi"}});
    stored["metadata"]["resourceVersion"] = json!("900");
    world.server.state().store.put(set, stored);
    assert_eq!(world.due().len(), 1, "it is looked at");
    let calls = world.settle_calls().await;
    assert!(calls.iter().all(|call| call.subresource == "status"), "{calls:#?}");
}

/// Endpoints are sorted, and a Pod that moves nothing is no write.
#[tokio::test(start_paused = true)]
async fn weakness_07_the_order_of_pods_is_no_change() {
    let mut world = World::new();
    let object = world.create(&engine(json!({})));
    world.settle().await;
    world.run_servers("kv", &[("node-c", true), ("node-a", true), ("node-b", true)]);
    world.settle().await;
    let status = world.status(&key_of(&object));
    let nodes: Vec<&Value> = status["endpoints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pod| &pod["nodeName"])
        .collect();
    assert_eq!(nodes, ["node-a", "node-b", "node-c"]);
    for nodes in [["node-b", "node-c", "node-a"], ["node-a", "node-c", "node-b"]] {
        world.run_servers("kv", &nodes.map(|node| (node, true)));
        world.list_everything();
        world.wake(&kv());
        assert_eq!(world.settle().await, [""; 0]);
    }
}

/// Without a DaemonSet nothing is ready, and nothing of the former one is left in the status.
#[tokio::test(start_paused = true)]
async fn weakness_10_of_a_daemon_set_that_is_gone_nothing_is_left_in_the_status() {
    let mut world = World::new();
    world.create(&engine(json!({})));
    world.settle().await;
    world.run_servers("kv", &[("node-a", true), ("node-b", true)]);
    world.settle().await;
    world.delete(&id("daemonsets", "kv"));
    world
        .server
        .plan("APPLY daemonsets", 1, crate::api::Answer::Refuse(422, "no"));
    world.settle().await;
    let status = world.status(&kv());
    assert_eq!(
        (&status["readyInstances"], &status["desiredInstances"]),
        (&json!(0), &json!(0))
    );
    assert!(status.get("endpoints").is_none());
    assert_eq!(world.condition(&kv(), "Available").0, "False");
    assert_eq!(world.condition(&kv(), "AllInstancesReady").0, "False");
}
