//! Pods that opt in, created one after the other at even distances, through the policies.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use super::figures::{Clients, Latency};
use super::histogram::Histograms;
use super::session::Session;
use super::usage;
use crate::{Policy, PolicyServer, wait_until};

/// How long policies may take until the API server calls them.
const INSTALLED: Duration = Duration::from_secs(60);
/// Pods that are created before it counts: the first calls of a connection are not what is asked for.
const FIRST: usize = 20;
/// How long the controller may take until it has counted the Pods.
const COUNTED: Duration = Duration::from_secs(300);
const MINUTE: Duration = Duration::from_secs(60);

/// A minute of Pods that do not opt in, and a minute of Pods that do.
pub(super) async fn measure(session: &mut Session, per_minute: u16) -> Result<Clients> {
    let server = PolicyServer::start(&session.plane, "policies", &Policy::deployed()?, &[]).await?;
    server.install()?;
    let load = session.load;
    wait_until("Pods that opt in are wired", INSTALLED, async || {
        let stored = session.admin.dry_run(&load.client(0, "probe", true)).await?;
        ensure!(is_wired(&stored), "{stored}");
        Ok(())
    })
    .await?;
    for number in 0..FIRST {
        let pod = load.client(number % load.engines, &format!("first-{number}"), true);
        session.admin.create(&pod, "kubectl-create").await?;
    }
    let plain = minute(session, per_minute, false).await?;
    let begin = session.mark()?;
    let before = histograms(session).await?;
    let cpu = usage::cpu(server.id())?;
    let opted_in = minute(session, per_minute, true).await?;
    let after = histograms(session).await?;
    let webhook_cpu = usage::cpu(server.id())? - cpu;
    let controller = session.requests_until_quiet(begin, COUNTED).await?;
    Ok(Clients {
        per_minute,
        plain,
        opted_in,
        webhooks: after.since(&before),
        controller,
        controller_memory: usage::memory(session.process()?)?,
        webhook_memory: usage::memory(server.id())?,
        webhook_cpu,
    })
}

/// Creates Pods for a minute. None waits for the one before.
async fn minute(session: &Session, per_minute: u16, opted_in: bool) -> Result<Latency> {
    let load = session.load;
    let mut ticks = interval(MINUTE / u32::from(per_minute));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let admin = Arc::new(session.admin.clone());
    let mut creations = JoinSet::new();
    for number in 0..usize::from(per_minute) {
        let kind = if opted_in { "client" } else { "plain" };
        let pod = load.client(number % load.engines, &format!("{kind}-{number}"), opted_in);
        ticks.tick().await;
        let admin = Arc::clone(&admin);
        creations.spawn(async move {
            let start = Instant::now();
            let stored = admin.create(&pod, "kubectl-create").await?;
            let time = start.elapsed();
            ensure!(
                is_wired(&stored) == opted_in,
                "wired or not, against what was asked for: {stored}"
            );
            Ok(time.as_secs_f64() * 1000.0)
        });
    }
    let mut samples = Vec::new();
    while let Some(creation) = creations.join_next().await {
        samples.push(creation.context("a creation broke off")??);
    }
    Latency::of(samples).context("no Pod was created")
}

fn is_wired(pod: &Value) -> bool {
    let args = pod.pointer("/spec/containers/0/args").and_then(Value::as_array);
    args.is_some_and(|args| args.iter().any(|arg| arg == "--kv-transfer-config"))
}

async fn histograms(session: &Session) -> Result<Histograms> {
    let request = http::Request::get("/metrics").body(Vec::new())?;
    let text = session.admin.client().request_text(request).await;
    Ok(Histograms::parse(
        &text.context("cannot read the API server's metrics")?,
    ))
}
