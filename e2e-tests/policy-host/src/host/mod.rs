//! The host side of a policy's calls: the gates every call passes, and who answers it.
//!
//! The order is that of Kubewarden's policy-evaluator: binding, log records, the capability pattern, the payload, the
//! list of context-aware resources (get and list only), and then the answer.

mod capability;
mod cluster;
mod kubernetes;
mod request;
mod select;
mod session;

use std::error::Error;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

pub use capability::{CapabilityPatterns, check_pattern, undeclared_and_unused};
pub use cluster::{ClusterBehaviour, ClusterDir};
pub use kubernetes::{KubeCluster, kube_client};
pub use request::{HostRequest, ResourceAttributes, SubjectAccessReview};
pub use session::{Recorder, Replay};

use crate::EvaluationContext;

/// Answers the calls that passed the gates.
pub trait HostCapabilities: Send + Sync {
    /// The bytes handed to the guest, or the text of the failure; the guest sees the latter behind
    /// `Callback evaluation failure: `.
    fn answer(&self, request: &HostRequest) -> Result<Vec<u8>, String>;
}

impl<T: HostCapabilities + ?Sized> HostCapabilities for std::sync::Arc<T> {
    fn answer(&self, request: &HostRequest) -> Result<Vec<u8>, String> {
        (**self).answer(request)
    }
}

/// A host without a cluster: it fails every call the way Kubewarden does when it has no Kubernetes client.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCluster;

impl HostCapabilities for NoCluster {
    fn answer(&self, _request: &HostRequest) -> Result<Vec<u8>, String> {
        Err("kube::Client was not initialized properly".to_owned())
    }
}

/// One call of the guest and what it got.
#[derive(Clone, Debug, PartialEq)]
pub struct HostCall {
    /// The parsed request.
    pub request: HostRequest,
    /// The bytes handed to the guest, or the whole text of the error.
    pub answer: Result<Vec<u8>, String>,
}

/// A log record of the guest.
#[derive(Clone, Debug, PartialEq)]
pub struct LogRecord {
    /// `trace`, `debug`, `info`, `warning` or `error`.
    pub level: String,
    /// The message.
    pub message: String,
    /// Key-values; where in the source the record was written is left out.
    pub fields: Map<String, Value>,
}

/// What happened between one guest call and its answer.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    calls: Mutex<Vec<HostCall>>,
    logs: Mutex<Vec<LogRecord>>,
}

impl Journal {
    pub(crate) fn take_calls(&self) -> Vec<HostCall> {
        std::mem::take(&mut *lock(&self.calls))
    }

    pub(crate) fn take_logs(&self) -> Vec<LogRecord> {
        std::mem::take(&mut *lock(&self.logs))
    }
}

/// A poisoned lock only means that another test thread failed; the data is whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves one host call; the text of the error is what the guest receives.
pub(crate) fn dispatch(
    context: &EvaluationContext,
    journal: &Journal,
    binding: &str,
    namespace: &str,
    operation: &str,
    payload: &[u8],
) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
    if binding != "kubewarden" {
        return Err(format!("unknown binding: {binding}").into());
    }
    if namespace == "tracing" {
        return match operation {
            "log" => {
                let record = log_record(payload);
                context.log(&record);
                lock(&journal.logs).push(record);
                Ok(Vec::new())
            }
            _ => Err(format!("unknown operation: {operation}").into()),
        };
    }
    let capability = format!("{namespace}/{operation}");
    if !context.capabilities.allow(&capability) {
        let text = format!(
            "Policy has not been granted access to the '{capability}' host capability. The violation has been reported."
        );
        return Err(text.into());
    }
    let request = HostRequest::from_wire(namespace, operation, payload)?;
    if !context.host_call_delay.is_zero() {
        std::thread::sleep(context.host_call_delay);
    }
    let answer = match request.resource() {
        Some((api_version, kind)) if !context.may_read(api_version, kind) => Err(format!(
            "Policy has not been granted access to Kubernetes {api_version}/{kind} resources. The violation has been \
             reported."
        )),
        _ => context
            .host
            .answer(&request)
            .map_err(|text| format!("Callback evaluation failure: {text}")),
    };
    lock(&journal.calls).push(HostCall {
        request,
        answer: answer.clone(),
    });
    answer.map_err(Into::into)
}

