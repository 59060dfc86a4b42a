//! What admission knows and the parser does not: the released code was seen (or read) to fail or to err only once it
//! serves. Everything that is not listed here must be refused by the real parser, or accepted.

use lmcache_api::{FieldError, Release};

/// A rule that the parser cannot confirm.
pub struct Exception {
    /// For the report.
    pub name: &'static str,
    /// What the started process does instead of refusing the line.
    pub reason: &'static str,
    covers: Covers,
}

enum Covers {
    /// Faults at paths that begin and go on like this, in releases before that one.
    Faults(&'static [&'static str], Release),
    /// Warnings with this text.
    Warnings(&'static str),
}

const fn release(major: u32, minor: u32, patch: u32) -> Release {
    Release { major, minor, patch }
}

const SERDE: &[&str] = &["spec.l2Backend.serde", "spec.l2Backend.raw.config.serde"];

/// The list.
pub static EXCEPTIONS: &[Exception] = &[
    Exception {
        name: "serde before 0.4.5",
        reason: "the key is ignored without a word, and the data is stored as it is",
        covers: Covers::Faults(SERDE, release(0, 4, 5)),
    },
    Exception {
        name: "serde of a type that comes later",
        reason: "the type is looked up when the adapter is made: the process ends with exit 3",
        covers: Covers::Faults(SERDE, release(0, 5, 3)),
    },
    Exception {
        name: "Prometheus port taken, up to 0.4.4",
        reason: "the port is bound when the metrics server starts: the process ends with exit 3",
        covers: Covers::Faults(&["spec.prometheus.port"], release(0, 4, 5)),
    },
    Exception {
        name: "--metrics-sample-rate",
        reason: "checked when the metrics are set up",
        covers: Covers::Warnings("--metrics-sample-rate must be"),
    },
    Exception {
        name: "--kv-event-log-size",
        reason: "checked when the log of events is made",
        covers: Covers::Warnings("--kv-event-log-size must be"),
    },
];

impl Exception {
    /// Whether it is about faults; else it is about warnings.
    pub const fn is_of_faults(&self) -> bool {
        matches!(self.covers, Covers::Faults(..))
    }
}

/// The exception for a fault that a release causes.
pub fn of_fault(release: Release, fault: &FieldError) -> Option<&'static Exception> {
    EXCEPTIONS.iter().find(|exception| match &exception.covers {
        Covers::Faults(paths, before) => release < *before && paths.iter().any(|path| fault.path.starts_with(path)),
        Covers::Warnings(_) => false,
    })
}

/// Texts in warnings about what starts, but hardly as it was meant.
const HARMLESS: &[&str] = &[
    "LMCACHE_RESP_PASSWORD in clear",
    "readOnlyRootFilesystem",
    "is reached from inside the Pod only",
    "which two servers of a node take from each other",
    "password, which stands in the arguments",
    "stands in the arguments of the server's Pods",
];

/// Whether a warning says that the process does not start.
pub fn foretells_refusal(warning: &str) -> bool {
    let late = EXCEPTIONS.iter().any(|exception| match exception.covers {
        Covers::Warnings(text) => warning.contains(text),
        Covers::Faults(..) => false,
    });
    !late && !HARMLESS.iter().any(|text| warning.contains(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_ends_with_its_releases() {
        let fault = |path: &str| FieldError::required(path, "");
        let name = |release, path| of_fault(release, &fault(path)).map(|exception| exception.name);
        let serde = "spec.l2Backend.serde.aesgcm";
        assert_eq!(name(release(0, 4, 4), serde), Some("serde before 0.4.5"));
        assert_eq!(name(release(0, 4, 5), serde), Some("serde of a type that comes later"));
        assert_eq!(name(release(0, 5, 3), serde), None);
        assert_eq!(name(release(0, 4, 4), "spec.l2Backend.raw.type"), None);
    }

    #[test]
    fn a_warning_foretells_a_refusal_unless_it_is_listed() {
        assert!(foretells_refusal("spec.extraArgs[0] \"--x\" is no flag of LMCache 0.5.6"));
        assert!(!foretells_refusal("spec.extraArgs[0] --metrics-sample-rate must be greater than 0"));
        assert!(!foretells_refusal("spec.extraArgs[0] --host 127.0.0.1 is reached from inside the Pod only: no client"));
    }
}
