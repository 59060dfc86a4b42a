//! Requests that fail.

use std::time::Duration;

use lmcache_controller::reconcile::Pass;
use lmcache_controller::run::metrics::Outcome;
use rstest::rstest;
use serde_json::json;
use tokio::time::sleep;

use crate::api::Answer;
use crate::objects::{custom_id, engine, id, kv};
use crate::weaknesses::CREATED;
use crate::world::{FIRST_STATUS, World};

pub async fn settled() -> World {
    let mut world = World::new();
    world.create(&engine(json!({})));
    world.settle().await;
    world
}

/// A pass over `kv`, and its requests.
pub async fn pass(world: &mut World) -> (Pass, Vec<String>) {
    world.deliver();
    let (pass, calls) = world.pass(&kv()).await;
    (pass, calls.iter().map(ToString::to_string).collect())
}

fn seconds(pass: &Pass) -> f64 {
    pass.next.map_or(f64::INFINITY, |next| next.as_secs_f64())
}

/// The requests of a creation that the API server refuses with this code. That something is there already is looked into; where
/// nothing is, it is tried once more.
fn refused(code: u16, place: &str) -> Vec<String> {
    let verbs: &[&str] = if code == 409 {
        &["APPLY", "GET", "APPLY"]
    } else {
        &["APPLY"]
    };
    verbs.iter().map(|verb| format!("{verb} {place}")).collect()
}

/// A step that fails keeps no other from being taken; it is named, and tried again after a delay that doubles.
#[rstest]
#[case::conflict(409, "Conflict", false)]
#[case::gone(404, "Conflict", false)]
#[case::invalid(422, "Rejected", true)]
#[case::forbidden(403, "Forbidden", true)]
#[case::broken(500, "Unavailable", false)]
#[case::overloaded(503, "Unavailable", false)]
#[tokio::test(start_paused = true)]
async fn a_write_that_is_refused(#[case] code: u16, #[case] reason: &str, #[case] is_news: bool) {
    let mut world = World::new();
    world.create(&engine(json!({})));
    // The plan is about both Services, in each of four passes.
    let services = [refused(code, "services/kv"), refused(code, "services/kv-metrics")].concat();
    let applies = services.iter().filter(|call| call.starts_with("APPLY")).count();
    world
        .server
        .plan("APPLY services/kv", 4 * applies, Answer::Refuse(code, "no such luck"));
    let (first, calls) = pass(&mut world).await;
    let mut expected = vec!["APPLY configmaps/kv-connection".to_owned()];
    expected.extend(services.clone());
    expected.extend(["APPLY daemonsets/kv", "MERGE lmcacheengines/kv/status"].map(str::to_owned));
    expected.extend(is_news.then(|| format!("POST events {reason}")));
    assert_eq!(calls, expected);
    assert_eq!(first.outcome, Outcome::Failed);
    let (status, found, message) = world.condition(&kv(), "Reconciled");
    assert_eq!((status.as_str(), found.as_str()), ("False", reason));
    assert!(
        message.contains("Service kv: could not be created: no such luck"),
        "{message}"
    );

    let mut delays = vec![seconds(&first)];
    for _ in 0..3 {
        let (again, calls) = pass(&mut world).await;
        assert_eq!(calls, services, "what is done is done, and what was said is said");
        delays.push(seconds(&again));
    }
    for (delay, least) in delays.iter().zip([1.0, 2.0, 4.0, 8.0]) {
        assert!((least..=least * 1.25).contains(delay), "{delays:?}");
    }
    let (last, calls) = pass(&mut world).await;
    assert_eq!(calls[..2], ["APPLY services/kv", "APPLY services/kv-metrics"]);
    assert_eq!((last.outcome, last.next), (Outcome::Written, None));
    assert_eq!(world.reconciled(&kv()).0, "True");
    let text = world.metrics.text().unwrap();
    let counted = format!(
        "lmcache_controller_reconcile_errors_total{{kind=\"LMCacheEngine\",step=\"Service\",reason=\"{reason}\"}} 8"
    );
    assert!(text.contains(&counted), "{text}");
}

#[tokio::test(start_paused = true)]
async fn the_api_servers_retry_after_is_waited_for() {
    let mut world = World::new();
    world.create(&engine(json!({})));
    world.server.plan("APPLY daemonsets", 1, Answer::RetryAfter(40));
    let (first, _) = pass(&mut world).await;
    assert!((40.0..=50.0).contains(&seconds(&first)), "{first:?}");
    assert_eq!(world.reconciled(&kv()).1, "Unavailable");
    world.edit(&custom_id(&kv()), |engine| engine["spec"]["logLevel"] = json!("DEBUG"));
    world.server.plan("MERGE lmcacheengines", 1, Answer::RetryAfter(60));
    let (second, _) = pass(&mut world).await;
    assert!(seconds(&second) >= 60.0, "{second:?}");
}

