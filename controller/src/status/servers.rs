//! The Pods that serve, and how far they are.

use lmcache_api::{EndpointStatus, EngineSpec, Kind};
use lmcache_server::Offers;

use super::condition::{Condition, Previous, State};
use super::words::{phases, reasons, types};
use crate::live::{ChildKind, ServerPod};
use crate::plan::{Inputs, Reason, Report, Verdict};

/// Pods of this engine's DaemonSet, or of this coordinator's Deployment, sorted by node and name. Others carry the
/// labels too: a user's own, or those of a former DaemonSet.
pub(super) fn own<'a>(kind: Kind, inputs: &'a Inputs, report: &Report) -> Vec<&'a ServerPod> {
    let name = inputs.custom.name();
    // A Deployment's Pods are made by its ReplicaSets, which nobody watches; they are called `<name>-<hash>`.
    let is_replica_set = |set: &str| {
        let hash = set.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
        hash.is_some_and(|hash| !hash.is_empty() && !hash.contains('-'))
    };
    let is_own = |pod: &&ServerPod| {
        let Some(controller) = &pod.facts.controller else {
            return false;
        };
        match (kind, &report.workload) {
            (_, None) => false,
            (Kind::LMCacheCoordinator, Some(_)) => {
                pod.facts.app == "lmcache-coordinator"
                    && controller.kind == "ReplicaSet"
                    && is_replica_set(&controller.name)
            }
            (_, Some(workload)) => !workload.uid.is_empty() && controller.uid == workload.uid,
        }
    };
    let mut own: Vec<&ServerPod> = inputs.servers.iter().map(AsRef::as_ref).filter(is_own).collect();
    own.sort_by_key(|pod| (&pod.facts.node, pod.name()));
    own
}

/// One entry for each Pod that has a node and is there to stay.
///
/// `port` is what the specification asks for. While a change of it is rolled out, Pods of the old template still listen
/// on the old port: nothing that is kept of a Pod says so, and Services lead to the new port alone.
pub(super) fn endpoints(
    spec: &dyn EngineSpec,
    servers: &[&ServerPod],
    report: &Report,
    previous: Previous<'_>,
) -> Vec<EndpointStatus> {
    let offers = Offers::of_engine(spec);
    let mut ports = (offers.server_port, offers.metrics.map_or(0, |metrics| metrics.port));
    // Servers of a specification that is not built listen where they did before.
    if report.verdict != Verdict::Valid || report.is_held {
        ports = previous_ports(previous).unwrap_or(ports);
    }
    let placed = servers.iter().filter(|pod| !pod.facts.is_ending);
    placed
        .filter_map(|pod| {
            Some(EndpointStatus {
                node_name: pod.facts.node.clone()?,
                host_ip: pod.facts.host_ip.clone(),
                pod_name: pod.name().to_owned(),
                port: ports.0,
                metrics_port: ports.1,
                ready: pod.facts.is_ready,
            })
        })
        .collect()
}

fn previous_ports(previous: Previous<'_>) -> Option<(i32, i32)> {
    let endpoint = previous.member("endpoints")?.get(0)?;
    let port = |name: &str| i32::try_from(endpoint.get(name)?.as_i64()?).ok();
    Some((port("port")?, port("metricsPort")?))
}

/// Pods that do not come up.
struct Failing {
    pod: String,
    reason: String,
    count: usize,
}

/// How far a workload is.
pub(super) struct Progress {
    kind: Kind,
    exists: bool,
    generation: i64,
    is_observed: bool,
    pub desired: i32,
    pub ready: i32,
    updated: i32,
    /// Whether there are more Pods than asked for: a Deployment starts the new ones first.
    has_surplus: bool,
    failing: Option<Failing>,
}

impl Progress {
    pub fn new(kind: Kind, servers: &[&ServerPod], report: &Report, previous: Previous<'_>) -> Self {
        let status = report.workload.as_ref().map(|workload| workload.status.clone());
        let exists = status.is_some();
        let status = status.unwrap_or_default();
        let staying = servers.iter().filter(|pod| !pod.facts.is_ending).count();
        Progress {
            kind,
            exists,
            generation: status.generation,
            is_observed: status.observed_generation >= status.generation,
            desired: status.desired,
            ready: status.ready,
            updated: status.updated,
            has_surplus: kind == Kind::LMCacheCoordinator
                && i64::try_from(staying).unwrap_or(i64::MAX) > i64::from(status.desired),
            failing: failing(kind, servers, previous),
        }
    }

