//! `policy-host run`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use serde_json::Value;

use super::stdout::ResultStream;
use super::{to_stderr, write_all};
use crate::document;
use crate::host::{CapabilityPatterns, ClusterDir, HostCapabilities, LogRecord, NoCluster, Recorder, Replay};
use crate::{AdmissionRequest, EvaluationContext, Policy};

/// A path, or the path of a `file://` URI. Registries and policy manifests are kwctl's.
fn policy_path(text: &str) -> Result<PathBuf, String> {
    if ["registry://", "https://", "http://"]
        .iter()
        .any(|scheme| text.starts_with(scheme))
    {
        return Err("not supported here: fetch it with `kwctl pull`".to_owned());
    }
    if [".yaml", ".yml"].iter().any(|ending| text.ends_with(ending)) {
        return Err("a manifest is not supported here: name the wasm module, or use kwctl".to_owned());
    }
    Ok(PathBuf::from(text.strip_prefix("file://").unwrap_or(text)))
}

/// Evaluate one request and print the AdmissionResponse as one line of JSON. Exit code 0 for admitted and refused alike.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The policy: a path, also as `file://` URI.
    #[arg(value_name = "POLICY.wasm", value_parser = policy_path)]
    policy: PathBuf,
    /// AdmissionRequest, AdmissionReview, or any manifest (wrapped into a CREATE request), JSON or YAML; `-` is stdin.
    #[arg(short, long, value_name = "FILE")]
    request_path: PathBuf,
    /// Settings of the policy, YAML or JSON.
    #[arg(short, long, value_name = "FILE")]
    settings_path: Option<PathBuf>,
    /// Settings of the policy as JSON; ignored when --settings-path is given.
    #[arg(long, value_name = "JSON")]
    settings_json: Option<String>,
    /// Treat the request as free JSON (also implied by metadata `policyType: raw`).
    #[arg(long)]
    raw: bool,
    /// Let the policy get and list the kinds that its metadata names.
    #[arg(long)]
    allow_context_aware: bool,
    /// Host capabilities the policy may use: `*`, `kubernetes/*`, `kubernetes/get_resource`, ... Do not put it right
    /// before the policy.
    #[arg(long, value_name = "PATTERN", num_args = 0.., default_value = "*")]
    allowed_host_capabilities: Vec<String>,
    /// Answer host calls from a recorded session.
    #[arg(long, value_name = "FILE")]
    replay_host_capabilities_interactions: Option<PathBuf>,
    /// Record host calls and their answers as a session.
    #[arg(long, value_name = "FILE", conflicts_with = "replay_host_capabilities_interactions")]
    record_host_capabilities_interactions: Option<PathBuf>,
    /// Answer host calls from manifests: a file, or a folder. (Not in kwctl.)
    #[arg(
        long,
        value_name = "DIR_OR_FILE",
        conflicts_with = "replay_host_capabilities_interactions"
    )]
    cluster_dir: Option<PathBuf>,
    /// Delay every host call by this many milliseconds. (Not in kwctl.)
    #[arg(long, value_name = "N", default_value_t = 0)]
    host_call_delay_ms: u64,
    /// Compile the policy anew.
    #[arg(long)]
    disable_wasmtime_cache: bool,
}

