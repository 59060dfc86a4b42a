//! What comes out of the checks.

use std::fmt;

/// HTTP status of a refusal: the Pod is understood, but what it says is not right.
const UNPROCESSABLE: u16 = 422;
/// HTTP status where nobody could tell: the same request may succeed later.
const UNAVAILABLE: u16 = 503;

/// One thing that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where in the Pod.
    pub path: String,
    /// What is there, and what should be.
    pub text: String,
}

impl Finding {
    pub(super) fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            text: text.into(),
        }
    }

    pub(super) fn annotation(key: &str, text: impl Into<String>) -> Self {
        Self::new(format!("metadata.annotations[{key}]"), text)
    }

    pub(super) fn label(key: &str, text: impl Into<String>) -> Self {
        Self::new(format!("metadata.labels[{key}]"), text)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.text)
    }
}

/// The verdict on a request. It starts as: none of our business.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Something of the request was judged.
    pub concerned: bool,
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// What could not be judged because a look-up failed. Comes first: whether the rest is wrong can wait until then.
    pub retry: Vec<Finding>,
    /// The findings are about a Pod that exists: they are a report, not a refusal.
    pub reports: bool,
    /// What to do, lines behind the findings.
    pub advice: Vec<&'static str>,
    /// One word for logs: of the first finding, or of what kept a check from being made.
    pub reason: &'static str,
    /// The engine it is about, `namespace/name`; empty where none is named.
    pub engine: String,
    /// One sentence each.
    pub warnings: Vec<String>,
    /// What the host said to a look-up that failed, for the log.
    pub host_error: Option<String>,
}

impl Verdict {
    /// Notes why, unless there is a reason already.
    pub(super) fn because(&mut self, reason: &'static str) {
        if self.reason.is_empty() {
            self.reason = reason;
        }
    }

    /// Notes what to do, once.
    pub(super) fn advise(&mut self, advice: &'static str) {
        if !self.advice.contains(&advice) {
            self.advice.push(advice);
        }
    }

    /// What became of the request, one word.
    pub fn outcome(&self) -> &'static str {
        match self.refusal() {
            None => "accepted",
            Some(_) if self.reports => "reported",
            Some(_) => "refused",
        }
    }

    /// Text and HTTP status of a refusal: one finding a line, each with its path, then what to do.
    pub fn refusal(&self) -> Option<(String, u16)> {
        let (findings, advice, code) = match (self.retry.is_empty(), self.findings.is_empty()) {
            (false, _) => (&self.retry, &[][..], UNAVAILABLE),
            (true, false) => (&self.findings, self.advice.as_slice(), UNPROCESSABLE),
            (true, true) => return None,
        };
        let mut lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
        lines.extend(advice.iter().map(|&line| line.to_owned()));
        Some((lines.join("\n"), code))
    }
}
