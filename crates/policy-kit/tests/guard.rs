//! The guard against the policies that it guards: a Pod that they wired is never refused.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]
#![cfg(not(target_arch = "wasm32"))]

mod support;

use pod_edit::args::{CommandLine, Launcher};
use policy_kit::cluster::Lookup;
use policy_kit::guard;
use policy_kit::pod::{CACHEBLEND_INJECTION, CONNECTION_INJECTION, Mutator, PAYLOAD_STAGING, POD_INJECTION, admit};
use policy_kit::request::Request;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};
use support::{Answers, any_json, cluster, pod, settings};

const STAMPS: [&str; 3] = [
    "lmcache.ai/lmcache-injected",
    "lmcache.ai/lmcache-payload-staged",
    "lmcache.ai/cacheblend-injected",
];

fn payload(operation: &str, object: &Value, old: &Value, settings: &Value) -> Vec<u8> {
    let request = json!({
        "operation": operation, "kind": {"group": "", "version": "v1", "kind": "Pod"}, "namespace": "team-a",
        "object": object, "oldObject": old,
    });
    serde_json::to_vec(&json!({"settings": settings, "request": request})).unwrap()
}

/// The Pod after a policy ran on it.
fn through(mutator: &Mutator, pod: &Value, settings: &Value, cluster: &Answers) -> Value {
    let mut settings = settings.clone();
    if !["cacheblend-injection", "pod-injection"].contains(&mutator.name) {
        settings.as_object_mut().unwrap().remove("cacheblendArguments");
    }
    let bytes = payload("CREATE", pod, &Value::Null, &settings);
    let answer = admit(mutator, &Request::read(&bytes), cluster).encode().unwrap();
    let mut answer: Value = serde_json::from_slice(&answer).unwrap();
    match answer["mutated_object"].take() {
        Value::Null => pod.clone(),
        mutated => mutated,
    }
}

fn judged(operation: &str, pod: &Value, old: &Value, settings: &Value, cluster: &Answers) -> guard::Verdict {
    let bytes = payload(operation, pod, old, settings);
    let request = Request::read(&bytes);
    guard::decide(&request, &guard::Settings::read(request.settings()).unwrap(), cluster)
}

fn created(pod: &Value, settings: &Value, cluster: &Answers) -> guard::Verdict {
    judged("CREATE", pod, &Value::Null, settings, cluster)
}

/// A Pod that nobody has stamped yet.
fn unstamped() -> impl Strategy<Value = Value> {
    pod().prop_map(|mut pod| {
        if let Some(annotations) = pod["metadata"]["annotations"].as_object_mut() {
            annotations.retain(|key, _| !STAMPS.contains(&key.as_str()));
        }
        pod
    })
}

fn is_stamped(pod: &Value) -> bool {
    STAMPS
        .iter()
        .any(|stamp| pod["metadata"]["annotations"][stamp] == "true")
}

/// The policies that may be installed, in some order.
fn installed() -> impl Strategy<Value = Vec<&'static Mutator>> {
    let apart = vec![&CONNECTION_INJECTION, &PAYLOAD_STAGING, &CACHEBLEND_INJECTION];
    prop_oneof![
        Just(vec![&POD_INJECTION]),
        subsequence(apart.clone(), 1..=3).prop_shuffle(),
        Just(apart).prop_shuffle(),
    ]
}

/// What other webhooks do to a Pod between the policies and the guard.
#[derive(Debug, Clone)]
struct Meddling {
    proxy_in_front: bool,
    mirror: bool,
    instrument: bool,
    limits: bool,
    wrapper: Wrapper,
}

/// What is put in front of vLLM.
#[derive(Debug, Clone, Copy)]
enum Wrapper {
    Nothing,
    /// A program that starts it.
    Program,
    /// A program that starts what stands behind two dashes.
    Dashes,
    /// A shell with a script that starts it.
    Script,
    /// A shell that starts its arguments.
    Arguments,
}

fn meddling() -> impl Strategy<Value = Meddling> {
    let wrappers = [
        Wrapper::Nothing,
        Wrapper::Program,
        Wrapper::Dashes,
        Wrapper::Script,
        Wrapper::Arguments,
    ];
    (any::<[bool; 4]>(), select(wrappers.to_vec())).prop_map(
        |([proxy_in_front, mirror, instrument, limits], wrapper)| Meddling {
            proxy_in_front,
            mirror,
            instrument,
            limits,
            wrapper,
        },
    )
}

