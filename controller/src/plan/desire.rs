//! The children that a custom resource is to have.

use serde_json::{Value, json};

use super::judge::Subject;
use super::legacy_template::{self, Kept};
use super::login::{LOGIN_HASH_ANNOTATION, Login, login};
use super::managed;
use super::settled::has_settled_spec;
use super::{ChildName, Inputs, Monitors, Problem, Reason, Settings};
use crate::build::{Site, coordinator_url, objects};
use crate::live::{Child, ChildKind, Custom};
use lmcache_api::{API_VERSION, AnyObject, Kind, decode};

/// What is to be there after a pass.
#[derive(Clone, Debug, Default)]
pub struct Desired {
    /// Children, in the order in which they are applied.
    pub wanted: Vec<Wanted>,
    /// Children that go if they are ours.
    pub unwanted: Vec<ChildName>,
    /// Children that stay as they are, and why.
    pub problems: Vec<Problem>,
    /// Paths that a rollout would change, where the Go operator's template is kept.
    pub legacy_template: Option<Vec<String>>,
    /// Whether the workload that runs stays as it is although it may not be what is wanted: then what leads clients to it
    /// has to stay too.
    pub is_held: bool,
}

/// A child that is to be there.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// Which one.
    pub name: ChildName,
    /// What is applied, with its owner.
    pub body: Value,
}

/// What a valid custom resource is to have.
pub fn desire(subject: &Subject, inputs: &Inputs, settings: &Settings) -> Desired {
    let mut desired = Desired::default();
    let url = inputs.coordinator.as_deref().and_then(url_of);
    let site = Site {
        ipc_default: settings.ipc_default,
        kept_ipc: None,
        cluster_domain: &settings.cluster_domain,
        coordinator_url: url.as_deref(),
    };
    let mut holds_workload = false;
    if inputs.custom.facts.coordinator.is_some() && url.is_none() {
        holds_workload = true;
        desired.problems.push(no_coordinator(&inputs.custom));
    }
    let login = login(&subject.object, inputs);
    match &login {
        Login::None | Login::Copy { .. } => {}
        Login::Unknown => holds_workload = true,
        Login::Problem(problem) => {
            holds_workload = true;
            desired.problems.push(problem.clone());
        }
    }
    let mut bodies = objects(&subject.object, &site);
    let workload = workload(&mut bodies, subject, inputs, site.coordinator_url, &login);
    if let Workload::Kept(Kept { mode, differences, .. }) = &workload {
        desired.legacy_template = Some(differences.clone());
        // The connection says what the servers run, and these run as the Go operator had it.
        let site = Site {
            kept_ipc: Some(*mode),
            ..site
        };
        bodies = objects(&subject.object, &site);
        bodies.retain(|body| !ChildKind::of(body).is_some_and(ChildKind::is_workload));
    }
    match workload {
        Workload::Kept(Kept { body, .. }) | Workload::Ours(body) if !holds_workload => bodies.extend(body),
        _ => {}
    }
    if let Login::Copy { body, .. } = &login {
        bodies.push(body.clone());
    }
    for body in bodies {
        let Some(name) = name_of(&body) else { continue };
        if name.kind == ChildKind::ServiceMonitor && inputs.monitors != Monitors::Served {
            desired.problems.extend(no_monitors(&name, inputs.monitors));
            continue;
        }
        let body = owned(body, &inputs.custom);
        desired.wanted.push(Wanted { name, body });
    }
    // What Pods need comes before new ones. What leads clients to the Pods comes after those that run: they may not follow.
    let runs = runs(inputs);
    desired.is_held = runs && holds_workload;
    desired.wanted.sort_by_key(|wanted| {
        let kind = wanted.name.kind;
        (
            runs && matches!(
                kind,
                ChildKind::ConfigMap | ChildKind::Service | ChildKind::ServiceMonitor
            ),
            kind,
        )
    });
    desired.unwanted = unwanted(subject, inputs, &desired, &login);
    desired
}

/// Whether a workload of this custom resource is there.
fn runs(inputs: &Inputs) -> bool {
    let mut workloads = inputs.children.iter().filter(|(name, _)| name.kind.is_workload());
    workloads.any(|(_, live)| live.is_controlled_by(inputs.custom.uid()))
}

/// The base URL of a coordinator.
pub(super) fn url_of(coordinator: &Custom) -> Option<String> {
    match decode(Kind::LMCacheCoordinator, &coordinator.value()).object {
        AnyObject::LMCacheCoordinator(object) => Some(coordinator_url(
            coordinator.name(),
            coordinator.namespace(),
            &object.spec,
        )),
        _ => None,
    }
}

fn no_coordinator(custom: &Custom) -> Problem {
    let name = custom.facts.coordinator.as_deref().unwrap_or_default();
    Problem {
        child: ChildName::new(ChildKind::DaemonSet, custom.name()),
        reason: Reason::CoordinatorNotFound,
        message: format!(
            "spec.coordinator.ref.name: LMCacheCoordinator {name:?} not found in namespace {}; the servers stay as they are \
             until it exists",
            custom.namespace()
        ),
        after: None,
    }
}

