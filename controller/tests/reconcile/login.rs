//! The copy of a Redis login.

use lmcache_controller::run::metrics::Outcome;
use serde_json::{Value, json};

use crate::api::{Answer, NAMESPACE};
use crate::objects::{custom_id, engine, id, kv};
use crate::world::World;

/// Where the login is: in the engine's namespace, or in another one.
fn source_id(namespace: &str) -> crate::api::Id {
    ("secrets".to_owned(), namespace.to_owned(), "login".to_owned())
}

pub fn source(namespace: &str, data: Value, annotations: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "login", "namespace": namespace, "annotations": annotations},
        "type": "kubernetes.io/basic-auth", "data": data})
}

pub fn with_login(namespace: &str) -> Value {
    let mut reference = json!({"name": "login"});
    if namespace != NAMESPACE {
        reference["namespace"] = json!(namespace);
    }
    engine(json!({"l2Backend": {"resp": {"host": "redis", "port": 6379, "authSecretRef": reference}}}))
}

fn copy(world: &World) -> Value {
    world.get(&id("secrets", "kv-resp-auth"))
}

fn template(world: &World) -> Value {
    world.get(&id("daemonsets", "kv"))["spec"]["template"].clone()
}

fn hash(world: &World) -> String {
    let template = template(world);
    template["metadata"]["annotations"]["lmcache.ai/resp-auth-hash"]
        .as_str()
        .unwrap()
        .to_owned()
}

async fn settled(namespace: &str, data: Value, annotations: Value) -> (World, Vec<String>) {
    let mut world = World::new();
    world.create(&source(namespace, data, annotations));
    world.create(&with_login(namespace));
    let calls = world.settle().await;
    (world, calls)
}

const CREATED: [&str; 6] = [
    "APPLY secrets/kv-resp-auth",
    "APPLY configmaps/kv-connection",
    "APPLY services/kv",
    "APPLY services/kv-metrics",
    "APPLY daemonsets/kv",
    "MERGE lmcacheengines/kv/status",
];

#[tokio::test(start_paused = true)]
async fn no_login_and_no_copy_is_nothing() {
    let mut world = World::new();
    world.create(&engine(json!({})));
    let calls = world.settle().await;
    assert!(calls.iter().all(|call| !call.contains("secrets")), "{calls:#?}");
}

#[tokio::test(start_paused = true)]
async fn user_name_and_password_of_the_same_namespace_are_copied() {
    let data = json!({"username": "dQ==", "password": "cHc=", "ca.crt": "eA=="});
    let (world, calls) = settled(NAMESPACE, data, json!({})).await;
    assert_eq!(calls, CREATED);
    let copy = copy(&world);
    assert_eq!(copy["data"], json!({"username": "dQ==", "password": "cHc="}));
    assert_eq!(
        copy["metadata"]["ownerReferences"][0]["uid"],
        world.get(&custom_id(&kv()))["metadata"]["uid"]
    );
}

#[tokio::test(start_paused = true)]
async fn a_password_of_another_namespace_is_copied_with_consent() {
    let consent = json!({"lmcache.ai/allow-copy-to": "other,inference"});
    let (world, calls) = settled("infra", json!({"password": "cHc="}), consent).await;
    // Neither is the source written to, nor anything else in its namespace.
    assert_eq!(calls, CREATED);
    assert_eq!(copy(&world)["data"], json!({"password": "cHc="}));
    let source = world.get(&source_id("infra"));
    assert!(source["metadata"].get("ownerReferences").is_none());
}

/// Without consent nothing is copied, whoever asks; it is given, and taken away again.
#[tokio::test(start_paused = true)]
async fn weakness_13_a_secret_of_another_namespace_needs_its_owners_consent() {
    let (mut world, calls) = settled("infra", json!({"password": "cHc="}), json!({})).await;
    assert!(
        calls
            .iter()
            .all(|call| !call.contains("secrets") && !call.contains("daemonsets")),
        "{calls:#?}"
    );
    assert_eq!(calls.last().unwrap(), "POST events SecretNotShared");
    let (status, reason, message) = world.condition(&kv(), "Reconciled");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "SecretNotShared"));
    assert!(
        message.contains("lmcache.ai/allow-copy-to") && message.contains("infra/login"),
        "{message}"
    );
    assert_eq!(world.status(&kv())["phase"], "Failed");
    assert_eq!(world.next[&kv()], None, "a watch tells when that changes");

    let consent = |world: &mut World, to: &str| {
        world.edit(&source_id("infra"), |source| {
            source["metadata"]["annotations"] = json!({"lmcache.ai/allow-copy-to": to});
        });
    };
    consent(&mut world, "inference");
    assert_eq!(
        world.settle().await,
        [
            "APPLY secrets/kv-resp-auth",
            "APPLY daemonsets/kv",
            "MERGE lmcacheengines/kv/status",
            "POST events Reconciled",
        ]
    );
    // Withdrawn: the servers run on, and a new password does not come through.
    let before = (copy(&world), world.get(&id("daemonsets", "kv")));
    consent(&mut world, "other");
    world.edit(&source_id("infra"), |source| source["data"]["password"] = json!("bmV3"));
    assert_eq!(
        world.settle().await,
        ["MERGE lmcacheengines/kv/status", "POST events SecretNotShared"]
    );
    assert_eq!((copy(&world), world.get(&id("daemonsets", "kv"))), before);
}

