//! ServiceMonitors: whose they are, and clusters that have none.

use lmcache_api::Kind;
use lmcache_controller::plan::Monitors;
use lmcache_controller::run::metrics::Outcome;
use rstest::rstest;
use serde_json::{Value, json};

use crate::objects::{cacheblend, coordinator, custom_id, engine, id, key_of, kv};
use crate::world::World;

/// A custom resource of this kind, called `kv`.
fn object(kind: Kind, enabled: bool) -> Value {
    let spec = json!({"prometheus": {"serviceMonitor": {"enabled": enabled}}});
    match kind {
        Kind::LMCacheEngine => engine(spec),
        Kind::CacheBlendEngine => cacheblend(spec),
        Kind::LMCacheCoordinator => coordinator("kv", spec),
    }
}

fn monitor(labelled: bool, owners: Value) -> Value {
    let labels = if labelled {
        json!({"app.kubernetes.io/managed-by": "lmcache-operator"})
    } else {
        json!({})
    };
    json!({
        "apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor",
        "metadata": {"name": "kv", "labels": labels, "ownerReferences": owners},
        "spec": {"endpoints": [{"port": "mine"}], "selector": {"matchLabels": {"app": "mine"}}},
    })
}

async fn with_monitor(kind: Kind, owner: impl Fn(&Value) -> Value) -> (World, Value) {
    let mut world = World::new();
    let object = world.create(&object(kind, false));
    let monitor = world.create(&monitor(true, owner(&object["metadata"]["uid"])));
    (world, monitor)
}

/// The five cases of ownership, each reconciled twice. Only what this very object controls is deleted.
#[rstest]
#[case::owned(true, |uid: &Value| json!([{"kind": "KIND", "name": "kv", "uid": uid, "controller": true}]))]
#[case::nobodys(false, |_: &Value| json!([]))]
#[case::of_another_kind(false, |_: &Value| json!([{"kind": "Deployment", "name": "kv", "uid": "1", "controller": true}]))]
#[case::of_a_predecessor(false, |_: &Value| json!([{"kind": "KIND", "name": "kv", "uid": "2", "controller": true}]))]
#[case::not_controlled(false, |uid: &Value| json!([{"kind": "KIND", "name": "kv", "uid": uid, "controller": false}]))]
#[case::said_nothing(false, |uid: &Value| json!([{"kind": "KIND", "name": "kv", "uid": uid}]))]
#[tokio::test(start_paused = true)]
async fn weakness_01_only_a_service_monitor_of_ours_is_deleted(#[case] goes: bool, #[case] owner: fn(&Value) -> Value) {
    for kind in Kind::ALL {
        let (mut world, before) = with_monitor(kind, |uid| {
            let mut owners = owner(uid);
            if owners[0]["kind"] == "KIND" {
                owners[0]["kind"] = json!(kind.as_str());
            }
            owners
        })
        .await;
        let key = key_of(&world.get(&(kind.plural().to_owned(), "inference".to_owned(), "kv".to_owned())));
        for turn in 0..2 {
            world.wake(&key);
            let calls = world.settle().await;
            let deletes = calls
                .iter()
                .filter(|call| call.contains("servicemonitors"))
                .collect::<Vec<_>>();
            let expected: Vec<&str> = if goes && turn == 0 {
                vec!["DELETE servicemonitors/kv"]
            } else {
                vec![]
            };
            assert_eq!(deletes, expected, "{kind}");
        }
        if goes {
            assert!(!world.exists(&id("servicemonitors", "kv")), "{kind}");
        } else {
            assert_eq!(world.get(&id("servicemonitors", "kv")), before, "{kind}");
        }
        assert_eq!(world.reconciled(&key).0, "True", "{kind}");
    }
}

/// A delete names the uid: a successor that was not seen yet stays.
#[tokio::test(start_paused = true)]
async fn a_service_monitor_that_was_replaced_meanwhile_stays() {
    let (mut world, _) = with_monitor(
        Kind::LMCacheEngine,
        |uid| json!([{"kind": "LMCacheEngine", "name": "kv", "uid": uid, "controller": true}]),
    )
    .await;
    let monitor_id = id("servicemonitors", "kv");
    let replace = move |store: &mut crate::api::Store| {
        store.delete(&monitor_id, None).unwrap();
        store
            .create(monitor_id.clone(), monitor(true, json!([])), "theirs")
            .unwrap();
    };
    world
        .server
        .plan("DELETE", 1, crate::api::Answer::After(Box::new(replace)));
    world.settle().await;
    assert!(world.exists(&id("servicemonitors", "kv")));
    assert_eq!(world.reconciled(&kv()).0, "True");
}

#[tokio::test(start_paused = true)]
async fn a_foreign_service_monitor_is_neither_changed_nor_deleted() {
    let mut world = World::new();
    let theirs = world.create(&monitor(false, json!([])));
    world.create(&object(Kind::LMCacheEngine, true));
    world.settle().await;
    assert_eq!(world.get(&id("servicemonitors", "kv")), theirs);
    assert_eq!(world.reconciled(&kv()).1, "ForeignObject");
    world.edit(&custom_id(&kv()), |engine| engine["spec"]["prometheus"] = json!({}));
    world.settle().await;
    assert_eq!(world.get(&id("servicemonitors", "kv")), theirs);
    assert_eq!(world.reconciled(&kv()).0, "True");
}

