//! What a user sees of a cluster, as JSON: objects are what the API server sends, and nothing is lost in types.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use kube::Client;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::Status;
use serde::Deserialize;
use serde_json::Value;

use crate::kinds::resource;

/// A user's access to a cluster.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
}

impl Cluster {
    /// With the rights of a client.
    pub fn new(client: Client) -> Cluster {
        Cluster { client }
    }

    /// The client itself.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Whether the API server says that it is ready.
    ///
    /// # Errors
    /// It is not.
    pub async fn ready(&self) -> Result<()> {
        let request = http::Request::get("/readyz").body(Vec::new())?;
        let answer = self.client.request_text(request).await?;
        ensure!(answer == "ok", "/readyz says {answer}");
        Ok(())
    }

    pub(crate) fn api(&self, kind: &str, namespace: &str) -> Result<Api<DynamicObject>> {
        let (resource, namespaced) = resource(kind)?;
        Ok(match (namespaced, namespace) {
            (true, "") => bail!("a {kind} is in a namespace; none was given"),
            (true, namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            (false, _) => Api::all_with(self.client.clone(), &resource),
        })
    }

    /// An object, `None` where there is none.
    ///
    /// # Errors
    /// The API server refuses.
    pub async fn find(&self, kind: &str, namespace: &str, name: &str) -> Result<Option<Value>> {
        let found = self.api(kind, namespace)?.get_opt(name).await;
        let found = found.with_context(|| format!("get {kind} {namespace}/{name}"))?;
        Ok(found.map(serde_json::to_value).transpose()?)
    }

    /// An object that is there.
    ///
    /// # Errors
    /// There is none, or the API server refuses.
    pub async fn get(&self, kind: &str, namespace: &str, name: &str) -> Result<Value> {
        let found = self.find(kind, namespace, name).await?;
        found.with_context(|| format!("there is no {kind} {namespace}/{name}"))
    }

    /// The objects of a kind in a namespace, or without one those of all namespaces, by label selector (`""` for all).
    ///
    /// # Errors
    /// The API server refuses.
    pub async fn list(&self, kind: &str, namespace: &str, labels: &str) -> Result<Vec<Value>> {
        let (resource, _) = resource(kind)?;
        let api: Api<DynamicObject> = match namespace {
            "" => Api::all_with(self.client.clone(), &resource),
            namespace => Api::namespaced_with(self.client.clone(), namespace, &resource),
        };
        let list = api
            .list(&ListParams::default().labels(labels))
            .await
            .with_context(|| format!("list {kind}"))?;
        // A list leaves out the kind of its members.
        let value = |object: DynamicObject| {
            let mut value = serde_json::to_value(object)?;
            if let Some(value) = value.as_object_mut() {
                value.insert("kind".to_owned(), kind.into());
                value.insert("apiVersion".to_owned(), resource.api_version.clone().into());
            }
            Ok(value)
        };
        list.items.into_iter().map(value).collect()
    }

    /// Creates an object as `kubectl create` does, under the name of a field manager.
    ///
    /// # Errors
    /// The API server refuses.
    pub async fn create(&self, object: &Value, manager: &str) -> Result<Value> {
        let params = PostParams {
            field_manager: Some(manager.to_owned()),
            ..PostParams::default()
        };
        self.post(object, &params).await
    }

    async fn post(&self, object: &Value, params: &PostParams) -> Result<Value> {
        let (kind, namespace, name) = names(object)?;
        let object = DynamicObject::deserialize(object).with_context(|| format!("{kind} {name} is no object"))?;
        let created = self.api(&kind, &namespace)?.create(params, &object).await;
        Ok(serde_json::to_value(
            created.with_context(|| format!("create {kind} {namespace}/{name}"))?,
        )?)
    }

    /// Applies an object as `kubectl apply --server-side` does; unknown fields are refused.
    ///
    /// # Errors
    /// The API server refuses.
    pub async fn apply(&self, object: &Value) -> Result<Value> {
        let (kind, namespace, name) = names(object)?;
        let params = PatchParams::apply("kubectl").force().validation_strict();
        let applied = self
            .api(&kind, &namespace)?
            .patch(&name, &params, &Patch::Apply(object))
            .await;
        Ok(serde_json::to_value(
            applied.with_context(|| format!("apply {kind} {namespace}/{name}"))?,
        )?)
    }

    /// What a new object would be stored as; nothing is stored. Unknown fields are dropped.
    ///
    /// # Errors
    /// The API server would refuse.
    pub async fn dry_run(&self, object: &Value) -> Result<Value> {
        let params = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        self.post(object, &params).await
    }

    /// Changes an object by a merge patch.
    ///
    /// # Errors
    /// The API server refuses.
    pub async fn patch(&self, kind: &str, namespace: &str, name: &str, patch: &Value) -> Result<Value> {
        let params = PatchParams {
            field_manager: Some("kubectl-patch".to_owned()),
            ..PatchParams::default()
        };
        let patched = self
            .api(kind, namespace)?
            .patch(name, &params, &Patch::Merge(patch))
            .await;
        Ok(serde_json::to_value(
            patched.with_context(|| format!("patch {kind} {namespace}/{name}"))?,
        )?)
    }

    /// Deletes an object; the garbage collector deletes what it owns afterwards.
    ///
    /// # Errors
    /// There is none, or the API server refuses.
    pub async fn delete(&self, kind: &str, namespace: &str, name: &str) -> Result<()> {
        let deleted = self
            .api(kind, namespace)?
            .delete(name, &DeleteParams::background())
            .await;
        deleted.with_context(|| format!("delete {kind} {namespace}/{name}"))?;
        Ok(())
    }

    /// Applies what a file of the repository holds. Objects that name no namespace go into the given one.
    ///
    /// # Errors
    /// It cannot be read, or the API server refuses.
    pub async fn apply_file(&self, file: &str, namespace: &str) -> Result<Vec<Value>> {
        let mut applied = Vec::new();
        for mut object in read(file)? {
            place(&mut object, namespace)?;
            applied.push(self.apply(&object).await.with_context(|| file.to_owned())?);
        }
        Ok(applied)
    }
}

/// What the API server said where it refused a request.
pub fn refusal(error: &anyhow::Error) -> Option<&Status> {
    error
        .chain()
        .find_map(|cause| match cause.downcast_ref::<kube::Error>() {
            Some(kube::Error::Api(status)) => Some(&**status),
            _ => None,
        })
}

/// The objects in a YAML file of the repository.
///
/// # Errors
/// It cannot be read, or is no YAML.
pub fn read(file: &str) -> Result<Vec<Value>> {
    let path = repository().join(file);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let documents = yaml_serde::Deserializer::from_str(&text).map(Value::deserialize);
    let documents: Result<Vec<Value>, _> = documents.collect();
    let documents = documents.with_context(|| format!("{} is no YAML", path.display()))?;
    Ok(documents.into_iter().filter(|document| !document.is_null()).collect())
}

/// The root of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Puts an object that names no namespace into one, where its kind has them.
///
/// # Errors
/// Its kind is unknown.
pub fn place(object: &mut Value, namespace: &str) -> Result<()> {
    let (kind, own, _) = names(object)?;
    if own.is_empty()
        && resource(&kind)?.1
        && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
    {
        metadata.insert("namespace".to_owned(), namespace.into());
    }
    Ok(())
}

/// A condition of an object's status.
pub fn condition<'a>(object: &'a Value, of_type: &str) -> Option<&'a Value> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    conditions
        .iter()
        .find(|condition| condition.get("type").and_then(Value::as_str) == Some(of_type))
}

/// Kind, namespace and name.
fn names(object: &Value) -> Result<(String, String, String)> {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).map(str::to_owned);
    let kind = text("/kind").context("an object without a kind")?;
    let name = text("/metadata/name").with_context(|| format!("a {kind} without a name"))?;
    Ok((kind, text("/metadata/namespace").unwrap_or_default(), name))
}
