//! The recorded look-ups that kwctl replays: still the questions that the policies ask, and still the same answers.

use policy_host::EvaluationContext;
use policy_host::fixture::{compare, load_all};
use policy_host::host::Replay;
use policy_tests::{POLICIES, load, root};
use std::sync::Arc;

#[test]
fn every_session_replays_to_the_expected_answer() {
    let mut replayed = 0;
    for name in POLICIES {
        let policy = load(name).unwrap();
        for case in load_all(root().join("fixtures").join(name)).unwrap() {
            let path = case.dir.join("session.yml");
            if !path.exists() {
                continue;
            }
            let replay = Arc::new(Replay::from_file(&path).unwrap());
            let context = policy.grant_context_aware(EvaluationContext::new(Arc::clone(&replay)));
            let evaluation = policy.validate(&case.request, &case.settings, &context);
            if let Err(differences) = compare(&case.expected, &evaluation.response, None) {
                panic!("{}: {differences}run `make sessions`", path.display());
            }
            assert!(
                replay.leftovers().is_empty(),
                "{}: recorded questions that nobody asks",
                path.display()
            );
            replayed += 1;
        }
    }
    assert!(replayed >= 20, "only {replayed} sessions");
}
