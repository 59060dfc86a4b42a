//! The same for LMCache's Go operator: what a takeover would change can be compared before it is done.

use serde_json::{Value, json};

use super::Outcome;
use crate::legacy::{State, children, errors, resp_source_ref, unread};

/// What the Go operator makes of an object. It stops where a login is missing; here one is taken for there, and its copy is
/// not printed, as in our own rendering.
pub(super) fn render(state: State, object: &Value, coordinator_url: Option<&str>) -> Outcome {
    let login = resp_source_ref(state, object).map(|(namespace, name)| {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace},
            "data": {"password": "Kg=="}})
    });
    let errors = errors(state, object, coordinator_url, login.as_ref());
    let mut faults = errors.admission;
    faults.extend(errors.spec);
    let mut objects = children(state, object, coordinator_url, login.as_ref());
    objects.retain(|child| child["kind"] != "Secret");
    let unread = unread(state, object).into_iter();
    Outcome {
        objects,
        faults,
        warnings: unread
            .map(|path| format!("{path}: not known to the Go operator ({})", state.as_str()))
            .collect(),
    }
}
