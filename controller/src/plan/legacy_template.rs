//! Live Pod templates that the Go operator rendered for the present specification.

use lmcache_api::IpcMode;
use serde_json::{Map, Value, json};

use super::lists;
use super::same::{lacking, project};
use crate::legacy::{LiveTemplate, State, renderings, unread};

/// Annotation of a custom resource: the Go operator's template gives way to ours now, whatever its value is.
pub const ROLLOUT_ANNOTATION: &str = "lmcache.ai/rollout";

/// A workload whose template stays.
pub(super) struct Kept {
    /// What is to be applied, so that the fields of the template are ours and no value changes; `None` where a server-side
    /// apply cannot say it (a variable that is there twice): then the workload is not touched at all.
    pub body: Option<Value>,
    /// How the servers that run it share memory with their clients.
    pub mode: IpcMode,
    /// Paths below `spec.template` that a rollout would change. Never empty.
    pub differences: Vec<String>,
}

/// `ours` with the template of `live`, if that is exactly what the Go operator renders for the custom resource as `stored`
/// and differs from ours.
pub(super) fn kept(stored: &Value, coordinator_url: Option<&str>, live: &Value, ours: &Value) -> Option<Kept> {
    let annotations = stored.pointer("/metadata/annotations");
    if annotations.is_some_and(|annotations| annotations.get(ROLLOUT_ANNOTATION).is_some()) {
        return None;
    }
    let live_template = LiveTemplate::read(live)?;
    // The newest first: what one does not know, those before it do not know either.
    let states = State::ALL.into_iter().rev();
    let states = states.take_while(|state| unread_of_template(*state, stored).is_empty());
    let mut renderings = renderings(states, stored, coordinator_url);
    let (_, rendered) = renderings.find(|(state, rendered)| live_template.is_of(*state, rendered))?;
    let mut template = project(rendered.pointer("/spec/template")?, live.pointer("/spec/template")?);
    keep_selected_labels(&mut template, live);
    let our_template = ours.pointer("/spec/template")?;
    let mut differences = lacking(our_template, &template);
    differences.extend(lacking(&template, our_template));
    differences.sort();
    differences.dedup();
    if differences.is_empty() {
        return None;
    }
    let mode = mode(&template);
    let body = lists::is_expressible(&template).then(|| {
        let mut body = ours.clone();
        if let Some(own) = body.pointer_mut("/spec/template") {
            *own = template;
        }
        body
    });
    Some(Kept {
        body,
        mode,
        differences,
    })
}

/// Fields that the Go operator does not know and that ask something of the Pods. How a rollout goes and what clients are told
/// besides is no reason for one.
pub(super) fn unread_of_template(state: State, stored: &Value) -> Vec<String> {
    let mut paths = unread(state, stored);
    paths.retain(|path| path != "spec.updateStrategy" && path != "spec.connection");
    paths
}

/// The IPC mode that a template of the Go operator stands for.
fn mode(template: &Value) -> IpcMode {
    let args = template.pointer("/spec/containers/0/args").and_then(Value::as_array);
    if args.is_some_and(|args| args.iter().any(|token| token == "--isolated-ipc")) {
        IpcMode::Isolated
    } else if template.pointer("/spec/hostIPC") == Some(&Value::Bool(true)) {
        IpcMode::HostIPC
    } else {
        IpcMode::HostShm
    }
}

/// The labels by which a live selector finds its Pods are part of the template, whoever rendered it.
pub(super) fn keep_selected_labels(template: &mut Value, live: &Value) {
    let Some(selector) = live.pointer("/spec/selector/matchLabels").and_then(Value::as_object) else {
        return;
    };
    let Some(template) = template.as_object_mut() else {
        return;
    };
    let metadata = template.entry("metadata").or_insert_with(|| json!({}));
    let labels = metadata
        .as_object_mut()
        .map(|metadata| metadata.entry("labels").or_insert_with(|| Value::Object(Map::new())));
    if let Some(labels) = labels.and_then(Value::as_object_mut) {
        labels.extend(selector.clone());
    }
}
