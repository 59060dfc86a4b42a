//! What one evaluation is made of, in the shape of a fixture.

use policy_host::document;
use policy_host::fixture::Case;
use policy_host::host::{ClusterBehaviour, ClusterDir};
use policy_host::{AdmissionRequest, EvaluationContext};
use serde_json::{Map, Value, json};
use std::path::Path;

/// A request, the cluster around it, and the settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The AdmissionRequest.
    pub request: Value,
    /// The objects that look-ups find.
    pub objects: Vec<Value>,
    /// How the host answers otherwise.
    pub behaviour: ClusterBehaviour,
    /// The settings, a map.
    pub settings: Value,
}

impl Input {
    /// The input of a fixture.
    pub fn of(case: &Case) -> Self {
        Self {
            request: case.request.value().clone(),
            objects: case.cluster.objects().cloned().collect(),
            behaviour: case.cluster.behaviour().clone(),
            settings: case.settings.clone(),
        }
    }

    /// A member of the request.
    pub fn member(&self, name: &str) -> Option<&Value> {
        self.request.get(name)
    }

    /// The object of the request.
    pub fn object(&self) -> Option<&Value> {
        self.member("object")
    }

    /// The same with another object in the request.
    #[must_use]
    pub fn with_object(&self, object: Value) -> Self {
        let mut input = self.clone();
        if let Some(request) = input.request.as_object_mut() {
            request.insert("object".to_owned(), object);
        }
        input
    }

    /// The request as a host hands it on; `None` where no API server could send it.
    pub fn admission_request(&self) -> Option<AdmissionRequest> {
        AdmissionRequest::from_value(self.request.clone()).ok()
    }

    /// The cluster; `None` where an object cannot be addressed, or two are the same.
    pub fn cluster(&self) -> Option<ClusterDir> {
        let cluster = ClusterDir::new(self.objects.iter().cloned()).ok()?;
        Some(cluster.with_behaviour(self.behaviour.clone()))
    }

    /// The conditions of an evaluation: the policy may read these kinds.
    pub fn context(&self, reads: &[(String, String)]) -> Option<EvaluationContext> {
        Some(EvaluationContext::new(self.cluster()?).context_aware(reads.iter().cloned()))
    }

    /// All of it as one JSON value, for what treats the parts alike.
    pub fn to_value(&self) -> Value {
        json!({
            "request": self.request, "objects": self.objects, "settings": self.settings,
            "behaviour": serde_json::to_value(&self.behaviour).unwrap_or_default(),
        })
    }

    /// The reverse of [`to_value`](Self::to_value).
    pub fn from_value(mut value: Value) -> Option<Self> {
        let mut take = |name: &str| value.get_mut(name).map(Value::take);
        Some(Self {
            request: take("request")?,
            objects: serde_json::from_value(take("objects")?).ok()?,
            behaviour: serde_json::from_value(take("behaviour")?).ok()?,
            settings: take("settings").filter(Value::is_object)?,
        })
    }

    /// Writes the files of a fixture, all but `expected.yaml`.
    ///
    /// # Errors
    /// Names the file that cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), String> {
        let write = |name: &str, text: String| {
            document::write_file(&folder.join(name), text.as_bytes()).map_err(|error| error.to_string())
        };
        let yaml = |value: &Value| yaml_serde::to_string(value).map_err(|error| error.to_string());
        let request = serde_json::to_string_pretty(&self.request).map_err(|error| error.to_string())?;
        write("request.json", request + "\n")?;
        if !self.objects.is_empty() {
            let documents = self.objects.iter().map(yaml).collect::<Result<Vec<_>, _>>()?;
            write("cluster.yaml", documents.join("---\n"))?;
        }
        if self.behaviour != ClusterBehaviour::default() {
            let behaviour = serde_json::to_value(&self.behaviour).map_err(|error| error.to_string())?;
            write("host.yaml", yaml(&behaviour)?)?;
        }
        if self.settings.as_object().is_some_and(|settings| !settings.is_empty()) {
            write("settings.yaml", yaml(&self.settings)?)?;
        }
        Ok(())
    }
}

/// A request about an object: of the kind that it names, in the namespace of the request that it comes from.
pub fn request_for(object: Value, like: &Value) -> Option<Value> {
    let request = AdmissionRequest::create_of(object).ok()?;
    let Value::Object(mut members) = request.value().clone() else {
        return None;
    };
    for name in ["namespace", "operation", "userInfo", "uid"] {
        match like.get(name) {
            Some(value) => members.insert(name.to_owned(), value.clone()),
            None => members.shift_remove(name),
        };
    }
    Some(Value::Object(members))
}

/// The text of a member of a map of texts below `metadata`: `labels` or `annotations`.
pub fn metadata_text<'a>(object: &'a Value, map: &str, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get(map)?.get(key)?.as_str()
}

/// The members of `metadata.labels` or `metadata.annotations`.
pub fn metadata_map<'a>(object: &'a Value, map: &str) -> Option<&'a Map<String, Value>> {
    object.get("metadata")?.get(map)?.as_object()
}
