#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::cluster::{Lookup, Query};
use serde_json::json;
use std::cell::RefCell;

/// Answers every question alike and remembers what was asked.
struct Answers {
    answer: Lookup,
    asked: RefCell<Vec<String>>,
}

impl Answers {
    fn all(answer: Lookup) -> Self {
        Self {
            answer,
            asked: RefCell::default(),
        }
    }
}

impl Cluster for Answers {
    fn get(&self, query: &Query<'_>) -> Lookup {
        self.asked.borrow_mut().push(format!("{} {}", query.kind, query.name));
        self.answer.clone()
    }
}

fn template(engine: &str) -> Value {
    json!({
        "metadata": {"labels": {"lmcache.ai/lmcache-inject": "true"}, "annotations": {"lmcache.ai/lmcache-engine": engine}},
        "spec": {"containers": [{"name": "vllm", "image": "vllm/vllm-openai:v0.24.0"}]}
    })
}

fn deployment(template: &Value) -> Value {
    json!({"metadata": {"name": "chat"}, "spec": {"replicas": 1, "template": template}})
}

fn request(group: &str, kind: &str, object: &Value, settings: &Value) -> Vec<u8> {
    serde_json::to_vec(&json!({
        "request": {"operation": "CREATE", "namespace": "team-a", "kind": {"group": group, "kind": kind}, "object": object},
        "settings": settings
    }))
    .unwrap()
}

/// What the host gets, checked for what always holds: accepted, unchanged.
fn answer(payload: &[u8], cluster: &Answers) -> Vec<String> {
    let response = preflight("workload-preflight", &Request::read(payload), cluster);
    let wire: Value = serde_json::from_slice(&response.encode().unwrap()).unwrap();
    assert_eq!(
        (&wire["accepted"], &wire["mutated_object"]),
        (&json!(true), &Value::Null)
    );
    serde_json::from_value(wire["warnings"].clone()).unwrap_or_default()
}

#[test]
fn bad_settings_are_a_warning_and_no_refusal() {
    let cluster = Answers::all(Lookup::NotFound);
    let payload = request(
        "apps",
        "Deployment",
        &deployment(&template("kv")),
        &json!({"optIn": "label"}),
    );
    let warnings = answer(&payload, &cluster);
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0]
            .starts_with("policy workload-preflight has bad settings, nothing was checked: optIn: expected one of"),
        "{warnings:?}"
    );
    assert!(cluster.asked.borrow().is_empty());
    // Nobody else hears of it.
    let bare = json!({"metadata": {}, "spec": {"containers": []}});
    let payload = request("apps", "Deployment", &deployment(&bare), &json!({"optIn": "label"}));
    assert!(answer(&payload, &cluster).is_empty());
}

#[test]
fn a_failed_look_up_is_not_made_again() {
    let cluster = Answers::all(Lookup::Unavailable("timed out".into()));
    let sets =
        json!({"spec": {"leaderWorkerTemplate": {"leaderTemplate": template("kv"), "workerTemplate": template("kv")}}});
    let payload = request("leaderworkerset.x-k8s.io", "LeaderWorkerSet", &sets, &json!({}));
    let warnings = answer(&payload, &cluster);
    assert_eq!(*cluster.asked.borrow(), ["LMCacheEngine kv"]);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].starts_with("leaderTemplate: ") && warnings[1].starts_with("workerTemplate: "));
}

#[test]
fn answers_are_told_apart_by_kind_namespace_and_name() {
    let cluster = Answers::all(Lookup::NotFound);
    let once = AskOnce::new(&cluster);
    for (kind, namespace, name) in [
        ("ConfigMap", Some("a"), "kv"),
        ("LMCacheEngine", Some("a"), "kv"),
        ("LMCacheEngine", Some("b"), "kv"),
        ("LMCacheEngine", Some("a"), "kv2"),
        ("Namespace", None, "kv"),
    ] {
        let query = Query {
            api_version: "v1",
            kind,
            namespace,
            name,
            cached: false,
            member: None,
        };
        assert_eq!(once.get(&query), Lookup::NotFound);
        assert_eq!(once.get(&query), Lookup::NotFound);
    }
    assert_eq!(cluster.asked.borrow().len(), 5);
}