#[tokio::test(start_paused = true)]
async fn switched_on_and_off_it_is_created_and_deleted() {
    let mut world = World::new();
    world.create(&object(Kind::LMCacheEngine, false));
    world.settle().await;
    let switch = |world: &mut World, enabled: bool| {
        world.edit(&custom_id(&kv()), |engine| {
            engine["spec"]["prometheus"]["serviceMonitor"]["enabled"] = json!(enabled);
        });
    };
    switch(&mut world, true);
    assert_eq!(
        world.settle().await,
        ["APPLY servicemonitors/kv", "MERGE lmcacheengines/kv/status"]
    );
    switch(&mut world, false);
    assert_eq!(
        world.settle().await,
        ["DELETE servicemonitors/kv", "MERGE lmcacheengines/kv/status"]
    );
    world.edit(&custom_id(&kv()), |engine| {
        engine["spec"]["prometheus"] = json!({"enabled": false})
    });
    let calls = world.settle().await;
    assert_eq!(
        calls,
        [
            "APPLY! daemonsets/kv",
            "DELETE services/kv-metrics",
            "MERGE lmcacheengines/kv/status",
        ]
    );
}

/// The metrics Service of a coordinator is there for the ServiceMonitor.
#[tokio::test(start_paused = true)]
async fn a_coordinators_metrics_service_goes_with_the_service_monitor() {
    let mut world = World::new();
    let key = key_of(&world.create(&object(Kind::LMCacheCoordinator, true)));
    world.settle().await;
    world.edit(&custom_id(&key), |object| object["spec"]["prometheus"] = json!({}));
    let calls = world.settle().await;
    assert_eq!(
        calls[calls.len() - 3..],
        [
            "DELETE services/kv-metrics",
            "DELETE servicemonitors/kv",
            "MERGE lmcachecoordinators/kv/status",
        ]
    );
}

#[rstest]
#[case::absent(Monitors::NotServed, "not installed")]
#[case::forbidden(Monitors::Forbidden, "may not list")]
#[tokio::test(start_paused = true)]
async fn without_the_kind_the_rest_is_reconciled_and_a_condition_says_why(
    #[case] monitors: Monitors,
    #[case] why: &str,
) {
    let mut world = World::new();
    world.monitors(monitors);
    world.create(&object(Kind::LMCacheEngine, true));
    let calls = world.settle().await;
    assert_eq!(calls.len(), 6, "{calls:#?}");
    assert!(calls.iter().all(|call| !call.contains("servicemonitors")), "{calls:#?}");
    assert_eq!(calls[5], "POST events ServiceMonitorNotInstalled");
    let (status, reason, message) = world.condition(&kv(), "Reconciled");
    assert_eq!(
        (status.as_str(), reason.as_str()),
        ("False", "ServiceMonitorNotInstalled")
    );
    assert!(message.contains(why), "{message}");
    // It does not come again by itself, and the servers are as good as any.
    assert_eq!(world.next[&kv()], None);
    world.run_servers("kv", &[("node-a", true)]);
    world.settle().await;
    assert_eq!(world.condition(&kv(), "Ready").0, "True");
    // It is there now.
    world.monitors(Monitors::Served);
    assert_eq!(
        world.settle().await,
        [
            "APPLY servicemonitors/kv",
            "MERGE lmcacheengines/kv/status",
            "POST events Reconciled",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn without_the_kind_an_engine_that_asks_for_none_knows_nothing_of_it() {
    let mut world = World::new();
    world.monitors(Monitors::NotServed);
    world.create(&object(Kind::LMCacheEngine, false));
    let calls = world.settle().await;
    assert!(calls.iter().all(|call| !call.contains("servicemonitors")), "{calls:#?}");
    assert_eq!(world.reconciled(&kv()).0, "True");
    world.monitors(Monitors::Served);
    assert_eq!(world.settle().await, [""; 0]);
}

/// Nobody knows yet: nothing is asked, nothing is said, and a pass follows.
#[tokio::test(start_paused = true)]
async fn before_the_kind_was_looked_for_it_is_waited_for() {
    let mut world = World::new();
    world.monitors(Monitors::Unknown);
    world.create(&object(Kind::LMCacheEngine, true));
    let calls = world.settle().await;
    assert!(
        calls
            .iter()
            .all(|call| !call.contains("servicemonitors") && !call.contains("events")),
        "{calls:#?}"
    );
    assert_eq!(world.reconciled(&kv()), ("Unknown".to_owned(), "Waiting".to_owned()));
    world.monitors(Monitors::Served);
    assert_eq!(
        world.settle().await,
        ["APPLY servicemonitors/kv", "MERGE lmcacheengines/kv/status"]
    );
    assert_eq!(world.reconciled(&kv()).0, "True");
}

/// The CustomResourceDefinition is removed while the controller watches: its objects go with it, without an event.
#[tokio::test(start_paused = true)]
async fn a_kind_that_is_removed_while_it_is_in_use_is_noticed_at_the_first_write() {
    let mut world = World::new();
    world.create(&object(Kind::LMCacheEngine, true));
    world.settle().await;
    world.server.state().store.not_served = vec!["servicemonitors"];
    world.edit(&custom_id(&kv()), |engine| {
        engine["spec"]["prometheus"]["serviceMonitor"]["interval"] = json!("5s");
    });
    assert_eq!(
        world.settle().await,
        [
            "APPLY! servicemonitors/kv",
            "MERGE lmcacheengines/kv/status",
            "POST events ServiceMonitorNotInstalled",
        ]
    );
    // From then on it is one that is not installed: no request for it, and no news.
    let (pass, calls) = world.pass(&kv()).await;
    assert_eq!((pass.outcome, pass.next), (Outcome::Failed, None));
    assert!(calls.iter().all(|call| call.resource == "lmcacheengines"), "{calls:?}");
    assert_eq!(world.pass(&kv()).await.1.len(), 0);
}
