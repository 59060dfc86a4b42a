//! A cluster made of YAML files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::select::{apply_masks, matches_fields, matches_labels};
use super::{HostCapabilities, HostRequest};
use crate::document;
use crate::request::is_cluster_scoped;

/// The file beside the objects that says how the host answers.
const BEHAVIOUR_FILE: &str = "host.yaml";

/// apiVersion, kind, namespace (none for cluster-scoped kinds), name.
type Key = (String, String, Option<String>, String);

/// Answers get and list calls from manifests. Every kind is served unless [`ClusterBehaviour`] says otherwise; an object
/// of a namespaced kind without a namespace is in `default`.
#[derive(Clone, Debug, Default)]
pub struct ClusterDir {
    objects: BTreeMap<Key, Value>,
    behaviour: ClusterBehaviour,
}

/// How the host misbehaves, by kind (`host.yaml`).
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct ClusterBehaviour {
    /// Kinds whose CRD is not installed: `Cannot find resource <apiVersion>/<kind>`.
    pub not_served: Vec<String>,
    /// Kinds whose look-ups fail, with the text of the failure.
    pub failing: BTreeMap<String, String>,
    /// Kinds whose look-ups are answered with these bytes, whatever was asked.
    pub garbled: BTreeMap<String, String>,
}

impl ClusterDir {
    /// A cluster of these objects.
    ///
    /// # Errors
    /// When an object has no apiVersion, kind or name, or two are the same.
    pub fn new(objects: impl IntoIterator<Item = Value>) -> Result<Self> {
        let mut cluster = Self::default();
        for object in objects {
            cluster.add(object)?;
        }
        Ok(cluster)
    }

    /// Loads a file of one or more documents, or every `.yaml`, `.yml` and `.json` file of a folder (not below it). Where
    /// the folder holds `cluster.yaml`, as a test case does, only that; a case without one has an empty cluster. A
    /// `host.yaml` in the same folder is applied.
    ///
    /// # Errors
    /// Names the file and what is wrong with it.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let mut cluster = Self::default();
        for file in object_files(path)? {
            for object in document::read_all(&file)? {
                cluster.add(object).map_err(|e| anyhow!("{}: {e}", file.display()))?;
            }
        }
        let folder = if path.is_dir() {
            path
        } else {
            path.parent().unwrap_or(Path::new("."))
        };
        let behaviour = folder.join(BEHAVIOUR_FILE);
        if behaviour.is_file() {
            cluster.behaviour = ClusterBehaviour::from_file(&behaviour)?;
        }
        Ok(cluster)
    }

    /// The same objects behind a host that behaves like this.
    #[must_use]
    pub fn with_behaviour(self, behaviour: ClusterBehaviour) -> Self {
        Self { behaviour, ..self }
    }

    /// The objects, in the order of apiVersion, kind, namespace and name.
    pub fn objects(&self) -> impl Iterator<Item = &Value> {
        self.objects.values()
    }

    /// How the host misbehaves.
    pub fn behaviour(&self) -> &ClusterBehaviour {
        &self.behaviour
    }

    fn add(&mut self, object: Value) -> Result<()> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let (Some(api_version), Some(kind)) = (text("/apiVersion"), text("/kind")) else {
            bail!("an object of the cluster needs `apiVersion` and `kind`");
        };
        if kind == "List"
            && let Some(items) = object.get("items").and_then(Value::as_array)
        {
            return items.iter().try_for_each(|item| self.add(item.clone()));
        }
        let Some(name) = text("/metadata/name") else {
            bail!("the {kind} has no `metadata.name`");
        };
        let namespace =
            (!is_cluster_scoped(&kind)).then(|| text("/metadata/namespace").unwrap_or_else(|| "default".to_owned()));
        let shown = format!("{kind} {name}");
        if self
            .objects
            .insert((api_version, kind, namespace, name), object)
            .is_some()
        {
            bail!("{shown} is there twice");
        }
        Ok(())
    }

    fn get(&self, api_version: &str, kind: &str, name: &str, namespace: Option<&str>) -> Result<Value, String> {
        if namespace.is_none() && !is_cluster_scoped(kind) {
            return Err(format!(
                "Resource {api_version}/{kind} is namespaced, but no namespace was provided"
            ));
        }
        let stored = if is_cluster_scoped(kind) { None } else { namespace };
        let key = (
            api_version.to_owned(),
            kind.to_owned(),
            stored.map(str::to_owned),
            name.to_owned(),
        );
        self.objects.get(&key).cloned().ok_or_else(|| {
            format!("Cannot find {api_version}/{kind} named '{name}' inside of namespace '{namespace:?}'")
        })
    }

    fn list(
        &self,
        (api_version, kind): (&str, &str),
        namespace: Option<&str>,
        labels: Option<&str>,
        fields: Option<&str>,
    ) -> Result<Vec<Value>, String> {
        if namespace.is_some() && is_cluster_scoped(kind) {
            return Err(format!(
                "resource {api_version}/{kind} is cluster wide. Cannot search for it inside of a namespace"
            ));
        }
        let mut items = Vec::new();
        for ((object_version, object_kind, object_namespace, _), object) in &self.objects {
            let here = namespace.is_none() || object_namespace.as_deref() == namespace;
            if object_version == api_version
                && object_kind == kind
                && here
                && labels.map_or(Ok(true), |selector| matches_labels(object, selector))?
                && fields.map_or(Ok(true), |selector| matches_fields(object, selector))?
            {
                let mut item = object.clone();
                strip(&mut item);
                items.push(item);
            }
        }
        Ok(items)
    }
}

