//! Keys of ours in a place where they do nothing, or do harm.

use super::kind::{Kind, Template, at};
use super::wording::{Said, listed};
use crate::keys::{
    CACHEBLEND, CLIENT_RELEASE, LMCACHE, ON_MISSING_ENGINE, PAYLOAD_SKIP_REASON, PAYLOAD_STAGED, PD_ROLE, SystemKeys,
    VLLM_RELEASE,
};
use crate::pod::{OptIn, Settings};
use crate::text::quoted;
use pod_edit::metadata::{annotation, label};
use serde_json::Value;

/// What the policies put on Pods, and nobody puts into a template.
const STAMPS: [&str; 6] = [
    LMCACHE.injected,
    PAYLOAD_STAGED,
    LMCACHE.skip_reason,
    PAYLOAD_SKIP_REASON,
    CACHEBLEND.injected,
    CACHEBLEND.skip_reason,
];

/// The systems that the installed policies wire.
fn systems(settings: &Settings) -> impl Iterator<Item = &'static SystemKeys> {
    let lmcache = settings.steps.connection || settings.steps.staging;
    let lmcache = lmcache.then_some(&LMCACHE);
    lmcache
        .into_iter()
        .chain(settings.steps.cacheblend.then_some(&CACHEBLEND))
}

/// Keys around the templates that were meant for Pods: one warning for each place.
pub(super) fn misplaced(kind: Kind, object: &Value, templates: &[Template<'_>], settings: &Settings) -> Vec<Said> {
    let own = systems(settings).flat_map(|keys| [keys.inject, keys.engine, keys.container, keys.pull_secrets]);
    let shared = [PD_ROLE, ON_MISSING_ENGINE, CLIENT_RELEASE, VLLM_RELEASE];
    let keys: Vec<&str> = own.chain(shared).collect();
    let mut warnings = Vec::new();
    for place in kind.other_metadata() {
        let Some(metadata) = at(object, place) else { continue };
        let in_vain: Vec<&str> = keys
            .iter()
            .copied()
            .filter(|key| is_set(metadata, key) && !templates.iter().any(|template| has(template.body, key)))
            .collect();
        if !in_vain.is_empty() {
            warnings.push(Said {
                problem: listed(&in_vain),
                rest: format!(
                    ": Pods do not get what stands in {place} of a {}; move it to {}",
                    kind.as_str(),
                    destination(kind, templates)
                ),
            });
        }
    }
    warnings
}

/// Where keys that are meant for Pods have to stand.
fn destination(kind: Kind, templates: &[Template<'_>]) -> String {
    match (kind, templates) {
        (Kind::LeaderWorkerSet, [_, _]) => {
            "metadata of spec.leaderWorkerTemplate.leaderTemplate and .workerTemplate".to_owned()
        }
        (Kind::Job, _) => "spec.template.metadata of a new Job (its template is immutable)".to_owned(),
        (_, [template, ..]) => format!("{}.metadata", template.path),
        (_, []) => "spec.template.metadata".to_owned(),
    }
}

/// Is a key set in `metadata`, as a label or as an annotation? An opt-in that says no is not.
fn is_set(metadata: &Value, key: &str) -> bool {
    ["labels", "annotations"].iter().any(|member| {
        let value = metadata
            .get(member)
            .and_then(|map| map.get(key))
            .and_then(Value::as_str);
        value.is_some_and(|text| !text.trim().is_empty() && !says_no(text))
    })
}

/// Has a template the key, with whatever value?
fn has(template: &Value, key: &str) -> bool {
    label(template, key).or(annotation(template, key)).is_some()
}

fn says_no(text: &str) -> bool {
    text.trim().eq_ignore_ascii_case("false")
}

/// Keys in one template that are wrong there.
pub(super) fn of_template(template: &Template<'_>, settings: &Settings) -> Vec<Said> {
    let mut warnings = Vec::new();
    if settings.opt_in == OptIn::Label {
        warnings.extend(systems(settings).filter_map(|keys| no_opt_in(template, keys)));
    }
    let annotations = at(template.body, "metadata.annotations");
    let copied: Vec<&str> = STAMPS
        .into_iter()
        .filter(|key| annotations.is_some_and(|annotations| annotations.get(key).is_some()))
        .collect();
    if !copied.is_empty() {
        warnings.push(Said {
            problem: listed(&copied),
            rest: format!(
                ": set by the policies on Pods, not by people in templates; remove it from {}.metadata.annotations",
                template.path
            ),
        });
    }
    warnings
}

/// An opt-in label that is none: misspelt, or left out beside the annotation.
fn no_opt_in(template: &Template<'_>, keys: &SystemKeys) -> Option<Said> {
    match label(template.body, keys.inject) {
        Some("true") => None,
        Some(text) if says_no(text) => None,
        Some(text) => Some(Said {
            problem: format!("label {} is {}", keys.inject, quoted(text)),
            rest: ", which is no opt-in; only \"true\" is".to_owned(),
        }),
        None => {
            let given = |key: &&&str| {
                annotation(template.body, key).is_some_and(|text| !text.trim().is_empty() && !says_no(text))
            };
            let key = [keys.engine, keys.inject].iter().find(given).copied()?;
            Some(Said {
                problem: format!("annotation {key} without label {}", keys.inject),
                rest: format!(
                    " is no opt-in; add the label with value \"true\" to {}.metadata.labels",
                    template.path
                ),
            })
        }
    }
}
