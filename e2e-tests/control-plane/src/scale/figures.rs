//! What is measured. Times are in seconds from when the API server received the first engine, memory is in MiB.

use std::collections::BTreeMap;
use std::fs;

use serde::Serialize;

use super::Options;
use super::histogram::Calls;
use super::usage::Memory;
use crate::{Audit, Identity};

/// All runs, on one machine.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Report {
    pub machine: Machine,
    /// The version that the API server names.
    pub kubernetes: String,
    pub runs: Vec<Run>,
    /// Runs that have no figures, and why.
    pub failures: Vec<String>,
}

/// Where and how it was measured.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Machine {
    pub cores: usize,
    pub processor: String,
    pub nodes: u16,
    /// Length of the window when settled, in seconds.
    pub window: u32,
}

/// One controller with one number of engines, in a control plane of its own.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Run {
    pub controller: String,
    pub engines: usize,
    /// Servers of each engine.
    pub servers: usize,
    /// Load averages of 1, 5 and 15 minutes, before the engines and at the end.
    pub load_before: String,
    pub load_after: String,
    /// The last engine was there.
    pub created: f64,
    /// The last child was there and the last engine had its first status.
    pub complete: Option<f64>,
    /// The last engine said Running, with all servers. Only where there are servers.
    pub running: Option<f64>,
    pub last_write: Option<f64>,
    /// Whether the controller had nothing left to do within the limit.
    pub quiet: bool,
    /// From the first engine until quiet.
    pub requests: Requests,
    /// When quiet: for so many seconds as the machine's `window` says.
    pub settled: Requests,
    pub memory_idle: f64,
    pub memory: Memory,
    /// Processor seconds of each program from the first engine to the last write.
    pub cpu: BTreeMap<String, f64>,
    pub restart: Option<Restart>,
    pub clients: Option<Clients>,
}

/// Requests of a controller. Discovery and probes are not about objects and do not count.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Requests {
    pub all: usize,
    /// Those that would change something, without Events and Leases.
    pub writes: usize,
    /// Watches that began.
    pub watches: usize,
    /// Answers from 400 on.
    pub refused: usize,
    /// By verb and resource.
    pub by: BTreeMap<String, usize>,
}

/// The controller was stopped and started again.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Restart {
    pub requests: Requests,
    /// Seconds from its start.
    pub last_write: Option<f64>,
    pub quiet: bool,
    pub memory: Memory,
}

/// Pods were created.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Clients {
    pub per_minute: u16,
    /// Pods that did not opt in, for a minute; then those that did.
    pub plain: Latency,
    pub opted_in: Latency,
    /// The API server's own figures of the webhooks while Pods that opted in were created.
    pub webhooks: BTreeMap<String, Calls>,
    /// Of the controller, from the first of these Pods until quiet.
    pub controller: Requests,
    pub controller_memory: Memory,
    pub webhook_memory: Memory,
    /// Processor seconds of policy-host for the Pods that opted in.
    pub webhook_cpu: f64,
}

/// How long creations took, in milliseconds, as the client saw it. Exact: from all samples.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Latency {
    pub samples: usize,
    pub median_ms: f64,
    pub p99_ms: f64,
    pub highest_ms: f64,
}

impl Report {
    pub(super) fn new(machine: Machine) -> Report {
        Report {
            machine,
            kubernetes: String::new(),
            runs: Vec::new(),
            failures: Vec::new(),
        }
    }
}

impl Machine {
    pub(super) fn this(options: &Options) -> Machine {
        let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = text
            .lines()
            .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        Machine {
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            processor: model.map_or_else(|| "unknown".to_owned(), |(_, name)| name.to_owned()),
            nodes: options.nodes,
            window: options.window,
        }
    }
}

impl Requests {
    /// Those of the controller.
    pub(super) fn of(audit: &Audit) -> Requests {
        let user = Identity::Controller.user();
        let counts = audit.counts(user);
        let by = counts
            .iter()
            .map(|((verb, resource), count)| (format!("{verb} {resource}"), *count));
        Requests {
            all: counts.values().sum(),
            writes: audit.writes(user).len(),
            watches: audit.of(user).filter(|request| request.verb == "watch").count(),
            refused: audit.of(user).filter(|request| request.code >= 400).count(),
            by: by.collect(),
        }
    }
}

impl Latency {
    /// `None` without samples. Quantiles are samples themselves, by the nearest-rank method.
    pub(super) fn of(mut samples: Vec<f64>) -> Option<Latency> {
        samples.sort_by(f64::total_cmp);
        let rank = |percent: usize| {
            samples
                .get((samples.len() * percent).div_ceil(100).checked_sub(1)?)
                .copied()
        };
        Some(Latency {
            samples: samples.len(),
            median_ms: rank(50)?,
            p99_ms: rank(99)?,
            highest_ms: rank(100)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_samples() {
        let samples = (1..=200).rev().map(f64::from).collect();
        let expected = Latency {
            samples: 200,
            median_ms: 100.0,
            p99_ms: 198.0,
            highest_ms: 200.0,
        };
        assert_eq!(Latency::of(samples), Some(expected));
        assert_eq!(Latency::of(vec![3.0]).map(|latency| latency.p99_ms), Some(3.0));
        assert_eq!(Latency::of(Vec::new()), None);
    }
}
