//! Which engine a Pod names.

use super::outcome::Skip;
use super::reasons::SkipReason;
use super::settings::Settings;
use crate::text::quoted;
use lmcache_api::names::{check_label, check_subdomain};
use std::fmt;

/// An engine by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineReference {
    /// Namespace of the engine.
    pub namespace: String,
    /// Name of the engine.
    pub name: String,
}

impl fmt::Display for EngineReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// Reads the engine annotation: `name`, or `namespace/name`; white space around the parts does not count, and an empty
/// namespace is the Pod's own.
pub(crate) fn parse(
    annotation: &str,
    annotation_key: &str,
    pod_namespace: &str,
    settings: &Settings,
) -> Result<EngineReference, Skip> {
    let (namespace, name) = match annotation.split_once('/') {
        Some((namespace, name)) => (namespace.trim(), name.trim()),
        None => ("", annotation.trim()),
    };
    let namespace = if namespace.is_empty() { pod_namespace } else { namespace };
    // Any object name: engines from before the name rules of admission may have dots.
    if check_subdomain(name).is_err() || check_label(namespace).is_err() {
        return Err(Skip::new(
            SkipReason::EngineReferenceInvalid,
            format!("{annotation_key} is {}, which is no engine name", quoted(annotation)),
            "give the name of an engine",
        ));
    }
    if namespace != pod_namespace && !settings.allows_engine_namespace(namespace) {
        return Err(Skip::new(
            SkipReason::CrossNamespaceForbidden,
            format!("engine {namespace}/{name} is in another namespace"),
            "use one of this namespace, or list its namespace in the policy's allowedEngineNamespaces",
        ));
    }
    Ok(EngineReference {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    fn reason(annotation: &str, allowed: &[&str]) -> Result<String, SkipReason> {
        let settings = Settings {
            allowed_engine_namespaces: allowed.iter().map(|&namespace| namespace.to_owned()).collect(),
            ..Settings::default()
        };
        parse(annotation, "key", "team-a", &settings)
            .map(|name| name.to_string())
            .map_err(|skip| skip.reason)
    }

    #[test]
    fn names_and_namespaces() {
        for (annotation, engine) in [
            ("kv", "team-a/kv"),
            (" kv ", "team-a/kv"),
            ("/kv", "team-a/kv"),
            ("team-a/kv", "team-a/kv"),
            (" team-a / kv ", "team-a/kv"),
            ("shared/kv", "shared/kv"),
            ("kv.old", "team-a/kv.old"),
        ] {
            assert_eq!(reason(annotation, &["shared"]).unwrap(), engine, "{annotation:?}");
        }
    }

    #[test]
    fn what_is_no_name_is_never_looked_up() {
        for annotation in [
            "KV",
            "kv_pool",
            "a/b/c",
            "shared/",
            "-kv",
            "kv-",
            "缓存-引擎\nX",
            "a b",
            &"x".repeat(5000),
        ] {
            assert_eq!(
                reason(annotation, &["*"]),
                Err(SkipReason::EngineReferenceInvalid),
                "{annotation:?}"
            );
        }
    }

    #[test]
    fn another_namespace_needs_the_setting() {
        assert_eq!(reason("shared/kv", &[]), Err(SkipReason::CrossNamespaceForbidden));
        assert_eq!(
            reason("shared/kv", &["other"]),
            Err(SkipReason::CrossNamespaceForbidden)
        );
        assert_eq!(reason("shared/kv", &["*"]).unwrap(), "shared/kv");
    }
}
