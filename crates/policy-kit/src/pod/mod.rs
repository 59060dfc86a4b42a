//! The decision about a Pod: a pure function of the Pod, the settings and what the cluster answers.
//!
//! Nothing is changed before everything is decided. The order of the questions is that of the Go operator, because the
//! first one that is answered with "no" gives the reason: engine and ConfigMap, role, container, command, the user's own
//! connector; then those that it does not ask: payload, releases, Pod Security.

mod admission;
mod command;
mod compatibility;
mod connection;
mod examine;
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
pub use reference::EngineReference;
pub use settings::{Admission, CommandOverride, OptIn, Settings, Strictness};

use crate::cluster::Cluster;
use crate::keys;
use crate::text::quoted;
use pod_edit::{Edit, Plan, metadata};
use serde_json::Value;

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
                host_error: None,
            };
        }
        OptedIn::Incomplete(skip) => return skipped(skip, String::new()),
        OptedIn::To(annotation) => annotation,
    };
    let own_namespace = pod.pointer("/metadata/namespace").and_then(Value::as_str);
    let namespace = namespace
        .or(own_namespace)
        .filter(|namespace| !namespace.is_empty())
        .unwrap_or("default");
    let name = match reference::parse(&annotation, keys::LMCACHE.engine, namespace, settings) {
        Ok(name) => name,
        Err(skip) => return skipped(skip, String::new()),
    };
    let mut warnings = Vec::new();
    match examine::examine(pod, namespace, &name, settings, cluster, &mut warnings) {
        Ok(examined) => Decision {
            outcome: Outcome::Wired(examined.left_to_user()),
            plan: Plan::from(examined.edits(&mut warnings)),
            warnings,
            engine: name.to_string(),
            host_error: None,
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
        host_error: skip.host_error,
    }
}

/// The refusal of a Pod, where a setting or the Pod's own annotation asks for one.
fn refused(pod: &Value, skip: &Skip, settings: &Settings, name: &EngineReference) -> Option<Decision> {
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
        host_error: skip.host_error.clone(),
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