impl HostCapabilities for ClusterDir {
    fn answer(&self, request: &HostRequest) -> Result<Vec<u8>, String> {
        if let Some((api_version, kind)) = request.resource() {
            if self.behaviour.not_served.iter().any(|absent| absent == kind) {
                return Err(format!("Cannot find resource {api_version}/{kind}"));
            }
            if let Some(text) = self.behaviour.failing.get(kind) {
                return Err(text.clone());
            }
            if let Some(bytes) = self.behaviour.garbled.get(kind) {
                return Ok(bytes.clone().into_bytes());
            }
        }
        let (mut answer, masks) = match request {
            HostRequest::KubernetesGetResource {
                api_version,
                kind,
                name,
                namespace,
                field_masks,
                ..
            } => (self.get(api_version, kind, name, namespace.as_deref())?, field_masks),
            HostRequest::KubernetesListResourceNamespace {
                api_version,
                kind,
                namespace,
                label_selector,
                field_selector,
                field_masks,
                ..
            } => {
                let (labels, fields) = (label_selector.as_deref(), field_selector.as_deref());
                let items = self.list((api_version, kind), Some(namespace), labels, fields)?;
                (list_of(api_version, kind, items, field_masks.as_ref()), &None)
            }
            HostRequest::KubernetesListResourceAll {
                api_version,
                kind,
                label_selector,
                field_selector,
                field_masks,
                ..
            } => {
                let (labels, fields) = (label_selector.as_deref(), field_selector.as_deref());
                let items = self.list((api_version, kind), None, labels, fields)?;
                (list_of(api_version, kind, items, field_masks.as_ref()), &None)
            }
            other => {
                return Err(format!(
                    "a folder of manifests cannot answer {other}; replay a recorded session"
                ));
            }
        };
        if let Some(masks) = masks {
            apply_masks(&mut answer, masks);
        }
        serde_json::to_vec(&answer).map_err(|e| e.to_string())
    }
}

impl ClusterBehaviour {
    /// Reads `host.yaml`.
    ///
    /// # Errors
    /// Names the file and the unknown or wrong key.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let behaviour = match document::read_one(path)? {
            Value::Null => Ok(Self::default()),
            value => serde_json::from_value(value),
        };
        behaviour.map_err(|e| anyhow!("{}: {e}", path.display()))
    }
}

pub(super) fn list_of(
    api_version: &str,
    kind: &str,
    mut items: Vec<Value>,
    masks: Option<&std::collections::BTreeSet<String>>,
) -> Value {
    if let Some(masks) = masks {
        items.iter_mut().for_each(|item| apply_masks(item, masks));
    }
    json!({"apiVersion": api_version, "kind": format!("{kind}List"), "metadata": {}, "items": items})
}

/// Kubewarden strips list items, not single objects: managed fields become an empty list.
pub(super) fn strip(item: &mut Value) {
    let Some(metadata) = item.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    metadata.insert("managedFields".to_owned(), json!([]));
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.shift_remove("kubectl.kubernetes.io/last-applied-configuration");
    }
}

fn object_files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let case = path.join("cluster.yaml");
    if case.is_file() {
        return Ok(vec![case]);
    }
    if path.join("request.json").is_file() && path.join("expected.yaml").is_file() {
        return Ok(Vec::new());
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(|e| anyhow!("cannot read {}: {e}", path.display()))? {
        let file = entry
            .map_err(|e| anyhow!("cannot read {}: {e}", path.display()))?
            .path();
        let manifest = file
            .extension()
            .is_some_and(|extension| extension == "yaml" || extension == "yml" || extension == "json");
        if manifest && file.is_file() && file.file_name().is_some_and(|name| name != BEHAVIOUR_FILE) {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}
