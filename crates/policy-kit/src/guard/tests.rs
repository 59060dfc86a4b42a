#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::cluster::{Lookup, Query};
use serde_json::json;

/// A cluster with one answer to everything.
struct Always(Lookup);

impl Cluster for Always {
    fn get(&self, _: &Query<'_>) -> Lookup {
        self.0.clone()
    }
}

/// A cluster that must not be asked.
struct Never;

impl Cluster for Never {
    fn get(&self, query: &Query<'_>) -> Lookup {
        panic!("asked for {query:?}")
    }
}

fn answer(request: Value, settings: Value, cluster: &dyn Cluster) -> Value {
    let payload = serde_json::to_vec(&json!({"request": request, "settings": settings})).unwrap();
    let answer = admit("injection-guard", &Request::read(&payload), cluster)
        .encode()
        .unwrap();
    serde_json::from_slice(&answer).unwrap()
}

fn of_pod(operation: &str, object: Value, old: Value) -> Value {
    json!({"operation": operation, "kind": {"group": "", "version": "v1", "kind": "Pod"}, "object": object, "oldObject": old})
}

fn stamped() -> Value {
    json!({"metadata": {"annotations": {"lmcache.ai/lmcache-engine": "kv", "lmcache.ai/lmcache-injected": "true"}},
        "spec": {"containers": [{"name": "vllm"}]}})
}

/// Nothing but the JSON of the object is there: no user, no resource, no uid, as the audit scanner may have it.
#[test]
fn a_replay_without_user_and_resource_is_judged() {
    let answer = answer(
        of_pod("CREATE", stamped(), Value::Null),
        json!({"checks": ["Wiring"]}),
        &Always(Lookup::NotFound),
    );
    assert_eq!((&answer["accepted"], &answer["code"]), (&json!(false), &json!(422)));
    assert_eq!(
        answer["audit_annotations"],
        json!({"outcome": "reported", "reason": "engine-not-found", "engine": "default/kv"})
    );
}

#[test]
fn a_refusal_says_why_and_where() {
    let answer = answer(
        of_pod("CREATE", stamped(), Value::Null),
        json!({}),
        &Always(Lookup::Found(json!({}))),
    );
    assert_eq!(
        answer["audit_annotations"],
        json!({"outcome": "refused", "reason": "stamp-not-backed", "engine": "default/kv"})
    );
    assert!(answer["message"].as_str().unwrap().starts_with(
        "metadata.annotations[lmcache.ai/lmcache-injected]: is \"true\", but no container carries LMCacheMPConnector for engine default/kv\n"
    ));
    assert!(
        answer["message"]
            .as_str()
            .unwrap()
            .contains("another webhook changed the Pod afterwards")
    );
}

