//! What becomes of the Pod template of a workload that the Go operator left, for who asks before the first pass.
//!
//! It is what [`super::desire`] does, but for the login: that it has not changed is taken for granted, so that no Secret has
//! to be read.

use serde_json::Value;

use super::desire::{keep_selector, name_of, url_of};
use super::judge::Subject;
use super::same::{lacking, project};
use super::{Inputs, ROLLOUT_ANNOTATION, Settings, legacy_template, managed};
use crate::build::{Site, objects};
use crate::legacy::{LiveTemplate, State, renderings};
use crate::live::{ChildKind, Controller};

/// What becomes of the servers of a custom resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rollout {
    /// There is no workload: it is made.
    Made,
    /// The workload is somebody else's, and left alone.
    Foreign(Option<Controller>),
    /// The workload is this controller's already.
    Ours,
    /// The coordinator that is referred to does not exist: servers stay as they are until it does.
    Held,
    /// The template is the Go operator's for the present specification, and stays. A later rollout changes these paths.
    Kept(Vec<String>),
    /// The template says what ours says: nothing changes, now or later.
    Same,
    /// The servers are replaced.
    Replaced(Replaced),
}

/// Why servers are replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replaced {
    /// Paths of the template that change.
    pub differences: Vec<String>,
    /// Whether somebody asked for it: the custom resource has the annotation [`ROLLOUT_ANNOTATION`].
    pub is_asked_for: bool,
    /// Paths at which the template is not what the Go operator renders for the present specification, in the state that comes
    /// closest. Empty where the Go operator would render nothing.
    pub unlike: Vec<String>,
    /// Fields of the specification that the Go operator does not know.
    pub unread: Vec<String>,
}

/// What the first pass does to the servers of a valid custom resource.
pub fn rollout(subject: &Subject, inputs: &Inputs, settings: &Settings) -> Rollout {
    let url = inputs.coordinator.as_deref().and_then(url_of);
    let site = Site {
        ipc_default: settings.ipc_default,
        kept_ipc: None,
        cluster_domain: &settings.cluster_domain,
        coordinator_url: url.as_deref(),
    };
    if inputs.custom.facts.coordinator.is_some() && url.is_none() {
        return Rollout::Held;
    }
    let bodies = objects(&subject.object, &site);
    let ours = bodies
        .into_iter()
        .find(|body| ChildKind::of(body).is_some_and(ChildKind::is_workload));
    let Some(mut ours) = ours else {
        return Rollout::Made;
    };
    let Some(child) = name_of(&ours).and_then(|name| inputs.children.get(&name)) else {
        return Rollout::Made;
    };
    if !child.is_controlled_by(inputs.custom.uid()) {
        return Rollout::Foreign(child.facts.controller.clone());
    }
    if child.applied().is_some() && managed::takeover(child).is_none() {
        return Rollout::Ours;
    }
    let live = child.value();
    keep_selector(&mut ours, &live);
    if let Some(kept) = legacy_template::kept(&subject.stored, url.as_deref(), &live, &ours) {
        return Rollout::Kept(kept.differences);
    }
    replaced(subject, url.as_deref(), &live, &ours)
}

fn replaced(subject: &Subject, coordinator_url: Option<&str>, live: &Value, ours: &Value) -> Rollout {
    let (Some(live_template), Some(our_template)) = (live.pointer("/spec/template"), ours.pointer("/spec/template"))
    else {
        return Rollout::Made;
    };
    // Of several that come as close, the newest: it knows most of the fields.
    let states = State::ALL.into_iter().rev();
    let compared = LiveTemplate::read(live);
    let nearest = renderings(states, &subject.stored, coordinator_url)
        .filter_map(|(state, rendered)| {
            let (wanted, found) = compared.as_ref()?.comparable(state, &rendered)?;
            Some((both(&wanted, found), state, rendered))
        })
        .min_by_key(|(unlike, ..)| unlike.len());
    // Beside what ours says, a rollout takes away what the Go operator put there. What others added stays.
    let mut differences = lacking(our_template, live_template);
    let mut replaced = Replaced::default();
    if let Some((unlike, state, rendered)) = nearest {
        if let Some(rendered) = rendered.pointer("/spec/template") {
            differences.extend(lacking(&project(rendered, live_template), our_template));
        }
        replaced.unlike = unlike;
        replaced.unread = legacy_template::unread_of_template(state, &subject.stored);
    }
    if differences.is_empty() {
        return Rollout::Same;
    }
    let annotations = subject.stored.pointer("/metadata/annotations");
    replaced.is_asked_for = annotations.is_some_and(|annotations| annotations.get(ROLLOUT_ANNOTATION).is_some());
    replaced.differences = sorted(differences);
    Rollout::Replaced(replaced)
}

/// Paths at which two objects differ.
fn both(a: &Value, b: &Value) -> Vec<String> {
    let mut paths = lacking(a, b);
    paths.extend(lacking(b, a));
    sorted(paths)
}

fn sorted(mut paths: Vec<String>) -> Vec<String> {
    paths.sort();
    paths.dedup();
    paths
}
