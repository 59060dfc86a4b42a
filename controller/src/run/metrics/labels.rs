//! Values of labels. There are few of each: every new one is a new time series for as long as Prometheus keeps data.

use lmcache_api::ClientsStatus;
use policy_kit::words;

words! {
    /// What a reconcile came to.
    pub enum Outcome {
        /// Everything was as it should be; nothing was written.
        Settled = "settled",
        /// Something was written.
        Written = "written",
        /// The specification has faults; they are in the status.
        Invalid = "invalid",
        /// A step failed; the object is tried again.
        Failed = "failed",
    }
}

words! {
    /// How an object was written.
    pub enum Operation {
        /// It was not there before.
        Create = "create",
        /// It was applied.
        Apply = "apply",
        /// Its fields were taken over from another field manager.
        Takeover = "takeover",
        /// It was deleted.
        Delete = "delete",
        /// The status of a custom resource.
        Status = "status",
        /// An Event was reported.
        Event = "event",
    }
}

words! {
    /// A step of a reconcile that is about the custom resource itself. The others are about a child, and are called by its kind.
    pub enum Step {
        /// The Go operator's finalizer is taken away.
        Finalizer = "finalizer",
        /// The status is written.
        Status = "status",
    }
}

words! {
    /// How the Pods that opted in to an engine are counted.
    pub enum ClientState {
        /// Wired.
        Wired = "wired",
        /// Not wired.
        Skipped = "skipped",
        /// Wired, to where the engine no longer is.
        Drifted = "drifted",
        /// Wired, on a node without a ready server.
        Uncovered = "uncovered",
    }
}

impl ClientState {
    /// How many there are.
    pub(super) const fn of(self, counts: &ClientsStatus) -> i32 {
        match self {
            ClientState::Wired => counts.wired,
            ClientState::Skipped => counts.skipped,
            ClientState::Drifted => counts.drifted,
            ClientState::Uncovered => counts.uncovered,
        }
    }
}

/// What stands in for values that are none.
pub(super) const OTHER: &str = "other";

/// The text as the value of a label: a word of at most 63 letters, digits and `-_./`, else `other`.
pub(super) fn word(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
    if (1..=63).contains(&text.len()) && text.bytes().all(plain) {
        text.to_owned()
    } else {
        OTHER.to_owned()
    }
}
