//! Every case under `fixtures/`, through the compiled policy and through the same code compiled for this machine.

use policy_host::fixture::{Case, check, compare, load_all};
use policy_host::{AdmissionResponse, ValidationResponse};
use policy_kit::cluster::{Cluster, Lookup, Query, classify};
use policy_kit::pod::{CACHEBLEND_INJECTION, CONNECTION_INJECTION, Mutator, PAYLOAD_STAGING, POD_INJECTION, admit};
use policy_kit::request::Request;
use policy_tests::{load, root};
use serde_json::json;
use std::cell::Cell;

fn cases(policy: &str) -> Vec<Case> {
    load_all(root().join("fixtures").join(policy)).unwrap_or_else(|error| panic!("{error}"))
}

fn through_wasm(name: &str) {
    let policy = load(name).unwrap_or_else(|error| panic!("{error}"));
    let cases = cases(name);
    let failures: Vec<String> = cases.iter().filter_map(|case| check(&policy, case).err()).collect();
    assert!(
        failures.is_empty(),
        "{} of {} cases fail\n\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n")
    );
}

#[test]
fn engine_validation() {
    through_wasm("engine-validation");
}

#[test]
fn connection_injection() {
    through_wasm("connection-injection");
}

#[test]
fn payload_staging() {
    through_wasm("payload-staging");
}

#[test]
fn cacheblend_injection() {
    through_wasm("cacheblend-injection");
}

#[test]
fn pod_injection() {
    through_wasm("pod-injection");
}

#[test]
fn injection_guard() {
    through_wasm("injection-guard");
}

#[test]
fn workload_preflight() {
    through_wasm("workload-preflight");
}

/// The cluster of a case, without the host in between.
struct CaseCluster<'a> {
    case: &'a Case,
    asked: Cell<usize>,
}

impl Cluster for CaseCluster<'_> {
    fn get(&self, query: &Query<'_>) -> Lookup {
        use policy_host::host::{HostCapabilities, HostRequest};
        self.asked.set(self.asked.get() + 1);
        let request = json!({
            "api_version": query.api_version, "kind": query.kind, "name": query.name, "namespace": query.namespace,
            "disable_cache": !query.cached, "field_masks": query.member.map(|member| [member]),
        });
        let request = HostRequest::from_wire("kubernetes", "get_resource", request.to_string().as_bytes()).unwrap();
        match self.case.cluster.answer(&request) {
            Ok(answer) => match serde_json::from_slice(&answer) {
                Ok(object @ serde_json::Value::Object(_)) => Lookup::Found(object),
                _ => Lookup::Unavailable("garbled".to_owned()),
            },
            Err(text) => classify(&text),
        }
    }
}

fn compiled_for_this_machine(mutator: &Mutator) {
    let mut failures = Vec::new();
    for case in cases(mutator.name) {
        let payload = json!({"request": case.request.value(), "settings": case.settings});
        let bytes = serde_json::to_vec(&payload).unwrap();
        let cluster = CaseCluster {
            case: &case,
            asked: Cell::new(0),
        };
        let answer = admit(mutator, &Request::read(&bytes), &cluster).encode().unwrap();
        let answer: ValidationResponse = serde_json::from_slice(&answer).unwrap();
        // What did not change is not returned at all: under `mutating: false` the host refuses even an equal object.
        if let Some(returned) = &answer.mutated_object {
            assert_ne!(Some(returned), case.request.object(), "{}", case.name());
        }
        let response = AdmissionResponse::from_guest(case.request.uid(), case.request.object(), answer);
        if let Err(differences) = compare(&case.expected, &response, Some(cluster.asked.get())) {
            failures.push(format!("{}: {differences}", case.name()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_mutators_compiled_for_this_machine() {
    for mutator in [
        &CONNECTION_INJECTION,
        &PAYLOAD_STAGING,
        &CACHEBLEND_INJECTION,
        &POD_INJECTION,
    ] {
        compiled_for_this_machine(mutator);
    }
}
