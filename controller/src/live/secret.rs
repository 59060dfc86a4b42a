//! Secrets that engines name.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value, json};

use super::json::{items, text};
use super::{Cached, Facts};
use crate::build::ALLOW_COPY_ANNOTATION;

/// A Secret that an engine names.
pub type SecretSource = Cached<SecretSourceFacts>;

/// What is kept of it. `Debug` shows no values.
#[derive(Clone)]
pub struct SecretSourceFacts {
    /// `password` and `username`, in base64, where they are texts.
    data: Map<String, Value>,
    /// The annotation that allows copies.
    allow_copy_to: Option<String>,
    /// Tells one `data` from another.
    fingerprint: u64,
    /// When its `data` last changed, RFC 3339, as far as `managedFields` tell; else when it was made. Too late where somebody
    /// changed labels together with data once: see [`SecretSource::remember_change`].
    pub changed: String,
}

impl std::fmt::Debug for SecretSourceFacts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretSourceFacts")
            .field("changed", &self.changed)
            .finish_non_exhaustive()
    }
}

impl Facts for SecretSourceFacts {
    type Type = ();

    fn resource((): &()) -> (&'static str, &'static str, &'static str, &'static str) {
        ("", "v1", "Secret", "secrets")
    }

    fn read(object: Value) -> Self {
        let entry = |key: &str| Some((key.to_owned(), object.get("data")?.get(key)?.clone()));
        let annotations = object.pointer("/metadata/annotations");
        let allowed = annotations.and_then(|annotations| annotations.get(ALLOW_COPY_ANNOTATION)?.as_str());
        // Whoever only relabels a Secret does not change what the servers read. All times are UTC in one format, so that
        // they sort as text.
        let writes = items(&object, "/metadata/managedFields")
            .filter(|entry| entry.pointer("/fieldsV1/f:data").is_some())
            .map(|entry| text(entry, "/time"));
        let created = text(&object, "/metadata/creationTimestamp");
        let mut fingerprint = DefaultHasher::new();
        object.get("data").map(Value::to_string).hash(&mut fingerprint);
        SecretSourceFacts {
            data: ["password", "username"].into_iter().filter_map(entry).collect(),
            allow_copy_to: allowed.map(str::to_owned),
            fingerprint: fingerprint.finish(),
            changed: writes.chain([created]).max().unwrap_or_default().to_owned(),
        }
    }
}

impl SecretSource {
    /// Keeps the time at which the data of `before` changed, if this is the same Secret with the same data: a field manager
    /// has one time for all that it owns, also for labels.
    pub fn remember_change(&mut self, before: &SecretSource) {
        if self.uid() == before.uid() && self.facts.fingerprint == before.facts.fingerprint {
            self.facts.changed.clone_from(&before.facts.changed);
        }
    }

    /// The Secret as [`crate::build::resp_secret`] reads it.
    pub fn value(&self) -> Value {
        json!({
            "metadata": {
                "namespace": self.namespace(),
                "name": self.name(),
                "annotations": {ALLOW_COPY_ANNOTATION: self.facts.allow_copy_to},
            },
            "data": self.facts.data,
        })
    }
}
