//! The first pass over objects that the Go operator left.

use serde_json::{Value, json};

use super::support::{fields_of, on};
use super::support::{recording, recordings};
use crate::live::{Child, ChildKind};
use crate::plan::{ChildName, Step};

/// Recordings whose children are the custom resource's own.
const ADOPTED: usize = 11;

#[test]
fn no_template_changes_and_every_field_changes_hands() {
    let mut adopted = 0;
    for (name, mut stored) in recordings() {
        if matches!(name.as_str(), "foreign" | "invalid" | "missing-coordinator") {
            continue;
        }
        if name == "l2-resp-auth-cross-namespace" {
            stored.others[0]["metadata"]["annotations"] = json!({"lmcache.ai/allow-copy-to": "inference"});
        }
        adopted += 1;
        let inputs = stored.inputs();
        let desired = stored.desired();
        assert!(desired.problems.is_empty(), "{name}: {:?}", desired.problems);
        // This one's release serves no metrics: what would scrape them goes.
        let unwanted = usize::from(name == "coordinator-full") * 2;
        assert_eq!(desired.unwanted.len(), unwanted, "{name}: {:?}", desired.unwanted);
        // A coordinator without metrics is the same in both.
        assert_eq!(desired.legacy_template.is_some(), name != "coordinator", "{name}");
        for wanted in &desired.wanted {
            let live = inputs
                .children
                .get(&wanted.name)
                .unwrap_or_else(|| panic!("{name}: {}", wanted.name));
            let Step::Apply {
                takeover: Some(patch), ..
            } = on(wanted, Some(live), &inputs)
            else {
                panic!("{name}: {} is not taken over", wanted.name);
            };
            assert_eq!(patch[0]["value"], live.resource_version());
            if wanted.name.kind.is_workload() {
                let template = &wanted.body["spec"]["template"];
                let lacking = super::super::same::lacking(template, &live.value()["spec"]["template"]);
                assert!(lacking.is_empty(), "{name}: {lacking:?}");
                // What is not said is taken away, unless the API server fills it in again.
                let owned = live.inherited().unwrap().fields;
                let given_up = given_up("", &owned["f:spec"]["f:template"], template);
                let filled_in = |path: &String| DEFAULTED.iter().any(|default| path.ends_with(default));
                let lost: Vec<_> = given_up.into_iter().filter(|path| !filled_in(path)).collect();
                assert!(lost.is_empty(), "{name}: {lost:?}");
            }
        }
    }
    assert_eq!(adopted, ADOPTED);
}

/// Fields of Pods that the API server fills in.
const DEFAULTED: [&str; 16] = [
    "f:terminationMessagePath",
    "f:terminationMessagePolicy",
    "f:dnsPolicy",
    "f:restartPolicy",
    "f:schedulerName",
    "f:spec/f:securityContext",
    "f:terminationGracePeriodSeconds",
    "f:failureThreshold",
    "f:successThreshold",
    "f:timeoutSeconds",
    "f:scheme",
    "f:apiVersion",
    "f:serviceAccount",
    "f:defaultMode",
    "f:hostPath/f:type",
    // Stored as `{}` where there are none; an engine always has some.
    "k:{\"name\":\"coordinator\"}/f:resources",
];

/// Paths that a manager owns and an apply of `wanted` does not say.
fn given_up(path: &str, owned: &Value, wanted: &Value) -> Vec<String> {
    let mut paths = Vec::new();
    for (name, below) in owned.as_object().unwrap() {
        if name == "." {
            continue;
        }
        let path = format!("{path}/{name}");
        let member = match name.split_once(':').unwrap() {
            ("f", field) => wanted.get(field).cloned(),
            ("k", key) => {
                let key: Value = serde_json::from_str(key).unwrap();
                let key = key.as_object().unwrap().clone();
                let mut items = wanted.as_array().into_iter().flatten();
                items
                    .find(|item| key.iter().all(|(name, value)| item[name] == *value))
                    .cloned()
            }
            _ => None,
        };
        match member {
            Some(member) if below.as_object().unwrap().is_empty() => drop(member),
            Some(member) => paths.extend(given_up(&path, below, &member)),
            None => paths.push(path),
        }
    }
    paths
}

/// What the cluster holds after the applies of a pass, as far as it matters here.
fn settled(name: &str) -> super::support::Stored {
    let mut stored = recording(name);
    for wanted in stored.desired().wanted {
        let kind = wanted.name.kind.as_str();
        let mut children = stored.children.iter_mut();
        let live =
            children.find(|child| child["kind"] == kind && child["metadata"]["name"] == wanted.name.name.as_str());
        let live = live.unwrap();
        merge(&wanted.body, live);
        live["metadata"]["managedFields"] = json!([{
            "manager": "lmcache-controller", "operation": "Apply", "fieldsV1": fields_of(&wanted.body),
        }]);
    }
    stored
}