#[test]
fn what_is_too_long_is_cut_before_the_advice() {
    let container = "c".repeat(63);
    let mut shell = template("kv");
    shell["spec"]["containers"] = json!([{"name": container, "command": ["sh"], "image": "vllm/vllm-openai:v0.24.0"}]);
    let sets = json!({"spec": {"leaderWorkerTemplate": {"leaderTemplate": shell, "workerTemplate": {}}}});
    let engine = json!({"metadata": {"name": "kv", "namespace": "team-a"}, "spec": {"l1": {"sizeGB": 1}}});
    let payload = request("leaderworkerset.x-k8s.io", "LeaderWorkerSet", &sets, &json!({}));
    let warnings = answer(&payload, &Answers::all(Lookup::Found(engine)));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].starts_with("leaderTemplate: container \"ccc") && warnings[0].len() <= 256);
    assert!(
        warnings[0].ends_with(": Pods will not be wired; give vLLM's arguments in args, without a shell or wrapper")
    );

    let mut stamped = template("kv");
    for key in [
        "lmcache-injected",
        "lmcache-payload-staged",
        "lmcache-skip-reason",
        "lmcache-payload-skip-reason",
        "cacheblend-injected",
        "cacheblend-skip-reason",
    ] {
        stamped["metadata"]["annotations"][format!("lmcache.ai/{key}")] = json!("true");
    }
    let payload = request(
        "apps",
        "Deployment",
        &deployment(&stamped),
        &json!({"steps": ["cacheblend-injection"]}),
    );
    let warnings = answer(&payload, &Answers::all(Lookup::NotFound));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].ends_with("...: set by the policies on Pods, not by people in templates; remove it from spec.template.metadata.annotations"));
}

#[test]
fn the_log_names_the_first_thing_that_keeps_pods_from_their_engine() {
    let kv = json!({"spec": {"leaderWorkerTemplate": {"leaderTemplate": template("kv"), "workerTemplate": template("Bad Name")}}});
    let mut found = Found::default();
    let cluster = Answers::all(Lookup::NotFound);
    let side = (POD_INJECTION.sides)(&Settings::default())[0].unwrap();
    for template in Kind::LeaderWorkerSet.templates(&kv) {
        let decision = of_template(&template, "team-a", &Settings::default(), &cluster, side);
        found.add(Kind::LeaderWorkerSet, &template, &decision);
    }
    assert_eq!((found.engine.as_str(), found.reason), ("team-a/kv", "engine-not-found"));
    assert_eq!(found.warnings.len(), 2);
}

#[test]
fn a_template_that_cannot_be_edited_is_said() {
    let mut odd = template("kv");
    odd["spec"]["containers"][0]["args"] = json!("--model");
    let engine = json!({"metadata": {"name": "kv", "namespace": "team-a"}, "spec": {"isolatedIPC": true}});
    let payload = request("apps", "Deployment", &deployment(&odd), &json!({}));
    let warnings = answer(&payload, &Answers::all(Lookup::Found(engine)));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("spec.containers[0].args") && warnings[0].contains(": Pods will not be wired; "));
}

#[test]
fn only_kinds_that_people_apply() {
    let cluster = Answers::all(Lookup::NotFound);
    for (group, kind) in [
        ("", "Deployment"),
        ("extensions", "Deployment"),
        ("apps", "ReplicaSet"),
        ("apps", "Job"),
        ("batch", "Deployment"),
        ("", "Pod"),
        ("", "PodTemplate"),
        ("leaderworkerset.x-k8s.io", "Job"),
    ] {
        let payload = request(group, kind, &deployment(&template("kv")), &json!({}));
        assert!(answer(&payload, &cluster).is_empty(), "{group}/{kind}");
    }
    assert!(cluster.asked.borrow().is_empty());
}

