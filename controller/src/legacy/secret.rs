//! The copy of the Secret with the login of the Redis server.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use super::resource::Resource;

/// The copy of `source`, or `None` when that has no password. What a source has as `stringData` counts as the API server
/// takes it: over `data`.
pub(super) fn resp_secret(engine: &Resource, source: &Value) -> Option<Value> {
    let key = |key: &str| -> Option<String> {
        let plain = source.get("stringData").and_then(|data| data.get(key));
        match plain.and_then(Value::as_str) {
            Some(text) => Some(BASE64_STANDARD.encode(text)),
            None => source.get("data")?.get(key)?.as_str().map(str::to_owned),
        }
    };
    let password = key("password").filter(|password| !password.is_empty())?;
    let mut data = Map::from_iter([("password".to_owned(), json!(password))]);
    // An empty one is copied too: present counts.
    data.extend(key("username").map(|username| ("username".to_owned(), json!(username))));
    let data = Value::Object(data);
    Some(engine.child("v1", "Secret", "-resp-auth", engine.labels(), ("data", data)))
}
