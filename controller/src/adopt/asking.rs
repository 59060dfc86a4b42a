//! Who asks for the cache, whatever makes the Pods.

use policy_kit::pod::{self as policy, OptIn, OptedIn, Settings};
use serde_json::Value;

use super::snapshot::{Snapshot, items, text};
use super::workloads::{KINDS, templates};

/// For which of the two systems templates and Pods ask, LMCache first.
///
/// Not every maker of Pods is of a kind that is looked at (RayClusters, Argo Rollouts), and some Pods have none: a Pod that runs
/// speaks for itself, and for the one that will be made in its place.
pub(super) fn wanted(snapshot: &Snapshot, settings: &Settings) -> [bool; 2] {
    let makers = KINDS.iter().flat_map(|(_, kind)| snapshot.of(kind));
    let templates = makers.filter(|object| makes_pods(object)).flat_map(templates);
    let all: Vec<&Value> = templates.chain(snapshot.of("Pod").filter(|pod| runs(pod))).collect();
    [&policy::LMCACHE, &policy::CACHEBLEND].map(|system| {
        let mut all = all.iter().copied();
        all.any(|of| asks(of, settings.opt_in, system))
    })
}

/// Whether a Pod asks for one of the two systems by its annotation alone, as policies may be told to have it.
pub(super) fn by_annotation(pod: &Value) -> bool {
    let mut systems = [&policy::LMCACHE, &policy::CACHEBLEND].into_iter();
    systems.any(|system| asks(pod, OptIn::Annotation, system))
}

fn asks(of: &Value, opt_in: OptIn, system: &policy::System) -> bool {
    OptedIn::of(of, opt_in, system) != OptedIn::No
}

/// Whether a workload still makes Pods: what is deleted and a Job that ended do not.
pub(super) fn makes_pods(object: &Value) -> bool {
    let is_ended_job = || {
        let ended = |condition: &Value| {
            matches!(text(condition, "/type"), "Complete" | "Failed") && text(condition, "/status") == "True"
        };
        let is_complete = !text(object, "/status/completionTime").is_empty();
        text(object, "/kind") == "Job" && (is_complete || items(object, "/status/conditions").any(ended))
    };
    text(object, "/metadata/deletionTimestamp").is_empty() && !is_ended_job()
}

/// Whether a Pod is there to stay.
pub(super) fn runs(pod: &Value) -> bool {
    text(pod, "/metadata/deletionTimestamp").is_empty() && !matches!(text(pod, "/status/phase"), "Failed" | "Succeeded")
}