fn merge(from: &Value, into: &mut Value) {
    match (from, into) {
        (Value::Object(from), Value::Object(into)) => {
            for (name, from) in from {
                match into.get_mut(name) {
                    Some(member) => merge(from, member),
                    None => drop(into.insert(name.clone(), from.clone())),
                }
            }
        }
        // Of the recorded lists, only the ports of Services change.
        (Value::Array(from), Value::Array(into)) if from.iter().any(|item| item.get("port").is_some()) => {
            into.clone_from(from);
        }
        (Value::Array(_), Value::Array(_)) => {}
        (from, into) => into.clone_from(from),
    }
}

#[test]
fn a_login_of_another_namespace_without_consent_leaves_the_servers_alone() {
    let desired = recording("l2-resp-auth-cross-namespace").desired();
    assert_eq!(desired.problems[0].reason.as_str(), "SecretNotShared");
    let touched = desired.wanted.iter().map(|wanted| wanted.name.kind);
    assert!(
        touched
            .into_iter()
            .all(|kind| !kind.is_workload() && kind != ChildKind::Secret)
    );
    assert!(desired.unwanted.is_empty());
}

#[test]
fn a_pass_after_the_takeover_keeps_everything() {
    for name in [
        "minimal",
        "full",
        "cacheblend",
        "coordinator-full",
        "l2-resp-auth",
        "ports-changed",
        "servicemonitor",
    ] {
        let stored = settled(name);
        let inputs = stored.inputs();
        let desired = stored.desired();
        assert!(desired.legacy_template.is_some(), "{name}");
        for wanted in &desired.wanted {
            let live = inputs.children.get(&wanted.name).map(AsRef::as_ref);
            assert_eq!(on(wanted, live, &inputs), Step::Keep, "{name}: {}", wanted.name);
        }
    }
}

#[test]
fn a_changed_specification_brings_our_template() {
    let stored = recording("minimal");
    let kept = stored.wanted(ChildKind::DaemonSet);
    let args = "/spec/template/spec/containers/0/args";
    assert!(
        !kept
            .pointer(args)
            .unwrap()
            .as_array()
            .unwrap()
            .contains(&json!("--http-host"))
    );
    for changed in [
        stored.clone().with("/spec/l1/sizeGB", json!(70)),
        stored
            .clone()
            .with("/metadata/annotations", json!({"lmcache.ai/rollout": "now"})),
        // The Go operator knows the field, but the template was made without it.
        stored.clone().with("/spec/podLabels", json!({"team": "a"})),
        // July's did not know it, and no later one makes this of it.
        stored.clone().with("/spec/hostIPC", json!(false)),
    ] {
        assert_eq!(changed.desired().legacy_template, None);
        let wanted = changed.wanted(ChildKind::DaemonSet);
        assert!(
            wanted
                .pointer(args)
                .unwrap()
                .as_array()
                .unwrap()
                .contains(&json!("--http-host"))
        );
    }
}

#[test]
fn the_connection_says_what_the_kept_servers_run() {
    let mut stored = recording("minimal");
    let mode = |stored: &super::support::Stored| {
        let config_map = stored.wanted(ChildKind::ConfigMap);
        config_map["metadata"]["annotations"]["lmcache.ai/ipc-mode"].clone()
    };
    assert_eq!(mode(&stored), "HostIPC");
    // What the newest Go operator makes of the same object.
    let rendered = crate::legacy::workload(crate::legacy::State::Newest, &stored.custom, None).unwrap();
    stored.child("DaemonSet")["spec"]["template"] = rendered["spec"]["template"].clone();
    assert_eq!(mode(&stored), "Isolated");
    let text = stored.wanted(ChildKind::ConfigMap)["data"]["kv-transfer-config.json"].to_string();
    assert!(text.contains("isolated_ipc"), "{text}");
    let rolled = stored.with("/metadata/annotations", json!({"lmcache.ai/rollout": ""}));
    assert_eq!(mode(&rolled), "HostIPC");
}

#[test]
fn an_isolated_switch_at_another_place_is_not_moved() {
    let mut stored = recording("minimal");
    let rendered = crate::legacy::workload(crate::legacy::State::Newest, &stored.custom, None).unwrap();
    stored.child("DaemonSet")["spec"]["template"] = rendered["spec"]["template"].clone();
    let args = stored
        .child("DaemonSet")
        .pointer_mut("/spec/template/spec/containers/0/args")
        .unwrap();
    let tokens = args.as_array_mut().unwrap();
    let place = tokens.iter().position(|token| token == "--isolated-ipc").unwrap();
    let switch = tokens.remove(place);
    tokens.insert(2, switch);
    let expected = args.clone();
    let wanted = stored.wanted(ChildKind::DaemonSet);
    assert_eq!(wanted["spec"]["template"]["spec"]["containers"][0]["args"], expected);
}

