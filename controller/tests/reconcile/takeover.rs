//! Objects that the Go operator made, exactly as it left them in a real API server: nothing is restarted, replaced or
//! deleted, and from then on they are this controller's.

use lmcache_controller::live::Key;
use lmcache_controller::run::metrics::Outcome;
use rstest::rstest;
use serde_json::{Value, json};

use crate::api::NAMESPACE;
use crate::objects::{child, custom_id, id_of, key_of};
use crate::recorded::{Recorded, names, recorded};
use crate::world::World;

/// The recordings in which the Go operator made children that are its own.
fn owned() -> Vec<String> {
    let mut names = names();
    names.retain(|name| !matches!(name.as_str(), "foreign" | "invalid" | "missing-coordinator"));
    assert!(names.len() >= 11, "{names:?}");
    names
}

/// The recording with the consent that this controller asks for where a Secret is in another namespace.
fn with_consent(name: &str) -> Recorded {
    let mut recorded = recorded(name);
    for other in recorded.others.iter_mut().filter(|other| other["kind"] == "Secret") {
        if other["metadata"]["namespace"] != recorded.custom["metadata"]["namespace"] {
            other["metadata"]["annotations"] = json!({"lmcache.ai/allow-copy-to": "inference"});
        }
    }
    recorded
}

/// Whether a child has no use: a release without metrics has nothing that a Service or a ServiceMonitor could lead to.
fn is_dead(name: &str, child: &Value) -> bool {
    let (plural, _, child) = id_of(child);
    name == "coordinator-full" && (plural == "servicemonitors" || child.ends_with("-metrics"))
}

fn living<'a>(name: &'a str, recorded: &'a Recorded) -> impl Iterator<Item = &'a Value> {
    recorded.children.iter().filter(move |child| !is_dead(name, child))
}

/// The cluster as the Go operator left it.
pub fn world_of(recorded: &Recorded) -> (World, Key) {
    let mut world = World::new();
    for object in recorded
        .children
        .iter()
        .chain(&recorded.others)
        .chain([&recorded.custom])
    {
        world.server.state().store.put(id_of(object), object.clone());
    }
    world.list_everything();
    (world, key_of(&recorded.custom))
}

/// A pass over the custom resource alone.
pub async fn pass(world: &mut World, key: &Key) -> Vec<String> {
    world.deliver();
    let (_, calls) = world.pass(key).await;
    calls.iter().map(ToString::to_string).collect()
}

