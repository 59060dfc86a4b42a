//! The Lease that is written, as client-go writes it: `kubectl get lease` and other people's tools read it.

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};

use super::decide::Timing;

/// A new Lease that `me` holds.
pub fn create(name: &str, me: &str, timing: &Timing, now: Timestamp) -> Lease {
    Lease {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            lease_transitions: Some(0),
            ..held(LeaseSpec::default(), me, timing, now)
        }),
    }
}

/// The same Lease with a new holder. It keeps its `resourceVersion`, so the write fails if anybody else wrote since.
pub fn take(lease: &Lease, me: &str, timing: &Timing, now: Timestamp) -> Lease {
    change(lease, |spec| LeaseSpec {
        lease_transitions: Some(spec.lease_transitions.unwrap_or(0).saturating_add(1)),
        ..held(spec, me, timing, now)
    })
}

/// The same Lease, renewed by its holder; likewise.
pub fn renew(lease: &Lease, timing: &Timing, now: Timestamp) -> Lease {
    change(lease, |spec| LeaseSpec {
        lease_duration_seconds: Some(seconds(timing)),
        renew_time: Some(MicroTime(now)),
        ..spec
    })
}

/// The same Lease, given back; likewise. One second is the shortest duration that the API takes.
pub fn release(lease: &Lease, now: Timestamp) -> Lease {
    change(lease, |spec| LeaseSpec {
        holder_identity: Some(String::new()),
        lease_duration_seconds: Some(1),
        acquire_time: Some(MicroTime(now)),
        renew_time: Some(MicroTime(now)),
        ..spec
    })
}

fn change(lease: &Lease, change: impl FnOnce(LeaseSpec) -> LeaseSpec) -> Lease {
    let mut lease = lease.clone();
    lease.spec = Some(change(lease.spec.unwrap_or_default()));
    lease
}

fn held(spec: LeaseSpec, me: &str, timing: &Timing, now: Timestamp) -> LeaseSpec {
    LeaseSpec {
        holder_identity: Some(me.to_owned()),
        lease_duration_seconds: Some(seconds(timing)),
        acquire_time: Some(MicroTime(now)),
        renew_time: Some(MicroTime(now)),
        ..spec
    }
}

fn seconds(timing: &Timing) -> i32 {
    i32::try_from(timing.duration.as_secs()).unwrap_or(i32::MAX)
}
