//! One replica, an API, and a clock that jumps.

use std::time::Duration;

use lmcache_controller::rbac::LEASE;
use lmcache_controller::run::health::{Health, Phase};
use lmcache_controller::run::leader::Elector;
use lmcache_controller::run::leader::decide::{Lost, Timing};
use lmcache_controller::run::stop;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::api::{Leases, Mood, NAMESPACE};

fn elector(leases: &Leases, me: &str) -> Elector {
    Elector::new(leases.client(), NAMESPACE, LEASE, me, Timing::DEFAULT)
}

fn seconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64()
}

/// Waits until `me` leads, and says how long it took.
async fn lead(leases: &Leases, me: &str) -> (Elector, f64) {
    let start = Instant::now();
    let (_trigger, stop) = stop::channel();
    let mut elector = elector(leases, me);
    assert!(elector.acquire(&stop, &Health::new()).await);
    (elector, seconds(start))
}

#[tokio::test(start_paused = true)]
async fn an_absent_lease_is_created() {
    let leases = Leases::default();
    let (_, took) = lead(&leases, "me").await;
    assert!(took < 1.0, "{took}");
    let state = leases.state();
    assert_eq!(state.calls, ["get", "create"]);
    assert_eq!(state.spec("holderIdentity"), "me");
    assert_eq!(state.spec("leaseDurationSeconds"), 15);
    assert_eq!(state.spec("leaseTransitions"), 0);
}

