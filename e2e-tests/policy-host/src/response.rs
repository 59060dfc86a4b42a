//! What a policy answers, and what the host makes of it.

use std::collections::BTreeMap;

use base64::Engine as _;
use json_patch::Patch;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

/// The answer of a guest to `validate`, as it is on the wire (snake_case, only `accepted` required).
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ValidationResponse {
    /// Whether the object may enter the cluster.
    pub accepted: bool,
    /// Why not.
    pub message: Option<String>,
    /// HTTP status of a refusal.
    pub code: Option<u16>,
    /// The whole object after mutation, not a patch.
    pub mutated_object: Option<Value>,
    /// Written to the audit log of the API server.
    pub audit_annotations: Option<BTreeMap<String, String>>,
    /// Shown to the client, whether the object is accepted or not.
    pub warnings: Option<Vec<String>>,
}

/// Reason and code of a response.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Text for the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// HTTP status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<u16>,
}

/// What goes back to the API server. Serialises to the very JSON that `kwctl run` prints: the patch as base64, `status`,
/// `patchType` and `patch` left out when unset, `auditAnnotations` and `warnings` written as null then.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AdmissionResponse {
    /// The uid of the request.
    pub uid: String,
    /// Whether the object may enter the cluster.
    pub allowed: bool,
    /// Changes to the object; never an empty list.
    pub patch: Option<Patch>,
    /// Reason and code, mostly of refusals.
    pub status: Option<Status>,
    /// Written to the audit log of the API server.
    pub audit_annotations: Option<BTreeMap<String, String>>,
    /// Shown to the client.
    pub warnings: Option<Vec<String>>,
}

impl AdmissionResponse {
    /// The refusal that Kubewarden makes of a failing guest: code 500, `internal server error: <text>`.
    pub fn internal_error(uid: &str, text: &str) -> Self {
        Self::refused(uid, format!("internal server error: {text}"), Some(500))
    }

    fn refused(uid: &str, message: String, code: Option<u16>) -> Self {
        Self {
            uid: uid.to_owned(),
            status: Some(Status {
                message: Some(message),
                code,
            }),
            ..Self::default()
        }
    }

    /// Maps a guest's answer. `object` is what a patch is computed against: the object of the request, for raw policies
    /// the whole request. A mutation equal to it gives no patch; a mutation without an object (DELETE) is refused.
    pub fn from_guest(uid: &str, object: Option<&Value>, guest: ValidationResponse) -> Self {
        let patch = match (guest.mutated_object, object) {
            (None, _) => None,
            (Some(_), None) => {
                let message = "Incoming object is null, which happens only with DELETE operations, but the policy is \
                               attempting a mutation. This is not allowed";
                return Self::refused(uid, message.to_owned(), None);
            }
            (Some(after), Some(before)) => Some(json_patch::diff(before, &after)).filter(|patch| !patch.is_empty()),
        };
        let status = (guest.message.is_some() || guest.code.is_some()).then_some(Status {
            message: guest.message,
            code: guest.code,
        });
        Self {
            uid: uid.to_owned(),
            allowed: guest.accepted,
            patch,
            status,
            audit_annotations: guest.audit_annotations,
            warnings: guest.warnings,
        }
    }

    /// The rule of policy-server for policies with `mutating: false`: a response that carries a patch becomes a refusal
    /// without it. An accepted response without a patch passes.
    pub fn forbid_mutation(self, policy_id: &str) -> Self {
        if self.patch.is_none() {
            return self;
        }
        let message = format!(
            "Request rejected by policy {policy_id}. The policy attempted to mutate the request, but it is currently \
             configured to not allow mutations."
        );
        Self {
            allowed: false,
            patch: None,
            status: Some(Status {
                message: Some(message),
                code: None,
            }),
            ..self
        }
    }

    /// The text of a refusal, empty when there is none.
    pub fn message(&self) -> &str {
        self.status
            .as_ref()
            .and_then(|status| status.message.as_deref())
            .unwrap_or_default()
    }

    /// The HTTP status, when set.
    pub fn code(&self) -> Option<u16> {
        self.status.as_ref().and_then(|status| status.code)
    }

