//! The rules of the election, without an API.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use rstest::rstest;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::decide::{Action, Lost, Role, Seen, Timing, decide};
use super::record;

const TIMING: Timing = Timing::DEFAULT;

fn lease(spec: &Value) -> Lease {
    let metadata = json!({"name": "lmcache-controller", "resourceVersion": "7", "labels": {"kept": "yes"}});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
}

fn held_by(holder: &str) -> Lease {
    lease(&json!({
        "holderIdentity": holder,
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-01-02T03:04:05.000000Z",
        "renewTime": "2026-01-02T03:04:06.000000Z",
        "leaseTransitions": 3,
    }))
}

fn seconds(number: f64) -> Duration {
    Duration::from_secs_f64(number)
}

/// Ages in seconds: how long the Lease has been seen unchanged, and (for a leader) how long ago it was renewed.
#[rstest]
#[case::there_is_none(None, 0.0, None, Action::Create)]
#[case::was_given_back(Some(held_by("")), 0.0, None, Action::Take)]
#[case::never_had_a_holder(Some(lease(&json!({}))), 0.0, None, Action::Take)]
#[case::somebody_leads(Some(held_by("other")), 14.9, None, Action::Wait)]
#[case::somebody_led(Some(held_by("other")), 15.0, None, Action::Take)]
#[case::the_holder_says_how_long(
    Some(lease(&json!({"holderIdentity": "other", "leaseDurationSeconds": 60}))), 59.0, None, Action::Wait
)]
#[case::the_holder_says_how_short(
    Some(lease(&json!({"holderIdentity": "other", "leaseDurationSeconds": 1}))), 1.0, None, Action::Take
)]
#[case::no_duration_is_ours(Some(lease(&json!({"holderIdentity": "other"}))), 14.0, None, Action::Wait)]
#[case::no_duration_expires(Some(lease(&json!({"holderIdentity": "other"}))), 15.0, None, Action::Take)]
#[case::nonsense_is_no_duration(
    Some(lease(&json!({"holderIdentity": "other", "leaseDurationSeconds": -5}))), 14.0, None, Action::Wait
)]
#[case::the_same_pod_restarted(Some(held_by("me")), 0.0, None, Action::Renew)]
#[case::leads(Some(held_by("me")), 2.0, Some(2.0), Action::Renew)]
#[case::leads_with_trouble(Some(held_by("me")), 9.9, Some(9.9), Action::Renew)]
#[case::too_late(Some(held_by("me")), 10.0, Some(10.0), Action::Lose(Lost::NotRenewed))]
#[case::too_late_even_if_nobody_knows(None, 0.0, Some(10.0), Action::Lose(Lost::NotRenewed))]
#[case::somebody_deleted_it(None, 0.0, Some(2.0), Action::Create)]
#[case::somebody_took_it(Some(held_by("other")), 0.0, Some(2.0), Action::Lose(Lost::TakenBy("other".into())))]
#[case::somebody_took_it_long_ago(
    Some(held_by("other")), 60.0, Some(2.0), Action::Lose(Lost::TakenBy("other".into()))
)]
#[case::somebody_took_it_away(Some(held_by("")), 0.0, Some(2.0), Action::Lose(Lost::TakenBy(String::new())))]
fn what_to_do(
    #[case] lease: Option<Lease>,
    #[case] unchanged: f64,
    #[case] renewed: Option<f64>,
    #[case] expected: Action,
) {
    let start = Instant::now();
    let now = start + seconds(100.0);
    let seen = lease.map(|lease| Seen {
        lease,
        since: now - seconds(unchanged),
    });
    let role = renewed.map_or(Role::Candidate, |age| Role::Leader {
        renewed: now - seconds(age),
    });
    assert_eq!(decide(seen.as_ref(), "me", role, &TIMING, now), expected);
}

#[test]
fn a_lease_is_as_old_as_its_last_change_that_was_seen_here() {
    let first = Instant::now();
    let later = first + seconds(5.0);
    let seen = Seen::next(None, held_by("other"), first);
    assert_eq!(seen.since, first);

    let mut relabelled = held_by("other");
    relabelled.metadata.resource_version = Some("8".into());
    relabelled.metadata.labels = None;
    let again = Seen::next(Some(seen.clone()), relabelled, later);
    assert_eq!(again.since, first, "a label is no sign of life");
    assert_eq!(again.lease.metadata.resource_version.as_deref(), Some("8"));

    // A renewal by a machine whose clock goes wrong is a renewal.
    let renewed = record::renew(&held_by("other"), &TIMING, "1999-01-01T00:00:00Z".parse().unwrap());
    assert_eq!(Seen::next(Some(seen.clone()), renewed, later).since, later);

    let mut recreated = held_by("other");
    recreated.metadata.uid = Some("another".into());
    assert_eq!(Seen::next(Some(seen), recreated, later).since, later);
}

fn now() -> Timestamp {
    "2026-05-06T07:08:09.1Z".parse().unwrap()
}

fn written(lease: &Lease) -> Value {
    serde_json::to_value(lease).unwrap()
}

#[test]
fn what_is_created() {
    let expected = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "lmcache-controller"},
        "spec": {
            "acquireTime": "2026-05-06T07:08:09.100000Z",
            "holderIdentity": "me",
            "leaseDurationSeconds": 15,
            "leaseTransitions": 0,
            "renewTime": "2026-05-06T07:08:09.100000Z",
        },
    });
    assert_eq!(
        written(&record::create("lmcache-controller", "me", &TIMING, now())),
        expected
    );
}

/// What is not about the change stays, above all the version that was read.
#[rstest]
#[case::take(record::take(&held_by("other"), "me", &TIMING, now()), json!({
    "acquireTime": "2026-05-06T07:08:09.100000Z",
    "holderIdentity": "me",
    "leaseDurationSeconds": 15,
    "leaseTransitions": 4,
    "renewTime": "2026-05-06T07:08:09.100000Z",
}))]
#[case::take_a_bare_one(record::take(&lease(&json!({})), "me", &TIMING, now()), json!({
    "acquireTime": "2026-05-06T07:08:09.100000Z",
    "holderIdentity": "me",
    "leaseDurationSeconds": 15,
    "leaseTransitions": 1,
    "renewTime": "2026-05-06T07:08:09.100000Z",
}))]
#[case::renew(record::renew(&held_by("me"), &TIMING, now()), json!({
    "acquireTime": "2026-01-02T03:04:05.000000Z",
    "holderIdentity": "me",
    "leaseDurationSeconds": 15,
    "leaseTransitions": 3,
    "renewTime": "2026-05-06T07:08:09.100000Z",
}))]
#[case::release(record::release(&held_by("me"), now()), json!({
    "acquireTime": "2026-05-06T07:08:09.100000Z",
    "holderIdentity": "",
    "leaseDurationSeconds": 1,
    "leaseTransitions": 3,
    "renewTime": "2026-05-06T07:08:09.100000Z",
}))]
fn what_is_changed(#[case] lease: Lease, #[case] spec: Value) {
    let lease = written(&lease);
    assert_eq!(lease["spec"], spec);
    assert_eq!(lease["metadata"]["resourceVersion"], "7");
    assert_eq!(lease["metadata"]["labels"], json!({"kept": "yes"}));
}
