//! The `matchConditions` of the manifests, evaluated as the API server does: they keep requests from the policies, so they
//! must let everything pass that a policy has something to say about, and fail on nothing.

use crate::installed::{Manifest, manifests};
use cel::{Context, Program, Value as Cel};
use policy_host::EvaluationContext;
use policy_host::fixture::{Case, load_all};
use policy_kit::keys::{
    CACHEBLEND, CLIENT_RELEASE, LMCACHE, ON_MISSING_ENGINE, PAYLOAD_SKIP_REASON, PAYLOAD_STAGED, PD_ROLE, VLLM_RELEASE,
};
use policy_tests::{load, root};
use serde_json::{Value, json};

/// The conditions of a manifest, compiled.
struct Conditions {
    place: String,
    programs: Vec<(String, Program)>,
}

impl Conditions {
    fn of(manifest: &Manifest) -> Self {
        let conditions = manifest.spec("matchConditions").as_array().into_iter().flatten();
        let programs = conditions.map(|condition| {
            let text = |key: &str| condition[key].as_str().unwrap().to_owned();
            let program = Program::compile(&text("expression"));
            let program = program.unwrap_or_else(|error| panic!("{} {}: {error}", manifest.place(), text("name")));
            (text("name"), program)
        });
        Self {
            place: manifest.place(),
            programs: programs.collect(),
        }
    }

    /// Those of the manifest `file#name`.
    fn at(place: &str) -> Self {
        let manifests = manifests();
        Self::of(manifests.iter().find(|manifest| manifest.place() == place).unwrap())
    }

    /// Does the request reach the policy server?
    fn let_pass(&self, request: &Value) -> bool {
        let mut context = Context::default();
        context.add_variable("request", request.clone()).unwrap();
        for name in ["object", "oldObject"] {
            context.add_variable(name, as_sent(&request[name])).unwrap();
        }
        self.programs
            .iter()
            .all(|(name, program)| match program.execute(&context) {
                Ok(Cel::Bool(passes)) => passes,
                other => panic!("{} {name}: {other:?} for {request}", self.place),
            })
    }
}

/// An object as API servers send it: a member without a value is left out.
fn as_sent(object: &Value) -> Value {
    match object {
        Value::Object(members) => members
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), as_sent(value)))
            .collect(),
        Value::Array(items) => items.iter().map(as_sent).collect(),
        other => other.clone(),
    }
}

fn cases(policy: &str) -> Vec<Case> {
    load_all(root().join("fixtures").join(policy)).unwrap_or_else(|error| panic!("{error}"))
}

/// Is the case about a request that the rules of the manifest send? The audit scanner leaves out the resource.
fn in_rules(manifest: &Manifest, request: &Value) -> bool {
    let kind = &request["kind"];
    let plural = json!(format!("{}s", kind["kind"].as_str().unwrap_or_default().to_lowercase()));
    let contains = |list: &Value, text: &Value| list.as_array().is_some_and(|list| list.contains(text));
    let rules = manifest.spec("rules").as_array().unwrap();
    request["subResource"].is_null()
        && rules.iter().any(|rule| {
            contains(&rule["apiGroups"], &kind["group"])
                && contains(&rule["resources"], &plural)
                && contains(&rule["operations"], &request["operation"])
        })
}

/// Has the policy anything to say in this case?
fn matters(case: &Case) -> bool {
    let expected = &case.expected;
    !expected.allowed || !expected.warnings.is_empty() || !expected.patch.0.is_empty()
}

/// The names of the cases whose request matters, passes the rules and is kept from the policy; and how many passed.
fn held_back(manifest: &Manifest, cases: &[Case]) -> (Vec<String>, usize) {
    let conditions = Conditions::of(manifest);
    let sent: Vec<&Case> = cases
        .iter()
        .filter(|case| in_rules(manifest, case.request.value()))
        .collect();
    let (passed, held): (Vec<&Case>, Vec<&Case>) = sent
        .into_iter()
        .partition(|case| conditions.let_pass(case.request.value()));
    let held = held.into_iter().filter(|case| matters(case)).map(Case::name).collect();
    (held, passed.len())
}

