//! The answer to the host.
//!
//! The SDK has helpers to accept, to mutate and to reject, but none that accepts with warnings or audit annotations.

use crate::text;
use kubewarden_policy_sdk::wapc_guest::CallResult;
use serde::Serialize;
use serde_json::{Map, Value};

/// An answer under construction. Starts as plain acceptance.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Response {
    refusal: Option<Refusal>,
    mutated_object: Option<Value>,
    warnings: Vec<String>,
    audit: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq)]
struct Refusal {
    message: String,
    code: u16,
}

#[derive(Serialize)]
struct Wire<'a> {
    accepted: bool,
    message: Option<&'a str>,
    code: Option<u16>,
    mutated_object: Option<&'a Value>,
    audit_annotations: Option<&'a Map<String, Value>>,
    warnings: Option<&'a Vec<String>>,
}

impl Response {
    /// Accepts the request as it stands.
    pub fn accept() -> Self {
        Self::default()
    }

    /// Accepts the request with a changed object. To be used only for an object that did change: the host refuses a
    /// request whose policy returns a changed object without being allowed to mutate.
    pub fn mutate(object: Value) -> Self {
        Self {
            mutated_object: Some(object),
            ..Self::default()
        }
    }

    /// Refuses the request with a text for the user and an HTTP status code.
    pub fn refuse(message: String, code: u16) -> Self {
        Self {
            refusal: Some(Refusal { message, code }),
            ..Self::default()
        }
    }

    /// Adds warnings for the person or controller that sent the request.
    #[must_use]
    pub fn with_warnings(mut self, warnings: Vec<String>) -> Self {
        self.warnings.extend(warnings);
        self.warnings = text::warnings(std::mem::take(&mut self.warnings));
        self
    }

    /// Adds an entry to the audit log. The API server puts the webhook's name and a `/` in front of `key`, which
    /// therefore must hold no `/` of its own.
    #[must_use]
    pub fn with_audit(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.audit.insert(key.to_owned(), Value::String(value.into()));
        self
    }

    /// The answer as the host reads it.
    ///
    /// # Errors
    /// Never in practice: all members are plain JSON.
    pub fn encode(&self) -> CallResult {
        Ok(serde_json::to_vec(&Wire {
            accepted: self.refusal.is_none(),
            message: self.refusal.as_ref().map(|refusal| refusal.message.as_str()),
            code: self.refusal.as_ref().map(|refusal| refusal.code),
            mutated_object: self.mutated_object.as_ref(),
            audit_annotations: Some(&self.audit).filter(|audit| !audit.is_empty()),
            warnings: Some(&self.warnings).filter(|warnings| !warnings.is_empty()),
        })?)
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use serde_json::json;

    fn wire(response: &Response) -> Value {
        serde_json::from_slice(&response.encode().unwrap()).unwrap()
    }

    #[test]
    fn acceptance_says_nothing_else() {
        assert_eq!(
            wire(&Response::accept()),
            json!({"accepted": true, "message": null, "code": null, "mutated_object": null,
                "audit_annotations": null, "warnings": null})
        );
    }

    #[test]
    fn a_mutation_carries_warnings_and_audit_annotations() {
        let response = Response::mutate(json!({"a": 1.0}))
            .with_warnings(vec!["first\nline".into()])
            .with_audit("outcome", "wired");
        let wire = wire(&response);
        assert_eq!(wire["mutated_object"], json!({"a": 1.0}));
        assert_eq!(wire["warnings"], json!(["first line"]));
        assert_eq!(wire["audit_annotations"], json!({"outcome": "wired"}));
    }

    #[test]
    fn a_refusal_has_a_message_and_a_code() {
        let wire = wire(&Response::refuse("spec.l1.sizeGB: no".into(), 422));
        assert_eq!((&wire["accepted"], &wire["code"]), (&json!(false), &json!(422)));
    }
}
