//! Service links: the variables that Kubernetes makes of every Service of a namespace.
//!
//! An engine named `vllm` has a Service `vllm`, and Kubernetes puts `VLLM_PORT=tcp://...` into every Pod of the namespace.
//! vLLM reads `VLLM_*` as its own settings and refuses to start; LMCache does the same with `LMCACHE_*`.

use super::examine::Subject;
use super::reference::EngineReference;
use lmcache_api::names::settings_variables;
use pod_edit::Edit;
use serde_json::Value;

/// Switches the links off where they would do harm and the Pod does not say otherwise.
pub(super) fn edit(subject: Subject<'_>, warnings: &mut Vec<String>) -> Option<Edit> {
    of(subject.pod, subject.namespace, subject.name, warnings)
}

fn of(pod: &Value, namespace: &str, engine: &EngineReference, warnings: &mut Vec<String>) -> Option<Edit> {
    if engine.namespace != namespace || settings_variables(&engine.name).is_none() {
        return None;
    }
    match pod.pointer("/spec/enableServiceLinks") {
        None | Some(Value::Null) => Some(Edit::DisableServiceLinks),
        Some(Value::Bool(true)) => {
            warnings.push(format!(
                "Service {} makes VLLM_* or LMCACHE_* variables in this Pod, which vLLM reads as settings; set enableServiceLinks: false",
                engine.name
            ));
            None
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use serde_json::json;

    fn edits(name: &str, spec: &Value) -> (bool, usize) {
        let engine = EngineReference {
            namespace: "a".into(),
            name: name.into(),
        };
        let mut warnings = Vec::new();
        let edit = of(&json!({ "spec": spec }), "a", &engine, &mut warnings);
        (edit.is_some(), warnings.len())
    }

    #[test]
    fn only_names_that_make_settings() {
        for name in ["vllm", "vllm-cache", "lmcache", "lmcache-0"] {
            assert_eq!(edits(name, &json!({})), (true, 0), "{name}");
        }
        for name in ["kv", "vllmx", "my-vllm", "lmcaches"] {
            assert_eq!(edits(name, &json!({})), (false, 0), "{name}");
        }
    }

    #[test]
    fn an_explicit_value_is_never_overridden() {
        assert_eq!(edits("vllm", &json!({"enableServiceLinks": true})), (false, 1));
        assert_eq!(edits("vllm", &json!({"enableServiceLinks": false})), (false, 0));
        assert_eq!(edits("vllm", &json!({"enableServiceLinks": null})), (true, 0));
    }

    #[test]
    fn a_service_of_another_namespace_makes_no_variables() {
        let engine = EngineReference {
            namespace: "b".into(),
            name: "vllm".into(),
        };
        assert_eq!(of(&json!({"spec": {}}), "a", &engine, &mut Vec::new()), None);
    }
}
