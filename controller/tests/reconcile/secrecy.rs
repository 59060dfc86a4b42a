//! The text of a Secret goes into its copy, and nowhere else.

use std::io;
use std::sync::{Arc, Mutex};

use lmcache_controller::live::{Child, SecretSource};
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use crate::api::{Answer, Call, NAMESPACE};
use crate::login::{source, with_login};
use crate::objects::{custom_id, id, kv};
use crate::world::World;

/// Passwords and a user name, in base64, and what they stand for.
const TEXTS: [&str; 6] = [
    "aHVudGVyMi1vbmU=",
    "hunter2-one",
    "aHVudGVyMi10d28=",
    "hunter2-two",
    "c2VjcmV0LXVzZXI=",
    "secret-user",
];

#[derive(Clone, Default)]
struct Logs(Arc<Mutex<Vec<u8>>>);

impl io::Write for Logs {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Logs {
    type Writer = Logs;

    fn make_writer(&'a self) -> Logs {
        self.clone()
    }
}

fn assert_silent(what: &str, text: &str) {
    for secret in TEXTS {
        assert!(!text.contains(secret), "{what}: {text}");
    }
}

fn assert_calls_silent(calls: &[Call]) {
    for call in calls {
        assert_silent("request", &call.to_string());
        if call.resource != "secrets" {
            assert_silent(&call.to_string(), &call.body.to_string());
        }
    }
}

/// Through a login's whole life: copied, changed, refused, failing, lost.
#[tokio::test(start_paused = true)]
async fn weakness_13_no_request_status_event_log_or_metric_shows_a_login() {
    let logs = Logs::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(logs.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let mut world = World::new();
    world.create(&source(
        NAMESPACE,
        json!({"password": TEXTS[0], "username": TEXTS[4]}),
        json!({}),
    ));
    world.create(&with_login(NAMESPACE));
    let mut calls = world.settle_calls().await;
    let secrets = |calls: &[Call]| {
        calls
            .iter()
            .filter(|call| call.body.to_string().contains("hunter2") || call.body.to_string().contains("aHVudGVy"))
            .count()
    };
    assert_eq!(secrets(&calls), 1, "the copy");
    let login = id("secrets", "login");
    world
        .server
        .plan("APPLY! secrets", 1, Answer::Refuse(422, "data: Invalid value"));
    world.edit(&login, |source| source["data"]["password"] = json!(TEXTS[2]));
    calls.extend(world.settle_calls().await);
    world.server.plan("APPLY! secrets", 1, Answer::Hang);
    world.wake(&kv());
    calls.extend(world.settle_calls().await);
    world.wake(&kv());
    calls.extend(world.settle_calls().await);
    assert_eq!(secrets(&calls), 4, "each attempt");
    world.edit(&login, |source| source["data"] = json!({"username": TEXTS[4]}));
    calls.extend(world.settle_calls().await);
    world.delete(&login);
    calls.extend(world.settle_calls().await);
    assert!(calls.iter().filter(|call| call.is_event()).count() >= 3);
    assert_calls_silent(&calls);
    assert_silent("status", &world.get(&custom_id(&kv())).to_string());
    assert_silent("workload", &world.get(&id("daemonsets", "kv")).to_string());
    assert_silent("metrics", &world.metrics.text().unwrap());
    let logs = String::from_utf8(logs.0.lock().unwrap().clone()).unwrap();
    let told = logs.lines().any(|line| {
        let parts = ["step failed", "step=\"Secret\"", "child=\"kv-resp-auth\""];
        parts.iter().all(|part| line.contains(part))
    });
    assert!(told, "{logs}");
    assert_silent("logs", &logs);
}

/// Whoever prints an object for debugging prints no login.
#[test]
fn what_is_kept_of_secrets_is_not_printed() {
    let secret = source(
        NAMESPACE,
        json!({"password": TEXTS[0], "username": TEXTS[4]}),
        json!({}),
    );
    assert_silent("source", &format!("{:?}", SecretSource::read(secret.clone())));
    assert_silent("copy", &format!("{:?}", Child::read(secret)));
}
