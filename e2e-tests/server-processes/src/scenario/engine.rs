//! What every started `lmcache server` is asked: whether it offers what is said of its release.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use lmcache_api::Release;
use lmcache_server::{Metrics, Offers, Segment};
use rustix::process::Signal;
use serde_json::Value;

use crate::answers::metric_names;
use crate::arguments;
use crate::host::{Changes, Host, Started};
use crate::http;
use crate::process::STOP;
use crate::rendered::{Promise, Rendered};
use crate::report::Report;

/// How long a process may take to say something about what it does in the background.
const SAYS: Duration = Duration::from_secs(20);

/// Starts an engine, asks for everything that it offers, and ends it.
///
/// # Errors
/// It does not start or stops answering.
pub fn whole_life(host: &Host<'_>, report: &mut Report, rendered: &Rendered, changes: &Changes) -> Result<()> {
    let mut started = host.start("server", rendered, changes, report)?;
    serves(host, report, rendered, &mut started)?;
    stops(host, report, &mut started)
}

/// Waits until the ports are open and asks for everything that the engine offers.
///
/// # Errors
/// It does not start or stops answering.
pub fn serves(host: &Host<'_>, report: &mut Report, rendered: &Rendered, started: &mut Started) -> Result<()> {
    let offers = server_offers(rendered)?;
    opens(report, started)?;
    declared(report, rendered, offers);
    sockets(report, offers, started)?;
    health(report, offers, started)?;
    paths(report, offers, rendered.release, started)?;
    metrics(report, offers, started)?;
    risks(report, offers, started)?;
    segments(host, report, offers, started);
    Ok(())
}

/// The policy has no fault.
pub fn accepts(report: &mut Report, rendered: &Rendered) {
    let faults: Vec<String> = rendered.faults.iter().map(ToString::to_string).collect();
    let seen = if faults.is_empty() {
        rendered.name.clone()
    } else {
        faults.join("; ")
    };
    report.check("the policy accepts it", faults.is_empty(), seen);
}

/// What is said of an engine.
///
/// # Errors
/// It is a coordinator.
pub fn server_offers(rendered: &Rendered) -> Result<&Offers> {
    match &rendered.offers {
        Promise::Server(offers) => Ok(offers),
        Promise::Coordinator(_) => bail!("{} is a coordinator", rendered.name),
    }
}

/// Waits for the message queue and for HTTP.
///
/// # Errors
/// It ends or takes too long.
pub fn opens(report: &mut Report, started: &mut Started) -> Result<()> {
    let after = started.process.open(started.ports.main)?;
    report.check(
        "TCP port open",
        true,
        format!("{} after {:.1} s", started.ports.main, after.as_secs_f64()),
    );
    // A few hundred milliseconds later: the probes of a Pod ask here.
    started.process.open(started.ports.http)?;
    Ok(())
}

/// The ports of Services and probes are those of the command line. Only the latter are replaced here.
fn declared(report: &mut Report, rendered: &Rendered, offers: &Offers) {
    let port = |flag| -> i32 {
        let value = arguments::value(&rendered.container.args, flag);
        value.and_then(|port| port.parse().ok()).unwrap_or_default()
    };
    let mut expected = vec![port("--port"), port("--http-port")];
    let mut offered = vec![offers.server_port, offers.http_port];
    if let Some(metrics) = offers.metrics.filter(|metrics| metrics.port != offers.http_port) {
        expected.push(port("--prometheus-port"));
        offered.push(metrics.port);
    }
    report.equal("offered ports are the rendered ones", offered, expected);
}

fn sockets(report: &mut Report, offers: &Offers, started: &Started) -> Result<()> {
    let found = started.process.listening()?;
    let everywhere = BTreeSet::from([IpAddr::from([0, 0, 0, 0])]);
    let ports = started.ports;
    for (name, port) in [("ZMQ --port", ports.main), ("HTTP --http-port", ports.http)] {
        let bound = found.get(&port).cloned().unwrap_or_default();
        report.equal(format!("{name} is bound to"), bound, everywhere.clone());
    }
    let prometheus = offers.metrics.filter(|metrics| metrics.port != offers.http_port);
    let name = match prometheus {
        Some(_) => "--prometheus-port listens, and nothing but the declared ports does",
        None => "--prometheus-port: no listener, and none but the declared ports",
    };
    let mut declared = BTreeSet::from([ports.main, ports.http]);
    declared.extend(prometheus.map(|_| ports.prometheus));
    report.equal(name, found.into_keys().collect::<BTreeSet<u16>>(), declared);
    Ok(())
}

