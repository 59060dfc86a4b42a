//! Children: the objects that custom resources become.

use std::fmt;

use serde_json::{Map, Value, json};

use super::alike::{Alike, PLACES, Texts};
use super::json::{items, number, some_text, text};
use super::{Cached, Facts};

/// The field manager under which the controller applies everything.
pub const FIELD_MANAGER: &str = "lmcache-controller";
/// The field manager of the Go operator: the name of its program.
pub const GO_OPERATOR_MANAGER: &str = "manager";

/// The kinds of children.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChildKind {
    /// The copy of a Redis login.
    Secret,
    /// The connection.
    ConfigMap,
    /// Look-up and metrics.
    Service,
    /// The servers of an engine.
    DaemonSet,
    /// The Pods of a coordinator.
    Deployment,
    /// How Prometheus finds the metrics.
    ServiceMonitor,
}

impl ChildKind {
    /// Every kind, in the order in which they are applied: what Pods refer to comes before the Pods.
    pub const ALL: [ChildKind; 6] = [
        ChildKind::Secret,
        ChildKind::ConfigMap,
        ChildKind::Service,
        ChildKind::DaemonSet,
        ChildKind::Deployment,
        ChildKind::ServiceMonitor,
    ];

    /// The name in `kind`.
    pub const fn as_str(self) -> &'static str {
        self.resource().2
    }

    /// Whether Pods run from it.
    pub const fn is_workload(self) -> bool {
        matches!(self, ChildKind::DaemonSet | ChildKind::Deployment)
    }

    /// The kind of an object; `None` where it is none of a child.
    pub fn of(object: &Value) -> Option<Self> {
        let kind = text(object, "/kind");
        ChildKind::ALL.into_iter().find(|child| child.as_str() == kind)
    }

    /// Group, version, kind, plural.
    const fn resource(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            ChildKind::Secret => ("", "v1", "Secret", "secrets"),
            ChildKind::ConfigMap => ("", "v1", "ConfigMap", "configmaps"),
            ChildKind::Service => ("", "v1", "Service", "services"),
            ChildKind::DaemonSet => ("apps", "v1", "DaemonSet", "daemonsets"),
            ChildKind::Deployment => ("apps", "v1", "Deployment", "deployments"),
            ChildKind::ServiceMonitor => ("monitoring.coreos.com", "v1", "ServiceMonitor", "servicemonitors"),
        }
    }
}

/// The one owner of an object that controls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Controller {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

/// What a field manager owns of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedFields {
    /// The place of the entry in `metadata.managedFields`.
    pub index: usize,
    /// `fieldsV1`, as JSON.
    pub fields: Value,
}

/// How far a workload is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkloadStatus {
    /// `metadata.generation`: the specification that is asked for.
    pub generation: i64,
    /// The generation that the numbers below are about.
    pub observed_generation: i64,
    /// DaemonSet: `desiredNumberScheduled`. Deployment: `spec.replicas`.
    pub desired: i32,
    /// `numberReady`, `readyReplicas`.
    pub ready: i32,
    /// Pods that run the present template: `updatedNumberScheduled`, `updatedReplicas`.
    pub updated: i32,
}

/// A child, or another object of a child's name.
pub type Child = Cached<ChildFacts>;

/// What is kept of a child. `Debug` shows no contents, which may be a login.
#[derive(Clone)]
pub struct ChildFacts {
    /// Its kind; `None` for one that is no child's, which no watch delivers.
    pub kind: Option<ChildKind>,
    /// Its controlling owner.
    pub controller: Option<Controller>,
    /// The label `app.kubernetes.io/instance`: the custom resource that an object with the operator's labels belongs to.
    pub instance: Option<String>,
    /// Whether its deletion was asked for.
    pub is_being_deleted: bool,
    /// Numbers, of a workload.
    pub workload: Option<WorkloadStatus>,
    /// The address of a Service, which the API server chose.
    address: Option<Box<str>>,
    /// What can be compared, as JSON: see [`Child::value`].
    json: Alike,
    /// `fieldsV1` of this controller's applies and of the Go operator's updates, as JSON: see [`Child::applied`].
    applied: Option<(usize, Alike)>,
    inherited: Option<(usize, Alike)>,
}

impl fmt::Debug for ChildFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChildFacts")
            .field("kind", &self.kind)
            .field("controller", &self.controller)
            .finish_non_exhaustive()
    }
}

impl Facts for ChildFacts {
    type Type = ChildKind;

    fn resource(of: &ChildKind) -> (&'static str, &'static str, &'static str, &'static str) {
        of.resource()
    }

    fn read(object: Value) -> Self {
        let kind = ChildKind::of(&object);
        let metadata = |name: &str| text(&object, &format!("/metadata/{name}")).to_owned();
        let (uid, version, namespace) = (metadata("uid"), metadata("resourceVersion"), metadata("namespace"));
        let controller = controller(&object);
        let address = some_text(&object, "/spec/clusterIP").map(String::into_boxed_str);
        let own = own(&uid, &version, &namespace, controller.as_ref(), address.as_deref());
        ChildFacts {
            kind,
            instance: some_text(&object, "/metadata/labels/app.kubernetes.io~1instance"),
            is_being_deleted: some_text(&object, "/metadata/deletionTimestamp").is_some(),
            workload: kind.and_then(|kind| workload(kind, &object)),
            applied: owned(&object, FIELD_MANAGER, "Apply", own),
            inherited: owned(&object, GO_OPERATOR_MANAGER, "Update", own),
            json: Alike::new(comparable(object).to_string(), own),
            controller,
            address,
        }
    }
}

