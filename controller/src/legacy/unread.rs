//! Fields of a spec that a state of the Go operator never saw.

use serde_json::{Map, Value};

use super::State;
use super::schema::{Kind, Shape};

/// Paths of the members of a spec that the CRD of `state` does not have, in the order of the spec.
///
/// A value that our CRD stores where nobody said anything does not count, as `hostNetwork: false`.
pub(super) fn paths(state: State, shape: &Shape, spec: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(members) = spec.as_object() {
        object(state, shape, members, "spec", &mut found);
    }
    found
}

fn object(state: State, shape: &Shape, members: &Map<String, Value>, path: &str, found: &mut Vec<String>) {
    for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
        let path = format!("{path}.{name}");
        match shape.0.iter().find(|field| field.name == name) {
            Some(field) if field.since <= state => inside(state, &field.kind, value, &path, found),
            Some(field) if field.is_filled_in(value) => {}
            _ => found.push(path),
        }
    }
}

fn inside(state: State, kind: &Kind, value: &Value, path: &str, found: &mut Vec<String>) {
    match (kind, value) {
        (Kind::Object(shape), Value::Object(members)) => object(state, shape, members, path, found),
        (Kind::Objects(shape), Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                inside(state, &Kind::Object(shape), item, &format!("{path}[{index}]"), found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::legacy::unread;

    fn of(state: State, spec: Value) -> Vec<String> {
        unread(state, &json!({"kind": "LMCacheEngine", "spec": spec}))
    }

    #[test]
    fn what_a_state_does_not_know_is_named() {
        let spec = json!({
            "l1": {"sizeGB": 1}, "pd": {}, "hostIPC": false, "podSecurityContext": {},
            "server": {"port": 6000, "release": "0.5.6"},
            "l2Backend": {"serde": {"aesgcm": {}}, "raw": {"type": "fs", "config": {"base_path": "/kv"}}},
            "env": [{"name": "A", "value": ""}, {"name": "B", "later": 1}],
        });
        let ours = ["spec.podSecurityContext", "spec.server.release", "spec.env[1].later"];
        assert_eq!(of(State::Newest, spec.clone()), ours);
        let july = [
            "spec.pd",
            "spec.hostIPC",
            "spec.podSecurityContext",
            "spec.server.release",
            "spec.l2Backend.serde",
        ];
        assert_eq!(of(State::July, spec), [&july[..], &ours[2..]].concat());
    }

    #[test]
    fn nothing_that_stands_for_nothing_is_named() {
        for state in State::ALL {
            let spec = json!({
                "l1": {"sizeGB": 1}, "hostNetwork": false, "privileged": false, "updateStrategy": null,
            });
            assert_eq!(of(state, spec), [""; 0]);
        }
        let asked = json!({"l1": {"sizeGB": 1}, "hostNetwork": true, "privileged": true});
        assert_eq!(
            of(State::V0_5_0, asked.clone()),
            ["spec.hostNetwork", "spec.privileged"]
        );
        assert_eq!(of(State::July, asked.clone()), ["spec.hostNetwork"]);
        assert_eq!(of(State::V0_5_1, asked), [""; 0]);
    }

    /// Who looks for a state that knows everything starts with the newest, and can stop at the first that does not.
    #[test]
    fn a_later_state_knows_more() {
        let spec = json!({
            "l1": {"sizeGB": 1}, "l2Backend": {"serde": {}}, "blend": {"partialBucket": 1}, "pd": {}, "isolatedIPC": true,
            "runtimeClassName": "", "hostIPC": false, "hostNetwork": true, "privileged": true, "initContainers": [],
            "injection": {}, "later": 1,
        });
        for kind in ["LMCacheEngine", "CacheBlendEngine", "LMCacheCoordinator"] {
            let object = json!({"kind": kind, "spec": spec});
            for states in State::ALL.windows(2) {
                let [earlier, later] = [unread(states[0], &object), unread(states[1], &object)];
                assert!(later.iter().all(|path| earlier.contains(path)), "{kind} {states:?}");
            }
        }
    }
}
