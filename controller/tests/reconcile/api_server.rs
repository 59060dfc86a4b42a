//! Whether the API server of these tests does what a real one did.

use lmcache_controller::legacy::{self, State};
use serde_json::{Value, json};

use crate::api::fields::FieldSet;
use crate::api::{Id, Store, managers};
use crate::objects::{id, id_of};
use crate::recorded::{names, recorded};

fn daemon_set(template: Value) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "kv", "labels": {"a": "b"}},
        "spec": {"selector": {"matchLabels": {"app": "kv"}}, "template": template},
    })
}

fn template(container: Value) -> Value {
    let mut whole = json!({"name": "c", "image": "i:1"});
    whole
        .as_object_mut()
        .unwrap()
        .extend(container.as_object().unwrap().clone());
    json!({"metadata": {"labels": {"app": "kv"}}, "spec": {"containers": [whole]}})
}

fn kv() -> Id {
    id("daemonsets", "kv")
}

fn container(object: &Value) -> &Value {
    &object["spec"]["template"]["spec"]["containers"][0]
}

/// Created from what the Go operator sends, objects are stored as they were recorded: defaults, zero values, owners of fields.
#[test]
fn what_is_filled_in_is_what_a_real_api_server_filled_in() {
    let mut compared = 0;
    for name in names() {
        let recorded = recorded(&name);
        let of_kind = |kind: &str| recorded.others.iter().find(|other| other["kind"] == kind);
        let url = of_kind("LMCacheCoordinator").and_then(legacy::coordinator_url);
        if name == "foreign" || name == "ports-changed" || recorded.children.is_empty() {
            continue;
        }
        let rendered = legacy::children(State::July, &recorded.custom, url.as_deref(), of_kind("Secret"));
        for object in rendered {
            let kind = object["kind"].clone();
            let is_it =
                |child: &&Value| child["kind"] == kind && child["metadata"]["name"] == object["metadata"]["name"];
            let live = recorded.children.iter().find(is_it).unwrap();
            let mut object = object.clone();
            object["metadata"]["ownerReferences"] = live["metadata"]["ownerReferences"].clone();
            let stored = Store::default().create(id_of(live), object, "manager").unwrap();
            let what = format!("{name}: {kind} {}", live["metadata"]["name"]);
            let (mut spec, mut expected) = (stored["spec"].clone(), live["spec"].clone());
            for spec in [&mut spec, &mut expected] {
                spell_amounts_alike(spec);
                if let Some(spec) = spec.as_object_mut().filter(|_| kind == "Service") {
                    // Addresses are given out.
                    spec.retain(|name, address| !name.starts_with("clusterIP") || *address == "None");
                }
            }
            // In a ServiceMonitor nothing is filled in, and the rendered one leaves an empty member out.
            if kind == "ServiceMonitor" {
                continue;
            }
            assert_eq!(spec, expected, "{what}");
            assert_eq!(stored["data"], live["data"], "{what}");
            let (own, expected) = (leaves(&stored), leaves(live));
            let only = |one: &[String], other: &[String]| {
                let only = one.iter().filter(|path| !other.contains(path));
                only.cloned().collect::<Vec<_>>()
            };
            assert_eq!(
                (only(&own, &expected), only(&expected, &own)),
                (vec![], vec![]),
                "{what}"
            );
            compared += 1;
        }
    }
    assert!(compared > 35, "{compared}");
}

/// The field owners of the first writer, without the marks on maps and lists that hold others.
fn leaves(object: &Value) -> Vec<String> {
    let managers = managers::read(object);
    let fields = &managers
        .iter()
        .find(|manager| manager.is("manager", "Update"))
        .unwrap()
        .fields;
    let is_leaf = |path: &&Vec<String>| {
        let mut below = fields
            .iter()
            .filter(|other| other.len() > path.len() && other.starts_with(path));
        below.next().is_none()
    };
    fields.iter().filter(is_leaf).map(|path| path.join(" ")).collect()
}

