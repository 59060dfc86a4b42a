//! What the processes of a release offer, on the ports that are the defaults.

use lmcache_api::{LMCacheCoordinatorSpec, LMCacheEngineSpec, ServerSpec};
use lmcache_server::table::{COORDINATOR_EVENTS_PATH, DEFAULT_HTTP_HOST, at, word_at};
use lmcache_server::{CoordinatorOffers, Metrics, Offers, Segment};
use serde_json::{Value, json};

use super::Program;

pub(super) fn rows(program: Program, position: usize) -> Vec<[String; 2]> {
    let rows = match program {
        Program::Server => server_rows(position),
        Program::Coordinator => coordinator_rows(position),
    };
    rows.into_iter().map(|(name, text)| [name.to_owned(), text]).collect()
}

fn server_rows(position: usize) -> Vec<(&'static str, String)> {
    let offers = Offers::of_engine(&engine(position));
    let http = |path: Option<&str>| match path {
        Some(path) => format!(":{}{path}", offers.http_port),
        None => "none".to_owned(),
    };
    let bound = match word_at(&DEFAULT_HTTP_HOST, position) {
        Some(host) => format!(" (its own default: {host})"),
        None => String::new(),
    };
    let environment = match offers.environment_path {
        Some(path) => format!("{}, passwords included", http(Some(path))),
        None => "not shown".to_owned(),
    };
    let scripts = if offers.runs_scripts {
        format!("{}: runs what anybody sends", http(Some("/run_script")))
    } else {
        "not run".to_owned()
    };
    vec![
        ("clients", format!(":{} (ZeroMQ)", offers.server_port)),
        (
            "HTTP",
            format!(
                ":{} on every address with the --http-host 0.0.0.0 that is always rendered{bound}; no authentication",
                offers.http_port
            ),
        ),
        ("health", http(Some(offers.health_path))),
        ("status", http(Some(offers.status_path))),
        ("configuration", http(offers.config_path)),
        ("version", http(offers.version_path)),
        ("metrics", metrics_text(offers.metrics)),
        ("environment", environment),
        ("scripts", scripts),
        ("/dev/shm", segment_text(offers.segment).to_owned()),
        (
            "reports to",
            events_path(position).unwrap_or("no coordinator").to_owned(),
        ),
    ]
}

fn coordinator_rows(position: usize) -> Vec<(&'static str, String)> {
    let offers = CoordinatorOffers::of(&coordinator(position));
    let http = |path: &str| format!(":{}{path}", offers.http_port);
    vec![
        (
            "HTTP",
            format!(":{} on the address of --host; no authentication", offers.http_port),
        ),
        ("health", http(offers.health_path)),
        ("engines", http(offers.instances_path)),
        (
            "reports at",
            events_path(position).map_or_else(|| "none".to_owned(), http),
        ),
        ("metrics", metrics_text(offers.metrics)),
    ]
}

pub(super) fn json(program: Program, position: usize) -> Value {
    match program {
        Program::Server => {
            let offers = Offers::of_engine(&engine(position));
            json!({
                "serverPort": offers.server_port,
                "httpPort": offers.http_port,
                "defaultHttpHost": word_at(&DEFAULT_HTTP_HOST, position),
                "healthPath": offers.health_path,
                "statusPath": offers.status_path,
                "configPath": offers.config_path,
                "versionPath": offers.version_path,
                "metrics": metrics_json(offers.metrics),
                "environmentPath": offers.environment_path,
                "runsScripts": offers.runs_scripts,
                "devShm": match offers.segment {
                    Segment::No => "no",
                    Segment::Always => "notLazy",
                    Segment::IfNamed => "notLazyAndNamed",
                },
                "coordinatorEventsPath": events_path(position),
            })
        }
        Program::Coordinator => {
            let offers = CoordinatorOffers::of(&coordinator(position));
            json!({
                "httpPort": offers.http_port,
                "healthPath": offers.health_path,
                "instancesPath": offers.instances_path,
                "eventsPath": events_path(position),
                "metrics": metrics_json(offers.metrics),
            })
        }
    }
}

/// An engine of the release that says nothing else.
fn engine(position: usize) -> LMCacheEngineSpec {
    LMCacheEngineSpec {
        server: Some(ServerSpec {
            release: Some(at(position).to_string()),
            ..ServerSpec::default()
        }),
        ..LMCacheEngineSpec::default()
    }
}

fn coordinator(position: usize) -> LMCacheCoordinatorSpec {
    LMCacheCoordinatorSpec {
        release: Some(at(position).to_string()),
        ..LMCacheCoordinatorSpec::default()
    }
}

/// Where reports of engines go: those of another release go elsewhere and are lost.
fn events_path(position: usize) -> Option<&'static str> {
    word_at(&COORDINATOR_EVENTS_PATH, position)
}

fn metrics_text(metrics: Option<Metrics>) -> String {
    metrics.map_or_else(|| "none".to_owned(), |Metrics { port, path }| format!(":{port}{path}"))
}

fn metrics_json(metrics: Option<Metrics>) -> Value {
    json!(metrics.map(|Metrics { port, path }| json!({"port": port, "path": path})))
}

fn segment_text(segment: Segment) -> &'static str {
    match segment {
        Segment::No => "no file",
        Segment::Always => "lmcache_l1_pool_<pid> where L1 is not lazy; --shm-name replaces <pid>",
        Segment::IfNamed => "lmcache_l1_pool_NAME where L1 is not lazy and --shm-name NAME is given",
    }
}
