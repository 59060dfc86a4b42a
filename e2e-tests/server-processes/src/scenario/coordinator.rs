//! A coordinator and two engines: registration, a coordinator that restarts, engines that go.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use lmcache_api::Release;
use lmcache_server::CoordinatorOffers;
use lmcache_server::table::{COORDINATOR, RELEASES, find};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::engine;
use crate::answers::{Instance, instances};
use crate::arguments;
use crate::host::{Changes, Host, Started};
use crate::http;
use crate::process::STOP;
use crate::rendered::{self, Promise, Rendered, render};
use crate::report::Report;
use crate::sockets::free_port;

/// Seconds between two signs of life of an engine in these tests.
const HEARTBEAT: u64 = 1;
/// Seconds without one until the coordinator forgets an engine, and between two looks.
const TIMEOUT: u64 = 3;
const LOOK: u64 = 1;
/// Beyond what the intervals allow, for a busy host.
const SLACK: Duration = Duration::from_secs(15);

/// The life of a small fleet.
///
/// # Errors
/// A process does not start or stops answering.
pub fn fleet(host: &Host<'_>, report: &mut Report, release: Release) -> Result<()> {
    let coordinator = render(&rendered::coordinator(release, coordinator_spec(release)), None)?;
    engine::accepts(report, &coordinator);
    let port = free_port()?;
    let engine = render(&rendered::engine(release, engine_spec()), Some(&url(port)))?;
    engine::accepts(report, &engine);
    let mut first = host.start("engine-1", &engine, &Changes::default(), report)?;
    let mut second = host.start("engine-2", &engine, &Changes::default(), report)?;
    for started in [&mut first, &mut second] {
        started.process.open(started.ports.http)?;
        alone_but_well(report, &engine, started)?;
    }

    let changes = Changes {
        port: Some(port),
        ..Changes::default()
    };
    let mut fleet = host.start("coordinator", &coordinator, &changes, report)?;
    serves(report, &coordinator, &mut fleet)?;
    let ports = BTreeSet::from([first.ports.http, second.ports.http]);
    let within = Duration::from_secs(2 * HEARTBEAT) + SLACK;
    let before = registered(report, "engines register", port, &ports, within)?;
    called_back(report, &engine, &before)?;
    quiet(report, &first);

    // As after a new version of the Deployment: what it knew is lost.
    engine::stops(host, report, &mut fleet)?;
    let mut fleet = host.start("coordinator-2", &coordinator, &changes, report)?;
    fleet.process.open(port)?;
    let after = registered(
        report,
        "coordinator restarted: engines register again",
        port,
        &ports,
        within,
    )?;
    let ids = |list: &[Instance]| list.iter().map(|instance| instance.id.clone()).collect::<BTreeSet<_>>();
    report.equal("with the same instance_id", ids(&after), ids(&before));

    first.process.signal(Signal::TERM)?;
    let rest = BTreeSet::from([second.ports.http]);
    // Shorter than the time-out: only an engine that says goodbye is gone so soon after it ended.
    first.process.end(STOP)?;
    let left: BTreeSet<u16> = listed(port)?.into_iter().map(|instance| instance.http_port).collect();
    report.equal("engine SIGTERM: deregistered when it has ended", left, rest);

    second.process.signal(Signal::KILL)?;
    let within = Duration::from_secs(TIMEOUT + LOOK) + SLACK;
    registered(
        report,
        "engine SIGKILL: forgotten after --instance-timeout",
        port,
        &BTreeSet::new(),
        within,
    )?;
    engine::stops(host, report, &mut fleet)
}

/// A coordinator that is given, alone.
///
/// # Errors
/// It does not start or stops answering.
pub fn alone(host: &Host<'_>, report: &mut Report, rendered: &Rendered) -> Result<()> {
    let mut started = host.start("coordinator", rendered, &Changes::default(), report)?;
    serves(report, rendered, &mut started)?;
    engine::stops(host, report, &mut started)
}

/// A coordinator of the release, for an engine that is given.
///
/// # Errors
/// It does not start.
pub fn for_engine(host: &Host<'_>, report: &mut Report, release: Release) -> Result<Started> {
    let coordinator = render(&rendered::coordinator(release, json!({})), None)?;
    let mut started = host.start("coordinator", &coordinator, &Changes::default(), report)?;
    started.process.open(started.ports.main)?;
    Ok(started)
}

/// The URL of a coordinator on this host.
pub fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