fn spell_amounts_alike(spec: &mut Value) {
    for list in ["limits", "requests"] {
        let amounts = spec.pointer_mut(&format!("/template/spec/containers/0/resources/{list}"));
        for amount in amounts
            .and_then(Value::as_object_mut)
            .into_iter()
            .flat_map(|all| all.values_mut())
        {
            let text = amount.as_str().map_or_else(|| amount.to_string(), str::to_owned);
            let parsed: lmcache_api::quantity::Quantity = text.parse().unwrap();
            *amount = json!(format!("{parsed:?}"));
        }
    }
}

/// An apply of everything that is there changes owners and nothing else, and when it is repeated nothing at all.
#[test]
fn what_is_applied_as_it_stands_changes_nothing() {
    for name in names() {
        for child in recorded(&name).children {
            let id = id_of(&child);
            let mut store = Store::default();
            store.put(id.clone(), child.clone());
            let mut body = child.clone();
            body.as_object_mut().unwrap().shift_remove("status");
            let metadata = body["metadata"].as_object_mut().unwrap();
            for system in ["managedFields", "resourceVersion", "generation", "creationTimestamp"] {
                metadata.shift_remove(system);
            }
            let mut once = store.apply(id.clone(), &body, "somebody", true).unwrap();
            let twice = store.apply(id.clone(), &body, "somebody", true).unwrap();
            assert_eq!(once, twice, "{name}");
            let version = once["metadata"]["resourceVersion"].take();
            assert_ne!(version, child["metadata"]["resourceVersion"]);
            once["metadata"]["resourceVersion"] = child["metadata"]["resourceVersion"].clone();
            once["metadata"]["managedFields"] = child["metadata"]["managedFields"].clone();
            assert_eq!(once, child, "{name}");
        }
    }
}

#[test]
fn field_sets_are_read_as_they_are_written() {
    for name in names() {
        for child in recorded(&name).children {
            for entry in child["metadata"]["managedFields"].as_array().unwrap() {
                assert_eq!(FieldSet::read(&entry["fieldsV1"]).write(), entry["fieldsV1"], "{name}");
            }
        }
    }
}

#[test]
fn what_its_only_owner_no_longer_applies_goes() {
    let mut store = Store::default();
    let env = |names: &[&str]| {
        names
            .iter()
            .map(|name| json!({"name": name, "value": "1"}))
            .collect::<Value>()
    };
    let with = template(json!({"env": env(&["A", "B"]), "livenessProbe": {"tcpSocket": {"port": 1}}}));
    store.apply(kv(), &daemon_set(with.clone()), "ours", false).unwrap();
    // Whoever says the same owns it too.
    store
        .apply(
            kv(),
            &daemon_set(template(json!({"env": env(&["B"])}))),
            "theirs",
            false,
        )
        .unwrap();
    let after = store
        .apply(kv(), &daemon_set(template(json!({}))), "ours", false)
        .unwrap();
    assert_eq!(container(&after)["env"], env(&["B"]));
    assert!(
        container(&after).get("livenessProbe").is_none(),
        "with the defaults in it"
    );
    assert_eq!(after["metadata"]["generation"], 2);
    let same = store
        .apply(kv(), &daemon_set(template(json!({}))), "ours", false)
        .unwrap();
    assert_eq!(after, same);
    assert_eq!(container(&after)["terminationMessagePolicy"], "File");
}

#[test]
fn what_another_manager_changed_conflicts_without_force() {
    let mut store = Store::default();
    let body = daemon_set(template(json!({"args": ["1"]})));
    store.apply(kv(), &body, "ours", false).unwrap();
    let change = |object: &mut Value| {
        let spec = &mut object["spec"]["template"]["spec"];
        spec["containers"][0]["args"] = json!(["2"]);
        spec["terminationGracePeriodSeconds"] = json!(5);
    };
    store.edit(&kv(), "kubectl-edit", "", change).unwrap();
    assert_eq!(store.apply(kv(), &body, "ours", false).unwrap_err().0, 409);
    let after = store.apply(kv(), &body, "ours", true).unwrap();
    assert_eq!(container(&after)["args"], json!(["1"]));
    assert_eq!(after["spec"]["template"]["spec"]["terminationGracePeriodSeconds"], 5);
    let owned = managers::read(&after);
    let edit = owned
        .iter()
        .find(|manager| manager.is("kubectl-edit", "Update"))
        .unwrap();
    let kept = edit.fields.iter().map(|path| path.join(" "));
    // Kubernetes' own annotation counts the templates.
    let kept: Vec<String> = kept.filter(|path| !path.contains("annotations")).collect();
    assert_eq!(kept, ["f:spec f:template f:spec f:terminationGracePeriodSeconds"]);
}