/// The words of a line that vLLM reads, if it is one: the entry point of its image is a command, too.
fn of_vllm(container: &Value) -> Option<Vec<String>> {
    let line = CommandLine::of(container);
    let started = match line.launcher() {
        Launcher::Entrypoint => vec!["vllm".to_owned(), "serve".to_owned()],
        Launcher::VllmServe | Launcher::VllmModule => Vec::new(),
        _ => return None,
    };
    let words = ["command", "args"]
        .into_iter()
        .filter_map(|key| container[key].as_array())
        .flatten();
    // What is no text would not get past the API server.
    let words: Option<Vec<String>> = words.map(|word| word.as_str().map(str::to_owned)).collect();
    Some(started.into_iter().chain(words?).collect())
}

impl Wrapper {
    fn apply(self, container: &mut Value) {
        let Some(words) = of_vllm(container) else { return };
        let with = |front: &[&str], words: &[String]| {
            let front = front.iter().map(|word| (*word).to_owned());
            front.chain(words.iter().cloned()).collect::<Vec<String>>()
        };
        let script: Vec<String> = words
            .iter()
            .map(|word| format!("'{}'", word.replace('\'', r"'\''")))
            .collect();
        container["command"] = json!(match self {
            Self::Nothing => return,
            Self::Program => with(&["numactl", "--interleave=all"], &words),
            Self::Dashes => with(&["/op/bin/op", "run", "--"], &words),
            Self::Script => vec![
                "sh".to_owned(),
                "-c".to_owned(),
                format!("set -e; exec {}", script.join(" "))
            ],
            Self::Arguments => with(&["bash", "-c", "exec \"$@\"", "--"], &words),
        });
        container["args"] = json!([]);
    }
}

impl Meddling {
    fn apply(&self, pod: &mut Value) {
        let spec = &mut pod["spec"];
        for list in ["containers", "initContainers"] {
            for container in spec[list]
                .as_array_mut()
                .into_iter()
                .flatten()
                .filter_map(Value::as_object_mut)
            {
                if let (true, Some(image)) = (self.mirror, container.get("image").and_then(Value::as_str)) {
                    let image = format!("mirror.example.net/{image}");
                    container.insert("image".into(), json!(image));
                }
                if !self.instrument {
                    continue;
                }
                for key in ["env", "volumeMounts"] {
                    if let Some(entries) = container.get_mut(key).and_then(Value::as_array_mut) {
                        entries.insert(0, json!({"name": "otel", "mountPath": "/otel", "value": "x"}));
                    }
                }
                for variable in container
                    .get_mut("env")
                    .and_then(Value::as_array_mut)
                    .into_iter()
                    .flatten()
                {
                    if variable["name"] == "PYTHONPATH" && variable["value"].is_string() {
                        variable["value"] = json!(format!("/otel:{}", variable["value"].as_str().unwrap()));
                    }
                }
            }
        }
        for container in spec["containers"]
            .as_array_mut()
            .into_iter()
            .flatten()
            .filter(|one| one.is_object())
        {
            self.wrapper.apply(container);
        }
        if self.limits {
            for volume in spec["volumes"].as_array_mut().into_iter().flatten() {
                if volume.get("emptyDir").is_some_and(Value::is_object) {
                    volume["emptyDir"]["sizeLimit"] = json!("1Gi");
                }
            }
        }
        if let (true, Some(containers)) = (self.proxy_in_front, spec["containers"].as_array_mut()) {
            containers.insert(
                0,
                json!({"name": "istio-proxy", "image": "istio/proxyv2", "args": ["proxy"]}),
            );
        }
    }
}