/// What is there and cannot be looked up is not written: it may be somebody else's, or ours.
#[tokio::test(start_paused = true)]
async fn without_a_look_nothing_that_is_there_is_written() {
    let mut world = settled().await;
    let map = id("configmaps", "kv-connection");
    // Without the labels, no watch shows it.
    let before = world.edit(&map, |map| map["metadata"]["labels"] = json!({}));
    world.server.plan("GET configmaps", 1, Answer::Refuse(500, "no"));
    let (first, calls) = pass(&mut world).await;
    let looked = ["APPLY configmaps/kv-connection", "GET configmaps/kv-connection"];
    assert_eq!(calls, [&looked[..], &["MERGE lmcacheengines/kv/status"]].concat());
    assert_eq!(world.get(&map), before);
    assert_eq!(first.outcome, Outcome::Failed);
    let (_, reason, message) = world.condition(&kv(), "Reconciled");
    assert_eq!(reason, "Unavailable");
    let expected = "ConfigMap kv-connection: could not be looked up: no";
    assert!(message.contains(expected), "{message}");
    let (_, calls) = pass(&mut world).await;
    assert_eq!(calls[..2], looked);
    assert_eq!(calls[2], "APPLY! configmaps/kv-connection");
    assert_eq!(world.reconciled(&kv()).0, "True");
}

/// Kubernetes creates what is applied for a version while nothing is there. Where an API server calls that a conflict, a look
/// shows that nothing is there, and it is created without a version.
#[tokio::test(start_paused = true)]
async fn an_api_server_that_wants_versions_to_exist_gets_none() {
    let mut world = World::new();
    world.server.state().store.wants_versions_to_exist = true;
    world.create(&engine(json!({})));
    let calls = world.settle_calls().await;
    let places = [
        "configmaps/kv-connection",
        "services/kv",
        "services/kv-metrics",
        "daemonsets/kv",
    ];
    let mut expected: Vec<String> = places.iter().flat_map(|place| refused(409, place)).collect();
    expected.push("MERGE lmcacheengines/kv/status".to_owned());
    let written: Vec<String> = calls.iter().map(ToString::to_string).collect();
    assert_eq!(written, expected);
    for creation in calls.chunks_exact(3) {
        let [first, _, second] = creation else { unreachable!() };
        assert_eq!(first.body["metadata"]["resourceVersion"], "1", "{first}");
        let mut body = first.body.clone();
        body["metadata"]
            .as_object_mut()
            .unwrap()
            .shift_remove("resourceVersion");
        assert_eq!(second.body, body, "{second}");
    }
    assert_eq!(world.reconciled(&kv()).0, "True");
    world.wake(&kv());
    assert_eq!(world.settle().await, [""; 0]);
}

/// A request that gets no answer ends after 15 seconds, and the pass goes on.
#[tokio::test(start_paused = true)]
async fn a_request_without_an_answer_ends() {
    let mut world = World::new();
    world.create(&engine(json!({})));
    world.server.plan("APPLY configmaps", 1, Answer::Hang);
    let begun = tokio::time::Instant::now();
    let (first, calls) = pass(&mut world).await;
    assert_eq!(begun.elapsed().as_secs(), 15);
    assert_eq!(calls, CREATED);
    assert_eq!(first.outcome, Outcome::Failed);
    let (_, reason, message) = world.condition(&kv(), "Reconciled");
    assert_eq!(reason, "Unavailable");
    assert!(message.contains("no answer of the API server within 15 s"), "{message}");
    let (_, calls) = pass(&mut world).await;
    assert_eq!(calls[0], "APPLY configmaps/kv-connection");
    assert_eq!(world.reconciled(&kv()).0, "True");
}

/// It was done all the same: the next pass is told so, finds it, and writes nothing twice.
#[tokio::test(start_paused = true)]
async fn a_write_whose_answer_was_lost_is_not_repeated() {
    let mut world = World::new();
    world.create(&engine(json!({})));
    world.server.plan("APPLY daemonsets", 1, Answer::Swallow);
    world.deliver();
    world.pass(&kv()).await;
    let created = world.get(&id("daemonsets", "kv"));
    // The watch is late.
    let (_, calls) = world.pass(&kv()).await;
    let calls: Vec<String> = calls.iter().map(ToString::to_string).collect();
    assert_eq!(
        calls,
        [
            "APPLY daemonsets/kv",
            "GET daemonsets/kv",
            "MERGE lmcacheengines/kv/status"
        ]
    );
    assert_eq!(world.get(&id("daemonsets", "kv")), created);
    assert_eq!(world.reconciled(&kv()).0, "True");
}

