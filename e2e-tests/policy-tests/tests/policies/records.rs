//! What a decision leaves behind for those who operate the policy server: one log record, and audit annotations.

use policy_host::fixture::load;
use policy_host::{Evaluation, EvaluationContext};
use policy_tests::root;

fn evaluate(policy: &str, case: &str) -> Evaluation {
    let case = load(root().join("fixtures").join(policy).join(case)).unwrap();
    let policy = policy_tests::load(policy).unwrap();
    let context = policy.grant_context_aware(EvaluationContext::new(case.cluster.clone()));
    policy.validate(&case.request, &case.settings, &context)
}

#[test]
fn a_decision_is_one_record_and_the_same_words_in_the_audit_log() {
    for (case, outcome, reason) in [
        ("wired-with-host-ipc", "wired", ""),
        ("command-shell", "skipped", "command-override"),
        ("engine-missing-denied-by-setting", "refused", "engine-not-found"),
    ] {
        let evaluation = evaluate("connection-injection", case);
        let [record] = evaluation.logs.as_slice() else {
            panic!("{case}: {:?}", evaluation.logs)
        };
        assert_eq!(
            (record.level.as_str(), &record.fields["policy"]),
            ("info", &"connection-injection".into()),
            "{case}"
        );
        assert_eq!(record.fields["outcome"], outcome, "{case}");
        assert_eq!(record.fields["reason"], reason, "{case}");
        assert_eq!(record.fields["engine"], "team-a/cache-a", "{case}");
        assert!(!record.fields.contains_key("host_error"), "{case}");

        let audit = evaluation.response.audit_annotations.unwrap();
        assert_eq!(audit["outcome"], outcome, "{case}");
        assert_eq!(
            audit.get("reason").map_or("", |reason| reason.as_str()),
            reason,
            "{case}"
        );
        assert!(audit.keys().all(|key| !key.contains('/')), "{case}: {audit:?}");
    }
}

#[test]
fn a_look_up_that_failed_is_a_warning_with_what_the_host_said() {
    let evaluation = evaluate("connection-injection", "lookup-engine-dns-error");
    let [record] = evaluation.logs.as_slice() else {
        panic!("{:?}", evaluation.logs)
    };
    assert_eq!(
        (record.level.as_str(), &record.fields["reason"]),
        ("warning", &"lookup-unavailable".into())
    );
    assert!(
        record.fields["host_error"]
            .as_str()
            .unwrap()
            .contains("dns error: host not found")
    );
}

#[test]
fn a_refused_engine_is_one_record_and_an_accepted_one_is_none() {
    let refused = evaluate("engine-validation", "engine-many-faults");
    assert_eq!(refused.logs.len(), 1);
    assert_eq!(refused.logs[0].fields["outcome"], "refused");
    assert!(evaluate("engine-validation", "engine-minimal").logs.is_empty());
}