pub fn workload(recorded: &Recorded) -> &Value {
    let mut workloads = recorded.children.iter();
    workloads
        .find(|child| matches!(child["kind"].as_str(), Some("DaemonSet" | "Deployment")))
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn no_template_changes_and_every_field_changes_hands() {
    for name in owned() {
        let recorded = with_consent(&name);
        let (mut world, key) = world_of(&recorded);
        let calls = pass(&mut world, &key).await;
        for before in recorded.children.iter().filter(|child| is_dead(&name, child)) {
            assert!(!world.exists(&id_of(before)), "{name}: {calls:#?}");
        }
        for before in living(&name, &recorded) {
            let after = world.get(&id_of(before));
            let what = format!("{name}: {} {}", before["kind"], before["metadata"]["name"]);
            assert_eq!(after["spec"]["template"], before["spec"]["template"], "{what}");
            assert_eq!(after["spec"]["selector"], before["spec"]["selector"], "{what}");
            // A ServiceMonitor loses an empty member.
            if before["kind"] != "ServiceMonitor" {
                assert_eq!(
                    after["metadata"]["generation"], before["metadata"]["generation"],
                    "{what}"
                );
            }
            assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"], "{what}");
            assert_eq!(
                after["metadata"]["ownerReferences"], before["metadata"]["ownerReferences"],
                "{what}"
            );
            let after = child(&after);
            assert_eq!(after.inherited(), None, "{what}");
            assert!(after.applied().is_some(), "{what}");
            // One patch that moves the fields, one apply.
            let (plural, namespace, child) = id_of(before);
            let place = if namespace == NAMESPACE {
                String::new()
            } else {
                format!("{namespace}/")
            } + &format!("{plural}/{child}");
            let about: Vec<&String> = calls
                .iter()
                .filter(|call| call.ends_with(&format!(" {place}")))
                .collect();
            assert_eq!(about, [&format!("JSON {place}"), &format!("APPLY! {place}")], "{what}");
        }
        let others = calls
            .iter()
            .filter(|call| call.starts_with("JSON") || call.starts_with("APPLY"));
        assert_eq!(
            others.count(),
            2 * living(&name, &recorded).count(),
            "{name}: {calls:#?}"
        );
        let status = format!("{}/{}/status", key.kind.plural(), key.name);
        assert_eq!(
            calls
                .iter()
                .filter(|call| call.starts_with("MERGE") && call.ends_with(&status))
                .count(),
            1,
            "{name}: {calls:#?}"
        );
        let (found, reason, message) = world.condition(&key, "Reconciled");
        // Of a coordinator that says nothing of itself both have the same template.
        if name == "coordinator" {
            assert_eq!((found.as_str(), reason.as_str()), ("True", "Reconciled"));
        } else {
            assert_eq!(
                (found.as_str(), reason.as_str()),
                ("True", "LegacyTemplateKept"),
                "{name}"
            );
            assert!(message.contains("spec.containers["), "{name}: {message}");
        }
        assert_eq!(world.status(&key)["phase"], "Running", "{name}");

        // Then there is nothing left to do, also for the next process.
        assert_eq!(pass(&mut world, &key).await, [""; 0], "{name}");
        world.restart();
        let (settled, calls) = world.pass(&key).await;
        assert_eq!(
            (settled.outcome, calls.len()),
            (Outcome::Settled, 0),
            "{name}: {calls:#?}"
        );
    }
}

/// What the controller's own objects look like, had it made them itself.
async fn made_anew(recorded: &Recorded, custom: &Value) -> World {
    let mut world = World::new();
    for object in &recorded.others {
        world.server.state().store.put(id_of(object), object.clone());
    }
    world.server.state().store.put(id_of(custom), custom.clone());
    world.list_everything();
    let calls = pass(&mut world, &key_of(custom)).await;
    let created = calls.iter().filter(|call| call.starts_with("APPLY ")).count();
    assert!(created >= 2, "{calls:#?}");
    world
}

fn is_same(name: &str, taken: &World, anew: &World, child: &Value) {
    let id = id_of(child);
    let what = format!("{name}: {id:?}");
    let (mut taken, mut anew) = (taken.get(&id), anew.get(&id));
    for object in [&mut taken, &mut anew] {
        let spec = object["spec"].as_object_mut();
        // Addresses are given out.
        spec.into_iter()
            .for_each(|spec| spec.retain(|name, address| !name.starts_with("clusterIP") || *address == "None"));
        // From the first change on, copies of a login carry its hash.
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.shift_remove("annotations");
        }
    }
    for part in ["spec", "data", "type"] {
        assert_eq!(taken[part], anew[part], "{what}");
    }
    for part in ["labels", "ownerReferences"] {
        assert_eq!(taken["metadata"][part], anew["metadata"][part], "{what}");
    }
}

/// The first change of the specification brings this controller's objects, to the last field: nothing of the Go operator's
/// is left over.
#[rstest]
#[case::specification(|custom: &mut Value| custom["spec"]["podLabels"]["added"] = json!("x"))]
#[case::annotation(|custom: &mut Value| custom["metadata"]["annotations"] = json!({"lmcache.ai/rollout": "now"}))]
#[tokio::test(start_paused = true)]
async fn a_change_brings_our_template(#[case] change: fn(&mut Value)) {
    for name in owned() {
        let recorded = with_consent(&name);
        let (mut world, key) = world_of(&recorded);
        pass(&mut world, &key).await;
        world.edit(&custom_id(&key), change);
        let calls = pass(&mut world, &key).await;
        assert!(calls.iter().all(|call| !call.starts_with("JSON")), "{name}: {calls:#?}");
        let anew = made_anew(&recorded, &world.get(&custom_id(&key))).await;
        for before in living(&name, &recorded) {
            is_same(&name, &world, &anew, before);
        }
        let before = workload(&recorded);
        let after = world.get(&id_of(before));
        let generation = |object: &Value| object["metadata"]["generation"].as_u64().unwrap();
        let rolls = after["spec"]["template"] != before["spec"]["template"];
        assert_eq!(generation(&after), generation(before) + u64::from(rolls), "{name}");
        assert!(rolls || name == "coordinator", "{name}");
        assert_eq!(
            world.reconciled(&key),
            ("True".to_owned(), "Reconciled".to_owned()),
            "{name}"
        );
        assert_eq!(pass(&mut world, &key).await, [""; 0], "{name}");
    }
}