fn health(report: &mut Report, offers: &Offers, started: &Started) -> Result<()> {
    let answer = http::get(started.ports.http, offers.health_path)?;
    let healthy = answer.status == 200 && answer.body.contains(r#""status":"healthy""#);
    report.check(format!("health at {}", offers.health_path), healthy, answer.summary());
    // What a probe must not ask for: the other generation's path, and those that everybody would guess.
    let others = ["/healthcheck", "/api/healthcheck", "/healthz", "/health", "/ready"];
    for path in others.into_iter().filter(|path| *path != offers.health_path) {
        let status = http::get(started.ports.http, path)?.status;
        if status != 404 {
            report.equal(format!("no health at {path}"), status, 404);
        }
    }
    Ok(())
}

fn paths(report: &mut Report, offers: &Offers, release: Release, started: &Started) -> Result<()> {
    let port = started.ports.http;
    let answer = http::get(port, offers.status_path)?;
    let status: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    let well = status.get("is_healthy") == Some(&Value::Bool(true)) && status.get("storage_manager").is_some();
    report.check(
        format!("status at {}", offers.status_path),
        answer.status == 200 && well,
        answer.summary(),
    );

    let found: Vec<&str> = answering(port, &["/conf", "/config"])?;
    report.equal("configuration at", found, offers.config_path.into_iter().collect());
    if let Some(path) = offers.config_path {
        let config: Value = serde_json::from_str(&http::get(port, path)?.body).unwrap_or_default();
        let own = config.pointer("/mp/port").and_then(Value::as_u64).unwrap_or_default();
        report.equal("configuration names our --port", own, u64::from(started.ports.main));
    }

    let found = answering(port, &["/version"])?;
    report.equal("release at", found, offers.version_path.into_iter().collect());
    if let Some(path) = offers.version_path {
        let answer = http::get(port, path)?;
        // Such as "0.5.6-g3e11e108".
        let same = answer.body.starts_with(&format!("\"{release}"));
        report.check("it is this release that runs", same, answer.summary());
    }
    Ok(())
}

fn answering<'a>(port: u16, paths: &[&'a str]) -> Result<Vec<&'a str>> {
    let mut found = Vec::new();
    for path in paths {
        if http::get(port, path)?.status == 200 {
            found.push(*path);
        }
    }
    Ok(found)
}

fn metrics(report: &mut Report, offers: &Offers, started: &Started) -> Result<()> {
    let ports = started.ports;
    let Some(Metrics { port, path }) = offers.metrics else {
        // From 0.4.5 on the path is there all the same.
        let answer = http::get(ports.http, "/metrics")?;
        let own = metric_names(&answer.body)
            .into_iter()
            .filter(|name| name.starts_with("lmcache_mp_"))
            .count();
        report.equal("--disable-metrics: metrics of LMCache", own, 0);
        return Ok(());
    };
    let on_http = port == offers.http_port;
    let (name, port) = if on_http {
        ("--http-port", ports.http)
    } else {
        ("--prometheus-port", ports.prometheus)
    };
    let answer = http::get(port, path)?;
    let names = metric_names(&answer.body);
    let own = names.iter().filter(|name| name.starts_with("lmcache_mp_")).count();
    // Releases that serve them on a port of their own show a counter from its first use on.
    let passed = answer.status == 200 && if on_http { own > 0 } else { !names.is_empty() };
    let seen = format!("{}, {} metrics, {own} of them lmcache_mp_*", answer.status, names.len());
    report.check(format!("metrics at {path} of {name}"), passed, seen);
    if !on_http {
        let status = http::get(ports.http, path)?.status;
        report.equal(format!("no {path} at --http-port"), status, 404);
    }
    Ok(())
}

/// What anyone who reaches the HTTP port can do. The routes are asked, no script is sent.
fn risks(report: &mut Report, offers: &Offers, started: &Started) -> Result<()> {
    let port = started.ports.http;
    let answer = http::get(port, "/env")?;
    let shown = answer.status == 200 && answer.body.contains("LMCACHE_LOG_LEVEL");
    report.equal("/env shows the environment", shown, offers.environment_path.is_some());
    let answer = http::post(port, "/run_script")?;
    let says = if offers.runs_scripts {
        "/run_script is on"
    } else {
        "/run_script is off"
    };
    report.check(says, (answer.status != 404) == offers.runs_scripts, answer.summary());
    Ok(())
}

/// Without a GPU the first tier is never lazy.
fn segments(host: &Host<'_>, report: &mut Report, offers: &Offers, started: &Started) {
    let named = arguments::value(&started.line.argv, "--shm-name").map(|name| format!("lmcache_l1_pool_{name}"));
    let found = started.process.segments();
    let expected: Vec<String> = match (offers.segment, named) {
        (Segment::No, _) | (Segment::IfNamed, None) => Vec::new(),
        (_, Some(name)) => vec![name],
        (Segment::Always, None) if host.sandbox.pid_one() => vec!["lmcache_l1_pool_1".to_owned()],
        (Segment::Always, None) => {
            report.equal("/dev/shm: segments of this process", found.len(), 1);
            return;
        }
    };
    report.equal("/dev/shm: segments", found, expected);
}

/// Waits until the log has these words.
pub fn says(report: &mut Report, started: &Started, words: &str) {
    let begun = Instant::now();
    while started.process.said(words).is_none() && begun.elapsed() < SAYS {
        thread::sleep(Duration::from_millis(200));
    }
    let said = started.process.said(words);
    let seen = said.clone().unwrap_or_else(|| started.process.last_words());
    report.check(format!("the log says {words:?}"), said.is_some(), seen);
}

/// Ends an engine as the kubelet does.
///
/// # Errors
/// It has ended before.
pub fn stops(host: &Host<'_>, report: &mut Report, started: &mut Started) -> Result<()> {
    started.process.signal(Signal::TERM).context("it ended by itself")?;
    let asked = Instant::now();
    let exit = started.process.end(STOP)?;
    let took = asked.elapsed().as_secs_f64();
    // Otherwise it shuts down in good order too, and then dies of the signal.
    let (name, expected) = if host.sandbox.pid_one() {
        ("SIGTERM, PID 1: exit 0", 0)
    } else {
        ("SIGTERM, not PID 1: exit 143", 143)
    };
    let seen = match exit {
        Some(exit) => format!("exit {exit} after {took:.1} s"),
        None => format!("still there after {took:.1} s"),
    };
    report.check(name, exit == Some(expected), seen);
    Ok(())
}
