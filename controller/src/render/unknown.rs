//! Fields that the kinds do not have.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use lmcache_api::Kind;
use lmcache_api::crd::definition;
use lmcache_api::fault::push_key;
use serde_json::Value;

/// The schemas of the specs. To make one takes longer than to render an object.
static SCHEMAS: LazyLock<BTreeMap<Kind, Value>> =
    LazyLock::new(|| Kind::ALL.into_iter().map(|kind| (kind, schema(kind))).collect());

fn schema(kind: Kind) -> Value {
    let mut definition = serde_json::to_value(definition(kind)).unwrap_or_default();
    let spec = definition.pointer_mut("/spec/versions/0/schema/openAPIV3Schema/properties/spec");
    spec.map(Value::take).unwrap_or_default()
}

/// Removes what the CRD does not have from the spec of an object, at any depth, and gives the paths. The API server drops
/// it without an error, so a misspelt field looks as if it had been accepted.
pub(super) fn remove(kind: Kind, object: &mut Value) -> Vec<String> {
    let mut found = Vec::new();
    if let (Some(schema), Some(spec)) = (SCHEMAS.get(&kind), object.get_mut("spec")) {
        prune(schema, spec, "spec", &mut found);
    }
    found
}

fn prune(schema: &Value, value: &mut Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) if schema.get("type").is_some_and(|name| name == "object") => {
            let properties = schema.get("properties");
            let others = schema.get("additionalProperties");
            let keeps_all = schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
            members.retain(|key, member| {
                let mut path = path.to_owned();
                push_key(&mut path, key);
                match properties.and_then(|properties| properties.get(key)).or(others) {
                    Some(schema) => prune(schema, member, &path, found),
                    None if keeps_all => {}
                    // Null counts as absent anyway.
                    None if member.is_null() => return false,
                    None => {
                        found.push(path);
                        return false;
                    }
                }
                true
            });
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for (index, item) in items.iter_mut().enumerate() {
                    prune(schema, item, &format!("{path}[{index}]"), found);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_crd_does_not_have_is_named_and_removed() {
        let mut object = json!({"sepc": {}, "spec": {
            "l1": {"sizeGB": 1, "sizeGb": 2}, "later": null, "replicas": 2,
            "tolerations": [{"key": "a", "efect": "NoSchedule"}, "b"],
            "podLabels": {"any/key": "is one"},
            "l2Backend": {"raw": {"type": "fs", "config": {"anything": {"goes": 1}}}},
            "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi", "size": 1}}],
            "server": "8080",
        }});
        assert_eq!(
            remove(Kind::LMCacheEngine, &mut object),
            [
                "spec.l1.sizeGb",
                "spec.replicas",
                "spec.tolerations[0].efect",
                "spec.volumes[0].emptyDir.size"
            ]
        );
        assert_eq!(
            object["spec"],
            json!({
                "l1": {"sizeGB": 1}, "tolerations": [{"key": "a"}, "b"], "podLabels": {"any/key": "is one"},
                "l2Backend": {"raw": {"type": "fs", "config": {"anything": {"goes": 1}}}},
                "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}], "server": "8080",
            })
        );
        assert_eq!(remove(Kind::LMCacheEngine, &mut object), [""; 0]);
        assert_eq!(remove(Kind::LMCacheCoordinator, &mut json!({"spec": []})), [""; 0]);
    }
}