#[tokio::test(start_paused = true)]
async fn weakness_12_a_new_password_is_copied_and_rolls_the_pods_once() {
    let (mut world, _) = settled(NAMESPACE, json!({"password": "cHc="}), json!({})).await;
    let before = (template(&world), hash(&world));
    world.edit(&source_id(NAMESPACE), |source| {
        source["data"]["password"] = json!("bmV3")
    });
    assert_eq!(world.due(), ["LMCacheEngine inference/kv"], "the source is watched");
    let calls = world.settle().await;
    assert_eq!(
        calls,
        [
            "APPLY! secrets/kv-resp-auth",
            "APPLY! daemonsets/kv",
            "MERGE lmcacheengines/kv/status",
        ]
    );
    assert_eq!(copy(&world)["data"], json!({"password": "bmV3"}));
    assert_ne!(hash(&world), before.1);
    let mut after = template(&world);
    after["metadata"]["annotations"] = before.0["metadata"]["annotations"].clone();
    assert_eq!(after, before.0, "nothing but the hash has changed");
    assert_eq!(world.get(&id("daemonsets", "kv"))["metadata"]["generation"], 2);
    // What nobody reads rolls nothing: another key, an annotation.
    world.edit(&source_id(NAMESPACE), |source| source["data"]["ca.crt"] = json!("eA=="));
    world.edit(&source_id(NAMESPACE), |source| {
        source["metadata"]["annotations"] = json!({"note": "x"})
    });
    let calls = world.settle().await;
    assert!(
        calls.iter().all(|call| call == "MERGE lmcacheengines/kv/status"),
        "{calls:#?}"
    );
    assert_eq!(world.get(&id("daemonsets", "kv"))["metadata"]["generation"], 2);
}

#[tokio::test(start_paused = true)]
async fn a_user_name_that_comes_or_goes_is_a_change_too() {
    let (mut world, _) = settled(NAMESPACE, json!({"password": "cHc=", "username": "dQ=="}), json!({})).await;
    let before = hash(&world);
    world.edit(&source_id(NAMESPACE), |source| {
        source["data"] = json!({"password": "cHc="})
    });
    world.settle().await;
    assert_eq!(copy(&world)["data"], json!({"password": "cHc="}));
    assert_ne!(hash(&world), before);
}

/// Equal passwords of two engines do not show.
#[tokio::test(start_paused = true)]
async fn the_hash_is_keyed() {
    let (one, _) = settled(NAMESPACE, json!({"password": "cHc="}), json!({})).await;
    let mut other = World::new();
    other.create(&source(NAMESPACE, json!({"password": "cHc="}), json!({})));
    let mut object = with_login(NAMESPACE);
    object["metadata"]["uid"] = json!("another");
    other.create(&object);
    other.settle().await;
    assert_ne!(hash(&one), hash(&other));
}

