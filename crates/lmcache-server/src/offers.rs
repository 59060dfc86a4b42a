//! What a started process offers, by release.

use lmcache_api::{EngineSpec, LMCacheCoordinatorSpec};

use crate::release::Running;
use crate::table::{
    CONFIG_PATH, COORDINATOR_HEALTH_PATH, COORDINATOR_INSTANCES_PATH, COORDINATOR_METRICS, ENV_SHOWN, HEALTH_PATH,
    HTTP_METRICS, METRICS_PATH, RUN_SCRIPT, SHM_SEGMENT, STATUS_PATH, Span, VERSION_PATH, Word, word_at,
};

/// Where metrics are scraped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metrics {
    /// TCP port.
    pub port: i32,
    /// Path of the HTTP resource.
    pub path: &'static str,
}

/// When a server keeps its first tier in a file under `/dev/shm`. Only a tier that is not lazy, so on a node without GPU
/// or with `--no-l1-use-lazy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment {
    /// Never.
    No,
    /// Always, as `lmcache_l1_pool_<pid>`: in a container the pid is 1, so all servers of a node that share `/dev/shm`
    /// take the same name. `--shm-name X` makes it `lmcache_l1_pool_X`.
    Always,
    /// With `--shm-name X`, as `lmcache_l1_pool_X`.
    IfNamed,
}

/// What a started `lmcache server` offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offers {
    /// TCP port of the message queue, which clients connect to. Open before the server is ready.
    pub server_port: i32,
    /// TCP port of the HTTP API. On every address, since we render `--http-host 0.0.0.0` (unless `extraArgs` say otherwise);
    /// no authentication.
    pub http_port: i32,
    /// Path that answers 200 when the server is healthy. A second tier that cannot be reached does not show there.
    pub health_path: &'static str,
    /// Path of a JSON description of what the server does.
    pub status_path: &'static str,
    /// Path of its configuration.
    pub config_path: Option<&'static str>,
    /// Path of its release.
    pub version_path: Option<&'static str>,
    /// Metrics; `None` when they are switched off. (From 0.4.5 on the path answers all the same, with the metrics of the
    /// Python process.)
    pub metrics: Option<Metrics>,
    /// Path that shows the whole environment of the process, passwords too.
    pub environment_path: Option<&'static str>,
    /// Whether it runs scripts that anyone sends to `/run_script`.
    pub runs_scripts: bool,
    /// Files under `/dev/shm`.
    pub segment: Segment,
}

impl Offers {
    /// What the servers of an engine offer.
    pub fn of_engine(spec: &dyn EngineSpec) -> Self {
        let position = Running::of_engine(spec).position;
        Offers {
            server_port: spec.server_port(),
            http_port: spec.http_port(),
            health_path: path(&HEALTH_PATH, position),
            status_path: path(&STATUS_PATH, position),
            config_path: word_at(&CONFIG_PATH, position),
            version_path: word_at(&VERSION_PATH, position),
            metrics: spec.exports_metrics().then(|| Metrics {
                port: if HTTP_METRICS.holds(position) {
                    spec.http_port()
                } else {
                    spec.prometheus_port()
                },
                path: path(&METRICS_PATH, position),
            }),
            environment_path: ENV_SHOWN.holds(position).then_some("/env"),
            runs_scripts: RUN_SCRIPT.holds(position),
            segment: segment(&SHM_SEGMENT, position),
        }
    }
}

/// The path that the release at `position` serves; every release serves one.
fn path(words: &'static [Word], position: usize) -> &'static str {
    word_at(words, position).unwrap_or("/")
}

/// Releases before those that make a segment by themselves make none, later ones make one that has a name.
fn segment(by_itself: &Span, position: usize) -> Segment {
    if by_itself.holds(position) {
        Segment::Always
    } else if position < usize::from(by_itself.first) {
        Segment::No
    } else {
        Segment::IfNamed
    }
}

/// What a started `lmcache coordinator` offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoordinatorOffers {
    /// TCP port of the HTTP API, which engines register with. No authentication.
    pub http_port: i32,
    /// Path that answers 200 when the coordinator is healthy.
    pub health_path: &'static str,
    /// Path of the list of registered engines.
    pub instances_path: &'static str,
    /// Metrics, on the HTTP port; `None` before 0.5.4, which had none.
    pub metrics: Option<Metrics>,
}

impl CoordinatorOffers {
    /// What a coordinator offers.
    pub fn of(spec: &LMCacheCoordinatorSpec) -> Self {
        let http_port = spec.port.unwrap_or(9300);
        let position = Running::of_coordinator(spec).position;
        CoordinatorOffers {
            http_port,
            health_path: path(&COORDINATOR_HEALTH_PATH, position),
            instances_path: path(&COORDINATOR_INSTANCES_PATH, position),
            metrics: COORDINATOR_METRICS.holds(position).then(|| Metrics {
                port: http_port,
                path: path(&METRICS_PATH, position),
            }),
        }
    }
}
