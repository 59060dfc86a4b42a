//! The second tier in a real Redis: with and without a login, with a wrong one, and while Redis is away.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use lmcache_api::Release;
use serde_json::{Value, json};

use super::engine::{accepts, opens, says, server_offers, stops};
use crate::host::{Changes, Host, Started};
use crate::http;
use crate::redis::{PASSWORD, Redis, USER};
use crate::rendered::{self, Rendered, render};
use crate::report::Report;
use crate::sockets::free_port;

/// Connections of one engine.
const WORKERS: usize = 4;
/// The RESP client connects in the background, right after the ports are open.
const CONNECT: Duration = Duration::from_secs(20);
/// Not the password of any user.
const WRONG: &str = "not-the-password";

/// How engine and Redis fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Login {
    /// Redis asks for nothing.
    None,
    /// The Secret has what Redis asks for.
    Right,
    /// The Secret has another password.
    Wrong,
    /// Nothing listens where Redis should be.
    Down,
}

impl Login {
    /// All of them, with the name of the scenario.
    pub const ALL: [(Login, &'static str); 4] = [
        (Login::Right, "resp, Redis with password"),
        (Login::None, "resp, Redis without password"),
        (Login::Wrong, "resp, wrong password"),
        (Login::Down, "resp, Redis down"),
    ];
}

/// An engine with its second tier in Redis.
///
/// # Errors
/// A process does not start or stops answering.
pub fn resp(host: &Host<'_>, report: &mut Report, release: Release, login: Login) -> Result<()> {
    let mut resp = json!({"host": "redis.storage.svc", "port": 6379, "numWorkers": WORKERS});
    if let (Some(resp), true) = (resp.as_object_mut(), login != Login::None) {
        resp.insert("authSecretRef".into(), json!({"name": "redis-login"}));
    }
    let rendered = render(&rendered::engine(release, json!({"l2Backend": {"resp": resp}})), None)?;
    accepts(report, &rendered);
    let redis = match login {
        Login::Down => None,
        Login::None | Login::Right | Login::Wrong => Some(Redis::start(login != Login::None, &host.folder)?),
    };
    let changes = Changes {
        redis: Some(redis.as_ref().map_or_else(free_port, |redis| Ok(redis.port))?),
        login: match login {
            Login::None => None,
            Login::Right | Login::Down => Some((USER, PASSWORD)),
            Login::Wrong => Some((USER, WRONG)),
        },
        ..Changes::default()
    };
    let mut started = host.start("server", &rendered, &changes, report)?;
    opens(report, &mut started)?;
    match (login, &redis) {
        (Login::None, Some(redis)) => connects(report, redis, "default")?,
        (Login::Right, Some(redis)) => {
            connects(report, redis, USER)?;
            shown(report, &rendered, &started)?;
        }
        (Login::Wrong, Some(redis)) => {
            says(report, &started, "AUTH failed: -WRONGPASS");
            let inside = redis.users()?.iter().filter(|user| *user == USER).count();
            report.equal("connections that are logged in", inside, 0);
        }
        _ => says(report, &started, "connection failed"),
    }
    // Neither a probe nor the status tells a dead second tier from a living one.
    seems_well(report, &rendered, &started)?;
    stops(host, report, &mut started)?;
    for secret in [PASSWORD, WRONG] {
        let found = started.process.log().contains(secret);
        report.equal(format!("the log has the password {secret:?}"), found, false);
    }
    Ok(())
}

/// Waits for the connections of an engine, each as this user.
///
/// # Errors
/// Redis does not answer.
pub fn connects(report: &mut Report, redis: &Redis, user: &str) -> Result<()> {
    let begun = Instant::now();
    loop {
        let users = redis.users()?;
        let all = !users.is_empty() && users.iter().all(|found| found == user);
        if all && users.len() >= WORKERS || begun.elapsed() > CONNECT {
            report.check(
                format!("Redis has at least {WORKERS} connections, as {user}"),
                all && users.len() >= WORKERS,
                format!("CLIENT LIST has {} as {:?}", users.len(), users.first()),
            );
            return Ok(());
        }
        thread::sleep(Duration::from_millis(200));
    }
}

fn seems_well(report: &mut Report, rendered: &Rendered, started: &Started) -> Result<()> {
    let offers = server_offers(rendered)?;
    let health = http::get(started.ports.http, offers.health_path)?;
    report.check("health all the same", health.status == 200, health.summary());
    let answer = http::get(started.ports.http, offers.status_path)?;
    let status: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    let adapters = status.pointer("/storage_manager/l2_adapters").and_then(Value::as_array);
    let healthy: Vec<&Value> = adapters
        .into_iter()
        .flatten()
        .filter_map(|adapter| adapter.get("is_healthy"))
        .collect();
    report.equal(
        "the status calls the second tier healthy",
        healthy,
        vec![&Value::Bool(true)],
    );
    Ok(())
}

/// From 0.4.5 on whoever reaches the HTTP port reads the password, which is why the policy warns.
fn shown(report: &mut Report, rendered: &Rendered, started: &Started) -> Result<()> {
    let path = server_offers(rendered)?.environment_path;
    let answer = http::get(started.ports.http, path.unwrap_or("/env"))?;
    report.equal(
        "/env shows LMCACHE_RESP_PASSWORD",
        answer.body.contains(PASSWORD),
        path.is_some(),
    );
    let warned = rendered.warnings.iter().any(|warning| warning.contains("/env"));
    report.equal("the policy warns about /env", warned, path.is_some());
    Ok(())
}
