//! The compiled policies under input that no API server sends: they neither trap nor, where they wire Pods, refuse.

use policy_host::host::{HostCapabilities, HostRequest};
use policy_host::{AdmissionRequest, EvaluationContext, Policy};
use policy_tests::load;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// The policies that change Pods, the guard and the preflight: none of them may trap, and the first never refuse.
static MUTATORS: LazyLock<Vec<Policy>> = LazyLock::new(|| {
    let names = [
        "connection-injection",
        "payload-staging",
        "cacheblend-injection",
        "pod-injection",
    ];
    names
        .map(|name| load(name).unwrap_or_else(|error| panic!("{error}")))
        .into()
});
static GUARD: LazyLock<Policy> = LazyLock::new(|| load("injection-guard").unwrap_or_else(|error| panic!("{error}")));
static PREFLIGHT: LazyLock<Policy> =
    LazyLock::new(|| load("workload-preflight").unwrap_or_else(|error| panic!("{error}")));
static VALIDATION: LazyLock<Policy> =
    LazyLock::new(|| load("engine-validation").unwrap_or_else(|error| panic!("{error}")));

/// A host that answers every look-up alike.
#[derive(Debug, Clone)]
struct Host(Result<Vec<u8>, String>);

impl HostCapabilities for Host {
    fn answer(&self, _: &HostRequest) -> Result<Vec<u8>, String> {
        self.0.clone()
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        select(vec![
            "kv-pool",
            "true",
            "LMCacheMPConnector",
            "-1",
            "--kv-transfer-config"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((key(), inner), 0..8)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => select(vec![
            "metadata", "spec", "name", "containers", "initContainers", "args", "command", "env", "volumes", "l1", "sizeGB",
            "server", "port", "l2Backend", "resp", "raw", "config", "coordinator", "resourceOverrides", "limits", "memory",
            "image", "repository", "tag", "injection", "payloadImage", "data", "kv-transfer-config.json", "pd", "extraArgs",
        ]).prop_map(str::to_owned),
        1 => "[a-zA-Z.]{0,10}",
    ]
}

fn host() -> impl Strategy<Value = Host> {
    prop_oneof![
        4 => any_json().prop_map(|answer| Host(Ok(answer.to_string().into_bytes()))),
        1 => proptest::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| Host(Ok(bytes))),
        1 => ".{0,60}".prop_map(|text| Host(Err(text))),
        1 => Just(Host(Ok(format!("{{\"data\":\"{}\"}}", "x".repeat(1_000_000)).into_bytes()))),
        1 => Just(Host(Err("Callback evaluation failure: Cannot find v1/ConfigMap named 'x' inside of namespace 'None'".into()))),
    ]
}

/// An object that asked for wiring, so that the policy has to read it.
fn opted_in(mut object: Value, system: &str) -> Value {
    if let Some(object) = object.as_object_mut() {
        object.insert(
            "metadata".into(),
            json!({
                "labels": {format!("lmcache.ai/{system}-inject"): "true"},
                "annotations": {format!("lmcache.ai/{system}-engine"): "kv-pool", format!("lmcache.ai/{system}-injected"): "true"}
            }),
        );
    }
    object
}

fn request(group: &str, kind: &str, operation: &str, object: &Value, old_object: &Value) -> AdmissionRequest {
    AdmissionRequest::from_value(json!({
        "uid": "1", "operation": operation, "namespace": "team-a", "userInfo": {"username": "u"},
        "kind": {"group": group, "version": "v1", "kind": kind}, "resource": {"group": group, "version": "v1", "resource": "x"},
        "object": object, "oldObject": old_object,
    }))
    .unwrap()
}

fn context(host: &Host) -> EvaluationContext {
    EvaluationContext::new(host.clone()).context_aware_any()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn injection_never_refuses(
        object in any_json(), asks in any::<bool>(), host in host(), settings in prop_oneof![3 => Just(json!({})), 1 => any_json()],
        system in select(vec!["lmcache", "cacheblend"]), which in 0..4usize,
    ) {
        let object = if asks { opted_in(object, system) } else { object };
        let settings = if settings.is_object() { settings } else { json!({"odd": settings}) };
        let evaluation = MUTATORS[which].validate(&request("", "Pod", "CREATE", &object, &Value::Null), &settings, &context(&host));
        prop_assert!(evaluation.response.allowed, "{:?}", evaluation.response);
        prop_assert!(evaluation.calls.len() <= 3);
        if !asks {
            prop_assert!(evaluation.response.patch.is_none() && evaluation.calls.is_empty() && evaluation.logs.is_empty());
        }
    }

    #[test]
    fn guard_and_preflight_have_answers_of_their_own(
        object in any_json(), old in any_json(), host in host(), system in select(vec!["lmcache", "cacheblend"]),
        kind in select(vec!["Pod", "Deployment", "CronJob", "LeaderWorkerSet"]),
        operation in select(vec!["CREATE", "UPDATE", "DELETE", "CONNECT"]),
        checks in select(vec![json!({}), json!({"checks": ["Stamps", "Keys", "Wiring"], "sharedMemory": "Deny"})]),
    ) {
        let group = match kind { "Pod" => "", "CronJob" => "batch", "Deployment" => "apps", _ => "leaderworkerset.x-k8s.io" };
        let object = if kind == "Pod" { opted_in(object, system) } else {
            json!({"spec": {"template": opted_in(object, system)}, "metadata": old})
        };
        let request = request(group, kind, operation, &object, &old);
        let response = GUARD.validate(&request, &checks, &context(&host)).response;
        prop_assert!(response.allowed || matches!(response.code(), Some(422 | 503)), "{:?}", response);
        let response = PREFLIGHT.validate(&request, &json!({}), &context(&host)).response;
        prop_assert!(response.allowed && response.patch.is_none(), "{:?}", response);
    }

    #[test]
    fn validation_always_has_an_answer_of_its_own(
        object in any_json(), old in any_json(), host in host(),
        kind in select(vec!["LMCacheEngine", "CacheBlendEngine", "LMCacheCoordinator", "Other"]),
        operation in select(vec!["CREATE", "UPDATE", "DELETE", "CONNECT"]),
    ) {
        let request = request("lmcache.lmcache.ai", kind, operation, &object, &old);
        let response = VALIDATION.validate(&request, &json!({}), &context(&host)).response;
        prop_assert!(response.allowed || response.code() == Some(422), "{:?}", response);
        if !matches!(operation, "CREATE" | "UPDATE") || kind == "Other" {
            prop_assert!(response.allowed && response.warnings().is_empty());
        }
    }

    #[test]
    fn settings_are_accepted_or_refused_with_a_reason(settings in any_json()) {
        for policy in MUTATORS.iter().chain([&*GUARD, &*PREFLIGHT, &*VALIDATION]) {
            let verdict = policy.validate_settings(&settings, &EvaluationContext::without_cluster());
            prop_assert!(verdict.valid || verdict.message.is_some_and(|message| !message.starts_with("Error invoking")));
        }
    }
}

#[test]
fn a_pod_that_asked_for_nothing_costs_no_host_call() {
    let pod =
        json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}});
    for policy in MUTATORS.iter().chain([&*GUARD]) {
        let evaluation = policy.validate(
            &request("", "Pod", "CREATE", &pod, &Value::Null),
            &json!({}),
            &context(&Host(Err("must not be asked".into()))).allowed_to_mutate(false),
        );
        assert!(evaluation.response.allowed && evaluation.response.patch.is_none());
        assert!(evaluation.calls.is_empty() && evaluation.logs.is_empty());
    }
}