/// Is the case about what this manifest installs: its settings, and where it is about one system's Pods, those?
fn belongs(manifest: &Manifest, case: &Case) -> bool {
    let request = case.request.value();
    // No API server sends an update without the old object.
    if request["operation"] == "UPDATE" && request["oldObject"].is_null() {
        return false;
    }
    let setting = |key: &str, default: Value| case.settings.get(key).cloned().unwrap_or(default);
    let installed = |key: &str| manifest.spec("settings")[key].clone();
    match manifest.policy.as_str() {
        "engine-validation" => true,
        "injection-guard" => {
            setting("checks", json!(["Stamps", "Keys"])) == installed("checks")
                && setting("optIn", json!("Label")) == installed("optIn")
        }
        "pod-injection" if manifest.folder() == "by-annotation" => {
            let engine = if manifest.name.starts_with("lmcache") {
                LMCACHE.engine
            } else {
                CACHEBLEND.engine
            };
            let annotations = &request["object"]["metadata"]["annotations"];
            setting("optIn", json!("Label")) == "Annotation" && annotations.get(engine).is_some()
        }
        // The API server itself refuses a workload without a template.
        "workload-preflight" if case.name() == "template-absent" => false,
        _ => setting("optIn", json!("Label")) == installed("optIn"),
    }
}

#[test]
fn nothing_is_held_back_that_a_policy_would_answer() {
    for manifest in manifests() {
        let mut cases = cases(&manifest.policy);
        cases.retain(|case| belongs(&manifest, case));
        let (held, passed) = held_back(&manifest, &cases);
        assert_eq!(held, Vec::<String>::new(), "{}", manifest.place());
        assert!(passed > 0, "{}: no case passes", manifest.place());
    }
}

/// A Pod with these labels and annotations; `None`: the map is absent.
fn pod(labels: Option<Value>, annotations: Option<Value>) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "chat-0", "namespace": "team-a"},
        "spec": {"containers": [{"name": "vllm", "image": "vllm/vllm-openai:v0.24.0"}]},
    });
    for (name, map) in [("labels", labels), ("annotations", annotations)] {
        if let Some(map) = map {
            pod["metadata"][name] = map;
        }
    }
    pod
}

fn request(operation: &str, object: Value, old: Option<Value>) -> Value {
    let mut request = json!({
        "uid": "1", "operation": operation, "name": "chat-0", "namespace": "team-a",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "userInfo": {"username": "someone"}, "object": object,
    });
    if let Some(old) = old {
        request["oldObject"] = old;
    }
    request
}

const LABELS: [&str; 2] = [LMCACHE.inject, CACHEBLEND.inject];
const STAMPS: [&str; 3] = [LMCACHE.injected, PAYLOAD_STAGED, CACHEBLEND.injected];
const OTHER_ANNOTATIONS: [&str; 13] = [
    LMCACHE.engine,
    LMCACHE.container,
    LMCACHE.pull_secrets,
    LMCACHE.skip_reason,
    PAYLOAD_SKIP_REASON,
    CACHEBLEND.engine,
    CACHEBLEND.container,
    CACHEBLEND.pull_secrets,
    CACHEBLEND.skip_reason,
    PD_ROLE,
    ON_MISSING_ENGINE,
    CLIENT_RELEASE,
    VLLM_RELEASE,
];

const GUARD: &str = "lmcache-guard.yaml#lmcache-guard";

#[test]
fn the_guard_is_asked_about_new_pods_with_a_stamp_alone() {
    let guard = Conditions::at(GUARD);
    let passes = |labels: Option<Value>, annotations: Option<Value>| {
        guard.let_pass(&request("CREATE", pod(labels, annotations), None))
    };
    assert!(!passes(None, None));
    assert!(!passes(Some(json!({})), Some(json!({}))));
    assert!(!passes(
        Some(json!({LMCACHE.inject: "true"})),
        Some(json!({LMCACHE.engine: "cache-a"}))
    ));
    for stamp in STAMPS {
        assert!(passes(None, Some(json!({stamp: "true"}))), "{stamp}");
        assert!(!passes(None, Some(json!({stamp: "false"}))), "{stamp}");
        // A label is no stamp.
        assert!(!passes(Some(json!({stamp: "true"})), None), "{stamp}");
    }
    for key in OTHER_ANNOTATIONS {
        assert!(!passes(None, Some(json!({key: "true"}))), "{key}");
    }
}

