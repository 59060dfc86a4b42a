//! The admission request, read in two steps.
//!
//! Most Pods of a cluster are none of our business. The first step reads only the head of a request: operation, kind and
//! the object's labels and annotations, the rest is skipped over as raw JSON. Only for an object that matters is the
//! second step made: parsing the whole object.
//!
//! Nothing here fails on odd input: a member of the wrong type counts as absent.

mod members;

use members::{Members, text};
use serde_json::Value;
use std::borrow::Cow;

/// Group and kind of the object under admission.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct GroupKind {
    /// API group, empty for the core group.
    pub group: String,
    /// Kind, singular.
    pub kind: String,
}

/// The head of a request.
#[derive(Debug)]
pub struct Request<'a> {
    /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
    pub operation: String,
    /// Group and kind of the object.
    pub kind: GroupKind,
    /// Subresource, for instance `status`; none for the object itself.
    pub sub_resource: Option<String>,
    /// Name of the object as the request has it; empty before a generated name is known.
    pub name: Option<String>,
    /// Namespace of the request.
    pub namespace: Option<String>,
    object: Option<&'a str>,
    old_object: Option<&'a str>,
    settings: Option<&'a str>,
}

/// The part of an object's metadata that decides whether the rest is read at all.
#[derive(Debug)]
pub struct MetadataHead<'a> {
    labels: Members<'a>,
    annotations: Members<'a>,
    /// The object is being deleted: it has a deletion timestamp.
    pub deleted: bool,
}

impl<'a> Request<'a> {
    /// Reads the head of what the host handed to `validate`: `{"request": ..., "settings": ...}`. What is no JSON object at
    /// all, which no host sends, reads as a request for nothing.
    pub fn read(payload: &'a [u8]) -> Self {
        let payload = members(std::str::from_utf8(payload).ok());
        let head = members(payload.get("request"));
        let kind = members(head.get("kind"));
        let own = |name: &str| {
            head.get(name)
                .and_then(text)
                .filter(|text| !text.is_empty())
                .map(Cow::into_owned)
        };
        let of_kind = |name: &str| kind.get(name).and_then(text).map(Cow::into_owned).unwrap_or_default();
        Self {
            operation: own("operation").unwrap_or_default(),
            kind: GroupKind {
                group: of_kind("group"),
                kind: of_kind("kind"),
            },
            sub_resource: own("subResource"),
            name: own("name"),
            namespace: own("namespace"),
            object: head.get("object"),
            old_object: head.get("oldObject"),
            settings: payload.get("settings"),
        }
    }

    /// Is this the creation of a Pod itself, not of a subresource?
    pub fn creates_pod(&self) -> bool {
        self.operation == "CREATE" && self.is_about_pod()
    }

    /// Is this a change of a Pod itself, not of a subresource such as its status?
    pub fn updates_pod(&self) -> bool {
        self.operation == "UPDATE" && self.is_about_pod()
    }

    fn is_about_pod(&self) -> bool {
        self.kind.kind == "Pod" && self.kind.group.is_empty() && self.sub_resource.is_none()
    }

    /// Labels and annotations of the object, without reading the rest of it.
    pub fn metadata(&self) -> MetadataHead<'a> {
        head(self.object)
    }

    /// The same of the object before the change. `None` where the request has none.
    pub fn old_metadata(&self) -> Option<MetadataHead<'a>> {
        let old = self.old_object.filter(|object| !is_null(object));
        old.map(|object| head(Some(object)))
    }

    /// Does the object hold this text somewhere, in a key or in a value? It is looked for in the JSON as it was sent, so it
    /// must be free of what JSON writers escape.
    pub fn mentions(&self, text: &str) -> bool {
        self.object.is_some_and(|object| object.contains(text))
    }

    /// The whole object. `None` where the request has none.
    pub fn object(&self) -> Option<Value> {
        value(self.object)
    }

    /// The object before the change. `None` on CREATE.
    pub fn old_object(&self) -> Option<Value> {
        value(self.old_object)
    }

    /// The settings, as the user wrote them; `{}` where there are none.
    pub fn settings(&self) -> &'a str {
        self.settings.unwrap_or("{}")
    }
}

