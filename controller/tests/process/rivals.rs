//! Three replicas and a network that delays, drops and refuses: never do two of them lead.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lmcache_controller::rbac::LEASE;
use lmcache_controller::run::health::Health;
use lmcache_controller::run::leader::Elector;
use lmcache_controller::run::leader::decide::Timing;
use lmcache_controller::run::stop;
use tokio::time::{Instant, sleep, timeout};

use crate::api::{Leases, Mood, NAMESPACE, client};

/// Random numbers by which a failure can be repeated.
#[derive(Clone)]
struct Dice(Arc<AtomicU64>);

impl Dice {
    fn roll(&self, sides: u64) -> u64 {
        let step = |state: u64| {
            state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407)
        };
        let before = self
            .0
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |state| Some(step(state)));
        (step(before.unwrap()) >> 33) % sides
    }
}

/// From when to when somebody led.
type Reigns = Arc<Mutex<Vec<(Instant, Instant, &'static str)>>>;

async fn replica(leases: Leases, me: &'static str, dice: Dice, reigns: Reigns) {
    let network = dice.clone();
    let client = client(move |method, target, body| {
        let (leases, dice) = (leases.clone(), network.clone());
        async move {
            // A bad minute out of four: then most requests fail.
            let bad = Instant::now().elapsed().as_secs() % 240 > 180 || dice.roll(5) == 0;
            let mood = match (bad, dice.roll(4)) {
                (true, 0) => Mood::Refuses(500),
                (true, 1) => Mood::Hangs,
                (true, 2) => Mood::Swallows,
                _ => Mood::Works,
            };
            // Longer than a request may take, at times: done when nobody waits any more.
            sleep(Duration::from_millis(dice.roll(if bad { 7_000 } else { 300 }))).await;
            let answer = leases.answer(&method, &target, &body, mood);
            sleep(Duration::from_millis(dice.roll(500))).await;
            answer
        }
    });
    let (_trigger, stop) = stop::channel();
    loop {
        let mut elector = Elector::new(client.clone(), NAMESPACE, LEASE, me, Timing::DEFAULT);
        assert!(elector.acquire(&stop, &Health::new()).await);
        let start = Instant::now();
        let told_to_end = timeout(Duration::from_secs(20 + dice.roll(200)), elector.renew())
            .await
            .is_err();
        reigns.lock().unwrap().push((start, Instant::now(), me));
        // Some give the Lease back, some just die.
        if told_to_end && dice.roll(2) == 0 {
            let _ = elector.release().await;
        }
        sleep(Duration::from_secs(dice.roll(30))).await;
    }
}

#[rstest::rstest]
#[tokio::test(start_paused = true)]
async fn never_two_lead(#[values(1, 2, 3)] seed: u64) {
    let (leases, reigns) = (Leases::default(), Reigns::default());
    let dice = Dice(Arc::new(AtomicU64::new(seed)));
    for me in ["one", "two", "three"] {
        tokio::spawn(replica(leases.clone(), me, dice.clone(), reigns.clone()));
    }
    sleep(Duration::from_secs(2 * 3600)).await;
    let mut reigns = reigns.lock().unwrap().clone();
    reigns.sort();
    for pair in reigns.windows(2) {
        assert!(pair[0].1 <= pair[1].0, "two led at once: {pair:?}");
    }
    let led = |me: &str| reigns.iter().filter(|reign| reign.2 == me).count();
    assert!(reigns.len() > 30, "too little happened: {}", reigns.len());
    assert!(["one", "two", "three"].iter().all(|me| led(me) > 3), "{reigns:?}");
}
