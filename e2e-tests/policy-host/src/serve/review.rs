//! The AdmissionReview that comes in and the one that goes out.

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use crate::{AdmissionRequest, AdmissionResponse, Status};

/// The body of a request. As policy-server, it looks at `request` alone.
#[derive(Deserialize)]
pub(super) struct ReviewRequest {
    pub(super) request: Checked,
}

/// A request of which the members that policy-server requires are there.
pub(super) struct Checked(pub(super) AdmissionRequest);

impl<'de> Deserialize<'de> for Checked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        AdmissionRequest::from_value(value)
            .map(Self)
            .map_err(|e| D::Error::custom(format!("{e:#}")))
    }
}

/// A response on its way to the API server.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reviewed {
    response: AdmissionResponse,
    /// What the policy itself had said, where the manifest has a message of its own.
    cause: Option<String>,
}

impl From<AdmissionResponse> for Reviewed {
    fn from(response: AdmissionResponse) -> Self {
        Self { response, cause: None }
    }
}

impl Reviewed {
    /// An admission that no policy was asked about.
    pub(super) fn admitted(uid: &str) -> Self {
        Self::from(AdmissionResponse {
            uid: uid.to_owned(),
            allowed: true,
            ..AdmissionResponse::default()
        })
    }

    /// Mode `monitor`: admitted, unchanged, without a reason. Warnings and audit annotations stay.
    pub(super) fn monitored(self) -> Self {
        Self::from(AdmissionResponse {
            allowed: true,
            patch: None,
            status: None,
            ..self.response
        })
    }

    /// Mode `protect`: a change is a refusal unless the manifest allows changes, and a refusal gets the manifest's message.
    pub(super) fn constrained(self, id: &str, mutating: bool, message: Option<&str>) -> Self {
        let mut response = if mutating {
            self.response
        } else {
            self.response.forbid_mutation(id)
        };
        let Some(message) = message.filter(|_| !response.allowed) else {
            return Self::from(response);
        };
        let cause = response.message().to_owned();
        let code = response.code();
        response.status = Some(Status {
            message: Some(message.to_owned()),
            code,
        });
        Self {
            response,
            cause: Some(cause),
        }
    }

    /// For the log.
    pub(super) fn verdict(&self) -> String {
        let changes = self.response.patch.as_ref().map_or(0, |patch| patch.len());
        match (self.response.allowed, self.response.message(), self.response.code()) {
            (true, _, _) => format!("admitted, {}", crate::check::counted(changes, "change")),
            (false, message, Some(code)) => format!("refused with {code}: {message}"),
            (false, message, None) => format!("refused: {message}"),
        }
    }
}

impl Serialize for Reviewed {
    /// The whole AdmissionReview.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut response = serde_json::to_value(&self.response).map_err(S::Error::custom)?;
        if let (Some(cause), Some(Value::Object(status))) = (&self.cause, response.get_mut("status")) {
            status.insert("details".to_owned(), json!({"causes": [{"message": cause}]}));
        }
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
            .serialize(serializer)
    }
}