impl MetadataHead<'_> {
    /// The value of a label, if it is a text.
    pub fn label(&self, key: &str) -> Option<Cow<'_, str>> {
        self.labels.get(key).and_then(text)
    }

    /// The value of an annotation, if it is a text.
    pub fn annotation(&self, key: &str) -> Option<Cow<'_, str>> {
        self.annotations.get(key).and_then(text)
    }
}

fn head(object: Option<&str>) -> MetadataHead<'_> {
    let object = members(object);
    let metadata = members(object.get("metadata"));
    let map = |name: &str| members(metadata.get(name));
    MetadataHead {
        labels: map("labels"),
        annotations: map("annotations"),
        deleted: metadata.get("deletionTimestamp").is_some_and(|time| !is_null(time)),
    }
}

fn is_null(json: &str) -> bool {
    json.trim() == "null"
}

fn members(json: Option<&str>) -> Members<'_> {
    json.map(Members::of).unwrap_or_default()
}

fn value(json: Option<&str>) -> Option<Value> {
    json.and_then(|json| serde_json::from_str(json).ok())
        .filter(|value: &Value| !value.is_null())
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use serde_json::json;

    fn bytes(payload: &Value) -> Vec<u8> {
        serde_json::to_vec(payload).unwrap()
    }

    #[test]
    fn the_head_of_a_pod() {
        let bytes = bytes(&json!({
            "request": {
                "uid": "1", "operation": "CREATE", "namespace": "team-a",
                "kind": {"group": "", "version": "v1", "kind": "Pod"},
                "object": {"metadata": {"labels": {"a": "b\n", "n": 1}, "annotations": null}, "spec": {"x": [1.0]}}
            },
            "settings": {"optIn": "Label"}
        }));
        let request = Request::read(&bytes);
        assert!(request.creates_pod());
        assert_eq!(request.namespace.as_deref(), Some("team-a"));
        assert_eq!(request.metadata().label("a").as_deref(), Some("b\n"));
        assert_eq!(request.metadata().label("n"), None);
        assert_eq!(request.metadata().annotation("a"), None);
        assert_eq!(request.settings(), r#"{"optIn":"Label"}"#);
        assert_eq!(request.object().unwrap()["spec"]["x"][0], json!(1.0));
        assert_eq!(request.old_object(), None);
    }

    #[test]
    fn only_the_creation_of_a_pod_itself_counts() {
        for (operation, group, kind, sub) in [
            ("UPDATE", "", "Pod", None),
            ("DELETE", "", "Pod", None),
            ("CREATE", "apps", "Deployment", None),
            ("CREATE", "metrics.k8s.io", "Pod", None),
            ("CREATE", "", "Pod", Some("ephemeralcontainers")),
        ] {
            let bytes = bytes(&json!({"request": {
                "operation": operation, "kind": {"group": group, "kind": kind}, "subResource": sub
            }}));
            assert!(
                !Request::read(&bytes).creates_pod(),
                "{operation} {group}/{kind} {sub:?}"
            );
        }
    }

    #[test]
    fn odd_members_count_as_absent() {
        for odd in [json!(null), json!(5), json!("x"), json!([]), json!({"a": {}})] {
            let bytes = bytes(&json!({"request": {
                "operation": odd, "kind": odd, "namespace": odd, "object": odd, "oldObject": odd, "name": odd
            }}));
            let request = Request::read(&bytes);
            assert!(!request.creates_pod());
            assert_eq!(request.metadata().label("a"), None);
        }
        for payload in [
            "",
            "{",
            "null",
            "{}",
            "{\"request\":null}",
            "{\"request\":[1]}",
            "\"\u{e9}\"",
        ] {
            let request = Request::read(payload.as_bytes());
            assert!(!request.creates_pod() && request.object().is_none() && request.settings() == "{}");
        }
        assert!(!Request::read(b"\xff").creates_pod());
    }
}
