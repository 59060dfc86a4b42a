//! Keys that no change of a Pod may touch.
//!
//! Everything that the policies read or write is decided when a Pod is created, and its wiring cannot change later. So a
//! changed key would say something untrue from then on, whoever changes it. Only heads are compared, nothing is looked up.

use super::verdict::{Finding, Verdict};
use crate::keys::{
    CACHEBLEND, CLIENT_RELEASE, LMCACHE, ON_MISSING_ENGINE, PAYLOAD_SKIP_REASON, PAYLOAD_STAGED, PD_ROLE, VLLM_RELEASE,
};
use crate::request::Request;
use crate::text::quoted;

/// The labels.
const LABELS: [&str; 2] = [LMCACHE.inject, CACHEBLEND.inject];
/// The annotations. (`lmcache.ai/ipc-mode` stands on ConfigMaps only.)
const ANNOTATIONS: [&str; 16] = [
    LMCACHE.engine,
    LMCACHE.container,
    LMCACHE.pull_secrets,
    LMCACHE.injected,
    LMCACHE.skip_reason,
    PAYLOAD_STAGED,
    PAYLOAD_SKIP_REASON,
    CACHEBLEND.engine,
    CACHEBLEND.container,
    CACHEBLEND.pull_secrets,
    CACHEBLEND.injected,
    CACHEBLEND.skip_reason,
    PD_ROLE,
    ON_MISSING_ENGINE,
    CLIENT_RELEASE,
    VLLM_RELEASE,
];

const ADVICE: &str =
    "These keys are set when a Pod is created and stay as they are: change the template, and create another Pod.";

/// Refuses a change of a Pod that adds, changes or removes one of the keys.
///
/// A Pod that is being deleted passes: nothing may stand in the way of a finalizer. Without the old object, which every API
/// server sends, there is nothing to compare.
pub(super) fn check(request: &Request<'_>, verdict: &mut Verdict) {
    let Some(old) = request.old_metadata() else {
        return;
    };
    let new = request.metadata();
    if old.deleted {
        return;
    }
    for key in LABELS {
        if let Some(text) = change(old.label(key).as_deref(), new.label(key).as_deref()) {
            verdict.findings.push(Finding::label(key, text));
        }
    }
    for key in ANNOTATIONS {
        if let Some(text) = change(old.annotation(key).as_deref(), new.annotation(key).as_deref()) {
            verdict.findings.push(Finding::annotation(key, text));
        }
    }
    if !verdict.findings.is_empty() {
        verdict.concerned = true;
        verdict.advise(ADVICE);
        verdict.because("keys-changed");
    }
}

/// What happened to a key, in words that follow it.
fn change(old: Option<&str>, new: Option<&str>) -> Option<String> {
    match (old, new) {
        (old, new) if old == new => None,
        (Some(old), Some(new)) => Some(format!("was changed from {} to {}", quoted(old), quoted(new))),
        (Some(old), None) => Some(format!("{} was removed", quoted(old))),
        (None, Some(new)) => Some(format!("{} was added", quoted(new))),
        (None, None) => None,
    }
}
