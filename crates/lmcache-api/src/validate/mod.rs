//! What is wrong with a custom resource.
//!
//! One file per subject. The rules of the Go operator come first, in its order; what the Go operator lets through, and
//! only fails on later, follows.

mod backend;
mod engine;
mod images;
mod pods;
mod resources;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::decode::{Finding, walk};
use crate::fault::{is_at_or_below, quote};
use crate::names::{check_engine_name, check_generate_name};
use crate::{AnyObject, FaultKind, FieldError, Kind, LMCacheCoordinatorSpec, ObjectMeta};

/// All faults of an object, in a stable order: those of the schema and those that the schema cannot say. Defaults are
/// applied to a copy first. Nothing is listed twice: one fault per path and kind, and none that only follows from
/// another. Any JSON will do.
pub fn validate(kind: Kind, object: &Value) -> Vec<FieldError> {
    let walk = walk(kind, object);
    let mut object = walk.object;
    object.set_defaults();
    let mut faults = Faults::new(walk.findings);
    match &object {
        AnyObject::LMCacheEngine(engine) => {
            engine::check(&engine.spec, &mut faults);
            faults.take("spec");
            check_name(&engine.metadata, &mut faults);
            engine::check_more(&engine.spec, &mut faults);
        }
        AnyObject::CacheBlendEngine(engine) => {
            engine::check_cacheblend(&engine.spec, &mut faults);
            faults.take("spec");
            check_name(&engine.metadata, &mut faults);
            engine::check_cacheblend_more(&engine.spec, &mut faults);
        }
        AnyObject::LMCacheCoordinator(coordinator) => {
            faults.take("spec");
            check_name(&coordinator.metadata, &mut faults);
            check_coordinator(&coordinator.spec, &mut faults);
        }
    }
    faults.found
}

/// Collects faults in order.
struct Faults {
    /// What the walk found and no section took yet.
    pending: Vec<Finding>,
    /// Paths whose value was left out: what seems to be missing there is not.
    unread: Vec<String>,
    found: Vec<FieldError>,
}

impl Faults {
    fn new(findings: Vec<Finding>) -> Self {
        let unread = findings
            .iter()
            .filter(|finding| finding.shape)
            .map(|finding| finding.fault.path.clone())
            .collect();
        Faults {
            pending: findings,
            unread,
            found: Vec::new(),
        }
    }

    /// Reports what the walk found at `path` and below.
    fn take(&mut self, path: &str) {
        let (taken, pending) = std::mem::take(&mut self.pending)
            .into_iter()
            .partition(|finding| is_at_or_below(&finding.fault.path, path));
        self.pending = pending;
        let taken: Vec<Finding> = taken;
        for finding in taken {
            if finding.shape {
                self.insert(finding.fault);
            } else {
                self.push(finding.fault);
            }
        }
    }

    /// Reports a fault, unless it only follows from a value that could not be read: at the path or above it, or below
    /// it where something is said to be missing.
    fn push(&mut self, fault: FieldError) {
        let follows = self.unread.iter().any(|unread| {
            is_at_or_below(&fault.path, unread)
                || fault.kind == FaultKind::Required && is_at_or_below(unread, &fault.path)
        });
        if !follows {
            self.insert(fault);
        }
    }

    fn insert(&mut self, fault: FieldError) {
        if !self
            .found
            .iter()
            .any(|known| known.path == fault.path && known.kind == fault.kind)
        {
            self.found.push(fault);
        }
    }
}

/// Children carry the name, so it must fit them; while it is still to be generated, its prefix must.
fn check_name(metadata: &ObjectMeta, faults: &mut Faults) {
    let given = |name: &Option<String>| name.clone().filter(|name| !name.is_empty());
    let (path, name, verdict) = match (given(&metadata.name), given(&metadata.generate_name)) {
        (Some(name), _) => ("metadata.name", name.clone(), check_engine_name(&name)),
        (None, Some(prefix)) => ("metadata.generateName", prefix.clone(), check_generate_name(&prefix)),
        (None, None) => {
            faults.push(FieldError::required(
                "metadata.name",
                "name or generateName must be set",
            ));
            return;
        }
    };
    if let Err(expected) = verdict {
        faults.push(FieldError::invalid(path, quote(&name), expected));
    }
}

fn check_coordinator(spec: &LMCacheCoordinatorSpec, faults: &mut Faults) {
    images::check("spec.image", spec.image.as_ref(), faults);
    images::check_release("spec.release", spec.release.as_deref(), faults);
    resources::check(spec.resource_overrides.as_ref(), faults);
    pods::check_interval(spec.prometheus.as_ref(), faults);
}