#[test]
fn what_kubernetes_refuses_is_refused() {
    let mut store = Store::default();
    let twice = template(json!({"env": [{"name": "A"}, {"name": "A"}]}));
    assert_eq!(store.apply(kv(), &daemon_set(twice), "ours", true).unwrap_err().0, 500);
    let mut body = daemon_set(template(json!({})));
    body["metadata"]["uid"] = json!("1");
    assert_eq!(store.apply(kv(), &body, "ours", true).unwrap_err().0, 409, "it is gone");
    body["metadata"].as_object_mut().unwrap().shift_remove("uid");
    store.apply(kv(), &body, "ours", true).unwrap();
    body["metadata"]["uid"] = json!("another");
    assert_eq!(store.apply(kv(), &body, "ours", true).unwrap_err().0, 409);
    assert_eq!(store.delete(&kv(), Some("another")).unwrap_err().0, 409);
    body["metadata"].as_object_mut().unwrap().shift_remove("uid");
    body["spec"]["selector"]["matchLabels"]["more"] = json!("x");
    assert_eq!(store.apply(kv(), &body, "ours", true).unwrap_err().0, 422);
    body["spec"]["selector"]["matchLabels"] = json!({"app": "kv"});
    body["spec"]["template"]["metadata"]["labels"]["app"] = json!("x");
    assert_eq!(store.apply(kv(), &body, "ours", true).unwrap_err().0, 422);
}

/// An apply for the version that no object has creates one, and changes none.
#[test]
fn an_apply_for_version_1_is_a_creation_or_a_conflict() {
    let mut store = Store::default();
    let body = daemon_set(template(json!({})));
    let mut new = body.clone();
    new["metadata"]["resourceVersion"] = json!("1");
    let created = store.apply(kv(), &new, "ours", false).unwrap();
    assert_ne!(
        created["metadata"]["resourceVersion"], "1",
        "not even the first one has it"
    );
    let mut without_version = Store::default();
    assert_eq!(without_version.apply(kv(), &body, "ours", false).unwrap(), created);
    // Whoever applies, with or without force, and whether or not it would change anything.
    let mut other = new.clone();
    other["metadata"]["labels"] = json!({"c": "d"});
    for (manager, body, force) in [
        ("ours", &new, false),
        ("ours", &new, true),
        ("theirs", &other, false),
        ("theirs", &other, true),
    ] {
        assert_eq!(store.apply(kv(), body, manager, force).unwrap_err().0, 409);
    }
    assert_eq!(*store.get(&kv()).unwrap(), created);
    // For the version that it has, it is applied.
    other["metadata"]["resourceVersion"] = created["metadata"]["resourceVersion"].clone();
    let after = store.apply(kv(), &other, "theirs", false).unwrap();
    assert_eq!(after["metadata"]["labels"], json!({"a": "b", "c": "d"}));
    assert_eq!(
        store.apply(kv(), &other, "theirs", false).unwrap_err().0,
        409,
        "it has another one now"
    );
}

#[test]
fn applied_items_come_in_their_order_and_those_of_others_stay_between_them() {
    let mut store = Store::default();
    let env = |names: &str| {
        names
            .chars()
            .map(|name| json!({"name": name.to_string()}))
            .collect::<Value>()
    };
    let with = |names: &str| daemon_set(template(json!({"env": env(names)})));
    store.apply(kv(), &with("AB"), "ours", false).unwrap();
    store
        .edit(&kv(), "kubectl-edit", "", |object| {
            object["spec"]["template"]["spec"]["containers"][0]["env"] = env("AXBY");
        })
        .unwrap();
    let after = store.apply(kv(), &with("BAC"), "ours", true).unwrap();
    let order = container(&after)["env"].as_array().unwrap().iter();
    let order: String = order.map(|variable| variable["name"].as_str().unwrap()).collect();
    assert_eq!(order, "XBYAC");
}