/// A container that the user connected to the engine, beside the one that a policy wires.
fn own_connection() -> Value {
    let json = r#"{"kv_connector":"LMCacheMPConnector","kv_role":"kv_both","kv_connector_extra_config":{"lmcache.mp.host":"tcp://kv-pool.team-a.svc"}}"#;
    json!({"name": "draft", "image": "vllm/vllm-openai:v0.24.0", "args": ["m", "--kv-transfer-config", json]})
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, max_global_rejects: 1_000_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// The first rule. Whatever settings the policies have, whichever of them there are, and in whatever order, and
    /// whatever settings the guard has.
    #[test]
    fn a_pod_that_the_policies_wired_is_never_refused(
        before in unstamped(), cluster in cluster(), settings in settings(), mutators in installed(), meddling in meddling(),
        draft in any::<bool>(), arguments in select(vec!["Full", "Minimal"]), ipc_default in select(vec!["HostIPC", "HostShm", "Isolated"]),
    ) {
        let mut settings = settings;
        settings["cacheblendArguments"] = json!(arguments);
        let mut before = before;
        if let (true, Some(containers)) = (draft, before["spec"]["containers"].as_array_mut()) {
            containers.insert(0, own_connection());
        }
        let mut after = mutators.iter().fold(before, |pod, mutator| through(mutator, &pod, &settings, &cluster));
        meddling.apply(&mut after);
        cluster.asked.set(0);
        let guarding = json!({"ipcDefault": ipc_default, "clusterDomain": "k8s.example"});
        let verdict = created(&after, &guarding, &cluster);
        prop_assert_eq!(verdict.refusal(), None, "{}", after);
        prop_assert_eq!(verdict.concerned, is_stamped(&after));
        // Only a connection that does not lead to the engine's Service, or a volume over /dev/shm, makes a doubt.
        let text = after.to_string();
        let doubt = text.contains("/dev/shm") || [&cluster.config_map, &cluster.blend_config_map].iter().any(|map| matches!(map, Lookup::Found(_)));
        let most = if is_stamped(&after) && doubt { 4 } else { 0 };
        prop_assert!(cluster.asked.get() <= most, "{} look-ups: {}", cluster.asked.get(), after);
    }

    /// The engine may have become another one since, or none; then nobody can tell at worst.
    #[test]
    fn nor_is_it_where_the_engine_changed_since(
        before in unstamped(), then in cluster(), now in cluster(), settings in settings(), mutators in installed(),
    ) {
        // A connection that somebody else wrote may lead anywhere; that of the engine leads to its Service.
        let then = Answers { config_map: Lookup::NotFound, blend_config_map: Lookup::NotFound, ..then };
        let after = mutators.iter().fold(before, |pod, mutator| through(mutator, &pod, &settings, &then));
        let refusal = created(&after, &json!({}), &now).refusal();
        let unavailable = [now.engine, now.blend, now.config_map, now.blend_config_map]
            .iter()
            .any(|lookup| matches!(lookup, Lookup::Unavailable(_)));
        prop_assert!(refusal.is_none() || (unavailable && refusal.as_ref().unwrap().1 == 503), "{:?}\n{}", refusal, after);
    }

    /// Right after it was wired a Pod agrees with its engine: where the settings are those of the policies, and all policies
    /// are there. What the user keeps to himself is not the engine's.
    #[test]
    fn a_pod_that_was_wired_just_now_is_up_to_date(before in unstamped(), cluster in cluster(), settings in settings()) {
        let mut settings = settings;
        settings["optIn"] = json!("Label");
        // A Pod that the policies refuse is none, and one whose annotations are no map carries no reason.
        settings["onUnavailable"] = json!("Admit");
        settings["onMissingEngine"] = json!("Admit");
        prop_assume!(before["metadata"]["annotations"].is_object());
        let after = through(&POD_INJECTION, &before, &settings, &cluster);
        let checks = json!({"checks": ["Wiring"], "ipcDefault": settings["ipcDefault"]});
        let verdict = created(&after, &checks, &cluster);
        // A volume of that name that is the user's keeps the memory from being shared, which the policies warn of.
        let taken = before["spec"]["volumes"].to_string().contains("lmcache-dev-shm");
        let told = |finding: &guard::Finding| finding.path == "spec.volumes" && taken;
        prop_assert!(verdict.findings.iter().all(told), "{:?}\n{}", verdict.findings, after);
    }

    /// A stamp on a Pod that no policy wired is refused, unless a reason beside it says so already.
    #[test]
    fn a_stamp_alone_is_refused(before in unstamped(), cluster in cluster(), stamp in select(STAMPS.to_vec())) {
        let mut pod = before;
        if !pod["metadata"]["annotations"].is_object() {
            return Ok(());
        }
        let engine = if stamp.contains("cacheblend") { "lmcache.ai/cacheblend-engine" } else { "lmcache.ai/lmcache-engine" };
        pod["metadata"]["annotations"][stamp] = json!("true");
        pod["metadata"]["annotations"][engine] = json!("kv-pool");
        let reason = pod.to_string().contains("skip-reason");
        let verdict = created(&pod, &json!({}), &cluster);
        let stale = reason && verdict.reason == "stamp-stale";
        // Generated Pods have a connector of their own now and then, or the staging.
        let own = ["kv_connector", "\"lmcache-payload-stage\""].iter().any(|text| pod.to_string().contains(text));
        prop_assert!(stale || own || verdict.refusal().is_some(), "{}", pod);
        if let Some((message, code)) = verdict.refusal() {
            prop_assert!(message.starts_with("metadata.annotations[lmcache.ai/"), "{}", message);
            prop_assert!(message.is_ascii() && (code == 422 || code == 503));
        }
    }

    /// A stamp that stood in the template of a Pod which is then left alone: the Pod serves without the cache, and says why.
    #[test]
    fn a_stale_stamp_beside_a_reason_is_accepted(
        before in unstamped(), cluster in cluster(), settings in settings(), stamps in subsequence(STAMPS[..2].to_vec(), 1..=2),
        audit in any::<bool>(),
    ) {
        let mut settings = settings;
        settings["onUnavailable"] = json!("Admit");
        settings["onMissingEngine"] = json!("Admit");
        let mut pod = before;
        prop_assume!(pod["metadata"]["annotations"].is_object());
        // Without the init container that stages by hand: it would make the stamp true, not stale.
        pod["spec"]["initContainers"] = json!([]);
        for key in ["lmcache.ai/lmcache-skip-reason", "lmcache.ai/lmcache-payload-skip-reason", "lmcache.ai/on-missing-engine"] {
            pod["metadata"]["annotations"].as_object_mut().unwrap().remove(key);
        }
        for stamp in &stamps {
            pod["metadata"]["annotations"][stamp] = json!("true");
        }
        let after = through(&POD_INJECTION, &pod, &settings, &cluster);
        let reason = after["metadata"]["annotations"]["lmcache.ai/lmcache-skip-reason"].as_str();
        prop_assume!(reason.is_some_and(|reason| reason != "kv-transfer-config-present"));
        prop_assume!(after["metadata"]["annotations"]["lmcache.ai/cacheblend-injected"].is_null());
        let checks = json!({"checks": [if audit { "Wiring" } else { "Stamps" }], "optIn": settings["optIn"]});
        let verdict = created(&after, &checks, &cluster);
        // A connection that the user made by hand, hash seed and all, may make the stamp true; then it is compared.
        let own = after.to_string().contains("LMCacheMPConnector");
        prop_assert!(verdict.refusal().is_none() || own, "{:?}\n{}", verdict.refusal(), after);
        prop_assert!(own || stamps.iter().all(|stamp| verdict.warnings.iter().any(|text| text.starts_with(*stamp))));
    }

    /// A change is judged by our keys alone, without a look-up.
    #[test]
    fn a_change_is_refused_exactly_where_a_key_of_ours_differs(
        old in pod(), new in pod(), same in any::<bool>(), cluster in cluster()
    ) {
        let mut new = new;
        if same {
            new["metadata"] = old["metadata"].clone();
            new["metadata"]["labels"]["app"] = json!("other");
        }
        let ours = |pod: &Value| -> Vec<(String, String, String)> {
            let members = ["labels", "annotations"].into_iter().flat_map(|map| {
                pod["metadata"][map].as_object().into_iter().flatten().map(move |(key, value)| (map, key, value))
            });
            let mut ours: Vec<_> = members
                .filter(|(_, key, value)| key.starts_with("lmcache.ai/") && value.is_string())
                .map(|(map, key, value)| (map.to_owned(), key.clone(), value.to_string()))
                .collect();
            ours.sort();
            ours
        };
        let verdict = judged("UPDATE", &new, &old, &json!({}), &cluster);
        prop_assert_eq!(verdict.refusal().is_some(), ours(&old) != ours(&new));
        prop_assert_eq!(cluster.asked.get(), 0);
        if let Some((message, code)) = verdict.refusal() {
            prop_assert!(code == 422 && message.is_ascii());
        }
    }

    #[test]
    fn any_json_gets_an_answer(object in any_json(), old in any_json(), cluster in cluster()) {
        let all = json!({"checks": ["Stamps", "Keys", "Wiring"], "sharedMemory": "Deny"});
        for operation in ["CREATE", "UPDATE"] {
            let bytes = payload(operation, &object, &old, &all);
            let answer = guard::admit("injection-guard", &Request::read(&bytes), &cluster).encode().unwrap();
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            prop_assert!(answer["accepted"].is_boolean() && answer["mutated_object"].is_null());
        }
    }

    #[test]
    fn any_settings_get_an_answer(settings in any_json()) {
        let answer = guard::Settings::read(&settings.to_string());
        prop_assert!(answer.is_ok() || answer.is_err_and(|complaint| !complaint.is_empty()));
    }
}
