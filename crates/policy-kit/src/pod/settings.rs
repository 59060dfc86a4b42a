//! The settings of the policies that wire Pods.

use crate::settings::{Choice, Reader};
use lmcache_api::IpcMode;
use lmcache_api::names::check_label;

/// What to do with a Pod where two answers are possible: let it through unwired, or refuse it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Admission {
    /// Admit the Pod unwired, with the reason on it.
    #[default]
    Admit,
    /// Refuse the Pod; the controller that creates it tries again.
    Deny,
}

/// What to do where wiring would do harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strictness {
    /// Do not wire, give the reason.
    #[default]
    Skip,
    /// Wire, and warn.
    Warn,
    /// Do not look.
    Off,
}

/// What to do with a container that overrides the image's command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CommandOverride {
    /// Wire it where the command is known to hand its arguments on to vLLM.
    #[default]
    Wire,
    /// Never wire it, as the Go operator does.
    Skip,
}

/// How a Pod asks for wiring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OptIn {
    /// By the label, together with the engine annotation.
    #[default]
    Label,
    /// By the engine annotation alone, for stacks that cannot set Pod labels.
    Annotation,
}

/// Settings of a policy that wires Pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `commandOverride`
    pub command_override: CommandOverride,
    /// `podSecurity`: what a namespace that enforces `baseline` or `restricted` does to wiring that needs host IPC.
    pub pod_security: Strictness,
    /// `compatibility`: what known-bad combinations of releases do.
    pub compatibility: Strictness,
    /// `ipcDefault`: the mode of engines that say nothing about it. Must equal the controller's.
    pub ipc_default: IpcMode,
    /// `onMissingEngine`
    pub on_missing_engine: Admission,
    /// `onUnavailable`
    pub on_unavailable: Admission,
    /// `optIn`
    pub opt_in: OptIn,
    /// `allowedEngineNamespaces`: namespaces whose engines Pods of other namespaces may use; `*` allows all.
    pub allowed_engine_namespaces: Vec<String>,
    /// `clusterDomain`: DNS domain of the cluster. Must equal the controller's.
    pub cluster_domain: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            command_override: CommandOverride::default(),
            pod_security: Strictness::default(),
            compatibility: Strictness::default(),
            ipc_default: IpcMode::HostIPC,
            on_missing_engine: Admission::default(),
            on_unavailable: Admission::default(),
            opt_in: OptIn::default(),
            allowed_engine_namespaces: Vec::new(),
            cluster_domain: "cluster.local".to_owned(),
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
        let settings = Self {
            command_override: reader.choice("commandOverride").unwrap_or_default(),
            pod_security: reader.choice("podSecurity").unwrap_or_default(),
            compatibility: reader.choice("compatibility").unwrap_or_default(),
            ipc_default: reader.choice("ipcDefault").unwrap_or(defaults.ipc_default),
            on_missing_engine: reader.choice("onMissingEngine").unwrap_or_default(),
            on_unavailable: reader.choice("onUnavailable").unwrap_or_default(),
            opt_in: reader.choice("optIn").unwrap_or_default(),
            allowed_engine_namespaces: reader.texts("allowedEngineNamespaces", namespace).unwrap_or_default(),
            cluster_domain: reader.text("clusterDomain", domain).unwrap_or(defaults.cluster_domain),
        };
        reader.finish(settings)
    }

    /// May a Pod use an engine of the foreign namespace `namespace`?
    pub fn allows_engine_namespace(&self, namespace: &str) -> bool {
        self.allowed_engine_namespaces
            .iter()
            .any(|allowed| allowed == "*" || allowed == namespace)
    }
}

fn namespace(text: &str) -> Result<(), &'static str> {
    if text == "*" || check_label(text).is_ok() {
        Ok(())
    } else {
        Err("the name of a namespace, or *")
    }
}

fn domain(text: &str) -> Result<(), &'static str> {
    let valid = text.len() <= 253 && text.split('.').all(|label| check_label(label).is_ok());
    if valid {
        Ok(())
    } else {
        Err("a DNS domain such as cluster.local")
    }
}

impl Choice for Admission {
    const CHOICES: &'static [(&'static str, Self)] = &[("Admit", Self::Admit), ("Deny", Self::Deny)];
}

impl Choice for Strictness {
    const CHOICES: &'static [(&'static str, Self)] = &[("Skip", Self::Skip), ("Warn", Self::Warn), ("Off", Self::Off)];
}

impl Choice for CommandOverride {
    const CHOICES: &'static [(&'static str, Self)] = &[("Wire", Self::Wire), ("Skip", Self::Skip)];
}

impl Choice for OptIn {
    const CHOICES: &'static [(&'static str, Self)] = &[("Label", Self::Label), ("Annotation", Self::Annotation)];
}

impl Choice for IpcMode {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("HostIPC", Self::HostIPC),
        ("HostShm", Self::HostShm),
        ("Isolated", Self::Isolated),
    ];
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn every_setting_is_read() {
        let settings = Settings::read(
            r#"{"commandOverride":"Skip","podSecurity":"Warn","compatibility":"Off","ipcDefault":"Isolated",
                "onMissingEngine":"Deny","onUnavailable":"Deny","optIn":"Annotation",
                "allowedEngineNamespaces":["cache","*"],"clusterDomain":"k8s.example"}"#,
        )
        .unwrap();
        assert_eq!(settings.command_override, CommandOverride::Skip);
        assert_eq!(
            (settings.pod_security, settings.compatibility),
            (Strictness::Warn, Strictness::Off)
        );
        assert_eq!(settings.ipc_default, IpcMode::Isolated);
        assert_eq!(
            (settings.on_missing_engine, settings.on_unavailable),
            (Admission::Deny, Admission::Deny)
        );
        assert_eq!(settings.opt_in, OptIn::Annotation);
        assert!(settings.allows_engine_namespace("anything"));
        assert_eq!(settings.cluster_domain, "k8s.example");
    }

    #[test]
    fn defaults() {
        assert_eq!(Settings::read("{}").unwrap(), Settings::default());
        assert!(!Settings::default().allows_engine_namespace("other"));
    }

    #[test]
    fn bad_values_are_named() {
        let error = Settings::read(
            r#"{"optIn":"label","clusterDomain":"A b","allowedEngineNamespaces":["Up"],"ipcdefault":"HostIPC"}"#,
        )
        .unwrap_err();
        for text in [
            "optIn: expected one of Label, Annotation, found \"label\"",
            "clusterDomain: expected a DNS domain such as cluster.local, found \"A b\"",
            "allowedEngineNamespaces[0]: expected the name of a namespace, or *, found \"Up\"",
            "ipcdefault: unknown setting",
        ] {
            assert!(error.contains(text), "{error}");
        }
    }
}
