//! The settings of the policy that guards stamps.

use crate::pod::OptIn;
use crate::settings::{Choice, Reader};
use lmcache_api::IpcMode;

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// On CREATE: a stamp needs the wiring it claims.
    Stamps,
    /// On UPDATE: our labels and annotations stay as they are.
    Keys,
    /// On CREATE, and in the audit scanner's replays: the Pod agrees with its engine, and some policy saw it.
    Wiring,
}

/// What a memory volume over `/dev/shm` does that hides the host's from a wired container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SharedMemory {
    /// The Pod is admitted with a warning.
    #[default]
    Warn,
    /// The Pod is refused.
    Deny,
}

/// Settings of the policy `injection-guard`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `checks`; by default those that need no audit: `Stamps` and `Keys`.
    pub checks: Vec<Check>,
    /// `sharedMemory`
    pub shared_memory: SharedMemory,
    /// `optIn`: how Pods ask for wiring, for `Wiring`. Must equal that of the policies that wire Pods.
    pub opt_in: OptIn,
    /// `ipcDefault`: the mode of engines that say nothing about it. Must equal the controller's.
    pub ipc_default: IpcMode,
    /// `clusterDomain`: DNS domain of the cluster. Must equal the controller's.
    pub cluster_domain: String,
}

impl Default for Settings {
    fn default() -> Self {
        let shared = crate::pod::Settings::default();
        Self {
            checks: vec![Check::Stamps, Check::Keys],
            shared_memory: SharedMemory::default(),
            opt_in: shared.opt_in,
            ipc_default: shared.ipc_default,
            cluster_domain: shared.cluster_domain,
        }
    }
}

impl Settings {
    /// Reads the settings as the user wrote them.
    ///
    /// # Errors
    /// Every complaint, sorted, in one text.
    pub fn read(json: &str) -> Result<Self, String> {
        let mut reader = Reader::new(json);
        let defaults = Self::default();
        let words = reader.texts("checks", check);
        if words.as_ref().is_some_and(Vec::is_empty) {
            reader.complain("checks: expected at least one check, found an empty list".to_owned());
        }
        let checks = words.map(|words| words.iter().filter_map(|word| Check::from_word(word)).collect());
        let settings = Self {
            checks: checks.unwrap_or(defaults.checks),
            shared_memory: reader.choice("sharedMemory").unwrap_or_default(),
            opt_in: reader.choice("optIn").unwrap_or_default(),
            ipc_default: reader.choice("ipcDefault").unwrap_or(defaults.ipc_default),
            cluster_domain: reader
                .text("clusterDomain", crate::pod::domain)
                .unwrap_or(defaults.cluster_domain),
        };
        reader.finish(settings)
    }

    /// Is this looked at?
    pub fn checks(&self, check: Check) -> bool {
        self.checks.contains(&check)
    }
}

fn check(text: &str) -> Result<(), &'static str> {
    match Check::from_word(text) {
        Some(_) => Ok(()),
        None => Err("one of Stamps, Keys, Wiring"),
    }
}

impl Choice for Check {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("Stamps", Self::Stamps), ("Keys", Self::Keys), ("Wiring", Self::Wiring)];
}

impl Choice for SharedMemory {
    const CHOICES: &'static [(&'static str, Self)] = &[("Warn", Self::Warn), ("Deny", Self::Deny)];
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn every_setting_is_read() {
        let settings = Settings::read(
            r#"{"checks":["Wiring"],"sharedMemory":"Deny","optIn":"Annotation","ipcDefault":"Isolated","clusterDomain":"k8s.example"}"#,
        )
        .unwrap();
        assert!(settings.checks(Check::Wiring) && !settings.checks(Check::Stamps) && !settings.checks(Check::Keys));
        assert_eq!(settings.shared_memory, SharedMemory::Deny);
        assert_eq!(settings.opt_in, OptIn::Annotation);
        assert_eq!(settings.ipc_default, IpcMode::Isolated);
        assert_eq!(settings.cluster_domain, "k8s.example");
    }

    #[test]
    fn defaults() {
        for json in ["{}", "null", r#"{"checks":null}"#] {
            let settings = Settings::read(json).unwrap();
            assert_eq!(settings, Settings::default());
            assert!(settings.checks(Check::Stamps) && settings.checks(Check::Keys) && !settings.checks(Check::Wiring));
        }
    }

    #[test]
    fn bad_values_are_named() {
        let error = Settings::read(
            r#"{"checks":["Stamps","stamps",7],"sharedMemory":"Skip","ipcDefault":"None","clusterDomain":"A b","optIn":"label","steps":[]}"#,
        )
        .unwrap_err();
        assert_eq!(
            error.split("; ").collect::<Vec<_>>(),
            [
                "checks[1]: expected one of Stamps, Keys, Wiring, found \"stamps\"",
                "checks[2]: expected a text, found 7",
                "clusterDomain: expected a DNS domain such as cluster.local, found \"A b\"",
                "ipcDefault: expected one of HostIPC, HostShm, Isolated, found \"None\"",
                "optIn: expected one of Label, Annotation, found \"label\"",
                "sharedMemory: expected one of Warn, Deny, found \"Skip\"",
                "steps: unknown setting, known are checks, clusterDomain, ipcDefault, optIn, sharedMemory",
            ]
        );
        for (bad, complaint) in [
            (
                r#"{"checks":[]}"#,
                "checks: expected at least one check, found an empty list",
            ),
            (
                r#"{"checks":"Stamps"}"#,
                "checks: expected a list of texts, found \"Stamps\"",
            ),
            (
                r#"{"checks":["stamps"]}"#,
                "checks[0]: expected one of Stamps, Keys, Wiring, found \"stamps\"",
            ),
            ("[]", "settings: expected an object, found a list"),
        ] {
            assert_eq!(Settings::read(bad).unwrap_err(), complaint);
        }
    }
}