/// The manifest lists the keys again, so the two lists are compared: condition and policy agree about every change.
#[test]
fn the_guard_is_asked_about_changes_of_its_keys_alone_and_refuses_each() {
    let guard = Conditions::at(GUARD);
    let module = load("injection-guard").unwrap();
    let settings = json!({});
    let check = |what: String, new: Value, old: Value, differs: bool| {
        let request = request("UPDATE", new, Some(old));
        assert_eq!(guard.let_pass(&request), differs, "condition: {what}");
        let request = policy_host::AdmissionRequest::from_value(request).unwrap();
        let evaluation = module.validate(&request, &settings, &EvaluationContext::without_cluster());
        assert_eq!(evaluation.response.allowed, !differs, "policy: {what}");
    };
    let annotations = STAMPS.into_iter().chain(OTHER_ANNOTATIONS);
    let places = LABELS
        .into_iter()
        .map(|key| (key, true))
        .chain(annotations.map(|key| (key, false)));
    for (key, label) in places {
        let with = |map: Option<Value>| if label { pod(map, None) } else { pod(None, map) };
        let foreign = || Some(json!({"example.com/a": "1"}));
        for (what, new, old, differs) in [
            ("added to an absent map", Some(json!({key: "v"})), None, true),
            ("added", Some(json!({"example.com/a": "1", key: "v"})), foreign(), true),
            ("added empty", Some(json!({key: ""})), Some(json!({})), true),
            (
                "removed",
                foreign(),
                Some(json!({"example.com/a": "1", key: "v"})),
                true,
            ),
            ("removed with the map", None, Some(json!({key: "v"})), true),
            ("changed", Some(json!({key: "w"})), Some(json!({key: "v"})), true),
            ("kept", Some(json!({key: "v"})), Some(json!({key: "v"})), false),
            (
                "kept beside a change",
                Some(json!({key: "v", "example.com/a": "2"})),
                Some(json!({key: "v"})),
                false,
            ),
            ("absent", foreign(), None, false),
        ] {
            check(format!("{key} {what}"), with(new), with(old), differs);
        }
    }
    for key in ["lmcache.ai/something-else", "example.com/lmcache-injected"] {
        check(
            key.to_owned(),
            pod(Some(json!({key: "a"})), Some(json!({key: "a"}))),
            pod(None, None),
            false,
        );
    }
}

#[test]
fn mirror_pods_never_reach_the_policies_that_wire() {
    let mirror = pod(
        None,
        Some(json!({"kubernetes.io/config.mirror": "1", LMCACHE.engine: "a", CACHEBLEND.engine: "b"})),
    );
    let mut checked = 0;
    for manifest in manifests().iter().filter(|manifest| *manifest.spec("mutating") == true) {
        assert!(
            !Conditions::of(manifest).let_pass(&request("CREATE", mirror.clone(), None)),
            "{}",
            manifest.place()
        );
        checked += 1;
    }
    assert!(checked >= 7);
}

#[test]
fn a_pod_without_labels_and_annotations_fails_no_condition() {
    for manifest in manifests() {
        let conditions = Conditions::of(&manifest);
        let bare = || json!({"metadata": {"name": "x"}, "spec": {"template": {"spec": {}}}});
        let group =
            || json!({"metadata": {"name": "x"}, "spec": {"leaderWorkerTemplate": {"workerTemplate": {"spec": {}}}}});
        let job = || json!({"metadata": {"name": "x"}, "spec": {"jobTemplate": {"spec": {"template": {"spec": {}}}}}});
        let objects: Vec<fn() -> Value> = match manifest.name.as_str() {
            "lmcache-workload-preflight-leaderworkerset" => vec![group],
            "lmcache-workload-preflight" => vec![bare, job],
            _ => vec![bare, group, job],
        };
        for object in objects {
            conditions.let_pass(&request("CREATE", object(), None));
            conditions.let_pass(&request("UPDATE", object(), Some(object())));
        }
    }
}