/// The engines that a coordinator knows.
///
/// # Errors
/// It does not answer, or not with that.
pub fn listed(port: u16) -> Result<Vec<Instance>> {
    instances(&http::get(port, "/instances")?.body)
}

/// Waits until the coordinator lists exactly the engines with these HTTP ports.
///
/// # Errors
/// It does not answer.
pub fn registered(
    report: &mut Report,
    name: &str,
    port: u16,
    engines: &BTreeSet<u16>,
    within: Duration,
) -> Result<Vec<Instance>> {
    let begun = Instant::now();
    loop {
        let list = listed(port)?;
        let ports: BTreeSet<u16> = list.iter().map(|instance| instance.http_port).collect();
        let same = ports == *engines;
        if same || begun.elapsed() > within {
            let seen = format!(
                "GET /instances has {ports:?} after {:.1} s",
                begun.elapsed().as_secs_f64()
            );
            let seen = if same {
                seen
            } else {
                format!("{seen}, expected {engines:?}")
            };
            report.check(name, same, seen);
            return Ok(list);
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// With the blend settings where the release has them: the flag changed its name twice.
fn coordinator_spec(release: Release) -> Value {
    let mut spec = json!({"instanceTimeout": TIMEOUT, "healthCheckInterval": LOOK});
    let position = RELEASES.iter().position(|known| *known == release).unwrap_or_default();
    if let (Some(spec), Some(_)) = (
        spec.as_object_mut(),
        find(&COORDINATOR, "--blend-probe-stride", position),
    ) {
        spec.insert("blendChunkSize".into(), json!(512));
        spec.insert("blendProbeStride".into(), json!(2));
    }
    spec
}

fn engine_spec() -> Value {
    json!({"coordinator": {
        "ref": {"name": "fleet"},
        "heartbeatInterval": HEARTBEAT,
        "l2EventReporting": true,
        "l2EventFlushInterval": 0.5,
    }})
}

fn serves(report: &mut Report, rendered: &Rendered, started: &mut Started) -> Result<()> {
    let offers: &CoordinatorOffers = match &rendered.offers {
        Promise::Coordinator(offers) => offers,
        Promise::Server(_) => bail!("{} is an engine", rendered.name),
    };
    let port = started.ports.main;
    let after = started.process.open(port)?;
    report.check(
        "TCP port open",
        true,
        format!("{port} after {:.1} s", after.as_secs_f64()),
    );
    let host = arguments::value(&started.line.argv, "--host")
        .unwrap_or_default()
        .parse::<IpAddr>();
    let found: Vec<_> = started.process.listening()?.into_iter().collect();
    report.equal(
        "coordinator listens on --host and --port, nothing else",
        found,
        vec![(port, host.into_iter().collect::<BTreeSet<IpAddr>>())],
    );
    let answer = http::get(port, offers.health_path)?;
    let healthy = answer.status == 200 && answer.body.contains(r#""status":"healthy""#);
    report.check(
        format!("coordinator health at {}", offers.health_path),
        healthy,
        answer.summary(),
    );
    let answer = http::get(port, "/metrics")?;
    report.equal(
        "coordinator has /metrics",
        answer.status == 200,
        offers.metrics.is_some(),
    );
    Ok(())
}

/// The coordinator calls an engine at the address that it was told; the HTTP server must be bound to more than loopback,
/// which [`engine::serves`] looks at.
fn called_back(report: &mut Report, engine: &Rendered, list: &[Instance]) -> Result<()> {
    let offers = engine::server_offers(engine)?;
    for instance in list {
        let answer = http::get(instance.http_port, offers.health_path)?;
        report.check(
            format!(
                "engine {}:{} answers at the address that the coordinator has",
                instance.ip, instance.http_port
            ),
            answer.status == 200 && instance.ip == "127.0.0.1",
            answer.summary(),
        );
    }
    Ok(())
}

/// Without its coordinator an engine serves, and says so once a heartbeat.
fn alone_but_well(report: &mut Report, engine: &Rendered, started: &Started) -> Result<()> {
    let answer = http::get(started.ports.http, engine::server_offers(engine)?.health_path)?;
    report.check(
        "coordinator down at start: health",
        answer.status == 200,
        answer.summary(),
    );
    engine::says(report, started, "Coordinator registration/heartbeat failed");
    Ok(())
}

/// Old names of flags still work, with a warning each.
fn quiet(report: &mut Report, started: &Started) {
    let log = started.process.log();
    let deprecated: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("is deprecated, use --"))
        .collect();
    report.equal("no argument of ours is deprecated", deprecated, vec![]);
}
