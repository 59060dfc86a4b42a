//! Requests, each with a limit of time.

use std::future::Future;
use std::time::Duration;

use kube::api::{Api as KubeApi, DeleteParams, Patch, PatchParams, Preconditions, ValidationDirective};
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Client, Resource};
use serde_json::{Value, json};

use super::fault::{Fault, fault};
use crate::live::{Child, ChildKind, Custom, FIELD_MANAGER, Key};
use crate::plan::Reason;
use crate::run::metrics::{Metrics, Operation};
use k8s_openapi::api::core::v1::ObjectReference;
use lmcache_api::{API_VERSION, Kind};

/// How long a request may take. The API server ends most of them after a minute, but a pass that waits so long would show
/// an old state.
pub const LIMIT: Duration = Duration::from_secs(15);

/// The requests that passes make. Everything that is written is counted.
#[derive(Clone)]
pub struct Api {
    client: Client,
    reporter: Reporter,
    metrics: Metrics,
    limit: Duration,
}

impl Api {
    /// Requests of this client; Events name `identity` as their reporter.
    pub fn new(client: Client, identity: &str, metrics: Metrics) -> Self {
        let reporter = Reporter {
            controller: crate::rbac::CONTROLLER.to_owned(),
            instance: Some(identity.to_owned()),
        };
        Api {
            reporter,
            client,
            metrics,
            limit: LIMIT,
        }
    }

    /// The object of this name, `None` if there is none.
    ///
    /// # Errors
    /// What the API server says.
    pub async fn child(&self, kind: ChildKind, namespace: &str, name: &str) -> Result<Option<Child>, Fault> {
        self.within(self.children(kind, namespace).get_opt(name)).await
    }

