//! What holds for the policies of one job.

use super::super::input::{metadata_map, metadata_text};
use super::super::role::Owned;
use super::super::words;
use super::{Facts, Found, Violation, mentions_us, ownership};
use policy_host::host::HostCall;
use serde_json::Value;

/// The kinds that engine-validation judges.
const ENGINES: [&str; 3] = ["LMCacheEngine", "CacheBlendEngine", "LMCacheCoordinator"];

/// Refusals are about the specification, changes are none, and only the creation of one of our kinds needs the cluster.
pub(super) fn engines(facts: &Facts<'_>) -> Found {
    let response = &facts.evaluation.response;
    if response.patch.is_some() {
        return Violation::of("validation-changes", facts.said());
    }
    if !response.allowed && response.code() != Some(422) {
        return Violation::of("refusal-code", facts.said());
    }
    let kind = facts
        .input
        .request
        .pointer("/kind/kind")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let judged = ENGINES.contains(&kind) && matches!(operation(facts), "CREATE" | "UPDATE");
    if !judged && !facts.is_silent() {
        return Violation::of("not-its-business", facts.said());
    }
    if operation(facts) != "CREATE" && !facts.evaluation.calls.is_empty() {
        return Violation::of("look-up-on-update", facts.said());
    }
    Ok(())
}

/// A Pod starts unless somebody asked for a refusal; it keeps what is its user's; a second run changes nothing.
pub(super) fn mutator(facts: &Facts<'_>, owned: Owned) -> Found {
    let response = &facts.evaluation.response;
    let object = facts.input.object();
    if !opted_in(facts, owned) && !facts.is_silent() {
        return Violation::of("not-opted-in", facts.said());
    }
    if !response.allowed {
        return refusal(facts, owned);
    }
    let (Some(patch), Some(before)) = (&response.patch, object) else {
        return Ok(());
    };
    if !facts.settings_valid {
        return Violation::of("bad-settings-change", facts.said());
    }
    let mut after = before.clone();
    if let Err(error) = json_patch::patch(&mut after, patch) {
        return Violation::of("patch-does-not-apply", error);
    }
    if let Err(trespass) = ownership::check(before, &after, owned) {
        return Violation::of("foreign-change", trespass);
    }
    let outcomes: Vec<&String> = response
        .audit_annotations
        .iter()
        .flatten()
        .filter(|(key, _)| key.ends_with("outcome"))
        .map(|(_, value)| value)
        .collect();
    let wired = outcomes
        .iter()
        .any(|outcome| ["wired", "staged"].contains(&outcome.as_str()));
    if !wired && !ownership::only_annotations(before, &after) {
        return Violation::of("skip-changes", facts.said());
    }
    let Some(again) = facts.subject.evaluate(&facts.input.with_object(after)) else {
        return Ok(());
    };
    if !again.response.allowed {
        return Violation::of("own-output-refused", again.response.message());
    }
    match again.response.patch {
        Some(patch) => Violation::of("second-run-changes", patch),
        None => Ok(()),
    }
}

/// The creation of a Pod that has what at least one system of the policy takes for an opt-in. Under `optIn: Annotation`
/// that is the annotation alone; settings that cannot be read might mean either.
fn opted_in(facts: &Facts<'_>, owned: Owned) -> bool {
    if operation(facts) != "CREATE" || facts.input.member("subResource").is_some_and(|name| name != "") {
        return false;
    }
    let Some(object) = facts.input.object().filter(|_| is_pod(facts)) else {
        return false;
    };
    let by_annotation = facts
        .input
        .settings
        .get("optIn")
        .is_some_and(|value| value == "Annotation");
    owned.systems().any(|(label, annotation)| {
        if by_annotation {
            metadata_text(object, "annotations", annotation).is_some_and(|name| !name.trim().is_empty())
        } else {
            metadata_text(object, "labels", label) == Some("true")
        }
    })
}

fn refusal(facts: &Facts<'_>, owned: Owned) -> Found {
    let denies = |key: &str| facts.input.settings.get(key).is_some_and(|word| word == "Deny");
    let annotation = facts
        .input
        .object()
        .and_then(|object| metadata_text(object, "annotations", "lmcache.ai/on-missing-engine"))
        .map(str::trim);
    let asked = match facts.evaluation.response.code() {
        Some(404) if !(owned.connection || owned.cacheblend) => false,
        Some(404) => match annotation {
            Some("Admit") => false,
            Some("Deny") => true,
            _ => denies("onMissingEngine"),
        },
        Some(503) => denies("onUnavailable"),
        _ => false,
    };
    if asked && facts.settings_valid {
        return Ok(());
    }
    Violation::of("unasked-refusal", facts.said())
}

/// It refuses what is forged, says why, and changes nothing.
pub(super) fn guard(facts: &Facts<'_>) -> Found {
    let response = &facts.evaluation.response;
    if response.patch.is_some() {
        return Violation::of("validation-changes", facts.said());
    }
    if !response.allowed && !matches!(response.code(), Some(422 | 503)) {
        return Violation::of("refusal-code", facts.said());
    }
    let update = operation(facts) == "UPDATE";
    if response.code() == Some(503) && (update || facts.evaluation.calls.iter().all(is_clear)) {
        return Violation::of("unavailable-without-failure", facts.said());
    }
    let objects = ["object", "oldObject"].map(|name| facts.input.member(name));
    let concerned = is_pod(facts) && objects.into_iter().flatten().any(mentions_us);
    if !concerned && !facts.is_silent() {
        return Violation::of("not-its-business", facts.said());
    }
    if update && !facts.evaluation.calls.is_empty() {
        return Violation::of("look-up-on-update", facts.said());
    }
    let keys_differ = words::OPT_IN_LABELS
        .iter()
        .map(|key| ("labels", key))
        .chain(words::ANNOTATIONS.iter().map(|key| ("annotations", key)));
    let differs = keys_differ.into_iter().any(|(map, key)| {
        let [new, old] = objects.map(|object| object.and_then(|object| metadata_map(object, map)?.get(*key)));
        new != old
    });
    if update && !response.allowed && !differs {
        return Violation::of("refused-without-change", facts.said());
    }
    Ok(())
}

/// It warns and does nothing else.
pub(super) fn preflight(facts: &Facts<'_>) -> Found {
    let response = &facts.evaluation.response;
    if !response.allowed || response.patch.is_some() {
        return Violation::of("preflight-acts", facts.said());
    }
    if !facts.input.object().is_some_and(mentions_us) && !facts.is_silent() {
        return Violation::of("not-its-business", facts.said());
    }
    Ok(())
}

/// Whether an answer is an object, as it would be stored.
fn is_clear(call: &HostCall) -> bool {
    let object = call
        .answer
        .as_ref()
        .ok()
        .and_then(|answer| serde_json::from_slice::<Value>(answer).ok());
    object.is_some_and(|object| object.get("metadata").is_some_and(Value::is_object))
}

fn operation<'a>(facts: &'a Facts<'_>) -> &'a str {
    facts
        .input
        .member("operation")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn is_pod(facts: &Facts<'_>) -> bool {
    let kind = |member: &str| facts.input.request.pointer(member).and_then(Value::as_str);
    kind("/kind/kind") == Some("Pod") && kind("/kind/group") == Some("")
}