/// At once with the takeover, too: the annotation, or a change of the specification that the Go operator did not see.
#[tokio::test(start_paused = true)]
async fn a_change_that_comes_with_the_takeover() {
    for name in owned() {
        let mut recorded = with_consent(&name);
        recorded.custom["spec"]["podLabels"]["added"] = json!("x");
        recorded.custom["metadata"]["generation"] = json!(2);
        let (mut world, key) = world_of(&recorded);
        pass(&mut world, &key).await;
        let anew = made_anew(&recorded, &recorded.custom).await;
        for before in living(&name, &recorded) {
            is_same(&name, &world, &anew, before);
        }
        assert_eq!(pass(&mut world, &key).await, [""; 0], "{name}");
    }
}

/// What is taken out of the specification after the takeover goes from the objects: its former owner would have kept it.
#[rstest]
#[case::minimal("minimal", |spec: &mut Value| spec["gpuVendor"] = json!("amd"), &["NVIDIA_VISIBLE_DEVICES", "runtimeClassName"])]
#[case::ports("ports-changed", |spec: &mut Value| spec["server"] = json!({}), &["6000"])]
#[case::full("full", |spec: &mut Value| {
    for name in ["env", "volumes", "volumeMounts", "tolerations", "podLabels", "podAnnotations", "affinity", "nodeSelector",
        "imagePullSecrets", "serviceAccountName", "priorityClassName"] {
        spec.as_object_mut().unwrap().shift_remove(name);
    }
}, &["affinity", "tolerations", "serviceAccountName", "priorityClassName", "imagePullSecrets"])]
#[case::coordinator("coordinator-full", |spec: &mut Value| {
    for name in ["env", "volumes", "volumeMounts", "tolerations", "podLabels", "podAnnotations", "affinity", "nodeSelector",
        "imagePullSecrets", "serviceAccountName", "priorityClassName"] {
        spec.as_object_mut().unwrap().shift_remove(name);
    }
}, &["EXTRA", "example.com/scrape", "tier", "regcred"])]
#[case::login("l2-resp-auth", |spec: &mut Value| {
    spec["l2Backend"]["resp"].as_object_mut().unwrap().shift_remove("authSecretRef");
}, &["LMCACHE_RESP_PASSWORD", "LMCACHE_RESP_USERNAME"])]
#[case::cacheblend("cacheblend", |spec: &mut Value| spec["gpuVendor"] = json!("amd"), &["NVIDIA_DRIVER_CAPABILITIES"])]
#[case::reference("engine-coordinator-ref", |spec: &mut Value| {
    spec.as_object_mut().unwrap().shift_remove("coordinator");
}, &["--coordinator-url"])]
#[tokio::test(start_paused = true)]
async fn a_later_removal_takes_effect(#[case] name: &str, #[case] change: fn(&mut Value), #[case] gone: &[&str]) {
    let recorded = recorded(name);
    let (mut world, key) = world_of(&recorded);
    pass(&mut world, &key).await;
    let before = workload(&recorded)["spec"]["template"].to_string();
    world.edit(&custom_id(&key), |custom| change(&mut custom["spec"]));
    pass(&mut world, &key).await;
    let after = world.get(&id_of(workload(&recorded)))["spec"]["template"].to_string();
    for what in gone {
        assert!(before.contains(what), "{what}: {before}");
        assert!(!after.contains(what), "{what}: {after}");
    }
    assert_eq!(pass(&mut world, &key).await, [""; 0]);
}

