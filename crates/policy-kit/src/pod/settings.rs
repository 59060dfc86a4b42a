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

/// Which arguments CacheBlend sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CacheblendArguments {
    /// All that the Go operator set until July 2026.
    #[default]
    Full,
    /// The shorter list of its newest state: attention backend, block size and async scheduling stay the user's.
    Minimal,
}

/// What a policy that does several things does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steps {
    /// Wires Pods to LMCacheEngines.
    pub connection: bool,
    /// Stages the payload of LMCacheEngines.
    pub staging: bool,
    /// Wires Pods to CacheBlendEngines.
    pub cacheblend: bool,
}

/// Words of the setting `steps`: the policies that do one step each.
const STEPS: [&str; 3] = ["connection-injection", "payload-staging", "cacheblend-injection"];

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
    /// `cacheblendArguments`, only where a policy wires to CacheBlendEngines.
    pub cacheblend_arguments: CacheblendArguments,
    /// `steps`, only where a policy does several; all of them by default.
    pub steps: Steps,
}

/// The settings that not every policy has. A policy refuses a key that would have no effect in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum More {
    Nothing,
    Arguments,
    ArgumentsAndSteps,
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
            cacheblend_arguments: CacheblendArguments::default(),
            steps: Steps {
                connection: true,
                staging: true,
                cacheblend: true,
            },
        }
    }
}

impl Settings {
    /// Reads the settings that all policies have which wire Pods, as the user wrote them.
    ///
    /// # Errors
    /// Every complaint, sorted, in one text.
    pub fn read(json: &str) -> Result<Self, String> {
        Self::read_with(json, More::Nothing)
    }

    /// Likewise, and `cacheblendArguments`.
    ///
    /// # Errors
    /// Every complaint, sorted, in one text.
    pub fn read_cacheblend(json: &str) -> Result<Self, String> {
        Self::read_with(json, More::Arguments)
    }

    /// Likewise, and `steps`.
    ///
    /// # Errors
    /// Every complaint, sorted, in one text.
    pub fn read_all(json: &str) -> Result<Self, String> {
        Self::read_with(json, More::ArgumentsAndSteps)
    }

    fn read_with(json: &str, more: More) -> Result<Self, String> {
        let mut reader = Reader::new(json);
        let defaults = Self::default();
        let mut settings = Self {
            command_override: reader.choice("commandOverride").unwrap_or_default(),
            pod_security: reader.choice("podSecurity").unwrap_or_default(),
            compatibility: reader.choice("compatibility").unwrap_or_default(),
            ipc_default: reader.choice("ipcDefault").unwrap_or(defaults.ipc_default),
            on_missing_engine: reader.choice("onMissingEngine").unwrap_or_default(),
            on_unavailable: reader.choice("onUnavailable").unwrap_or_default(),
            opt_in: reader.choice("optIn").unwrap_or_default(),
            allowed_engine_namespaces: reader.texts("allowedEngineNamespaces", namespace).unwrap_or_default(),
            cluster_domain: reader.text("clusterDomain", domain).unwrap_or(defaults.cluster_domain),
            cacheblend_arguments: defaults.cacheblend_arguments,
            steps: defaults.steps,
        };
        if more != More::Nothing {
            settings.cacheblend_arguments = reader.choice("cacheblendArguments").unwrap_or_default();
        }
        if more == More::ArgumentsAndSteps
            && let Some(words) = reader.texts("steps", step)
        {
            let named = |step: &str| words.iter().any(|word| word == step);
            let [connection, staging, cacheblend] = STEPS.map(named);
            settings.steps = Steps {
                connection,
                staging,
                cacheblend,
            };
            if words.is_empty() {
                reader.complain("steps: expected at least one step, found an empty list".to_owned());
            }
        }
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

fn step(text: &str) -> Result<(), &'static str> {
    if STEPS.contains(&text) {
        Ok(())
    } else {
        Err("one of connection-injection, payload-staging, cacheblend-injection")
    }
}

pub(crate) fn domain(text: &str) -> Result<(), &'static str> {
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

impl Choice for CacheblendArguments {
    const CHOICES: &'static [(&'static str, Self)] = &[("Full", Self::Full), ("Minimal", Self::Minimal)];
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
    fn every_policy_knows_its_own_settings_only() {
        let arguments = r#"{"cacheblendArguments":"Minimal"}"#;
        assert!(
            Settings::read(arguments)
                .unwrap_err()
                .contains("cacheblendArguments: unknown setting")
        );
        for read in [Settings::read_cacheblend, Settings::read_all] {
            assert_eq!(
                read(arguments).unwrap().cacheblend_arguments,
                CacheblendArguments::Minimal
            );
        }
        let steps = r#"{"steps":["payload-staging","payload-staging"]}"#;
        for read in [Settings::read, Settings::read_cacheblend] {
            assert!(read(steps).unwrap_err().contains("steps: unknown setting"));
        }
        let only_staging = Steps {
            connection: false,
            staging: true,
            cacheblend: false,
        };
        assert_eq!(Settings::read_all(steps).unwrap().steps, only_staging);
        for (bad, complaint) in [
            (r#"{"steps":[]}"#, "steps: expected at least one step"),
            (
                r#"{"steps":["staging"]}"#,
                "steps[0]: expected one of connection-injection",
            ),
            (r#"{"steps":"payload-staging"}"#, "steps: expected a list of texts"),
        ] {
            assert!(Settings::read_all(bad).unwrap_err().contains(complaint), "{bad}");
        }
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
