//! `make demo` shows what it says it shows.

use policy_host::demo::{ColorChoice, Demo, Paint, Step, run};
use policy_host::document::read_one;
use policy_host::{AdmissionRequest, EvaluationContext};
use policy_tests::{POLICIES, load, module, root};
use std::path::PathBuf;

fn folder() -> PathBuf {
    root().join("fixtures/demo")
}

fn policy_of(step: &Step) -> &str {
    step.policy.file_stem().and_then(|name| name.to_str()).unwrap()
}

#[test]
fn every_step_goes_as_it_says() {
    let folder = folder();
    for step in Demo::load(&folder).unwrap().steps {
        assert!(step.expect.is_some(), "{}: says no `expect`", step.title);
    }
    let mut report = Vec::new();
    let paint = Paint::new(ColorChoice::Never, &std::io::stdout());
    let policies = module(POLICIES[0]);
    let failures = run(&folder, policies.parent(), paint, &mut report).unwrap_or_else(|error| panic!("{error:#}"));
    assert_eq!(failures, 0, "{}", String::from_utf8_lossy(&report));
}

/// The steps tell one story: what the guard lets pass is what the policy before it made of the Pod.
#[test]
fn the_guard_is_shown_what_the_injection_made() {
    let folder = folder();
    let steps = Demo::load(&folder).unwrap().steps;
    let wired = steps
        .iter()
        .position(|step| policy_of(step) == "pod-injection")
        .unwrap();
    let (made, shown) = (&steps[wired], &steps[wired + 1]);
    assert_eq!(policy_of(shown), "injection-guard");

    let policy = load("pod-injection").unwrap();
    let request = AdmissionRequest::from_file(folder.join(&made.request)).unwrap();
    let context = policy.grant_context_aware(EvaluationContext::new(made.cluster(&folder).unwrap()));
    let response = policy
        .validate(&request, &made.settings(&folder).unwrap(), &context)
        .response;
    let mut pod = request.object().unwrap().clone();
    json_patch::patch(&mut pod, &response.patch.expect("the Pod is wired")).unwrap();
    assert_eq!(pod, read_one(&folder.join(&shown.request)).unwrap());
}