    fn noun(&self) -> &'static str {
        match self.kind {
            Kind::LMCacheCoordinator => "replicas",
            _ => "instances",
        }
    }

    fn counts(&self) -> String {
        format!("{}/{} {} ready", self.ready, self.desired, self.noun())
    }

    /// What keeps instances from becoming ready, if something does.
    fn failing(&self) -> Option<&Failing> {
        self.failing.as_ref().filter(|_| self.ready < self.desired)
    }

    fn with_failing(&self, failing: &Failing) -> String {
        let Failing { pod, reason, count } = failing;
        format!("{}; {count} failing, such as Pod {pod}: {reason}", self.counts())
    }

    pub fn available(&self) -> Condition {
        let found = |state, reason, message| Condition::new(types::AVAILABLE, state, reason, message);
        match self.failing() {
            _ if self.ready > 0 => found(State::True, reasons::AT_LEAST_ONE_READY, self.counts()),
            Some(failing) => found(State::False, reasons::INSTANCES_FAILING, self.with_failing(failing)),
            None if self.kind == Kind::LMCacheCoordinator => {
                found(State::False, reasons::NO_READY_REPLICAS, self.counts())
            }
            None => found(State::False, reasons::NO_READY_INSTANCES, self.counts()),
        }
    }

    pub fn all_ready(&self) -> Condition {
        let counts = self.counts();
        let (reason, message) = if !self.is_observed {
            let generation = self.generation;
            let message = format!("{counts} before generation {generation} of the workload, which is not taken up yet");
            (reasons::ROLLOUT_NOT_OBSERVED, message)
        } else if let Some(failing) = self.failing() {
            (reasons::INSTANCES_FAILING, self.with_failing(failing))
        } else if self.ready < self.desired || self.desired == 0 {
            (reasons::NOT_ALL_READY, counts)
        } else if self.updated < self.desired {
            let updated = self.updated;
            let message = format!("{counts}, {updated} of them as the specification has it now");
            (reasons::ROLLOUT_IN_PROGRESS, message)
        } else if self.has_surplus {
            let message = format!("{counts}, and Pods that are being replaced");
            (reasons::ROLLOUT_IN_PROGRESS, message)
        } else {
            (reasons::ALL_READY, counts)
        };
        let state = State::of(reason == reasons::ALL_READY);
        Condition::new(types::ALL_INSTANCES_READY, state, reason, message)
    }

    /// Why nothing is asked for, where that is so.
    pub fn nothing_desired(&self) -> Option<(&'static str, &'static str)> {
        let nothing = self.exists && self.is_observed && self.desired == 0;
        nothing.then_some(match self.kind {
            Kind::LMCacheCoordinator => (reasons::NO_REPLICAS, "spec.replicas is 0"),
            _ => (
                reasons::NO_NODES,
                "no node matches spec.nodeSelector and spec.affinity and has no taints but those in spec.tolerations",
            ),
        })
    }

    /// The word that sums it up: the first of [`super::PHASES`] that fits.
    ///
    /// A rollout that replaces one ready Pod after the other is Running, as the cache serves on every node; whether it
    /// is through is what `AllInstancesReady` and `Ready` tell, as `kubectl rollout status` does.
    pub fn phase(&self, report: &Report) -> &'static str {
        let is_blocked = !self.exists
            && report
                .problems
                .iter()
                .any(|problem| blocks(problem.child.kind, problem.reason));
        if report.verdict != Verdict::Valid || is_blocked {
            phases::FAILED
        } else if self.ready <= 0 {
            match self.failing() {
                Some(_) => phases::FAILED,
                None => phases::PENDING,
            }
        } else if self.ready < self.desired || !self.is_observed {
            phases::DEGRADED
        } else if self.desired == 0 {
            phases::PENDING
        } else {
            phases::RUNNING
        }
    }
}

/// Whether a problem keeps a workload from being made until somebody does something about it. The workload waits for
/// the copy of its login. What is referred to and does not exist is often just about to be created, and what the API
/// server could not do now is tried again: neither is a failure.
fn blocks(child: ChildKind, reason: Reason) -> bool {
    let concerns_workload = child.is_workload() || child == ChildKind::Secret;
    let lasts = match reason {
        Reason::SecretInvalid
        | Reason::SecretNotShared
        | Reason::ForeignObject
        | Reason::Forbidden
        | Reason::Rejected => true,
        Reason::CoordinatorNotFound
        | Reason::SecretNotFound
        | Reason::ServiceMonitorNotInstalled
        | Reason::Conflict
        | Reason::Unavailable => false,
    };
    concerns_workload && lasts
}

/// The Pods that fail. A process that crashes again and again is running in between; so once one Pod fails, every Pod
/// that is not ready and was restarted counts, until none is left. Otherwise the status would change with every crash.
fn failing(kind: Kind, servers: &[&ServerPod], previous: Previous<'_>) -> Option<Failing> {
    let reason = |pod: &ServerPod| {
        // A Pod that ended for good is replaced by a DaemonSet; a Deployment leaves it lying beside its successor.
        let is_left_over = kind == Kind::LMCacheCoordinator && pod.facts.is_ending;
        let counts = !pod.facts.is_ready && !is_left_over;
        let reason = match pod.facts.failing.as_deref().filter(|_| counts)? {
            // The kubelet changes between the two with every attempt.
            "ErrImagePull" => "ImagePullBackOff",
            reason => reason,
        };
        Some(reason.to_owned())
    };
    let had_failed = [types::AVAILABLE, types::ALL_INSTANCES_READY]
        .into_iter()
        .any(|type_| previous.text(type_, "reason") == reasons::INSTANCES_FAILING);
    let fails = had_failed || servers.iter().any(|pod| reason(pod).is_some());
    let crashes = |pod: &ServerPod| {
        let crashes = fails && !pod.facts.is_ready && !pod.facts.is_ending && pod.facts.restarts > 0;
        crashes.then(|| "CrashLoopBackOff".to_owned())
    };
    let failing = servers
        .iter()
        .filter_map(|pod| Some((pod.name(), reason(pod).or_else(|| crashes(pod))?)));
    let failing: Vec<(&str, String)> = failing.collect();
    let count = failing.len();
    let (pod, reason) = failing.into_iter().next()?;
    Some(Failing {
        pod: pod.to_owned(),
        reason,
        count,
    })
}