    /// The warnings, empty when there are none.
    pub fn warnings(&self) -> &[String] {
        self.warnings.as_deref().unwrap_or_default()
    }
}

impl Serialize for AdmissionResponse {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Wire<'a> {
            uid: &'a str,
            allowed: bool,
            #[serde(skip_serializing_if = "Option::is_none")]
            patch_type: Option<&'static str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            patch: Option<String>,
            #[serde(skip_serializing_if = "Option::is_none")]
            status: Option<&'a Status>,
            audit_annotations: Option<&'a BTreeMap<String, String>>,
            warnings: Option<&'a [String]>,
        }
        let patch = match &self.patch {
            Some(patch) => {
                let json = serde_json::to_string(patch).map_err(serde::ser::Error::custom)?;
                Some(base64::engine::general_purpose::STANDARD.encode(json))
            }
            None => None,
        };
        Wire {
            uid: &self.uid,
            allowed: self.allowed,
            patch_type: patch.is_some().then_some("JSONPatch"),
            patch,
            status: self.status.as_ref(),
            audit_annotations: self.audit_annotations.as_ref(),
            warnings: self.warnings.as_deref(),
        }
        .serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn guest(answer: Value) -> ValidationResponse {
        serde_json::from_value(answer).unwrap()
    }

    #[test]
    fn writes_the_line_of_kwctl() {
        let object = json!({"a": 1});
        let accepted = AdmissionResponse::from_guest("u", Some(&object), guest(json!({"accepted": true})));
        assert_eq!(
            serde_json::to_string(&accepted).unwrap(),
            r#"{"uid":"u","allowed":true,"auditAnnotations":null,"warnings":null}"#
        );
        let mutated = guest(json!({"accepted": true, "mutated_object": {"a": 1, "b": 2}, "warnings": ["w"]}));
        let response = AdmissionResponse::from_guest("u", Some(&object), mutated);
        let patch = base64::engine::general_purpose::STANDARD.encode(r#"[{"op":"add","path":"/b","value":2}]"#);
        assert_eq!(
            serde_json::to_string(&response).unwrap(),
            format!(
                r#"{{"uid":"u","allowed":true,"patchType":"JSONPatch","patch":"{patch}","auditAnnotations":null,"warnings":["w"]}}"#
            )
        );
        let refused = guest(json!({"accepted": false, "message": "no", "code": 422, "audit_annotations": {"k": "v"}}));
        assert_eq!(
            serde_json::to_string(&AdmissionResponse::from_guest("u", None, refused)).unwrap(),
            r#"{"uid":"u","allowed":false,"status":{"message":"no","code":422},"auditAnnotations":{"k":"v"},"warnings":null}"#
        );
    }

    #[test]
    fn an_unchanged_object_gives_no_patch_even_where_mutation_is_forbidden() {
        let object = json!({"a": 1, "b": 2});
        let same = guest(json!({"accepted": true, "mutated_object": {"b": 2, "a": 1}}));
        let response = AdmissionResponse::from_guest("u", Some(&object), same).forbid_mutation("p");
        assert!(response.allowed && response.patch.is_none() && response.status.is_none());
    }

    #[test]
    fn a_forbidden_mutation_is_refused_and_keeps_the_warnings() {
        let changed = guest(json!({"accepted": true, "mutated_object": {"a": 2}, "warnings": ["w"]}));
        let response = AdmissionResponse::from_guest("u", Some(&json!({"a": 1})), changed).forbid_mutation("p");
        assert!(!response.allowed && response.patch.is_none());
        assert!(response.message().ends_with("configured to not allow mutations."));
        assert_eq!((response.code(), response.warnings()), (None, &["w".to_owned()][..]));
    }

    #[test]
    fn a_mutation_without_an_object_is_refused() {
        let changed = guest(json!({"accepted": true, "mutated_object": {"a": 2}}));
        let response = AdmissionResponse::from_guest("u", None, changed);
        assert!(!response.allowed && response.message().contains("DELETE"));
    }
}
