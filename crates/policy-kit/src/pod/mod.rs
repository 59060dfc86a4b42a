//! The decision about a Pod: a pure function of the Pod, the settings and what the cluster answers.
//!
//! Nothing is changed before everything is decided. The order of the questions is that of the Go operator, because the
//! first one that is answered with "no" gives the reason: engine and ConfigMap, role, container, command, the user's own
//! connector; then those that it does not ask: payload, releases, Pod Security.

mod admission;
mod command;
mod compatibility;
mod connection;
mod ipc;
mod nixl;
mod opt_in;
mod outcome;
mod payload;
mod reference;
mod service_links;
mod settings;
mod target;
mod user_config;

pub use admission::admit;
pub use opt_in::{Labelled, OptedIn};
pub use outcome::{Decision, Outcome, Skip, SkipReason};
pub use reference::EngineName;
pub use settings::{Admission, CommandOverride, OptIn, Settings, Strictness};

use crate::cluster::{Cluster, Query};
use crate::keys::{self, POD_SECURITY_ENFORCE};
use crate::text::quoted;
use lmcache_api::{EngineSpec, Kind};
use pod_edit::args::{CommandLine, KV_TRANSFER_CONFIG};
use pod_edit::env::{self, EnvState};
use pod_edit::{Edit, Plan, container, metadata};
use serde_json::{Value, json};
use target::named;

/// Environment variable that makes Python's string hashes equal in all processes, which chunk keys are built on.
const HASH_SEED: &str = "PYTHONHASHSEED";

/// Decides about a Pod that is being created.
///
/// `namespace` is that of the request; the Pod's own counts where the request has none. The answer holds the edits as a
/// plan: a skip holds one annotation and nothing else.
pub fn decide(pod: &Value, namespace: Option<&str>, settings: &Settings, cluster: &dyn Cluster) -> Decision {
    let annotation = match OptedIn::of(pod, settings.opt_in) {
        OptedIn::No => {
            return Decision {
                outcome: Outcome::NotOptedIn,
                plan: Plan::default(),
                warnings: Vec::new(),
                engine: String::new(),
            };
        }
        OptedIn::Incomplete(skip) => return skipped(skip, String::new()),
        OptedIn::To(annotation) => annotation,
    };
    let namespace = namespace
        .or_else(|| pod.pointer("/metadata/namespace").and_then(Value::as_str))
        .unwrap_or("default");
    let name = match reference::parse(&annotation, keys::LMCACHE.engine, namespace, settings) {
        Ok(name) => name,
        Err(skip) => return skipped(skip, String::new()),
    };
    let mut warnings = Vec::new();
    match wire(pod, namespace, &name, settings, cluster, &mut warnings) {
        Ok((edits, reason)) => Decision {
            outcome: Outcome::Wired(reason),
            plan: Plan::from(edits),
            warnings,
            engine: name.to_string(),
        },
        Err(skip) => {
            let on_missing = misspelt(pod).filter(|_| skip.reason == SkipReason::EngineNotFound);
            let mut decision = refused(pod, &skip, settings, &name).unwrap_or_else(|| skipped(skip, name.to_string()));
            decision.warnings.extend(on_missing);
            decision
        }
    }
}

/// The decision for a Pod whose members have types that no Pod has, found out when the plan was applied.
pub fn malformed(engine: String, error: &pod_edit::EditError) -> Decision {
    skipped(
        Skip::new(SkipReason::PodMalformed, error.to_string(), "give that member its type"),
        engine,
    )
}

/// A Pod that is left alone. What was noticed on the way about a wiring that does not happen is not said.
fn skipped(skip: Skip, engine: String) -> Decision {
    let note = Edit::SetAnnotation {
        key: keys::LMCACHE.skip_reason.into(),
        value: skip.reason.as_str().into(),
    };
    Decision {
        outcome: Outcome::Skipped(skip.reason),
        plan: Plan::from(vec![note]),
        warnings: vec![skip.warning()],
        engine,
    }
}

/// The refusal of a Pod, where a setting or the Pod's own annotation asks for one.
fn refused(pod: &Value, skip: &Skip, settings: &Settings, name: &EngineName) -> Option<Decision> {
    let (denied, code) = match skip.reason {
        SkipReason::EngineNotFound => (on_missing_engine(pod, settings) == Admission::Deny, 404),
        SkipReason::LookupUnavailable => (settings.on_unavailable == Admission::Deny, 503),
        _ => (false, 0),
    };
    denied.then(|| Decision {
        outcome: Outcome::Refused {
            reason: skip.reason,
            message: skip.refusal(),
            code,
        },
        plan: Plan::default(),
        warnings: Vec::new(),
        engine: name.to_string(),
    })
}

fn on_missing_engine(pod: &Value, settings: &Settings) -> Admission {
    let word = metadata::annotation(pod, keys::ON_MISSING_ENGINE).map(str::trim);
    word.and_then(crate::settings::Choice::from_word)
        .unwrap_or(settings.on_missing_engine)
}

