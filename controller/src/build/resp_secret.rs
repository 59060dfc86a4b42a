//! The managed copy of the Redis login.
//!
//! Containers can read Secrets of their own namespace only, so the login is copied beside the engine. The controller may
//! read Secrets everywhere and whoever creates an engine may not: a Secret of another namespace is copied only if its owner
//! says so.

use lmcache_api::{AnyObject, EngineSpec};
use serde_json::{Map, Value, json};
use std::fmt;

use super::labels::Owner;

/// Annotation of a Secret: the namespaces, separated by commas, whose engines may have a copy of it.
pub const ALLOW_COPY_ANNOTATION: &str = "lmcache.ai/allow-copy-to";

/// Key that the copy must have.
const PASSWORD: &str = "password";
/// Key that it may have.
const USERNAME: &str = "username";

/// Why a Secret is not copied. The texts go on from the name of the Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretFault {
    /// It is in another namespace and does not name the engine's. Whoever may create engines could ask in this way which
    /// Secrets there are, so the text does not tell whether there is one.
    NoConsent,
    /// It has no password, or an empty one.
    NoPassword,
}

impl fmt::Display for SecretFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SecretFault::NoConsent => write!(
                f,
                "does not exist, or does not allow copies into the engine's namespace; name that in its annotation \
                 {ALLOW_COPY_ANNOTATION}"
            ),
            SecretFault::NoPassword => write!(f, "has no key {PASSWORD:?}, or an empty one"),
        }
    }
}

impl std::error::Error for SecretFault {}

/// The Secret `<engine>-resp-auth`, from `source`, the Secret that `spec.l2Backend.resp.authSecretRef` names, as the API
/// server returns it (`data` in base64). `None` if the engine refers to none, or `object` is no engine.
///
/// Only `password` and `username` are copied, the latter where it is there, even if it is empty.
///
/// # Errors
/// See [`SecretFault`].
pub fn resp_secret(object: &AnyObject, source: &Value) -> Result<Option<Value>, SecretFault> {
    let resp = object.engine().and_then(EngineSpec::l2_backend);
    let reference = resp
        .and_then(|l2| l2.resp.as_ref())
        .and_then(|resp| resp.auth_secret_ref.as_ref());
    if reference.is_none() {
        return Ok(None);
    }
    let owner = Owner::engine(object.metadata());
    if !may_copy(source, owner.namespace) {
        return Err(SecretFault::NoConsent);
    }
    let entry = |key: &str| source.get("data")?.get(key)?.as_str();
    let Some(password) = entry(PASSWORD).filter(|password| !password.is_empty()) else {
        return Err(SecretFault::NoPassword);
    };
    let mut data: Map<String, Value> = Map::new();
    data.insert(PASSWORD.to_owned(), json!(password));
    if let Some(username) = entry(USERNAME) {
        data.insert(USERNAME.to_owned(), json!(username));
    }
    Ok(Some(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": owner.metadata("-resp-auth"),
        "data": data,
    })))
}

/// Whether a Secret may be copied into a namespace: it is there already, or its owner says so.
pub fn may_copy(source: &Value, namespace: &str) -> bool {
    let metadata = |path: &str| source.pointer(path).and_then(Value::as_str);
    if metadata("/metadata/namespace") == Some(namespace) {
        return true;
    }
    let annotations = source.pointer("/metadata/annotations");
    let allowed = annotations.and_then(|annotations| annotations.get(ALLOW_COPY_ANNOTATION)?.as_str());
    let mut allowed = allowed.unwrap_or_default().split(',').map(str::trim);
    allowed.any(|allowed| !allowed.is_empty() && allowed == namespace)
}