/// A missing login holds the servers back and nothing else; it is named, and seen when it comes.
#[tokio::test(start_paused = true)]
async fn a_source_that_is_missing_is_named_and_seen_when_it_comes() {
    let mut world = World::new();
    world.create(&with_login(NAMESPACE));
    assert_eq!(
        world.settle().await,
        [
            "APPLY configmaps/kv-connection",
            "APPLY services/kv",
            "APPLY services/kv-metrics",
            "MERGE lmcacheengines/kv/status",
            "POST events SecretNotFound",
        ]
    );
    let (_, reason, message) = world.condition(&kv(), "Reconciled");
    assert_eq!(reason, "SecretNotFound");
    assert!(message.contains("inference/login"), "{message}");
    world.create(&source(NAMESPACE, json!({"password": "cHc="}), json!({})));
    assert_eq!(
        world.settle().await,
        [
            "APPLY secrets/kv-resp-auth",
            "APPLY daemonsets/kv",
            "MERGE lmcacheengines/kv/status",
            "POST events Reconciled",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_source_that_goes_or_loses_its_password_changes_nothing_that_runs() {
    let (mut world, _) = settled(NAMESPACE, json!({"password": "cHc="}), json!({})).await;
    let before = (copy(&world), world.get(&id("daemonsets", "kv")));
    for (data, reason) in [
        (json!({}), "SecretInvalid"),
        (json!({"password": ""}), "SecretInvalid"),
        (json!(null), "SecretNotFound"),
    ] {
        if data.is_null() {
            world.delete(&source_id(NAMESPACE));
        } else {
            world.edit(&source_id(NAMESPACE), |source| source["data"] = data);
        }
        let calls = world.settle().await;
        let is_about_status = |call: &String| call.ends_with("/status") || call.contains("events");
        assert!(calls.iter().all(is_about_status), "{calls:#?}");
        assert_eq!(world.condition(&kv(), "Reconciled").1, reason);
        if reason == "SecretInvalid" {
            assert!(world.condition(&kv(), "Reconciled").2.contains("password"));
        }
        assert_eq!((copy(&world), world.get(&id("daemonsets", "kv"))), before);
    }
}

#[tokio::test(start_paused = true)]
async fn a_source_that_may_not_be_read_is_a_condition() {
    let mut world = World::new();
    world
        .forbidden
        .insert(lmcache_controller::live::NamespacedName::new("infra", "login"));
    world.create(&with_login("infra"));
    let calls = world.settle().await;
    assert!(calls.iter().all(|call| !call.contains("daemonsets")), "{calls:#?}");
    let (_, reason, message) = world.condition(&kv(), "Reconciled");
    assert_eq!(reason, "SecretNotFound");
    assert!(message.contains("role does not allow"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_login_that_is_no_longer_named_takes_its_copy_away() {
    let (mut world, _) = settled(NAMESPACE, json!({"password": "cHc="}), json!({})).await;
    world.edit(&custom_id(&kv()), |engine| {
        engine["spec"]["l2Backend"]["resp"]
            .as_object_mut()
            .unwrap()
            .shift_remove("authSecretRef");
    });
    let calls = world.settle().await;
    assert_eq!(calls, ["APPLY! daemonsets/kv", "MERGE lmcacheengines/kv/status",]);
    // Pods of the template before cannot start again without the copy: it goes when there are none left.
    world.run_servers("kv", &[("node-a", true)]);
    let calls = world.settle().await;
    assert_eq!(calls[0], "DELETE secrets/kv-resp-auth");
    assert!(world.settle().await.is_empty());
    let template = template(&world);
    assert!(template["metadata"].get("annotations").is_none());
    assert!(!template.to_string().contains("LMCACHE_RESP_PASSWORD"));
}

/// A Secret of the copy's name that is somebody else's stays, asked for or not.
#[tokio::test(start_paused = true)]
async fn weakness_14_a_secret_of_the_copys_name_keeps_its_data_and_its_owner() {
    for owners in [
        json!([]),
        json!([{"kind": "LMCacheEngine", "name": "kv", "uid": "old", "controller": true}]),
    ] {
        let mut world = World::new();
        let theirs = world.create(&json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "kv-resp-auth", "ownerReferences": owners}, "data": {"mine": "eA=="}}));
        world.create(&source(NAMESPACE, json!({"password": "cHc="}), json!({})));
        world.create(&with_login(NAMESPACE));
        world.settle().await;
        assert_eq!(copy(&world), theirs);
        assert_eq!(world.reconciled(&kv()).1, "ForeignObject");
        world.edit(&custom_id(&kv()), |engine| engine["spec"]["l2Backend"] = json!(null));
        world.settle().await;
        assert_eq!(copy(&world), theirs);
    }
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_was_edited_or_deleted_is_put_right_without_a_rollout() {
    let (mut world, _) = settled(NAMESPACE, json!({"password": "cHc="}), json!({})).await;
    let before = world.get(&id("daemonsets", "kv"));
    world.edit(&id("secrets", "kv-resp-auth"), |copy| {
        copy["data"]["password"] = json!("eA==")
    });
    assert_eq!(world.settle().await, ["APPLY! secrets/kv-resp-auth"]);
    world.delete(&id("secrets", "kv-resp-auth"));
    assert_eq!(world.settle().await, ["APPLY secrets/kv-resp-auth"]);
    assert_eq!(copy(&world)["data"], json!({"password": "cHc="}));
    assert_eq!(world.get(&id("daemonsets", "kv")), before);
}

/// The controller stops, or the write fails, after the copy and before the workload: the Pods are rolled nevertheless.
#[tokio::test(start_paused = true)]
async fn a_rollout_that_failed_after_the_copy_is_caught_up() {
    let (mut world, _) = settled(NAMESPACE, json!({"password": "cHc="}), json!({})).await;
    let before = hash(&world);
    world.edit(&source_id(NAMESPACE), |source| {
        source["data"]["password"] = json!("bmV3")
    });
    world
        .server
        .plan("APPLY! daemonsets", 1, Answer::Refuse(500, "etcd is slow"));
    world.settle().await;
    assert_eq!(hash(&world), before);
    world.restart();
    assert_eq!(
        world.settle().await,
        ["APPLY! daemonsets/kv", "MERGE lmcacheengines/kv/status"]
    );
    assert_ne!(hash(&world), before);
    let (pass, calls) = world.pass(&kv()).await;
    assert_eq!((pass.outcome, calls.len()), (Outcome::Settled, 0));
}