/// The warning for an annotation `on-missing-engine` that is neither of its words, and so has no effect.
fn misspelt(pod: &Value) -> Option<String> {
    let word = metadata::annotation(pod, keys::ON_MISSING_ENGINE)?.trim();
    let known = <Admission as crate::settings::Choice>::from_word(word).is_some();
    (!known).then(|| {
        format!(
            "{} is {}: ignored; write Admit or Deny",
            keys::ON_MISSING_ENGINE,
            quoted(word)
        )
    })
}

/// The edits that wire a Pod, with the reason where a part was left to the user.
fn wire(
    pod: &Value,
    namespace: &str,
    name: &EngineName,
    settings: &Settings,
    cluster: &dyn Cluster,
    warnings: &mut Vec<String>,
) -> Result<(Vec<Edit>, Option<SkipReason>), Skip> {
    let stored = connection::dereference(cluster, name, Kind::LMCacheEngine)?;
    let engine = stored.engine(Kind::LMCacheEngine);
    stored.check(engine.as_ref(), name, Kind::LMCacheEngine)?;
    let spec = engine.as_ref().map(|engine| engine as &dyn EngineSpec);
    let role = nixl::role(pod, spec)?;
    let defaults = connection::Defaults {
        ipc_mode: settings.ipc_default,
        cluster_domain: &settings.cluster_domain,
    };
    let connection = stored.connection(engine.as_ref(), name, role, &defaults, warnings)?;

    let index = target::find(
        pod,
        metadata::annotation(pod, keys::LMCACHE.container),
        keys::LMCACHE.container,
        spec.and_then(EngineSpec::target_container),
        &connection.json,
        warnings,
    )?;
    let Some(target) = container::containers(pod).get(index) else {
        let problem = "the Pod has no containers";
        return Err(Skip::new(SkipReason::TargetContainerNotFound, problem, "give it one"));
    };
    let line = CommandLine::of(target);
    command::check(target, &line, settings.command_override)?;
    let user_config = user_config::judge(&line, &connection.json)?;
    if let Some(payload) = spec.and_then(EngineSpec::payload_image) {
        payload::check(payload, pod, index, &payload::LMCACHE)?;
    }
    let releases = compatibility::Releases::read(pod, target, spec, warnings);
    compatibility::check(
        &releases,
        connection.ipc_mode,
        &line,
        spec,
        settings.compatibility,
        warnings,
    )?;
    let ipc = ipc::plan(connection.ipc_mode, pod, index)?;
    if ipc.touches_host {
        pod_security(namespace, settings.pod_security, cluster, warnings)?;
    }
    warnings.extend(ipc.warnings);

    let mut edits = ipc.edits;
    if user_config == user_config::UserConfig::Absent {
        edits.push(Edit::AppendArgs {
            container: index,
            tokens: vec![KV_TRANSFER_CONFIG.name.to_owned(), connection.json],
        });
    }
    edits.extend(hash_seed(target, index, warnings));
    edits.extend(nixl::environment(target, index, spec));
    edits.extend(service_links::edit(pod, namespace, name, warnings));
    let reason = (user_config == user_config::UserConfig::OwnConnection).then_some(SkipReason::KvTransferConfigPresent);
    edits.push(Edit::SetAnnotation {
        key: keys::LMCACHE.injected.into(),
        value: "true".into(),
    });
    edits.push(match reason {
        Some(reason) => Edit::SetAnnotation {
            key: keys::LMCACHE.skip_reason.into(),
            value: reason.as_str().into(),
        },
        None => Edit::RemoveAnnotation {
            key: keys::LMCACHE.skip_reason.into(),
        },
    });
    Ok((edits, reason))
}

/// Adds the hash seed unless the container has one of its own, wherever that comes from.
fn hash_seed(target: &Value, index: usize, warnings: &mut Vec<String>) -> Option<Edit> {
    match env::state(target, HASH_SEED) {
        EnvState::Literal(_) | EnvState::ValueFrom => return None,
        EnvState::Absent => {}
        EnvState::MaybeEnvFrom => warnings.push(format!(
            "{HASH_SEED}=0 was added to container {}; it wins over one that its envFrom may bring",
            named(target)
        )),
    }
    Some(Edit::AppendEnv {
        container: index,
        entry: json!({"name": HASH_SEED, "value": "0"}),
    })
}

/// Asks the Namespace whether a Pod that shares host memory would be let in. The last of at most three look-ups, and only
/// where host memory is shared.
fn pod_security(
    namespace: &str,
    setting: Strictness,
    cluster: &dyn Cluster,
    warnings: &mut Vec<String>,
) -> Result<(), Skip> {
    if setting == Strictness::Off {
        return Ok(());
    }
    let query = Query {
        api_version: "v1",
        kind: "Namespace",
        namespace: None,
        name: namespace,
        cached: true,
        member: None,
    };
    let Some(object) = connection::optional(cluster, &query)? else {
        return Ok(());
    };
    let level = metadata::label(&object, POD_SECURITY_ENFORCE).unwrap_or_default();
    if !ipc::forbids_host(level) {
        return Ok(());
    }
    let skip = ipc::forbidden(namespace, level);
    if setting == Strictness::Skip {
        return Err(skip);
    }
    warnings.push(format!(
        "namespace {namespace} enforces Pod Security {level}, which refuses Pods with host IPC: wired all the same (setting podSecurity: Warn)"
    ));
    Ok(())
}
