//! A short run of the fuzzing harness over every policy, the same one each time. `make fuzz` runs for longer.

use policy_tests::fuzz::{Limit, Run, Subject, corpus, peers};
use policy_tests::{POLICIES, load};

const MUTATIONS: u64 = 600;

fn fuzz(policy: &str) -> Vec<String> {
    let subject = |name: &str| Subject::new(name, load(name).unwrap_or_else(|error| panic!("{error}")));
    let compared: Vec<Subject> = peers::of(policy).iter().map(|name| subject(name)).collect();
    let run = Run {
        subject: &subject(policy),
        peers: &compared,
        corpus: &corpus(policy).unwrap(),
        seed: 1,
        limit: Limit::Mutations(MUTATIONS),
        findings_in: None,
    };
    let summary = run.start().unwrap();
    assert!(summary.mutations == MUTATIONS || !summary.findings.is_empty());
    summary.findings.iter().map(ToString::to_string).collect()
}

#[test]
fn no_policy_breaks_a_rule() {
    let findings: Vec<String> = POLICIES.into_iter().flat_map(fuzz).collect();
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}
