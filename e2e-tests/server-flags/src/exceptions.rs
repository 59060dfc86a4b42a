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
    /// Faults at paths that begin like this, in releases before that one; `None`: in all.
    Faults(&'static [&'static str], Option<Release>),
    /// Warnings with one of these texts.
    Warnings(&'static [&'static str]),
}

const fn before(major: u32, minor: u32, patch: u32) -> Option<Release> {
    Some(Release { major, minor, patch })
}

const SERDE: &[&str] = &["spec.l2Backend.serde", "spec.l2Backend.raw.config.serde"];

/// The list.
pub static EXCEPTIONS: &[Exception] = &[
    Exception {
        name: "serde before 0.4.5",
        reason: "the key is ignored without a word, and the data is stored as it is",
        covers: Covers::Faults(SERDE, before(0, 4, 5)),
    },
    Exception {
        name: "serde of a type that comes later",
        reason: "the type is looked up when the adapter is made: the process ends with exit 3",
        covers: Covers::Faults(SERDE, before(0, 5, 3)),
    },
    Exception {
        name: "Prometheus port taken, up to 0.4.4",
        reason: "the port is bound when the metrics server starts: the process ends with exit 3",
        covers: Covers::Faults(&["spec.prometheus.port"], before(0, 4, 5)),
    },
    Exception {
        name: "nixl_store_dynamic without a capacity or a folder",
        reason: "looked at when the adapter is made: the process ends with exit 3",
        covers: Covers::Faults(&["spec.l2Backend.raw.config.backend_params."], None),
    },
    Exception {
        name: "serde that is ignored or unknown",
        reason: "as above, where it is only warned about",
        covers: Covers::Warnings(&["--l2-adapter .serde", "spec.l2Backend.raw.config.serde"]),
    },
    Exception {
        name: "--metrics-sample-rate",
        reason: "checked when the metrics are set up",
        covers: Covers::Warnings(&["--metrics-sample-rate must be"]),
    },
    Exception {
        name: "--kv-event-log-size",
        reason: "checked when the log of events is made",
        covers: Covers::Warnings(&["--kv-event-log-size must be"]),
    },
    Exception {
        name: "--enable",
        reason: "the names are looked up when the server is made",
        covers: Covers::Warnings(&["is nothing that --enable switches on"]),
    },
    Exception {
        name: "transfer mode of a server that blends",
        reason: "checked when the server is made",
        covers: Covers::Warnings(&["leaves the memory to the client"]),
    },
];

/// The exception for a fault that a release causes.
pub fn of_fault(release: Release, fault: &FieldError) -> Option<&'static Exception> {
    EXCEPTIONS.iter().find(|exception| match &exception.covers {
        Covers::Faults(paths, before) => {
            before.is_none_or(|before| release < before) && paths.iter().any(|path| fault.path.starts_with(path))
        }
        Covers::Warnings(_) => false,
    })
}

/// The exception for a warning that the process does not start.
pub fn of_warning(warning: &str) -> Option<&'static Exception> {
    EXCEPTIONS.iter().find(|exception| match exception.covers {
        Covers::Warnings(texts) => texts.iter().any(|text| warning.contains(text)),
        Covers::Faults(..) => false,
    })
}

/// Texts in warnings about what starts, but hardly as it was meant. A new warning of that sort belongs here.
const HARMLESS: &[&str] = &[
    "LMCACHE_RESP_PASSWORD in clear",
    "readOnlyRootFilesystem",
    "maxCapacityGB bounds nothing",
    "comes from a Secret",
    "the tag of LMCache's image says",
    "is no release of LMCache",
    "stores the data unencrypted",
    "serves no metrics",
    "is reached from inside the Pod only",
    "which two servers of a node take from each other",
    "password, which stands in the arguments",
    "stands in the arguments of the server's Pods",
];

/// Whether a warning says that the parser will refuse the line.
pub fn foretells_refusal(warning: &str) -> bool {
    of_warning(warning).is_none() && !HARMLESS.iter().any(|text| warning.contains(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_ends_with_its_releases() {
        let fault = |path: &str| FieldError::required(path, "");
        let name = |minor, patch, path| {
            let release = Release { major: 0, minor, patch };
            of_fault(release, &fault(path)).map(|exception| exception.name)
        };
        let serde = "spec.l2Backend.serde.aesgcm";
        assert_eq!(name(4, 4, serde), Some("serde before 0.4.5"));
        assert_eq!(name(4, 5, serde), Some("serde of a type that comes later"));
        assert_eq!(name(5, 3, serde), None);
        assert_eq!(name(4, 4, "spec.l2Backend.raw.type"), None);
    }

    #[test]
    fn a_warning_foretells_a_refusal_unless_it_is_listed() {
        assert!(foretells_refusal(
            "spec.extraArgs[0] \"--x\" is no flag of LMCache 0.5.6"
        ));
        assert!(!foretells_refusal(
            "spec.extraArgs[0] --metrics-sample-rate must be greater than 0"
        ));
        assert!(!foretells_refusal(
            "spec.extraArgs[0] --host 127.0.0.1 is reached from inside the Pod only: no client"
        ));
    }
}