#[test]
fn bad_settings_are_refused_with_key_and_allowed_values() {
    let none = EvaluationContext::without_cluster();
    for (policy, settings, texts) in [
        (
            &MUTATORS[0],
            json!({"podSecurity": "skip"}),
            &["podSecurity", "Skip, Warn, Off"][..],
        ),
        (
            &MUTATORS[0],
            json!({"onMissingEngine": true, "ipcdefault": "HostIPC"}),
            &["ipcdefault: unknown", "onMissingEngine: expected one of Admit, Deny"],
        ),
        (
            &MUTATORS[3],
            json!({"steps": ["staging"], "cacheblendArguments": "all"}),
            &[
                "steps[0]: expected one of connection-injection",
                "cacheblendArguments: expected one of Full, Minimal",
            ],
        ),
        (
            &*GUARD,
            json!({"checks": ["stamps"], "sharedMemory": "Skip"}),
            &["checks[0]: expected", "sharedMemory: expected one of Warn, Deny"],
        ),
        (
            &*VALIDATION,
            json!({"requirePinnedImages": "yes"}),
            &["requirePinnedImages: expected true or false"],
        ),
        (
            &*VALIDATION,
            json!({"allowedRepositories": [1]}),
            &["allowedRepositories[0]"],
        ),
    ] {
        let verdict = policy.validate_settings(&settings, &none);
        let message = verdict.message.unwrap_or_default();
        assert!(
            !verdict.valid && texts.iter().all(|text| message.contains(text)),
            "{settings}: {message}"
        );
    }
}