/// Sets the member at a path with slashes, making maps on the way.
fn set(object: &Value, path: &str, value: Value) -> Value {
    let mut object = object.clone();
    let mut place = &mut object;
    for key in path.split('/') {
        if place.is_null() {
            *place = json!({});
        }
        place = &mut place[key];
    }
    *place = value;
    object
}

#[test]
fn the_preflight_is_asked_about_every_place_that_may_hold_keys() {
    let template = || json!({"spec": {"containers": [{"name": "vllm"}]}});
    let deployment = json!({"metadata": {"name": "chat"}, "spec": {"replicas": 1, "template": template()}});
    let cron_job = json!({"metadata": {"name": "chat"}, "spec": {"schedule": "@daily", "jobTemplate": {"spec": {"template": template()}}}});
    let group = json!({"metadata": {"name": "chat"}, "spec": {"replicas": 1, "leaderWorkerTemplate": {
        "size": 2, "leaderTemplate": template(), "workerTemplate": template()}}});
    let apps = "workload-preflight.yaml#lmcache-workload-preflight";
    let by_annotation = "by-annotation/workload-preflight.yaml#lmcache-workload-preflight";
    let groups = "optional/workload-preflight-leaderworkerset.yaml#lmcache-workload-preflight-leaderworkerset";
    let leader_and_worker = [
        "spec/leaderWorkerTemplate/leaderTemplate",
        "spec/leaderWorkerTemplate/workerTemplate",
    ];
    for (manifest, object, templates, job, elsewhere) in [
        (apps, &deployment, &["spec/template"][..], None, "spec/replicas"),
        (
            apps,
            &cron_job,
            &["spec/jobTemplate/spec/template"],
            Some("spec/jobTemplate"),
            "spec/schedule",
        ),
        (by_annotation, &deployment, &["spec/template"], None, "spec/replicas"),
        (groups, &group, &leader_and_worker, None, "spec/replicas"),
    ] {
        let conditions = Conditions::at(manifest);
        let passes = |operation: &str, new: &Value, old: Option<&Value>| {
            conditions.let_pass(&request(operation, new.clone(), old.cloned()))
        };
        assert!(!passes("CREATE", object, None), "{manifest}");
        let metadata = templates
            .iter()
            .copied()
            .chain(job)
            .map(|place| format!("{place}/metadata"));
        for place in metadata.chain(["metadata".to_owned()]) {
            for map in ["labels", "annotations"] {
                let what = format!("{manifest} {place}/{map}");
                let foreign = set(
                    object,
                    &format!("{place}/{map}"),
                    json!({"example.com/lmcache.ai": "true"}),
                );
                assert!(!passes("CREATE", &foreign, None), "{what}");
                let ours = set(object, &format!("{place}/{map}"), json!({LMCACHE.inject: "true"}));
                let other = set(object, &format!("{place}/{map}"), json!({LMCACHE.inject: "True"}));
                assert!(passes("CREATE", &ours, None), "{what}");
                assert!(passes("UPDATE", &ours, Some(object)), "{what} added");
                assert!(passes("UPDATE", &ours, Some(&other)), "{what} changed");
                assert!(!passes("UPDATE", &ours, Some(&ours)), "{what} kept");
                let scaled = set(&ours, elsewhere, json!("another"));
                assert!(!passes("UPDATE", &scaled, Some(&ours)), "{what} kept, scaled");
            }
        }
        for place in templates {
            let ours = set(object, "metadata/labels", json!({LMCACHE.inject: "true"}));
            let image = set(&ours, &format!("{place}/spec/containers"), json!([{"name": "other"}]));
            assert!(passes("UPDATE", &image, Some(&ours)), "{manifest} {place}");
        }
    }
}
