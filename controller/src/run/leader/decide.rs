//! Who leads: what a replica does about the Lease that it sees. No clock is read and nothing is requested here.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use tokio::time::Instant;

/// The times of an election. `deadline` has to be shorter than `duration` by more than the clocks of two machines drift
/// apart in that time, and longer than a few `retry`s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// How long after its last renewal a Lease is left to its holder.
    pub duration: Duration,
    /// How long after its last renewal the holder still acts as the leader.
    pub deadline: Duration,
    /// Time between two attempts to take or renew the Lease.
    pub retry: Duration,
}

impl Timing {
    /// What client-go recommends and Kubernetes' own components use.
    pub const DEFAULT: Timing = Timing {
        duration: Duration::from_secs(15),
        deadline: Duration::from_secs(10),
        retry: Duration::from_secs(2),
    };

    /// How long one request may take: two fit before the deadline.
    pub fn request(&self) -> Duration {
        self.deadline / 2
    }
}

/// The Lease as it was seen last, and since when it has been saying so.
///
/// Clocks of machines differ, so `renewTime` is not compared with ours: a holder is alive as long as we see the Lease
/// change, measured by our own monotonic clock.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The newest version of the object.
    pub lease: Lease,
    /// When its `spec` was first seen to be what it is.
    pub since: Instant,
}

impl Seen {
    /// What is known after the Lease was read, or written, at `now`.
    pub fn next(before: Option<Seen>, lease: Lease, now: Instant) -> Seen {
        let since = match before {
            // An edited label is no sign of life.
            Some(before) if before.lease.spec == lease.spec && before.lease.metadata.uid == lease.metadata.uid => {
                before.since
            }
            _ => now,
        };
        Seen { lease, since }
    }

    /// The holder; `None` where the Lease was given back.
    pub fn holder(&self) -> Option<&str> {
        spec(&self.lease)
            .and_then(|spec| spec.holder_identity.as_deref())
            .filter(|holder| !holder.is_empty())
    }

    /// Whether the holder has let its time pass. The holder's own duration counts; ours where it names none.
    fn expired(&self, timing: &Timing, now: Instant) -> bool {
        let seconds = spec(&self.lease).and_then(|spec| spec.lease_duration_seconds);
        let duration = seconds
            .and_then(|seconds| u64::try_from(seconds).ok())
            .filter(|seconds| *seconds > 0)
            .map_or(timing.duration, Duration::from_secs);
        now.duration_since(self.since) >= duration
    }
}

fn spec(lease: &Lease) -> Option<&LeaseSpec> {
    lease.spec.as_ref()
}

/// What a replica takes itself for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Would like to lead.
    Candidate,
    /// Leads.
    Leader {
        /// When the last renewal that succeeded was sent off. From then on, not from the answer, the others count.
        renewed: Instant,
    },
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Create the Lease, with ourselves as the holder.
    Create,
    /// Become the holder of a Lease that is free.
    Take,
    /// Say that we are still there. A candidate that finds itself as the holder goes on as such: it is the same Pod after
    /// a restart of its container.
    Renew,
    /// Leave it alone for now.
    Wait,
    /// Stop to act as the leader, at once.
    Lose(Lost),
}

/// Why a leader is none any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// Others may take the Lease soon.
    #[error("the Lease could not be renewed in time")]
    NotRenewed,
    /// Somebody else is the holder, or (with an empty name) somebody took the Lease from us.
    #[error("the Lease is now held by {0:?}")]
    TakenBy(String),
}

/// What `me` does about the Lease; `None` where there is none.
pub fn decide(seen: Option<&Seen>, me: &str, role: Role, timing: &Timing, now: Instant) -> Action {
    if let Role::Leader { renewed } = role
        && now.duration_since(renewed) >= timing.deadline
    {
        return Action::Lose(Lost::NotRenewed);
    }
    let Some(seen) = seen else {
        return Action::Create;
    };
    match (seen.holder(), role) {
        (Some(holder), _) if holder == me => Action::Renew,
        (holder, Role::Leader { .. }) => Action::Lose(Lost::TakenBy(holder.unwrap_or_default().to_owned())),
        (None, Role::Candidate) => Action::Take,
        (Some(_), Role::Candidate) if seen.expired(timing, now) => Action::Take,
        (Some(_), Role::Candidate) => Action::Wait,
    }
}
