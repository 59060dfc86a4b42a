//! Values of labels. There are few of each: every new one is a new time series for as long as Prometheus keeps data.

/// What a reconcile came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Everything was as it should be; nothing was written.
    Settled,
    /// Something was written.
    Written,
    /// The specification has faults; they are in the status.
    Invalid,
    /// A step failed; the object is tried again.
    Failed,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Outcome; 4] = [Outcome::Settled, Outcome::Written, Outcome::Invalid, Outcome::Failed];

    /// The value of the label `result`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Outcome::Settled => "settled",
            Outcome::Written => "written",
            Outcome::Invalid => "invalid",
            Outcome::Failed => "failed",
        }
    }
}

/// How an object was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// It was not there before.
    Create,
    /// It was applied.
    Apply,
    /// Its fields were taken over from another field manager.
    Takeover,
    /// It was deleted.
    Delete,
    /// The status of a custom resource.
    Status,
    /// An Event was reported.
    Event,
}

impl Operation {
    /// All of them.
    pub const ALL: [Operation; 6] = [
        Operation::Create,
        Operation::Apply,
        Operation::Takeover,
        Operation::Delete,
        Operation::Status,
        Operation::Event,
    ];

    /// The value of the label `operation`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Operation::Create => "create",
            Operation::Apply => "apply",
            Operation::Takeover => "takeover",
            Operation::Delete => "delete",
            Operation::Status => "status",
            Operation::Event => "event",
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