#[test]
fn a_template_that_an_apply_cannot_say_is_not_touched() {
    // The kubelet takes the last of two variables of one name; a server-side apply with both is refused.
    let twice = json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]);
    let mut stored = recording("minimal").with("/spec/env", twice);
    let rendered = crate::legacy::workload(crate::legacy::State::July, &stored.custom, None).unwrap();
    stored.child("DaemonSet")["spec"]["template"] = rendered["spec"]["template"].clone();
    let desired = stored.desired();
    assert!(desired.legacy_template.is_some());
    assert!(
        desired
            .wanted
            .iter()
            .all(|wanted| wanted.name.kind != ChildKind::DaemonSet)
    );
    assert!(desired.unwanted.is_empty());
    // Ours says it once.
    let changed = stored.with("/spec/l1/sizeGB", json!(70)).wanted(ChildKind::DaemonSet);
    let env = changed["spec"]["template"]["spec"]["containers"][0]["env"]
        .as_array()
        .unwrap()
        .clone();
    assert_eq!(env.iter().filter(|variable| variable["name"] == "A").count(), 1);
}

#[test]
fn objects_of_others_are_left_alone_and_named() {
    let stored = recording("foreign");
    let inputs = stored.inputs();
    let mut left = 0;
    for wanted in &stored.desired().wanted {
        let Some(live) = inputs.children.get(&wanted.name) else {
            continue;
        };
        let Step::Leave(problem) = on(wanted, Some(live), &inputs) else {
            panic!("{} would be written", wanted.name);
        };
        assert_eq!(problem.reason.as_str(), "ForeignObject");
        assert_eq!(problem.child, wanted.name);
        assert!(problem.message.contains("no controlling owner"), "{}", problem.message);
        left += 1;
    }
    assert_eq!(left, 3, "the servers are held back: their login is missing");
    assert!(stored.desired().unwanted.is_empty());
}

#[test]
fn a_predecessor_of_the_same_name_owns_nothing_here() {
    let stored = recording("minimal").with("/metadata/uid", json!("a-new-uid"));
    let inputs = stored.inputs();
    for wanted in &stored.desired().wanted {
        let live = inputs.children.get(&wanted.name).map(AsRef::as_ref);
        assert!(matches!(on(wanted, live, &inputs), Step::Leave(_)), "{}", wanted.name);
    }
}

#[test]
fn both_managers_own_fields_after_the_go_operator_came_back() {
    let mut stored = recording("minimal");
    let config_map = stored.child("ConfigMap");
    let mut entries = config_map["metadata"]["managedFields"].as_array().unwrap().clone();
    entries.push(json!({"manager": "lmcache-controller", "operation": "Apply", "fieldsV1": {"f:data": {"f:old": {}}}}));
    config_map["metadata"]["managedFields"] = json!(entries);
    let live = Child::read(config_map.clone());
    let patch = super::super::managed::takeover(&live).unwrap();
    let mut patched = config_map.clone();
    let operations: json_patch::Patch = serde_json::from_value(patch).unwrap();
    json_patch::patch(&mut patched, &operations).unwrap();
    let entries = patched["metadata"]["managedFields"].as_array().unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0]["manager"], "lmcache-controller");
    let data = &entries[0]["fieldsV1"]["f:data"];
    assert!(
        data["f:old"].is_object() && data["f:kv-transfer-config.json"].is_object(),
        "{data}"
    );
}

#[test]
fn a_live_selector_stays_and_so_do_its_labels() {
    let mut stored = recording("minimal").with("/spec/l1/sizeGB", json!(70));
    let workload = stored.child("DaemonSet");
    workload["spec"]["selector"]["matchLabels"]["example.com/legacy"] = json!("original");
    workload["spec"]["template"]["metadata"]["labels"]["example.com/legacy"] = json!("original");
    let stored = stored.with("/spec/podLabels", json!({"example.com/legacy": "mine", "team": "a"}));
    let wanted = stored.wanted(ChildKind::DaemonSet);
    assert_eq!(
        wanted["spec"]["selector"]["matchLabels"]["example.com/legacy"],
        "original"
    );
    let labels = &wanted["spec"]["template"]["metadata"]["labels"];
    assert_eq!(
        (&labels["example.com/legacy"], &labels["team"]),
        (&json!("original"), &json!("a"))
    );
}

#[test]
fn names_of_children_are_the_go_operators() {
    let names: Vec<_> = recording("full")
        .desired()
        .wanted
        .iter()
        .map(|wanted| wanted.name.clone())
        .collect();
    let expected = [
        (ChildKind::DaemonSet, "full"),
        (ChildKind::ConfigMap, "full-connection"),
        (ChildKind::Service, "full"),
        (ChildKind::Service, "full-metrics"),
        (ChildKind::ServiceMonitor, "full"),
    ];
    assert_eq!(names, expected.map(|(kind, name)| ChildName::new(kind, name)));
}
