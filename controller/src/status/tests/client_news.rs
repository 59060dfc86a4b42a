//! Events on Pods that opted in.

use rstest::rstest;
use serde_json::{Value, json};

use super::support::*;
use crate::status::{CLIENT_NEWS_LIMIT, ClientNews, Reported, client_news};

fn pass(pods: impl IntoIterator<Item = Value>, reported: &Reported) -> ClientNews {
    let pass = engine(numbers(1, 1)).with_clients(pods);
    client_news(&pass.inputs, &pass.report, &settings(), reported, NOW)
}

fn told(news: &ClientNews) -> Vec<(&str, &str)> {
    assert!(
        news.events
            .iter()
            .all(|(_, news)| news.warning && news.note.len() < 1024)
    );
    news.events
        .iter()
        .map(|(pod, news)| (pod.uid.as_str(), news.reason.as_str()))
        .collect()
}

fn old(mut pod: Value) -> Value {
    pod["metadata"]["creationTimestamp"] = json!("2026-05-01T10:59:59Z");
    pod
}

fn drifted(name: &str) -> Value {
    wired_to(name, "n1", "tcp://kv.team-a.svc.cluster.local", "6000")
}

#[rstest]
#[case(
    skipped("p", "command-override"),
    "ClientSkipped",
    "not wired to LMCacheEngine team-a/kv: command-override; correct"
)]
#[case(
    skipped("p", "engine-not-found"),
    "ClientSkipped",
    "not wired: engine-not-found; LMCacheEngine team-a/kv is there now"
)]
#[case(client("p", "n1", json!({})), "ClientNotSeen", "not wired to LMCacheEngine team-a/kv: no mutating")]
#[case(
    drifted("p"),
    "ClientDrifted",
    "wired to a connection that LMCacheEngine team-a/kv no longer has; recreate the Pod"
)]
fn a_new_pod_is_told_once(#[case] pod: Value, #[case] reason: &str, #[case] note: &str) {
    let first = pass([pod.clone()], &Reported::default());
    let (about, news) = &first.events[0];
    assert_eq!(
        (about.namespace.as_str(), about.name.as_str(), about.uid.as_str()),
        ("team-a", "p", "p")
    );
    assert_eq!(
        (news.warning, news.reason.as_str(), news.action),
        (true, reason, "Wire")
    );
    assert!(news.note.starts_with(note), "{}", news.note);
    assert_eq!(pass([pod], &first.reported).events, []);
}

#[test]
fn what_was_so_before_a_start_is_not_told_anew() {
    let pods = [
        old(skipped("a", "command-override")),
        old(client("b", "n1", json!({}))),
        old(drifted("c")),
    ];
    let first = pass(pods, &Reported::default());
    assert_eq!(told(&first), []);
    // What happens to them afterwards is.
    let second = pass(
        [old(skipped("a", "command-override")), old(drifted("b"))],
        &first.reported,
    );
    assert_eq!(told(&second), [("b", "ClientDrifted")]);
}

#[test]
fn a_wired_pod_that_drifts_is_told_however_old_it_is() {
    let first = pass([old(wired("a", "n1"))], &Reported::default());
    assert_eq!(told(&first), []);
    let second = pass([old(drifted("a"))], &first.reported);
    assert_eq!(told(&second), [("a", "ClientDrifted")]);
    // Back again, and away again: that is new.
    let third = pass([old(wired("a", "n1"))], &second.reported);
    assert_eq!(told(&third), []);
    assert_eq!(
        told(&pass([old(drifted("a"))], &third.reported)),
        [("a", "ClientDrifted")]
    );
}

#[test]
fn a_pass_tells_of_ten_and_the_next_of_the_rest() {
    let pods = || (0..25).map(|index| skipped(&format!("p{index:02}"), "command-override"));
    let mut reported = Reported::default();
    let mut found = Vec::new();
    for (events, left) in [(10, 15), (10, 5), (5, 0), (0, 0)] {
        let news = pass(pods(), &reported);
        assert_eq!((news.events.len(), news.left), (events, left));
        assert!(news.events.len() <= CLIENT_NEWS_LIMIT);
        found.extend(news.events.into_iter().map(|(pod, _)| pod.uid));
        reported = news.reported;
    }
    found.dedup();
    assert_eq!(found.len(), 25);
}

/// Those that drift one and all, since the port was changed, are all told in the end.
#[test]
fn nobody_is_forgotten_beyond_the_limit() {
    let names: Vec<String> = (0..15).map(|index| format!("p{index:02}")).collect();
    let first = pass(names.iter().map(|name| old(wired(name, "n1"))), &Reported::default());
    let second = pass(names.iter().map(|name| old(drifted(name))), &first.reported);
    let third = pass(names.iter().map(|name| old(drifted(name))), &second.reported);
    assert_eq!((second.events.len(), third.events.len(), third.left), (10, 5, 0));
}

#[test]
fn pods_that_are_gone_or_going_are_forgotten() {
    let mut ending = skipped("a", "command-override");
    spoil(&mut ending);
    assert_eq!(pass([ending], &Reported::default()), ClientNews::default());
    let first = pass([skipped("a", "command-override")], &Reported::default());
    assert_eq!(pass([], &first.reported).reported, Reported::default());
}

#[rstest]
#[case("", 0)]
#[case("yesterday", 0)]
#[case("2026-05-01T11:00:00Z", 1)]
#[case("2026-05-01T12:00:30Z", 1)]
fn times_of_pods(#[case] created: &str, #[case] events: usize) {
    let mut pod = skipped("a", "command-override");
    pod["metadata"]["creationTimestamp"] = json!(created);
    assert_eq!(pass([pod], &Reported::default()).events.len(), events);
}

/// A reason is whatever stands on the Pod.
#[test]
fn a_reason_of_any_length_is_cut() {
    let news = pass([skipped("a", &"x".repeat(10_000))], &Reported::default());
    assert!(news.events[0].1.note.len() < 300);
}
