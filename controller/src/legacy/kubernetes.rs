//! The types of Kubernetes (v1.35) that a spec passes through, as far as the Go operator's CRDs and its compiled types know
//! them: what is not here was pruned from the spec, or dropped when the operator read it.

mod claim;
mod container;
mod env;
mod projected;
mod scheduling;
mod volume;

pub(super) use container::{CONTAINER, RESOURCE_REQUIREMENTS, VOLUME_MOUNT};
pub(super) use env::{ENV_VAR, LOCAL_OBJECT_REFERENCE};
pub(super) use scheduling::{AFFINITY, TOLERATION};
pub(super) use volume::VOLUME;