/// Objects that are no longer asked for go: they were the Go operator's, and are this controller's.
#[tokio::test(start_paused = true)]
async fn objects_that_are_no_longer_asked_for_go() {
    let recorded = recorded("servicemonitor");
    let (mut world, key) = world_of(&recorded);
    pass(&mut world, &key).await;
    world.edit(&custom_id(&key), |custom| {
        custom["spec"]["prometheus"]["serviceMonitor"]["enabled"] = json!(false)
    });
    let calls = pass(&mut world, &key).await;
    assert!(
        calls.contains(&"DELETE servicemonitors/servicemonitor".to_owned()),
        "{calls:#?}"
    );
    let recorded = crate::recorded::recorded("l2-resp-auth");
    let (mut world, key) = world_of(&recorded);
    pass(&mut world, &key).await;
    world.edit(&custom_id(&key), |custom| custom["spec"]["l2Backend"] = json!(null));
    pass(&mut world, &key).await;
    world.daemon_set_status(&key.name, &[("node-a", true)]);
    let calls = pass(&mut world, &key).await;
    assert!(
        calls.contains(&"DELETE secrets/l2-resp-auth-resp-auth".to_owned()),
        "{calls:#?}"
    );
}

/// The first new password after the takeover rolls the Pods; until then they run on without the annotation.
#[tokio::test(start_paused = true)]
async fn the_first_new_password_brings_our_template() {
    let recorded = recorded("l2-resp-auth");
    let (mut world, key) = world_of(&recorded);
    pass(&mut world, &key).await;
    world.edit(&id_of(&recorded.others[0]), |source| {
        source["data"]["password"] = json!("bmV3")
    });
    let calls = pass(&mut world, &key).await;
    assert_eq!(
        calls[..2],
        [
            "APPLY! secrets/l2-resp-auth-resp-auth",
            "APPLY! daemonsets/l2-resp-auth"
        ]
    );
    let set = world.get(&id_of(workload(&recorded)));
    assert!(set["spec"]["template"]["metadata"]["annotations"]["lmcache.ai/resp-auth-hash"].is_string());
    assert_eq!(pass(&mut world, &key).await, [""; 0]);
}

/// Without the consent that the Go operator did not ask for, the servers run on as they are, and it is named.
#[tokio::test(start_paused = true)]
async fn a_copy_without_consent_stays_as_it_is() {
    let recorded = recorded("l2-resp-auth-cross-namespace");
    let (mut world, key) = world_of(&recorded);
    let calls = pass(&mut world, &key).await;
    assert!(
        calls
            .iter()
            .all(|call| !call.contains("secrets") && !call.contains("daemonsets")),
        "{calls:#?}"
    );
    assert!(calls.contains(&"POST events SecretNotShared".to_owned()), "{calls:#?}");
    for before in recorded
        .children
        .iter()
        .filter(|child| child["kind"] == "Secret" || child["kind"] == "DaemonSet")
    {
        assert_eq!(world.get(&id_of(before)), *before);
    }
    assert_eq!(world.reconciled(&key).1, "SecretNotShared");
    assert_eq!(pass(&mut world, &key).await, [""; 0]);
}

/// The Go operator left no status for an engine whose coordinator was missing.
#[tokio::test(start_paused = true)]
async fn an_engine_that_waits_for_its_coordinator_gets_what_does_not() {
    let recorded = recorded("missing-coordinator");
    let (mut world, key) = world_of(&recorded);
    let calls = pass(&mut world, &key).await;
    assert_eq!(
        calls,
        [
            "APPLY configmaps/missing-coordinator-connection",
            "APPLY services/missing-coordinator",
            "APPLY services/missing-coordinator-metrics",
            "MERGE lmcacheengines/missing-coordinator/status",
            "POST events CoordinatorNotFound",
        ]
    );
    assert_eq!(world.reconciled(&key).1, "CoordinatorNotFound");
}