pub(super) fn run(args: &Args, verbose: bool) -> Result<ExitCode> {
    let mut result = ResultStream::claim()?;
    let wasm = std::fs::read(&args.policy).map_err(|e| anyhow!("cannot read policy {}: {e}", args.policy.display()))?;
    let policy =
        Policy::compile(&wasm, !args.disable_wasmtime_cache).with_context(|| args.policy.display().to_string())?;
    check_runnable(&policy)?;
    let raw = args.raw || policy.metadata().is_some_and(|metadata| metadata.policy_type == "raw");
    let request = if raw {
        AdmissionRequest::raw_from_file(&args.request_path)?
    } else {
        AdmissionRequest::from_file(&args.request_path)?
    };
    let settings = settings(args)?;
    let host = Host::new(args)?;
    let context = context(args, &policy, &host, verbose)?;
    let verdict = policy.validate_settings(&settings, &context);
    if !verdict.valid {
        let message = verdict.message.unwrap_or_default();
        bail!("Provided settings are not valid: {message}");
    }
    let evaluation = policy.validate(&request, &settings, &context);
    if verbose {
        for call in &evaluation.calls {
            let answer = match &call.answer {
                Ok(bytes) => format!("{} bytes", bytes.len()),
                Err(text) => text.clone(),
            };
            to_stderr(&format!("host call: {} -> {answer}", call.request));
        }
    }
    host.finish(args)?;
    let line = serde_json::to_string(&evaluation.response)?;
    write_all(&mut result, &format!("{line}\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Only waPC modules run here; an un-annotated module is taken for one.
fn check_runnable(policy: &Policy) -> Result<()> {
    match policy.metadata() {
        Some(metadata) if metadata.execution_mode != "kubewarden-wapc" => bail!(
            "policies of execution mode '{}' do not run in policy-host; use kwctl",
            metadata.execution_mode
        ),
        _ => Ok(()),
    }
}

fn settings(args: &Args) -> Result<Value> {
    let (text, origin) = match (&args.settings_path, &args.settings_json) {
        (Some(path), _) => (document::read_text(path)?, path.display().to_string()),
        (None, Some(json)) => (json.clone(), "--settings-json".to_owned()),
        (None, None) => return Ok(Value::Object(serde_json::Map::new())),
    };
    document::parse_settings(&text).with_context(|| origin)
}

fn context(args: &Args, policy: &Policy, host: &Host, verbose: bool) -> Result<EvaluationContext> {
    let context = EvaluationContext::new(host.capabilities())
        .allow_capabilities(CapabilityPatterns::new(args.allowed_host_capabilities.clone())?)
        .host_call_delay(Duration::from_millis(args.host_call_delay_ms))
        .policy_id(args.policy.display().to_string())
        .log_to(move |record| {
            if verbose || !["trace", "debug"].contains(&record.level.as_str()) {
                to_stderr(&log_line(record));
            }
        });
    if !args.allow_context_aware {
        return Ok(context);
    }
    match policy.metadata() {
        Some(metadata) => Ok(context.context_aware(metadata.context_aware_pairs())),
        None => {
            to_stderr(
                "warning: the policy carries no metadata, so --allow-context-aware grants nothing; annotate it first",
            );
            Ok(context)
        }
    }
}

fn log_line(record: &LogRecord) -> String {
    let fields: String = record
        .fields
        .iter()
        .map(|(key, value)| format!(" {key}={value}"))
        .collect();
    format!("policy {}: {}{fields}", record.level, record.message)
}

/// Who answers, kept so that a session can be checked or written afterwards.
enum Host {
    None,
    Cluster(Arc<ClusterDir>),
    Replay(Arc<Replay>),
    Record(Arc<Recorder<Arc<dyn HostCapabilities>>>),
}

impl Host {
    fn new(args: &Args) -> Result<Self> {
        if let Some(path) = &args.replay_host_capabilities_interactions {
            return Ok(Self::Replay(Arc::new(Replay::from_file(path)?)));
        }
        let cluster = match &args.cluster_dir {
            Some(path) => Some(Arc::new(ClusterDir::load(path)?)),
            None => None,
        };
        Ok(match (&args.record_host_capabilities_interactions, cluster) {
            (Some(_), Some(cluster)) => Self::Record(Arc::new(Recorder::new(cluster))),
            (Some(_), None) => Self::Record(Arc::new(Recorder::new(Arc::new(NoCluster)))),
            (None, Some(cluster)) => Self::Cluster(cluster),
            (None, None) => Self::None,
        })
    }

    fn capabilities(&self) -> Arc<dyn HostCapabilities> {
        match self {
            Self::None => Arc::new(NoCluster),
            Self::Cluster(cluster) => Arc::clone(cluster) as _,
            Self::Replay(replay) => Arc::clone(replay) as _,
            Self::Record(recorder) => Arc::clone(recorder) as _,
        }
    }

    fn finish(&self, args: &Args) -> Result<()> {
        match (self, &args.record_host_capabilities_interactions) {
            (Self::Record(recorder), Some(path)) => {
                document::write_file(Path::new(path), recorder.session()?.as_bytes())
            }
            (Self::Replay(replay), _) => {
                for request in replay.leftovers() {
                    to_stderr(&format!(
                        "warning: a recorded exchange has not been replayed: {request}"
                    ));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}