#[tokio::test(start_paused = true)]
async fn an_expired_lease_is_taken_after_it_was_watched_for_its_duration() {
    let leases = Leases::default();
    // Its time of renewal is years ago, which proves nothing: clocks differ.
    leases.state().hold("other");
    let (_, took) = lead(&leases, "me").await;
    assert!((15.0..18.0).contains(&took), "{took}");
    let state = leases.state();
    assert_eq!(state.spec("holderIdentity"), "me");
    assert_eq!(state.spec("leaseTransitions"), 4);
    assert_eq!(state.calls.iter().filter(|call| **call == "update").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn while_another_renews_the_lease_we_stand_by() {
    let leases = Leases::default();
    leases.state().hold("other");
    let other = leases.clone();
    tokio::spawn(async move {
        for _ in 0..10 {
            sleep(Duration::from_secs(10)).await;
            other.state().hold("other");
        }
    });
    let (trigger, stop) = stop::channel();
    let health = Health::new();
    let waiting = tokio::spawn({
        let (health, mut elector) = (health.clone(), elector(&leases, "me"));
        async move {
            let start = Instant::now();
            (elector.acquire(&stop, &health).await, seconds(start))
        }
    });
    sleep(Duration::from_secs(30)).await;
    assert_eq!(health.phase(), Phase::Standby);
    assert_eq!(health.ready(), Ok(()));
    let (leads, took) = waiting.await.unwrap();
    assert!(leads && (115.0..118.0).contains(&took), "{took}");
    drop(trigger);
}

#[tokio::test(start_paused = true)]
async fn who_comes_second_does_not_lead() {
    let leases = Leases::default();
    leases.state().hold("");
    let (_trigger, stop) = stop::channel();
    // Both see the same free Lease; of their updates one is a conflict.
    let rivals = ["one", "two"].map(|me| {
        let (mut elector, stop) = (elector(&leases, me), stop.clone());
        async move {
            let leads = timeout(Duration::from_secs(5), elector.acquire(&stop, &Health::new())).await;
            leads.is_ok_and(|leads| leads)
        }
    });
    let [one, two] = rivals;
    let (one, two) = tokio::join!(one, two);
    assert!(one != two, "{one} {two}");
    let calls = leases.state().calls.clone();
    assert_eq!(calls[..4], ["get", "get", "update", "update"]);
}

#[tokio::test(start_paused = true)]
async fn renewals_take_one_request_each_and_keep_the_time_of_acquisition() {
    let leases = Leases::default();
    let (mut elector, _) = lead(&leases, "me").await;
    let acquired = leases.state().spec("acquireTime");
    let lost = timeout(Duration::from_secs(60), elector.renew()).await;
    assert!(lost.is_err(), "{lost:?}");
    let state = leases.state();
    assert_eq!(state.calls[..2], ["get", "create"]);
    assert!(
        state.calls[2..].iter().all(|call| *call == "update"),
        "{:?}",
        state.calls
    );
    assert!((29..=30).contains(&state.calls[2..].len()), "{:?}", state.calls);
    assert_eq!(state.spec("acquireTime"), acquired);
    assert_eq!(state.spec("leaseTransitions"), 0);
}

#[rstest::rstest]
#[case::errors(Mood::Refuses(500))]
#[case::no_rights(Mood::Refuses(403))]
#[case::silence(Mood::Hangs)]
#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_renew_stops_before_others_may_lead(#[case] mood: Mood) {
    let leases = Leases::default();
    let (mut elector, _) = lead(&leases, "me").await;
    let start = Instant::now();
    leases.state().mood = mood;
    assert_eq!(elector.renew().await, Lost::NotRenewed);
    let took = seconds(start);
    assert!((9.9..10.1).contains(&took), "{took}");
}

#[tokio::test(start_paused = true)]
async fn a_short_outage_costs_nothing() {
    let leases = Leases::default();
    let (mut elector, _) = lead(&leases, "me").await;
    let api = leases.clone();
    tokio::spawn(async move {
        for mood in [Mood::Refuses(503), Mood::Hangs, Mood::Refuses(429)] {
            sleep(Duration::from_secs(5)).await;
            api.state().mood = mood;
            sleep(Duration::from_secs(5)).await;
            api.state().mood = Mood::Works;
            sleep(Duration::from_secs(5)).await;
        }
    });
    let lost = timeout(Duration::from_secs(90), elector.renew()).await;
    assert!(lost.is_err(), "{lost:?}");
    assert_eq!(leases.state().spec("leaseTransitions"), 0);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_got_lost_is_found_out() {
    let leases = Leases::default();
    let (mut elector, _) = lead(&leases, "me").await;
    let api = leases.clone();
    tokio::spawn(async move {
        sleep(Duration::from_secs(3)).await;
        api.state().mood = Mood::Swallows;
        sleep(Duration::from_secs(2)).await;
        api.state().mood = Mood::Works;
    });
    let lost = timeout(Duration::from_secs(60), elector.renew()).await;
    assert!(lost.is_err(), "{lost:?}");
    // The renewal without an answer was done, so the version is another one: it is read before the next.
    let calls = leases.state().calls.clone();
    assert!(calls[3..].contains(&"get"), "{calls:?}");
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_lease_was_taken_stops_at_once() {
    let leases = Leases::default();
    let (mut elector, _) = lead(&leases, "me").await;
    let start = Instant::now();
    leases.state().hold("other");
    assert_eq!(elector.renew().await, Lost::TakenBy("other".to_owned()));
    assert!(seconds(start) < 2.5, "{}", seconds(start));
    elector.release().await.unwrap();
    assert_eq!(
        leases.state().spec("holderIdentity"),
        "other",
        "what is not ours is not given back"
    );
}

#[tokio::test(start_paused = true)]
async fn edits_by_others_do_not_end_it() {
    let leases = Leases::default();
    let (mut elector, _) = lead(&leases, "me").await;
    let other = leases.clone();
    tokio::spawn(async move {
        sleep(Duration::from_secs(3)).await;
        let spec = other.state().lease.as_ref().unwrap()["spec"].clone();
        other.state().put(spec);
        sleep(Duration::from_secs(4)).await;
        other.state().lease = None;
    });
    let lost = timeout(Duration::from_secs(30), elector.renew()).await;
    assert!(lost.is_err(), "{lost:?}");
    assert_eq!(
        leases.state().spec("holderIdentity"),
        "me",
        "a deleted Lease is made again"
    );
}

#[tokio::test(start_paused = true)]
async fn a_released_lease_is_free_for_the_next() {
    let leases = Leases::default();
    let (elector, _) = lead(&leases, "me").await;
    elector.release().await.unwrap();
    {
        let state = leases.state();
        assert_eq!(state.spec("holderIdentity"), "");
        assert_eq!(state.spec("leaseDurationSeconds"), 1);
        assert_eq!(state.calls, ["get", "create", "update"]);
    }
    let (_, took) = lead(&leases, "next").await;
    assert!(took < 1.0, "{took}");
    assert_eq!(leases.state().spec("leaseTransitions"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_release_in_the_middle_of_a_renewal_still_gives_it_back() {
    let leases = Leases::default();
    let (mut elector, _) = lead(&leases, "me").await;
    leases.state().mood = Mood::Swallows;
    assert!(timeout(Duration::from_secs(3), elector.renew()).await.is_err());
    leases.state().mood = Mood::Works;
    elector.release().await.unwrap();
    assert_eq!(leases.state().spec("holderIdentity"), "");
}

#[tokio::test(start_paused = true)]
async fn the_same_pod_after_a_restart_goes_on() {
    let leases = Leases::default();
    drop(lead(&leases, "me").await);
    let (_, took) = lead(&leases, "me").await;
    assert!(took < 1.0, "{took}");
    assert_eq!(leases.state().spec("leaseTransitions"), json!(0));
}

#[tokio::test(start_paused = true)]
async fn a_candidate_tries_on_whatever_fails_until_it_is_told_to_end() {
    let leases = Leases::default();
    let (trigger, stop) = stop::channel();
    let health = Health::new();
    let waiting = tokio::spawn({
        let (health, mut elector) = (health.clone(), elector(&leases, "me"));
        async move { elector.acquire(&stop, &health).await }
    });
    for mood in [Mood::Refuses(403), Mood::Refuses(500), Mood::Hangs] {
        leases.state().mood = mood;
        sleep(Duration::from_secs(30)).await;
    }
    assert_eq!(
        health.phase(),
        Phase::Starting,
        "nobody knows yet whether another one leads"
    );
    let tries = leases.state().calls.len();
    assert!((30..60).contains(&tries), "{tries}");
    trigger.request();
    assert!(!waiting.await.unwrap());
    assert_eq!(leases.state().lease, None::<Value>);
}