/// Kubewarden logs what it cannot parse instead of failing the guest.
fn log_record(payload: &[u8]) -> LogRecord {
    let parsed = serde_json::from_slice::<Map<String, Value>>(payload)
        .ok()
        .and_then(|mut fields| {
            let Some(Value::String(level)) = fields.remove("level") else {
                return None;
            };
            let level = level.to_ascii_lowercase();
            if !["trace", "debug", "info", "warning", "error"].contains(&level.as_str()) {
                return None;
            }
            let message = match fields.remove("message") {
                Some(Value::String(message)) => message,
                _ => String::new(),
            };
            fields.retain(|key, _| !["file", "line", "column"].contains(&key.as_str()));
            Some(LogRecord { level, message, fields })
        });
    parsed.unwrap_or_else(|| LogRecord {
        level: "error".to_owned(),
        message: format!("cannot parse the log record: {}", String::from_utf8_lossy(payload)),
        fields: Map::new(),
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    const GET: &str = r#"{"api_version":"v1","kind":"Namespace","name":"a","namespace":null,"disable_cache":false}"#;

    fn call(context: &EvaluationContext, call: (&str, &str, &str), payload: &str) -> Result<String, String> {
        dispatch(context, &Journal::default(), call.0, call.1, call.2, payload.as_bytes())
            .map(|bytes| String::from_utf8(bytes).unwrap())
            .map_err(|e| e.to_string())
    }

    #[rstest]
    #[case(("other", "tracing", "log"), "{}", "unknown binding: other")]
    #[case(("kubewarden", "tracing", "x"), "{}", "unknown operation: x")]
    #[case(("kubewarden", "moon", "x"), "{}", "unknown namespace: moon")]
    #[case(("kubewarden", "kubernetes", "x"), "{}", "unknown operation: x")]
    #[case(("kubewarden", "kubernetes", "get_resource"), "{}", "missing field `api_version`")]
    #[case(
        ("kubewarden", "kubernetes", "get_resource"),
        GET,
        "Callback evaluation failure: kube::Client was not initialized properly"
    )]
    fn refuses(#[case] names: (&str, &str, &str), #[case] payload: &str, #[case] expected: &str) {
        let context = EvaluationContext::new(NoCluster).context_aware_any();
        let error = call(&context, names, payload).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn the_gates_come_in_order() {
        let get = ("kubewarden", "kubernetes", "get_resource");
        let none = EvaluationContext::new(NoCluster).allow_capabilities(CapabilityPatterns::none());
        assert_eq!(
            call(&none, get, "no json").unwrap_err(),
            "Policy has not been granted access to the 'kubernetes/get_resource' host capability. The violation has been \
             reported."
        );
        assert_eq!(call(&none, ("kubewarden", "tracing", "log"), "{}").unwrap(), "");
        let unlisted = EvaluationContext::new(NoCluster);
        assert!(call(&unlisted, get, "no json").unwrap_err().starts_with("expected"));
        assert_eq!(
            call(&unlisted, get, GET).unwrap_err(),
            "Policy has not been granted access to Kubernetes v1/Namespace resources. The violation has been reported."
        );
        let listed = unlisted.context_aware([("v1", "Namespace")]);
        assert!(call(&listed, get, GET).unwrap_err().contains("kube::Client"));
        let can_i = r#"{"subject_access_review":{"user":"u","resource_attributes":{"verb":"get","resource":"pods"}},"disable_cache":true}"#;
        let error = call(
            &EvaluationContext::new(NoCluster),
            ("kubewarden", "kubernetes", "can_i"),
            can_i,
        )
        .unwrap_err();
        assert!(
            error.contains("kube::Client"),
            "can_i is not bound to the list: {error}"
        );
    }

    #[test]
    fn reads_log_records() {
        let record = log_record(br#"{"level":"WARNING","message":"m","line":1,"column":2,"file":"f","engine":"e"}"#);
        assert_eq!((record.level.as_str(), record.message.as_str()), ("warning", "m"));
        assert_eq!(Value::Object(record.fields), json!({"engine": "e"}));
        assert_eq!(log_record(b"x").level, "error");
        assert_eq!(log_record(br#"{"level":"loud"}"#).level, "error");
    }
}