#[tokio::test(start_paused = true)]
async fn a_status_that_could_not_be_written_is_written_by_the_next_pass() {
    let mut world = World::new();
    world.create(&engine(json!({})));
    world.server.plan("MERGE lmcacheengines", 1, Answer::Refuse(500, "no"));
    let (made, calls) = pass(&mut world).await;
    assert_eq!((made.outcome, calls.len()), (Outcome::Written, 4));
    sleep(FIRST_STATUS).await;
    let (first, calls) = pass(&mut world).await;
    assert_eq!((first.outcome, calls.len()), (Outcome::Failed, 1));
    assert!(seconds(&first) < 2.0);
    let (second, calls) = pass(&mut world).await;
    assert_eq!(calls, ["MERGE lmcacheengines/kv/status"]);
    assert_eq!((second.outcome, second.next), (Outcome::Written, None));
}

/// News that cannot be published are lost, and nothing else.
#[tokio::test(start_paused = true)]
async fn an_event_that_is_refused_is_no_failure() {
    let mut world = settled().await;
    world.server.plan("POST events", 9, Answer::Refuse(403, "quota"));
    world.run_servers("kv", &[("node-a", true)]);
    let (first, calls) = pass(&mut world).await;
    assert_eq!(
        calls,
        [
            "MERGE lmcacheengines/kv/status",
            "POST events AtLeastOneReady",
            "POST events AllReady"
        ]
    );
    assert_eq!((first.outcome, first.next), (Outcome::Written, None));
    assert_eq!(pass(&mut world).await.1, [""; 0]);
}

/// A namespace that is being deleted refuses everything new.
#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_terminating() {
    let mut world = World::new();
    world.create(&engine(json!({})));
    let message = "unable to create new content in namespace inference because it is being terminated";
    world.server.plan("APPLY", 100, Answer::Refuse(403, message));
    world.server.plan("POST", 100, Answer::Refuse(403, message));
    let mut delays = Vec::new();
    for turn in 0..12 {
        let (again, calls) = pass(&mut world).await;
        let statuses = calls.iter().filter(|call| call.starts_with("MERGE")).count();
        assert_eq!(statuses, usize::from(turn == 0), "{calls:#?}");
        delays.push(seconds(&again));
    }
    assert!(delays[11] >= 300.0 && delays[11] <= 375.0, "{delays:?}");
    let (_, reason, found) = world.condition(&kv(), "Reconciled");
    assert_eq!(reason, "Forbidden");
    assert!(found.contains(message), "{found}");
    world.delete(&custom_id(&kv()));
    world.deliver();
    let (last, calls) = pass(&mut world).await;
    assert_eq!((last.next, calls.len()), (None::<Duration>, 0));
}

/// While its API is gone nothing is done twice, and nothing is said twice.
#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_down_is_waited_for() {
    let mut world = settled().await;
    let version = world.get(&custom_id(&kv()))["metadata"]["resourceVersion"].clone();
    world.delete(&id("services", "kv"));
    world.server.plan("", 4, Answer::Hang);
    for _ in 0..2 {
        let (again, calls) = pass(&mut world).await;
        assert_eq!(calls, ["APPLY services/kv", "MERGE lmcacheengines/kv/status"]);
        assert!(again.next.is_some());
    }
    assert_eq!(world.get(&custom_id(&kv()))["metadata"]["resourceVersion"], version);
    let (last, calls) = pass(&mut world).await;
    assert_eq!(calls, ["APPLY services/kv"]);
    assert_eq!(last.next, None);
}

/// A policy of somebody else refuses the servers that listen elsewhere: those that run stay reachable.
#[tokio::test(start_paused = true)]
async fn where_the_servers_are_refused_clients_are_not_led_away_from_those_that_run() {
    let mut world = World::new();
    world.create(&engine(json!({})));
    world.settle().await;
    world.run_servers("kv", &[("node-a", true)]);
    world.settle().await;
    world.edit(&custom_id(&kv()), |engine| {
        engine["spec"]["server"] = json!({"port": 6000})
    });
    world
        .server
        .plan("APPLY! daemonsets", 1, Answer::Refuse(403, "no such image"));
    let (refused, _) = pass(&mut world).await;
    assert_eq!(refused.outcome, Outcome::Failed);
    assert_eq!(world.get(&id("services", "kv"))["spec"]["ports"][0]["port"], 5555);
    assert_eq!(world.status(&kv())["endpoints"][0]["port"], 5555);
    pass(&mut world).await;
    assert_eq!(world.get(&id("services", "kv"))["spec"]["ports"][0]["port"], 6000);
    assert_eq!(world.status(&kv())["endpoints"][0]["port"], 6000);
}