impl Child {
    /// The object without `status`, and of its metadata only name, namespace, uid, resourceVersion, labels, annotations
    /// and ownerReferences.
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.facts.json.text(self.own())).unwrap_or_default()
    }

    /// What this controller applied; `None` where it never did.
    pub fn applied(&self) -> Option<OwnedFields> {
        self.owned_fields(self.facts.applied.as_ref())
    }

    /// What the Go operator wrote and still owns.
    pub fn inherited(&self) -> Option<OwnedFields> {
        self.owned_fields(self.facts.inherited.as_ref())
    }

    /// Whether the object of this uid controls it.
    pub fn is_controlled_by(&self, uid: &str) -> bool {
        !uid.is_empty() && (self.facts.controller.as_ref()).is_some_and(|controller| controller.uid == uid)
    }

    /// Holds what others are alike in together with them.
    pub fn share(&mut self, texts: &mut Texts) {
        let facts = &mut self.facts;
        let fields = facts.applied.iter_mut().chain(&mut facts.inherited);
        fields.for_each(|(_, fields)| texts.share(fields));
        // The copy of a login goes when its object goes.
        if facts.kind != Some(ChildKind::Secret) {
            texts.share(&mut facts.json);
        }
    }

    /// Gives back what it held together with others, when it is replaced or gone: see [`Child::share`].
    pub fn release(&self, texts: &mut Texts) {
        let facts = &self.facts;
        let fields = facts.applied.iter().chain(&facts.inherited);
        fields.for_each(|(_, fields)| texts.release(fields));
        texts.release(&facts.json);
    }

    fn own(&self) -> [&str; PLACES] {
        let facts = &self.facts;
        own(
            self.uid(),
            self.resource_version(),
            self.namespace(),
            facts.controller.as_ref(),
            facts.address.as_deref(),
        )
    }

    fn owned_fields(&self, entry: Option<&(usize, Alike)>) -> Option<OwnedFields> {
        let (index, fields) = entry?;
        Some(OwnedFields {
            index: *index,
            fields: serde_json::from_str(&fields.text(self.own())).ok()?,
        })
    }
}

/// What tells a child from those of other custom resources.
fn own<'a>(
    uid: &'a str,
    version: &'a str,
    namespace: &'a str,
    controller: Option<&'a Controller>,
    address: Option<&'a str>,
) -> [&'a str; PLACES] {
    let (owner, owner_uid) = controller.map_or(("", ""), |controller| (&controller.name, &controller.uid));
    [uid, version, namespace, owner, owner_uid, address.unwrap_or_default()]
}

pub(super) fn controller(object: &Value) -> Option<Controller> {
    let mut owners = items(object, "/metadata/ownerReferences");
    let owner = owners.find(|owner| owner.get("controller") == Some(&Value::Bool(true)))?;
    Some(Controller {
        kind: text(owner, "/kind").to_owned(),
        name: text(owner, "/name").to_owned(),
        uid: text(owner, "/uid").to_owned(),
    })
}

/// The entry of a manager about the object itself, not about a subresource of it.
fn owned(object: &Value, manager: &str, operation: &str, own: [&str; PLACES]) -> Option<(usize, Alike)> {
    let mut entries = items(object, "/metadata/managedFields").enumerate();
    let (index, entry) = entries.find(|(_, entry)| {
        text(entry, "/manager") == manager
            && text(entry, "/operation") == operation
            && text(entry, "/subresource").is_empty()
    })?;
    Some((index, Alike::new(entry.get("fieldsV1")?.to_string(), own)))
}

fn workload(kind: ChildKind, object: &Value) -> Option<WorkloadStatus> {
    let (desired, ready, updated) = match kind {
        ChildKind::DaemonSet => (
            "/status/desiredNumberScheduled",
            "/status/numberReady",
            "/status/updatedNumberScheduled",
        ),
        ChildKind::Deployment => ("/spec/replicas", "/status/readyReplicas", "/status/updatedReplicas"),
        _ => return None,
    };
    let count = |pointer| i32::try_from(number(object, pointer)).unwrap_or_default();
    Some(WorkloadStatus {
        generation: number(object, "/metadata/generation"),
        observed_generation: number(object, "/status/observedGeneration"),
        desired: count(desired),
        ready: count(ready),
        updated: count(updated),
    })
}

fn comparable(object: Value) -> Value {
    let Value::Object(mut object) = object else {
        return json!({});
    };
    object.remove("status");
    if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
        let kept = [
            "name",
            "namespace",
            "uid",
            "resourceVersion",
            "labels",
            "annotations",
            "ownerReferences",
        ];
        let metadata_kept: Map<String, Value> = kept.into_iter().filter_map(|key| metadata.remove_entry(key)).collect();
        *metadata = metadata_kept;
    }
    Value::Object(object)
}
