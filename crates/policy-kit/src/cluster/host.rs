//! Look-ups through the policy host, by the waPC host call `kubernetes/get_resource`.

use super::{Cluster, Lookup, Query, classify};
use kubewarden_policy_sdk::wapc_guest::host_call;
use serde::Serialize;
use serde_json::Value;

/// The cluster as the policy host sees it, with the rights of the PolicyServer's service account.
///
/// The SDK has the same call behind a feature that links `k8s-openapi`; engines are read as JSON values, so the call is
/// made directly.
#[derive(Debug, Default, Clone, Copy)]
pub struct HostCluster;

/// The payload of `get_resource`, in the host's own spelling.
#[derive(Serialize)]
struct GetResource<'a> {
    api_version: &'a str,
    kind: &'a str,
    name: &'a str,
    namespace: Option<&'a str>,
    disable_cache: bool,
    field_masks: Option<[&'a str; 1]>,
}

impl Cluster for HostCluster {
    fn get(&self, query: &Query<'_>) -> Lookup {
        let request = GetResource {
            api_version: query.api_version,
            kind: query.kind,
            name: query.name,
            namespace: query.namespace,
            disable_cache: !query.cached,
            field_masks: query.member.map(|member| [member]),
        };
        let payload = match serde_json::to_vec(&request) {
            Ok(payload) => payload,
            Err(error) => return Lookup::Unavailable(error.to_string()),
        };
        match host_call("kubewarden", "kubernetes", "get_resource", &payload) {
            Ok(answer) => read(&answer),
            Err(error) => classify(&error.to_string()),
        }
    }
}

/// An answer that is no object counts as unavailable: it says nothing about whether the object exists.
fn read(answer: &[u8]) -> Lookup {
    // As text, like everything else: a second reader for bytes would be a second copy of the JSON parser.
    match serde_json::from_str::<Value>(std::str::from_utf8(answer).unwrap_or_default()) {
        Ok(object @ Value::Object(_)) => Lookup::Found(object),
        Ok(_) => Lookup::Unavailable("the host's answer is no object".to_owned()),
        Err(_) => Lookup::Unavailable("the host's answer is no JSON".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use serde_json::json;

    #[test]
    fn only_an_object_counts_as_found() {
        assert_eq!(
            read(b"{\"kind\":\"ConfigMap\"}"),
            Lookup::Found(json!({"kind": "ConfigMap"}))
        );
        for garbled in [&b"null"[..], b"[]", b"\"x\"", b"{", b"", b"\xff\xfe"] {
            assert!(matches!(read(garbled), Lookup::Unavailable(_)));
        }
    }
}
