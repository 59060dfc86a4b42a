//! What the process counts and measures. [`METRICS`] lists it.

mod catalog;
mod clients;
mod labels;
mod objects;
mod process;
mod requests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use lmcache_api::{ClientsStatus, Kind};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric as AnyMetric, Registry};

pub use catalog::{METRICS, Metric, Type};
pub use labels::{ClientState, Operation, Outcome, Step};
pub use requests::CountRequests;

use clients::Clients;
use labels::word;
use objects::Objects;

use crate::live::Key;
use crate::status::Summary;

/// The media type of [`Metrics::text`].
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Labels as name and value; the same names in the same order for all of a metric.
type Labels<const N: usize> = [(&'static str, String); N];
type Counters<const N: usize> = Family<Labels<N>, Counter>;
type Gauges = Family<Labels<1>, Gauge>;

/// Upper bounds in seconds. A settled object takes well under a millisecond, a write some tens, a slow API whole seconds.
const DURATIONS: [f64; 14] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// A handle to all metrics. Clones are the same.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    registry: Registry,
    reconciles: Counters<2>,
    errors: Counters<3>,
    durations: Family<Labels<1>, Histogram, fn() -> Histogram>,
    written: Counters<2>,
    requests: Counters<3>,
    queue: Gauges,
    clients: Arc<Clients>,
    objects: Arc<Objects>,
    leader: Gauge,
}

impl Default for Metrics {
    fn default() -> Self {
        Metrics::new()
    }
}

impl Metrics {
    /// All at zero.
    pub fn new() -> Self {
        let mut all = Registry::default();
        let durations: fn() -> Histogram = || Histogram::new(DURATIONS);
        let reconciles = register(&mut all, &catalog::RECONCILES, Counters::default());
        let errors = register(&mut all, &catalog::ERRORS, Counters::default());
        let durations = register(&mut all, &catalog::DURATION, Family::new_with_constructor(durations));
        let written = register(&mut all, &catalog::WRITTEN, Counters::default());
        let requests = register(&mut all, &catalog::REQUESTS, Counters::default());
        let queue = register(&mut all, &catalog::QUEUE, Gauges::default());
        let leader = register(&mut all, &catalog::LEADER, Gauge::default());
        let build = register(&mut all, &catalog::BUILD, Gauges::default());
        build
            .get_or_create_owned(&[("version", env!("CARGO_PKG_VERSION").to_owned())])
            .set(1);
        let clients = Arc::new(Clients::default());
        all.register_collector(Box::new(Arc::clone(&clients)));
        let objects = Arc::new(Objects::default());
        all.register_collector(Box::new(Arc::clone(&objects)));
        all.register_collector(Box::new(process::Process::new()));
        for kind in Kind::ALL {
            // Rates of a counter that appears with its first event miss that event.
            for outcome in Outcome::ALL {
                reconciles.get_or_create_owned(&reconcile(kind, outcome)).inc_by(0);
            }
            queue.get_or_create_owned(&[("kind", kind.to_string())]).set(0);
        }
        Metrics(Arc::new(Inner {
            registry: all,
            reconciles,
            errors,
            durations,
            written,
            requests,
            queue,
            clients,
            objects,
            leader,
        }))
    }

    /// An object was reconciled, in `took`.
    pub fn reconciled(&self, kind: Kind, outcome: Outcome, took: Duration) {
        self.0.reconciles.get_or_create(&reconcile(kind, outcome)).inc();
        let labels = [("kind", kind.to_string())];
        self.0.durations.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// A step of a reconcile failed. `step` and `reason` are single words out of few, as in conditions and Events; what is
    /// no such word counts as `other`, so that no message of an error becomes a label.
    pub fn error(&self, kind: Kind, step: &str, reason: &str) {
        let labels = [
            ("kind", kind.to_string()),
            ("step", word(step)),
            ("reason", word(reason)),
        ];
        self.0.errors.get_or_create(&labels).inc();
    }

    /// An object was written. `kind` is its kind, a word as in [`Metrics::error`]: `DaemonSet`, `Event`.
    pub fn written(&self, kind: &str, operation: Operation) {
        let labels = [("kind", word(kind)), ("operation", operation.as_str().to_owned())];
        self.0.written.get_or_create(&labels).inc();
    }

    /// Objects of the kind that wait to be reconciled.
    pub fn queue_depth(&self, kind: Kind, waiting: usize) {
        let waiting = i64::try_from(waiting).unwrap_or(i64::MAX);
        self.0.queue.get_or_create(&[("kind", kind.to_string())]).set(waiting);
    }

    /// The clients of an engine, and those of them that were skipped by the reason on the Pod. Replaces what was said about
    /// the engine before. Anybody who may create Pods can write reasons, so an engine has at most 32; the rest, and
    /// what is no word, counts as `other`.
    pub fn clients(&self, engine: &Key, counts: &ClientsStatus, skipped: &BTreeMap<String, u32>) {
        self.0.clients.set(engine, counts, skipped);
    }

    /// What a pass found out about a custom resource. Replaces what was said about it before.
    pub fn found(&self, custom: &Key, found: Summary) {
        self.0.objects.set(custom, found);
    }

    /// The custom resource is gone, and with it its series and those of its clients.
    pub fn forget(&self, custom: &Key) {
        self.0.clients.forget(custom);
        self.0.objects.forget(custom);
    }

    /// Whether this process is the leader.
    pub fn leader(&self, leads: bool) {
        self.0.leader.set(i64::from(leads));
    }

    /// The API answered a request with a status code, or (`error`) not at all. `resource` as RBAC writes it.
    pub fn request(&self, verb: &str, resource: &str, code: &str) {
        let labels = [("verb", word(verb)), ("resource", word(resource)), ("code", word(code))];
        self.0.requests.get_or_create(&labels).inc();
    }

    /// A layer for the client that counts its requests.
    pub fn count_requests(&self) -> CountRequests {
        CountRequests::new(self.clone())
    }

    /// Everything in the text format of OpenMetrics, which Prometheus reads since 2.5.
    ///
    /// # Errors
    /// A metric that could not be written as text.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.0.registry)?;
        Ok(text)
    }
}

fn reconcile(kind: Kind, outcome: Outcome) -> Labels<2> {
    [("kind", kind.to_string()), ("result", outcome.as_str().to_owned())]
}

fn register<M: AnyMetric + Clone>(registry: &mut Registry, about: &Metric, metric: M) -> M {
    registry.register(about.family(), about.help, metric.clone());
    metric
}
