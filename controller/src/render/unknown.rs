//! Fields that the kinds do not have.

use lmcache_api::AnyObject;
use lmcache_api::fault::push_key;
use serde_json::Value;

/// Paths of members of `spec` that no kind knows: the API server drops them without an error, so a misspelt field looks as
/// if it had been accepted. `read` is what was understood of `object`, whose members all have the right types.
pub(super) fn paths(object: &Value, read: &AnyObject) -> Vec<String> {
    let understood = match read {
        AnyObject::LMCacheEngine(engine) => serde_json::to_value(&engine.spec),
        AnyObject::CacheBlendEngine(engine) => serde_json::to_value(&engine.spec),
        AnyObject::LMCacheCoordinator(coordinator) => serde_json::to_value(&coordinator.spec),
    };
    let mut found = Vec::new();
    if let (Some(spec), Ok(understood)) = (object.get("spec"), understood) {
        compare(spec, &understood, "spec", &mut found);
    }
    found
}

fn compare(given: &Value, understood: &Value, path: &str, found: &mut Vec<String>) {
    match (given, understood) {
        (Value::Object(given), Value::Object(understood)) => {
            for (key, value) in given.iter().filter(|(_, value)| !value.is_null()) {
                let mut path = path.to_owned();
                push_key(&mut path, key);
                match understood.get(key) {
                    Some(understood) => compare(value, understood, &path, found),
                    None => found.push(path),
                }
            }
        }
        (Value::Array(given), Value::Array(understood)) => {
            for (index, (given, understood)) in given.iter().zip(understood).enumerate() {
                compare(given, understood, &format!("{path}[{index}]"), found);
            }
        }
        _ => {}
    }
}
