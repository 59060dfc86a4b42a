//! Does the harness find what is planted?

use super::*;
use policy_host::{AdmissionResponse, SettingsVerdict, Status};
use serde_json::{Value, json};
use std::sync::LazyLock;

/// A part of the real one: the harness is under test here.
static CORPUS: LazyLock<Vec<Input>> = LazyLock::new(|| {
    let cases = corpus::cases("connection-injection").unwrap();
    cases.into_iter().step_by(5).collect()
});

/// A mutator that does what `answer` says to the object of the request.
fn planted(answer: impl Fn(&Input, &mut AdmissionResponse) + 'static) -> Subject {
    planted_as("connection-injection", answer)
}

fn planted_as(name: &str, answer: impl Fn(&Input, &mut AdmissionResponse) + 'static) -> Subject {
    let evaluate = move |input: &Input| {
        input.admission_request()?;
        let mut response = AdmissionResponse {
            allowed: true,
            ..AdmissionResponse::default()
        };
        answer(input, &mut response);
        Some(Evaluation {
            response,
            calls: Vec::new(),
            logs: Vec::new(),
        })
    };
    let settings = |_: &Value| SettingsVerdict {
        valid: true,
        message: None,
    };
    Subject::of(name, Role::of(name), Vec::new(), evaluate, settings)
}

fn run(subject: &Subject, folder: Option<PathBuf>) -> Summary {
    let run = Run {
        subject,
        peers: &[],
        corpus: &CORPUS,
        seed: 1,
        limit: Limit::Mutations(400),
        findings_in: folder,
    };
    run.start().unwrap()
}

fn opted_in(input: &Input) -> bool {
    input
        .object()
        .is_some_and(|object| input::metadata_text(object, "labels", "lmcache.ai/lmcache-inject") == Some("true"))
        && input.member("operation").is_some_and(|operation| operation == "CREATE")
        && input.request.pointer("/kind/kind").is_some_and(|kind| kind == "Pod")
        && input.request.pointer("/kind/group").is_some_and(|group| group == "")
        && input.member("subResource").is_none()
        && input.settings.get("optIn").is_none_or(|word| word != "Annotation")
}

fn rules(summary: &Summary) -> Vec<&'static str> {
    summary.findings.iter().map(|finding| finding.violation.rule).collect()
}

#[test]
fn a_policy_that_does_nothing_breaks_no_rule() {
    let summary = run(&planted(|_, _| {}), None);
    assert_eq!((rules(&summary), summary.mutations), (vec![], 400));
}

#[test]
fn runs_of_one_seed_are_equal() {
    let runs = [1, 1, 2].map(|seed| {
        let subject = planted(|input, response| {
            response.warnings = Some(vec![
                format!("{}", input.request)
                    .chars()
                    .filter(char::is_ascii_graphic)
                    .take(200)
                    .collect(),
            ]);
            response.allowed = !opted_in(input);
        });
        let limit = Limit::Mutations(50);
        let run = Run {
            subject: &subject,
            peers: &[],
            corpus: &CORPUS,
            seed,
            limit,
            findings_in: None,
        };
        run.start()
            .unwrap()
            .findings
            .iter()
            .map(|finding| finding.iteration)
            .collect::<Vec<_>>()
    });
    assert_eq!(runs[0], runs[1]);
    assert_ne!(runs[0], runs[2]);
}

#[test]
fn refusals_changes_and_chatter_are_found() {
    let refuses = planted(|input, response| {
        if opted_in(input) {
            response.allowed = false;
            response.status = Some(Status {
                message: Some("no".into()),
                code: Some(404),
            });
        }
    });
    assert_eq!(rules(&run(&refuses, None)), ["unasked-refusal"]);
    let traps = planted(|input, response| {
        if input.request.to_string().contains("lmcache-payload") {
            *response = AdmissionResponse::internal_error("1", "trap");
        }
    });
    assert_eq!(rules(&run(&traps, None)), ["failure"]);
    let talks = planted(|_, response| response.warnings = Some(vec!["\u{e9}".into()]));
    assert_eq!(rules(&run(&talks, None)), ["warning-ascii"]);
    let meddles = planted(|input, response| {
        if opted_in(input)
            && input
                .object()
                .is_some_and(|pod| pod.get("spec").is_some_and(Value::is_object))
        {
            let patch = json!([{"op": "add", "path": "/spec/nodeName", "value": "n"}]);
            response.patch = Some(serde_json::from_value(patch).unwrap());
        }
    });
    assert_eq!(rules(&run(&meddles, None)), ["foreign-change"]);
    let repeats = planted(|input, response| {
        if opted_in(input)
            && input
                .object()
                .is_some_and(|pod| pod.pointer("/metadata/annotations").is_some_and(Value::is_object))
        {
            let path = "/metadata/annotations/lmcache.ai~1lmcache-skip-reason";
            let value = input.request.to_string().len().to_string();
            let patch = json!([{"op": "add", "path": path, "value": value}]);
            response.patch = Some(serde_json::from_value(patch).unwrap());
        }
    });
    assert_eq!(rules(&run(&repeats, None)), ["second-run-changes"]);
    let unasked = planted(|_, response| response.audit_annotations = Some([("outcome".into(), "x".into())].into()));
    assert_eq!(rules(&run(&unasked, None)), ["not-opted-in"]);
}

