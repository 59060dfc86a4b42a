//! What an answer of the API server means.

use std::time::Duration;

use kube::Error;

use crate::plan::Reason;

/// A request that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What kind of failure it is.
    pub reason: Reason,
    /// HTTP status; 0 where there was no answer.
    pub code: u16,
    /// What the API server said, one line, at most 1,024 bytes.
    pub message: String,
    /// The delay that it asked for.
    pub after: Option<Duration>,
    /// Whether nothing is served at that address: the kind is not installed. Where only an object is missing, the answer
    /// names it.
    pub is_unserved: bool,
}

impl Fault {
    /// No answer within the time that a request may take.
    pub fn timeout(limit: Duration) -> Self {
        Fault {
            reason: Reason::Unavailable,
            code: 0,
            message: format!("no answer of the API server within {} s", limit.as_secs()),
            after: None,
            is_unserved: false,
        }
    }

    /// The same of a JSON patch that tests what it changes: such a test that fails is answered like an invalid object.
    pub(super) fn of_tested_patch(mut self) -> Self {
        if self.code == 422 {
            self.reason = Reason::Conflict;
        }
        self
    }
}

/// Sorts an error. Every answer has a reason; one that is new counts as the API server's trouble, which passes.
pub fn fault(error: &Error) -> Fault {
    let Error::Api(status) = error else {
        return Fault {
            reason: Reason::Unavailable,
            code: 0,
            message: one_line(&chain(error)),
            after: None,
            is_unserved: false,
        };
    };
    let reason = match status.code {
        401 | 403 => Reason::Forbidden,
        400 | 405 | 406 | 413 | 415 | 422 => Reason::Rejected,
        404 | 409 | 410 | 412 => Reason::Conflict,
        _ => Reason::Unavailable,
    };
    let after = status.details.as_ref().map(|details| details.retry_after_seconds);
    let message = if status.message.is_empty() {
        format!("status {} without a message", status.code)
    } else {
        one_line(&status.message)
    };
    Fault {
        reason,
        code: status.code,
        message,
        after: after
            .filter(|seconds| *seconds > 0)
            .map(|seconds| Duration::from_secs(seconds.into())),
        is_unserved: status.code == 404 && status.details.is_none(),
    }
}

/// An error with its causes: what failed is often said by the last one alone.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

/// Conditions and Events hold no more than a few lines.
fn one_line(text: &str) -> String {
    const LONGEST: usize = 1024;
    let mut line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|end| line.is_char_boundary(*end)).unwrap_or(0);
        line.truncate(end);
        line.push_str("...");
    }
    line
}
