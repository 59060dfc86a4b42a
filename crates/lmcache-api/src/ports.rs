//! The TCP ports that a server really listens on.

use std::fmt;

use crate::connection::DEFAULT_SERVER_PORT;
use crate::{EngineSpec, Release, server_release};

/// Port of the HTTP API of a server that names none.
const DEFAULT_HTTP_PORT: i32 = 8080;
/// Port of the metrics of a server that names none.
const DEFAULT_PROMETHEUS_PORT: i32 = 9090;

/// Tokens per chunk of a server that names none.
const DEFAULT_CHUNK_SIZE: i32 = 256;

/// The last LMCache release whose server listens on the Prometheus port; later ones serve metrics on the HTTP port.
const LAST_WITH_PROMETHEUS_PORT: Release = Release {
    major: 0,
    minor: 4,
    patch: 4,
};

/// Where a port number comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortSource {
    /// Its field.
    Field,
    /// Nobody named one.
    Default,
    /// This entry of `spec.extraArgs`, which wins because it stands last on the command line.
    ExtraArgs(usize),
}

/// A port that a server listens on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Path of the field that it belongs to.
    pub path: &'static str,
    /// Its number; not checked to be in range.
    pub number: i32,
    /// Where the number comes from.
    pub source: PortSource,
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            PortSource::Field => write!(f, "{}", self.path),
            PortSource::Default => write!(f, "{} (the default)", self.path),
            PortSource::ExtraArgs(index) => write!(f, "{} (set by spec.extraArgs[{index}])", self.path),
        }
    }
}

/// The ports of an engine in effect: fields, defaults, and what `spec.extraArgs` says instead (`--port 6000`,
/// `--port=6000`; the last one wins, as argparse has it). The order is server, HTTP, Prometheus.
///
/// The Prometheus port is left out where nothing listens on it: metrics off, or a release from 0.4.5 on. An unknown
/// release counts as listening.
pub fn listening_ports(spec: &dyn EngineSpec) -> Vec<Port> {
    let server = spec.server();
    let prometheus = spec.prometheus();
    let args = spec.extra_args();
    let mut ports = vec![
        port(
            "spec.server.port",
            server.and_then(|server| server.port),
            DEFAULT_SERVER_PORT,
            "--port",
            args,
        ),
        port(
            "spec.server.httpPort",
            server.and_then(|server| server.http_port),
            DEFAULT_HTTP_PORT,
            "--http-port",
            args,
        ),
    ];
    let switched_off = prometheus.and_then(|prometheus| prometheus.enabled) == Some(false)
        || args
            .iter()
            .any(|arg| arg == "--disable-prometheus" || arg == "--disable-metrics");
    let opens = server_release(spec).is_none_or(|release| release <= LAST_WITH_PROMETHEUS_PORT);
    if !switched_off && opens {
        let number = prometheus.and_then(|prometheus| prometheus.port);
        ports.push(port(
            "spec.prometheus.port",
            number,
            DEFAULT_PROMETHEUS_PORT,
            "--prometheus-port",
            args,
        ));
    }
    ports
}

fn port(path: &'static str, field: Option<i32>, default: i32, flag: &str, args: &[String]) -> Port {
    match (flag_value(args, flag), field) {
        (Some((index, number)), _) => Port {
            path,
            number,
            source: PortSource::ExtraArgs(index),
        },
        (None, Some(number)) => Port {
            path,
            number,
            source: PortSource::Field,
        },
        (None, None) => Port {
            path,
            number: default,
            source: PortSource::Default,
        },
    }
}

/// Tokens per chunk of the server as it will run: `extraArgs` win over the field, as on its command line. Default 256.
pub fn chunk_size(spec: &dyn EngineSpec) -> i32 {
    let field = spec.server().and_then(|server| server.chunk_size);
    let extra = flag_value(spec.extra_args(), "--chunk-size").map(|(_, number)| number);
    extra.or(field).unwrap_or(DEFAULT_CHUNK_SIZE)
}

/// The last number given to `flag`, and where the flag stands.
fn flag_value(args: &[String], flag: &str) -> Option<(usize, i32)> {
    let uses = args.iter().enumerate().filter_map(|(index, arg)| {
        let rest = arg.strip_prefix(flag)?;
        let value = match rest.strip_prefix('=') {
            Some(value) => value,
            None if rest.is_empty() => args.get(index + 1)?,
            None => return None,
        };
        Some((index, value.trim().parse().ok()?))
    });
    uses.max_by_key(|(index, _)| *index)
}
