//! The copy of the Redis login, and the hash of it.

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use std::fmt::Write;

use super::{ChildName, Inputs, Problem, Reason, Sought};
use crate::build::{SecretFault, resp_secret};
use crate::live::{Child, ChildKind, NamespacedName};
use lmcache_api::AnyObject;

/// Annotation of the Pod template, and of the copy: a hash of the login. When it changes, the Pods are replaced, since a
/// server reads its login only when it starts.
pub const LOGIN_HASH_ANNOTATION: &str = "lmcache.ai/resp-auth-hash";

/// What is to be done about the login.
pub(super) enum Login {
    /// There is none: a copy of ours goes.
    None,
    /// Its source is not known yet: copy and workload stay as they are, and a pass follows.
    Unknown,
    /// It cannot be copied: copy and workload stay as they are.
    Problem(Problem),
    /// It is copied.
    Copy {
        /// The Secret.
        body: Value,
        /// The annotation of the Pod template.
        hash: String,
        /// Whether the servers may run on without the annotation: nothing has changed since the Go operator made the copy.
        is_inherited: bool,
    },
}

pub(super) fn login(object: &AnyObject, inputs: &Inputs) -> Login {
    let name = format!("{}-resp-auth", inputs.custom.name());
    let child = ChildName::new(ChildKind::Secret, name);
    let Some(source) = &inputs.custom.facts.login else {
        return Login::None;
    };
    let problem = |reason, what: &str| Login::Problem(of_source(&child, source, reason, what));
    let found = match &inputs.login {
        Sought::Unknown | Sought::NotNamed => return Login::Unknown,
        // As one that is there and not shared.
        Sought::Missing if source.namespace != inputs.custom.namespace() => {
            return problem(Reason::SecretNotShared, &SecretFault::NoConsent.to_string());
        }
        Sought::Missing => {
            return problem(
                Reason::SecretNotFound,
                "not found; the servers stay as they are until it exists",
            );
        }
        Sought::Forbidden => {
            return problem(
                Reason::SecretNotFound,
                "cannot be read: the controller's role does not allow it; the servers stay as they are",
            );
        }
        Sought::Found(found) => found.value(),
    };
    match resp_secret(object, &found) {
        Ok(Some(body)) => copy(
            body,
            inputs.children.get(&child).map(AsRef::as_ref),
            inputs.custom.uid(),
        ),
        Ok(None) => Login::None,
        Err(fault) => {
            let reason = match fault {
                SecretFault::NoConsent => Reason::SecretNotShared,
                SecretFault::NoPassword => Reason::SecretInvalid,
            };
            problem(reason, &fault.to_string())
        }
    }
}

/// The text names the Secret and never shows what is in it.
fn of_source(child: &ChildName, source: &NamespacedName, reason: Reason, what: &str) -> Problem {
    Problem {
        child: child.clone(),
        reason,
        message: format!("spec.l2Backend.resp.authSecretRef: Secret {source} {what}"),
        after: None,
    }
}

/// The hash goes to the copy as well, from the first change that this controller made on: so it is known for ever that the
/// servers need the annotation, also if the controller stops between writing the copy and the workload.
fn copy(mut body: Value, live: Option<&Child>, uid: &str) -> Login {
    let data = body.get("data").cloned().unwrap_or_default();
    let hash = hash(uid, &data);
    let live = live.filter(|live| live.is_controlled_by(uid)).map(Child::value);
    let is_inherited = live.is_some_and(|live| {
        live.get("data") == Some(&data)
            && live
                .pointer("/metadata/annotations")
                .is_none_or(|annotations| annotations.get(LOGIN_HASH_ANNOTATION).is_none())
    });
    if !is_inherited && let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("annotations".to_owned(), json!({LOGIN_HASH_ANNOTATION: hash}));
    }
    Login::Copy {
        body,
        hash,
        is_inherited,
    }
}

/// Keyed by the engine's uid, so that equal passwords of two engines do not show and no ready-made list of hashes helps. It
/// is no protection for a password that can be guessed: who sees the template sees the uid as well.
fn hash(uid: &str, data: &Value) -> String {
    // A key of any length will do.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(uid.as_bytes()) else {
        return String::new();
    };
    for key in ["password", "username"] {
        let value = data.get(key).and_then(Value::as_str);
        // The lengths keep the two apart.
        let length = value.map_or(u64::MAX, |value| value.len() as u64);
        mac.update(&length.to_be_bytes());
        mac.update(value.unwrap_or_default().as_bytes());
    }
    let mut hash = String::new();
    for byte in mac.finalize().into_bytes().iter().take(16) {
        // Writing to a String does not fail.
        let _ = write!(hash, "{byte:02x}");
    }
    hash
}