#[test]
fn owners_whose_templates_were_judged() {
    let owned = |owner: Value| json!({"metadata": {"ownerReferences": [owner]}});
    for (expected, owner) in [
        (
            true,
            json!({"apiVersion": "batch/v1", "kind": "CronJob", "controller": true}),
        ),
        (
            true,
            json!({"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "controller": true}),
        ),
        (true, json!({"apiVersion": "v1", "kind": "Pod", "controller": true})),
        (
            false,
            json!({"apiVersion": "batch/v1", "kind": "CronJob", "controller": false}),
        ),
        (false, json!({"apiVersion": "batch/v1", "kind": "CronJob"})),
        (
            false,
            json!({"apiVersion": "other.example/v1", "kind": "CronJob", "controller": true}),
        ),
        (
            false,
            json!({"apiVersion": "serving.kserve.io/v1beta1", "kind": "InferenceService", "controller": true}),
        ),
        (false, json!("owner")),
    ] {
        assert_eq!(kind::is_made_from_judged(&owned(owner.clone())), expected, "{owner}");
    }
}

#[test]
fn the_order_of_keys_is_no_change() {
    let of = |metadata: &str| {
        let text = format!(
            r#"{{"metadata": {metadata}, "spec": {{"template": {{"metadata": {{}}, "spec": {{"a": 1, "b": 2}}}}}}}}"#
        );
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let old = of(r#"{"annotations": {"lmcache.ai/a": "1", "lmcache.ai/b": "2"}}"#);
    for (changed, metadata) in [
        (
            false,
            r#"{"annotations": {"lmcache.ai/b": "2", "other": "x", "lmcache.ai/a": "1"}}"#,
        ),
        (true, r#"{"annotations": {"lmcache.ai/b": "2", "lmcache.ai/a": "x"}}"#),
        (true, r#"{"annotations": {"lmcache.ai/b": "2"}}"#),
        (
            true,
            r#"{"labels": {"lmcache.ai/a": "1"}, "annotations": {"lmcache.ai/a": "1", "lmcache.ai/b": "2"}}"#,
        ),
        (true, "{}"),
        (true, "null"),
    ] {
        assert_eq!(
            change::concerns_pods(Kind::Deployment, &old, &of(metadata)),
            changed,
            "{metadata}"
        );
    }
    let mut turned = old.clone();
    turned["spec"]["template"]["spec"] = json!({"b": 2, "a": 1});
    assert!(!change::concerns_pods(Kind::Deployment, &old, &turned));
}

#[test]
fn an_outlook_for_each_template_that_says_what_becomes_of_its_pods() {
    let engine = json!({"metadata": {"name": "kv", "namespace": "team-a"}, "spec": {"isolatedIPC": true}});
    let cluster = Answers::all(Lookup::Found(engine));
    let plain = json!({"metadata": {}, "spec": {"containers": []}});
    let sets = json!({"spec": {"leaderWorkerTemplate": {"leaderTemplate": template("kv"), "workerTemplate": plain}}});
    let settings = Settings::default();
    let all = outlooks(
        "leaderworkerset.x-k8s.io",
        "LeaderWorkerSet",
        &sets,
        "team-a",
        &settings,
        &cluster,
    );
    assert_eq!(all.len(), 2);
    let [leader, worker] = [&all[0], &all[1]];
    assert!(leader.path.ends_with("leaderTemplate") && worker.path.ends_with("workerTemplate"));
    assert_eq!(leader.decisions.len(), 1);
    assert_eq!(leader.decisions[0].engine, "team-a/kv");
    assert!(worker.decisions.is_empty());
    assert_eq!(worker.pod, plain);
    assert!(outlooks("apps", "ReplicaSet", &sets, "team-a", &settings, &cluster).is_empty());

    let missing = Answers::all(Lookup::NotFound);
    let one = &outlooks(
        "apps",
        "Deployment",
        &deployment(&template("kv")),
        "team-a",
        &settings,
        &missing,
    )[0];
    assert_eq!(
        one.pod["metadata"]["annotations"]["lmcache.ai/lmcache-skip-reason"],
        "engine-not-found"
    );
    assert!(one.warnings[0].contains("Pods will not be wired"), "{:?}", one.warnings);
}
