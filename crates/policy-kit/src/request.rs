//! The admission request, read in two steps.
//!
//! Most Pods of a cluster are none of our business. The first step reads only the head of a request: operation, kind and
//! the object's labels and annotations, the rest is skipped over as raw JSON. Only for an object that matters is the
//! second step made: parsing the whole object.
//!
//! Nothing here fails on odd input: a member of the wrong type counts as absent.

use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The members of a JSON object, their values not yet read.
type Members<'a> = BTreeMap<String, &'a RawValue>;

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
    object: Option<&'a RawValue>,
    old_object: Option<&'a RawValue>,
    settings: Option<&'a RawValue>,
}

/// The part of an object's metadata that decides whether the rest is read at all.
#[derive(Debug)]
pub struct MetadataHead<'a> {
    labels: Members<'a>,
    annotations: Members<'a>,
}

impl<'a> Request<'a> {
    /// Reads the head of what the host handed to `validate`: `{"request": ..., "settings": ...}`. What is no JSON object at
    /// all, which no host sends, reads as a request for nothing.
    pub fn read(payload: &'a [u8]) -> Self {
        let payload: Members<'a> = std::str::from_utf8(payload)
            .ok()
            .and_then(|json| serde_json::from_str(json).ok())
            .unwrap_or_default();
        let head = members(payload.get("request").copied());
        let kind = members(head.get("kind").copied());
        let own = |name: &str| {
            text(head.get(name).copied())
                .filter(|text| !text.is_empty())
                .map(Cow::into_owned)
        };
        let of_kind = |name: &str| text(kind.get(name).copied()).map(Cow::into_owned).unwrap_or_default();
        Self {
            operation: own("operation").unwrap_or_default(),
            kind: GroupKind {
                group: of_kind("group"),
                kind: of_kind("kind"),
            },
            sub_resource: own("subResource"),
            name: own("name"),
            namespace: own("namespace"),
            object: head.get("object").copied(),
            old_object: head.get("oldObject").copied(),
            settings: payload.get("settings").copied(),
        }
    }

    /// Is this the creation of a Pod itself, not of a subresource?
    pub fn creates_pod(&self) -> bool {
        self.operation == "CREATE"
            && self.kind.kind == "Pod"
            && self.kind.group.is_empty()
            && self.sub_resource.is_none()
    }

    /// Labels and annotations of the object, without reading the rest of it.
    pub fn metadata(&self) -> MetadataHead<'a> {
        let object = members(self.object);
        let metadata = members(object.get("metadata").copied());
        let map = |name: &str| members(metadata.get(name).copied());
        MetadataHead {
            labels: map("labels"),
            annotations: map("annotations"),
        }
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
        self.settings.map_or("{}", RawValue::get)
    }
}

impl MetadataHead<'_> {
    /// The value of a label, if it is a text.
    pub fn label(&self, key: &str) -> Option<Cow<'_, str>> {
        text(self.labels.get(key).copied())
    }

    /// The value of an annotation, if it is a text.
    pub fn annotation(&self, key: &str) -> Option<Cow<'_, str>> {
        text(self.annotations.get(key).copied())
    }
}

fn members<'a>(raw: Option<&'a RawValue>) -> Members<'a> {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
        .unwrap_or_default()
}

fn text(raw: Option<&RawValue>) -> Option<Cow<'_, str>> {
    let raw = raw?.get();
    // A text without escapes is borrowed, which is nearly always the case.
    match serde_json::from_str::<&str>(raw) {
        Ok(text) => Some(Cow::Borrowed(text)),
        Err(_) => serde_json::from_str::<String>(raw).ok().map(Cow::Owned),
    }
}

fn value(raw: Option<&RawValue>) -> Option<Value> {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
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