#[test]
fn findings_are_small_fixtures_that_fail_again() {
    let subject = planted(|input, response| {
        if input.request.to_string().contains("--kv-t") {
            *response = AdmissionResponse::internal_error("1", "trap");
        }
    });
    let below = std::env::temp_dir().join(format!("fuzz-findings-{}", std::process::id()));
    let summary = run(&subject, Some(below.clone()));
    let finding = &summary.findings[0];
    let folder = finding.folder.as_ref().unwrap();
    let request: Value = serde_json::from_slice(&std::fs::read(folder.join("request.json")).unwrap()).unwrap();
    assert_eq!(request, finding.input.request);
    assert!(request.to_string().len() < 600, "{request}");
    assert_eq!(judge(&subject, &finding.input).unwrap_err().rule, "failure");
    let text = std::fs::read_to_string(folder.join("finding.txt")).unwrap();
    assert!(
        text.contains("connection-injection: failure") && text.contains("seed 1, iteration"),
        "{text}"
    );
    std::fs::remove_dir_all(below).unwrap();
}

/// Puts an annotation on Pods that opted in and have annotations.
fn annotate(input: &Input, response: &mut AdmissionResponse, key: &str) {
    let annotated = |pod: &Value| pod.pointer("/metadata/annotations").is_some_and(Value::is_object);
    if opted_in(input) && input.object().is_some_and(annotated) {
        let path = format!("/metadata/annotations/lmcache.ai~1{key}");
        if input.object().is_some_and(|pod| pod.pointer(&path).is_some()) {
            return;
        }
        let patch = json!([{"op": "add", "path": path, "value": "true"}]);
        response.patch = Some(serde_json::from_value(patch).unwrap());
    }
}

fn run_with_peers(subject: &Subject, peers: &[Subject]) -> Vec<&'static str> {
    let run = Run {
        subject,
        peers,
        corpus: &CORPUS,
        seed: 1,
        limit: Limit::Mutations(600),
        findings_in: None,
    };
    rules(&run.start().unwrap())
}

#[test]
fn policies_that_do_not_go_together_are_found() {
    let stamp = "lmcache-injected";
    let steps = |key: &'static str| {
        peers::STEPS.map(|name| {
            planted_as(name, move |input, response| {
                if name == "payload-staging" {
                    annotate(input, response, key);
                }
            })
        })
    };
    // A setting takes steps away; without one, all are taken.
    let stages = |input: &Input| match input.settings.get("steps").and_then(Value::as_array) {
        Some(steps) => steps.iter().any(|step| step == "payload-staging"),
        None => true,
    };
    let whole = planted_as(peers::WIRING, move |input, response| {
        if stages(input) {
            annotate(input, response, stamp);
        }
    });
    assert_eq!(run_with_peers(&whole, &steps(stamp)), Vec::<&str>::new());
    assert_eq!(run_with_peers(&whole, &steps("lmcache-skip-reason")), ["order-matters"]);
    let guard = planted_as("injection-guard", |input, response| {
        response.allowed = !input
            .request
            .to_string()
            .contains("\"lmcache.ai/lmcache-injected\":\"true\"");
        response.status = (!response.allowed).then(|| Status {
            message: Some("forged".into()),
            code: Some(422),
        });
    });
    let found = run_with_peers(&guard, &[whole]);
    assert!(found.contains(&"guard-refuses-our-wiring"), "{found:?}");
}