    /// Applies an object under the controller's field manager. With `force`, fields of others become ours; without, they
    /// make it fail.
    ///
    /// # Errors
    /// What the API server says.
    pub async fn apply(&self, kind: ChildKind, namespace: &str, body: &Value, force: bool) -> Result<Child, Fault> {
        let name = body
            .pointer("/metadata/name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let params = PatchParams { force, ..params() };
        let patch = Patch::Apply(body);
        let applied = self
            .within(self.children(kind, namespace).patch(name, &params, &patch))
            .await?;
        let operation = if force { Operation::Apply } else { Operation::Create };
        self.metrics.written(kind.as_str(), operation);
        Ok(applied)
    }

    /// Hands the fields of the Go operator over, by a JSON patch of `managedFields`.
    ///
    /// # Errors
    /// What the API server says; [`Reason::Conflict`] if the object has changed meanwhile.
    pub async fn take_over(&self, kind: ChildKind, namespace: &str, name: &str, patch: &Value) -> Result<Child, Fault> {
        let taken = self.json_patch(&self.children(kind, namespace), name, patch).await?;
        self.metrics.written(kind.as_str(), Operation::Takeover);
        Ok(taken)
    }

    /// Deletes the object of this uid; one that is gone already, or is another by now, is no error.
    ///
    /// # Errors
    /// What the API server says.
    pub async fn delete(&self, kind: ChildKind, namespace: &str, name: &str, uid: &str) -> Result<(), Fault> {
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: Some(uid.to_owned()),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        match self.within(self.children(kind, namespace).delete(name, &params)).await {
            Ok(_) => self.metrics.written(kind.as_str(), Operation::Delete),
            Err(fault) if matches!(fault.code, 404 | 409) => {}
            Err(fault) => return Err(fault),
        }
        Ok(())
    }

    /// Patches a custom resource itself, by a JSON patch.
    ///
    /// # Errors
    /// What the API server says.
    pub async fn patch_custom(&self, key: &Key, patch: &Value) -> Result<Custom, Fault> {
        let patched = self.json_patch(&self.customs(key), &key.name, patch).await?;
        self.metrics.written(key.kind.as_str(), Operation::Apply);
        Ok(patched)
    }

    /// Merges a patch, `{"status": ...}`, into a custom resource of this version. The version is part of it, since a list
    /// of conditions is written whole: a condition that somebody else set meanwhile is not lost.
    ///
    /// # Errors
    /// What the API server says; 409 if the object has changed meanwhile.
    pub async fn patch_status(&self, custom: &Custom, key: &Key, mut patch: Value) -> Result<Custom, Fault> {
        if let Some(patch) = patch.as_object_mut() {
            let metadata = json!({"uid": custom.uid(), "resourceVersion": custom.resource_version()});
            patch.insert("metadata".to_owned(), metadata);
        }
        let patch = Patch::Merge(patch);
        let patched = self
            .within(self.customs(key).patch_status(&key.name, &params(), &patch))
            .await?;
        self.metrics.written(key.kind.as_str(), Operation::Status);
        Ok(patched)
    }

    /// Publishes an Event. That it was not published is logged and nothing else: it is news, not state.
    pub async fn publish(&self, regarding: &ObjectReference, warning: bool, reason: &str, action: &str, note: &str) {
        let event = Event {
            type_: if warning { EventType::Warning } else { EventType::Normal },
            reason: reason.to_owned(),
            note: Some(note.to_owned()),
            action: action.to_owned(),
            secondary: None,
        };
        // A recorder adds an Event up with an earlier one of the same reason and keeps that one's text. Ours are about
        // changes, each with a text of its own: hence one recorder for each.
        let recorder = Recorder::new(self.client.clone(), self.reporter.clone());
        match self.within(recorder.publish(&event, regarding)).await {
            Ok(()) => self.metrics.written("Event", Operation::Event),
            Err(fault) => tracing::debug!(reason, message = fault.message, "Event not published"),
        }
    }

    fn children(&self, kind: ChildKind, namespace: &str) -> KubeApi<Child> {
        KubeApi::namespaced_with(self.client.clone(), namespace, &kind)
    }

    fn customs(&self, key: &Key) -> KubeApi<Custom> {
        KubeApi::namespaced_with(self.client.clone(), &key.namespace, &key.kind)
    }

    async fn json_patch<K>(&self, api: &KubeApi<K>, name: &str, patch: &Value) -> Result<K, Fault>
    where
        K: Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned,
    {
        let patch: Patch<()> = match serde_json::from_value(patch.clone()) {
            Ok(patch) => Patch::Json(patch),
            Err(error) => {
                return Err(Fault {
                    reason: Reason::Rejected,
                    code: 0,
                    message: format!("a patch of ours cannot be read: {error}"),
                    after: None,
                    is_unserved: false,
                });
            }
        };
        let patched = self.within(api.patch(name, &params(), &patch)).await;
        patched.map_err(Fault::of_tested_patch)
    }

    async fn within<T>(&self, request: impl Future<Output = Result<T, kube::Error>>) -> Result<T, Fault> {
        match tokio::time::timeout(self.limit, request).await {
            Ok(answer) => answer.map_err(|error| fault(&error)),
            Err(_) => Err(Fault::timeout(self.limit)),
        }
    }
}

/// What all patches have in common. The API server warns of unknown and of double fields unless told not to: a quarter of
/// its work on an apply, and nobody would read it. An apply with an unknown field fails all the same.
fn params() -> PatchParams {
    PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        field_validation: Some(ValidationDirective::Ignore),
        ..PatchParams::default()
    }
}

/// How Events refer to a custom resource.
pub fn reference(key: &Key, uid: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some(API_VERSION.to_owned()),
        kind: Some(Kind::as_str(key.kind).to_owned()),
        namespace: Some(key.namespace.clone()),
        name: Some(key.name.clone()),
        uid: Some(uid.to_owned()),
        ..ObjectReference::default()
    }
}

/// How Events refer to a Pod.
pub fn pod_reference(namespace: &str, name: &str, uid: &str) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Pod".to_owned()),
        namespace: Some(namespace.to_owned()),
        name: Some(name.to_owned()),
        uid: Some(uid.to_owned()),
        ..ObjectReference::default()
    }
}