/// A Pod whose connection leads elsewhere, which may be the engine's own all the same.
fn doubtful() -> Value {
    let mut pod = stamped();
    pod["spec"]["hostIPC"] = json!(true);
    pod["spec"]["containers"] = json!([{"name": "vllm", "env": [{"name": "PYTHONHASHSEED", "value": "0"}], "args": ["m",
        "--kv-transfer-config",
        r#"{"kv_connector":"LMCacheMPConnector","kv_connector_extra_config":{"lmcache.mp.host":"tcp://10.0.0.7"}}"#]}]);
    pod
}

#[test]
fn an_outage_is_told_from_a_missing_right() {
    for (host_error, expected, unexpected) in [
        (
            "timed out",
            "; try again (see the log of the policy server)",
            "does not help",
        ),
        (
            "Policy has not been granted access to x",
            "; trying again does not help: the policy lacks a grant",
            "try again",
        ),
        (
            "ApiError: 403 Forbidden",
            "; trying again does not help: the PolicyServer's service account",
            "try again",
        ),
    ] {
        let answer = answer(
            of_pod("CREATE", doubtful(), Value::Null),
            json!({}),
            &Always(Lookup::Unavailable(host_error.into())),
        );
        assert_eq!(answer["code"], json!(503));
        assert_eq!(answer["audit_annotations"]["reason"], "lookup-unavailable");
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains(expected) && !message.contains(unexpected), "{message}");
    }
}

/// What no engine could excuse is refused at once, and what needs no engine accepted.
#[test]
fn only_a_doubt_is_worth_a_look_up() {
    let forged = answer(of_pod("CREATE", stamped(), Value::Null), json!({}), &Never);
    assert_eq!(forged["code"], json!(422));
    let mut lacking = doubtful();
    lacking["spec"]["hostIPC"] = json!(false);
    let forged = answer(of_pod("CREATE", lacking, Value::Null), json!({}), &Never);
    assert_eq!(forged["code"], json!(422));
    let mut honest = doubtful();
    let args = honest["spec"]["containers"][0]["args"]
        .to_string()
        .replace("10.0.0.7", "kv.default.svc");
    honest["spec"]["containers"][0]["args"] = serde_json::from_str(&args).unwrap();
    let accepted = answer(of_pod("CREATE", honest, Value::Null), json!({}), &Never);
    assert_eq!(
        (&accepted["accepted"], &accepted["warnings"]),
        (&json!(true), &Value::Null)
    );
    let gone = answer(
        of_pod("CREATE", doubtful(), Value::Null),
        json!({}),
        &Always(Lookup::NotFound),
    );
    assert_eq!(gone["accepted"], json!(true));
    assert_eq!(gone["audit_annotations"]["reason"], "engine-not-found");
}

/// The copy of a static Pod passed no policy.
#[test]
fn mirror_pods_pass() {
    let mut pod = stamped();
    pod["metadata"]["annotations"]["kubernetes.io/config.mirror"] = json!("1f");
    let answer = answer(
        of_pod("CREATE", pod, Value::Null),
        json!({"checks": ["Stamps", "Keys", "Wiring"]}),
        &Never,
    );
    assert_eq!(
        (&answer["accepted"], &answer["audit_annotations"]),
        (&json!(true), &Value::Null)
    );
}

#[test]
fn under_bad_settings_the_defaults_hold() {
    let bad = json!({"checks": ["All"]});
    let refused = answer(
        of_pod("UPDATE", stamped(), json!({"metadata": {}})),
        bad.clone(),
        &Never,
    );
    assert_eq!(refused["code"], json!(422));
    assert!(
        refused["warnings"][0]
            .as_str()
            .unwrap()
            .contains("policy injection-guard has bad settings")
    );
    let plain = json!({"metadata": {"labels": {"app": "x"}}});
    let accepted = answer(of_pod("CREATE", plain, Value::Null), bad, &Never);
    assert_eq!(
        (&accepted["accepted"], &accepted["warnings"]),
        (&json!(true), &Value::Null)
    );
}

#[test]
fn what_cannot_be_read_claims_nothing() {
    for odd in [
        json!(null),
        json!(7),
        json!("x"),
        json!([]),
        json!({"metadata": []}),
        json!({"metadata": {"annotations": {"lmcache.ai/lmcache-injected": true}, "labels": "x"}}),
    ] {
        for operation in ["CREATE", "UPDATE", "DELETE", "CONNECT", ""] {
            let answer = answer(
                of_pod(operation, odd.clone(), odd.clone()),
                json!({"checks": ["Stamps", "Keys", "Wiring"]}),
                &Never,
            );
            assert_eq!(answer["accepted"], json!(true), "{operation} {odd}");
            assert_eq!(answer["audit_annotations"], Value::Null);
        }
    }
}

/// A Pod that says it is wired and has no member of the right type holds nothing.
#[test]
fn a_stamped_pod_without_the_shape_of_one_holds_nothing() {
    for spec in [
        json!(null),
        json!([]),
        json!({"containers": "x", "initContainers": 7, "volumes": {}}),
        json!({"containers": [null, 7, {"name": 7, "args": [null, 7], "env": [null, 7]}]}),
    ] {
        let mut pod = stamped();
        pod["spec"] = spec;
        pod["metadata"]["annotations"]["lmcache.ai/lmcache-payload-staged"] = json!("true");
        let answer = answer(
            of_pod("CREATE", pod, Value::Null),
            json!({}),
            &Always(Lookup::Found(json!({}))),
        );
        assert_eq!(answer["code"], json!(422));
    }
}

/// Everything that a Pod may carry of ours is among the keys that stay as they are.
#[test]
fn every_key_of_the_contract_is_guarded() {
    let source = include_str!("../keys.rs");
    let mut count = 0;
    for key in source
        .split('"')
        .filter(|text| text.starts_with("lmcache.ai/") && text.len() > "lmcache.ai/".len())
    {
        if key == crate::keys::IPC_MODE {
            continue; // on ConfigMaps only
        }
        count += 1;
        let with = json!({"metadata": {"labels": {key: "true"}, "annotations": {key: "true"}}});
        let answer = answer(of_pod("UPDATE", with, json!({"metadata": {}})), json!({}), &Never);
        assert_eq!(answer["code"], json!(422), "{key}");
    }
    assert!(count >= 18, "{count} keys found");
}
