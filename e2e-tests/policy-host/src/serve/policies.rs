//! The policies of the manifests, compiled and with their rights.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};

use super::review::Reviewed;
use super::webhooks::Naming;
use super::{Log, Manifest, Mode, clock};
use crate::check::module_name;
use crate::host::{HostCapabilities, LogRecord};
use crate::{AdmissionRequest, EvaluationContext, Policy};

/// How policies are run.
pub struct Options {
    /// The folder with the annotated modules, `<name>.wasm`.
    pub modules: PathBuf,
    /// Who answers their look-ups.
    pub host: Arc<dyn HostCapabilities>,
    /// Delays each look-up.
    pub host_call_delay: Duration,
    /// How many seconds the evaluation may take for policies that do not say it; policy-server's default is 2.
    pub evaluation_seconds: u32,
    /// All requests from this namespace are admitted without asking a policy: Kubewarden must be able to start itself.
    pub kubewarden_namespace: String,
    /// Whether wasmtime keeps compiled code in its cache of the user.
    pub cache: bool,
    /// Hears the log records of the policies.
    pub log: Log,
    /// Whether it hears debug records too.
    pub verbose: bool,
}

/// The policies that a server runs.
pub struct Policies {
    by_name: BTreeMap<String, Served>,
    kubewarden_namespace: String,
}

/// One policy of one manifest.
struct Served {
    policy: Policy,
    settings: Map<String, Value>,
    context: EvaluationContext,
    manifest: Manifest,
}

/// Which of policy-server's two doors a request came through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The API server, which acts on the answer.
    Validate,
    /// The audit scanner, which wants the decision of the policy as it is.
    Audit,
}

impl Policies {
    /// Compiles each module once, and asks each policy whether it can run with its settings. Blocks, and must not run on
    /// a thread that drives asynchronous work.
    ///
    /// # Errors
    /// Names the manifest, and the module that is missing or cannot run, or what the policy has against its settings.
    pub fn load(manifests: Vec<Manifest>, options: &Options) -> Result<Self> {
        let engine = clock::ticking_engine(options.cache)?;
        let mut modules: BTreeMap<String, Policy> = BTreeMap::new();
        let mut by_name = BTreeMap::new();
        for manifest in manifests {
            let shown = format!("{}: ClusterAdmissionPolicy {}", manifest.file.display(), manifest.name);
            let module = module_name(&manifest.spec.module).unwrap_or_default().to_owned();
            let policy = match modules.entry(module) {
                Entry::Occupied(known) => known.get().clone(),
                Entry::Vacant(new) => {
                    let path = options.modules.join(format!("{}.wasm", new.key()));
                    let compile = || {
                        let wasm = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
                        let policy = Policy::compile_with(&engine, &wasm)?;
                        check_runnable(&policy).with_context(|| path.display().to_string())?;
                        Ok::<_, anyhow::Error>(policy)
                    };
                    new.insert(compile().with_context(|| shown.clone())?).clone()
                }
            };
            let served = Served::new(policy, manifest, options);
            let settings = Value::Object(served.settings.clone());
            let verdict = served.policy.validate_settings(&settings, &served.context);
            if !verdict.valid {
                let reason = verdict.message.unwrap_or_default();
                bail!("{shown}: Policy settings are invalid: {reason}");
            }
            by_name.insert(served.manifest.name.clone(), served);
        }
        Ok(Self {
            by_name,
            kubewarden_namespace: options.kubewarden_namespace.clone(),
        })
    }

    /// A policy by what stands behind `/validate/`: its name as Kubewarden writes it, in any release, or its plain name.
    fn find(&self, id: &str) -> Option<&Served> {
        let name = [Naming::Current, Naming::Legacy]
            .iter()
            .find_map(|naming| id.strip_prefix(naming.prefix()))
            .filter(|name| self.by_name.contains_key(*name));
        self.by_name.get(name.unwrap_or(id))
    }

    /// Whether there is such a policy.
    pub(super) fn contains(&self, id: &str) -> bool {
        self.find(id).is_some()
    }

    /// Evaluates in a fresh instance; nothing when there is no such policy. Blocks.
    pub(super) fn review(&self, id: &str, request: &AdmissionRequest, origin: Origin, log: &Log) -> Option<Reviewed> {
        let served = self.find(id)?;
        if request.value().get("namespace").and_then(Value::as_str) == Some(self.kubewarden_namespace.as_str()) {
            return Some(Reviewed::admitted(request.uid()));
        }
        let settings = Value::Object(served.settings.clone());
        let evaluation = served.policy.validate(request, &settings, &served.context);
        let raw = Reviewed::from(evaluation.response);
        if origin == Origin::Audit {
            return Some(raw);
        }
        let spec = &served.manifest.spec;
        if spec.mode == Mode::Monitor {
            log(&format!("policy {id} in monitor mode: {}", raw.verdict()));
            return Some(raw.monitored());
        }
        Some(raw.constrained(id, spec.mutating, spec.message.as_deref()))
    }

    /// What is served, for a caller that plays the API server or the audit scanner.
    pub fn describe(&self) -> Value {
        self.by_name
            .values()
            .map(|served| {
                json!({
                    "name": served.manifest.name,
                    "mutating": served.manifest.spec.mutating,
                    "mode": match served.manifest.spec.mode { Mode::Protect => "protect", Mode::Monitor => "monitor" },
                    "backgroundAudit": served.manifest.spec.background_audit,
                })
            })
            .collect()
    }
}

impl Served {
    fn new(policy: Policy, manifest: Manifest, options: &Options) -> Self {
        let spec = &manifest.spec;
        let granted = spec
            .context_aware_resources
            .iter()
            .map(|resource| (resource.api_version.clone(), resource.kind.clone()));
        let (log, name, verbose) = (Arc::clone(&options.log), manifest.name.clone(), options.verbose);
        // The rules about mutation apply to one door only, so they come after the evaluation.
        let context = EvaluationContext::new(Arc::clone(&options.host))
            .context_aware(granted)
            .host_call_delay(options.host_call_delay)
            .policy_id(manifest.name.clone())
            .log_to(move |record| {
                if verbose || !["trace", "debug"].contains(&record.level.as_str()) {
                    log(&log_line(&name, record));
                }
            });
        let seconds = spec.timeout_eval_seconds.unwrap_or(options.evaluation_seconds);
        let settings = match &spec.settings {
            Value::Object(settings) => settings.clone(),
            _ => Map::new(),
        };
        Self {
            policy: policy.interrupted_after(u64::from(seconds)),
            settings,
            context,
            manifest,
        }
    }
}

/// policy-server refuses modules without metadata.
fn check_runnable(policy: &Policy) -> Result<()> {
    match policy.metadata() {
        None => bail!("the module carries no Kubewarden metadata; annotate it first"),
        Some(metadata) if metadata.execution_mode != "kubewarden-wapc" => {
            bail!(
                "modules of execution mode '{}' do not run here",
                metadata.execution_mode
            )
        }
        Some(metadata) if metadata.policy_type != "kubernetes" => {
            bail!("policies of type '{}' are not served here", metadata.policy_type)
        }
        Some(_) => Ok(()),
    }
}

fn log_line(policy: &str, record: &LogRecord) -> String {
    let fields: String = record
        .fields
        .iter()
        .map(|(key, value)| format!(" {key}={value}"))
        .collect();
    format!("policy {policy} {}: {}{fields}", record.level, record.message)
}