fn no_monitors(child: &ChildName, monitors: Monitors) -> Option<Problem> {
    let what = match monitors {
        Monitors::Unknown | Monitors::Served => return None,
        Monitors::NotServed => {
            "ServiceMonitors (monitoring.coreos.com/v1) are not installed in this cluster; install the Prometheus Operator, \
             or switch this off. It is looked for again every 30 seconds"
        }
        Monitors::Forbidden => {
            "the controller may not list ServiceMonitors; give it the role that `lmcache-controller rbac` prints, or switch \
             this off"
        }
    };
    Some(Problem {
        child: child.clone(),
        reason: Reason::ServiceMonitorNotInstalled,
        message: format!("spec.prometheus.serviceMonitor.enabled: {what}"),
        after: None,
    })
}

/// Puts the hash of the login on the Pods that read it.
fn annotate_template(body: &mut Value, hash: &str) {
    let template = body
        .pointer_mut("/spec/template/metadata")
        .and_then(Value::as_object_mut);
    let annotations = template.map(|metadata| metadata.entry("annotations").or_insert_with(|| json!({})));
    if let Some(annotations) = annotations.and_then(Value::as_object_mut) {
        annotations.insert(LOGIN_HASH_ANNOTATION.to_owned(), json!(hash));
    }
}

/// Adds the owner: with it, Kubernetes deletes the child after the custom resource.
fn owned(mut body: Value, custom: &Custom) -> Value {
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        let owner = json!([{
            "apiVersion": API_VERSION,
            "kind": custom.facts.kind.map(Kind::as_str),
            "name": custom.name(),
            "uid": custom.uid(),
            "controller": true,
            "blockOwnerDeletion": true,
        }]);
        metadata.insert("ownerReferences".to_owned(), owner);
    }
    body
}

/// The DaemonSet or Deployment.
enum Workload {
    /// As this controller builds it.
    Ours(Option<Value>),
    /// With the Go operator's template.
    Kept(Kept),
}

/// Takes the workload out of what was built and fits it to the one that runs: the live selector stays, since it cannot be
/// changed, and so does the Go operator's template, if nothing has changed since.
fn workload(
    bodies: &mut Vec<Value>,
    subject: &Subject,
    inputs: &Inputs,
    coordinator_url: Option<&str>,
    login: &Login,
) -> Workload {
    let place = bodies
        .iter()
        .position(|body| ChildKind::of(body).is_some_and(ChildKind::is_workload));
    let Some(mut body) = place.map(|place| bodies.remove(place)) else {
        return Workload::Ours(None);
    };
    if let Login::Copy { hash, .. } = login {
        annotate_template(&mut body, hash);
    }
    let live = name_of(&body).and_then(|name| inputs.children.get(&name));
    let live = live.filter(|live| live.is_controlled_by(inputs.custom.uid()));
    let Some(child) = live else {
        return Workload::Ours(Some(body));
    };
    let live = child.value();
    keep_selector(&mut body, &live);
    // Nothing of the Go operator's is left, as nearly always: to look for its templates is most of the work of a pass.
    let is_ours = managed::takeover(child).is_none()
        && (child.applied()).is_some_and(|applied| has_settled_spec(&applied.fields, &body, &live));
    if is_ours {
        return Workload::Ours(Some(body));
    }
    let has_new_login = matches!(
        login,
        Login::Copy {
            is_inherited: false,
            ..
        }
    );
    if !has_new_login && let Some(kept) = legacy_template::kept(&subject.stored, coordinator_url, &live, &body) {
        return Workload::Kept(kept);
    }
    Workload::Ours(Some(body))
}

/// The live selector stays, and the Pods keep its labels.
pub(super) fn keep_selector(body: &mut Value, live: &Value) {
    if let (Some(selector), Some(own)) = (live.pointer("/spec/selector"), body.pointer_mut("/spec/selector")) {
        own.clone_from(selector);
    }
    if let Some(template) = body.pointer_mut("/spec/template") {
        legacy_template::keep_selected_labels(template, live);
    }
}

/// A wanted child for an object that was not among the [`Inputs`].
pub fn fitted(wanted: &Wanted, found: &Child) -> Wanted {
    let mut wanted = wanted.clone();
    if wanted.name.kind.is_workload() {
        keep_selector(&mut wanted.body, &found.value());
    }
    wanted
}

pub(super) fn name_of(body: &Value) -> Option<ChildName> {
    let name = body.pointer("/metadata/name")?.as_str()?;
    Some(ChildName::new(ChildKind::of(body)?, name))
}

/// Children that this custom resource may have had before. A child that could not be built now is none of them.
fn unwanted(subject: &Subject, inputs: &Inputs, desired: &Desired, login: &Login) -> Vec<ChildName> {
    let name = inputs.custom.name();
    let mut candidates = vec![
        ChildName::new(ChildKind::Service, format!("{name}-metrics")),
        ChildName::new(ChildKind::ServiceMonitor, name),
    ];
    if subject.object.engine().is_some() && matches!(login, Login::None) {
        candidates.push(ChildName::new(ChildKind::Secret, format!("{name}-resp-auth")));
    }
    let stays = |child: &ChildName| {
        // Not built as long as the kind is not known, which says nothing about those that are there.
        let is_unknown = child.kind == ChildKind::ServiceMonitor && inputs.monitors != Monitors::Served;
        is_unknown
            || desired.wanted.iter().any(|wanted| wanted.name == *child)
            || desired.problems.iter().any(|problem| problem.child == *child)
    };
    candidates.retain(|child| {
        let live = inputs.children.get(child);
        let is_ours =
            live.is_some_and(|live| live.is_controlled_by(inputs.custom.uid()) && !live.facts.is_being_deleted);
        is_ours && !stays(child)
    });
    candidates
}
