//! What is missing of a staged payload.

use super::evidence::named;
use crate::pod::Staging;
use pod_edit::env::{self, EnvState};
use pod_edit::{pod as pods, volume};
use serde_json::{Value, json};

/// The variable that names the search path of Python modules, and a reference to it.
const PYTHON_PATH: [&str; 2] = ["PYTHONPATH", "$(PYTHONPATH)"];

/// What of a staged payload the Pod lacks. The image of the init container is not looked at: a mirror may have rewritten it.
pub(super) fn unstaged(pod: &Value, names: &Staging) -> Vec<String> {
    let mut missing = Vec::new();
    if !pods::init_container_by_name(pod, names.init_container).is_some_and(|init| fills(init, names)) {
        missing.push(format!(
            "no init container {} fills volume {}",
            names.init_container, names.volume
        ));
    }
    let volume = volume::volume_by_name(pod, names.volume);
    if !volume.is_some_and(|volume| volume.get("emptyDir").is_some_and(Value::is_object)) {
        missing.push(format!("there is no volume {} of type emptyDir", names.volume));
    }
    missing
}

/// Does an init container run the payload's own program, and into the volume?
fn fills(init: &Value, names: &Staging) -> bool {
    let runs_another = ["command", "args"].iter().any(|key| {
        let words = init.get(*key).and_then(Value::as_array);
        words.is_some_and(|words| !words.is_empty())
    });
    let mount = json!({"name": names.volume, "mountPath": names.path});
    !runs_another
        && env::state(init, "SHARED_DIR") == EnvState::Literal(names.path)
        && volume::mount_at(init, names.path).is_some_and(|existing| volume::same_mount(existing, &mount))
}

/// What a container lacks to see a staged payload.
pub(super) fn unseen(target: &Value, names: &Staging) -> Vec<String> {
    let mut missing = Vec::new();
    let mount = volume::mount_at(target, names.path);
    if !mount.is_some_and(|mount| volume::same_mount(mount, &names.mount())) {
        missing.push(format!(
            "container {} does not mount volume {} at {}",
            named(target),
            names.volume,
            names.path
        ));
    }
    if !searches(target, names.path) {
        missing.push(format!(
            "PYTHONPATH of container {} lacks {}",
            named(target),
            names.path
        ));
    }
    missing
}

/// Is the path an entry of the container's `PYTHONPATH`? Of several the last one counts, which may refer to the one before.
fn searches(target: &Value, path: &str) -> bool {
    let [name, reference] = PYTHON_PATH;
    let variables = target.get("env").and_then(Value::as_array).into_iter().flatten();
    let values = variables
        .filter(|variable| variable.get("name").and_then(Value::as_str) == Some(name))
        .map(|variable| variable.get("value").and_then(Value::as_str).unwrap_or_default());
    values.fold(false, |before, value| {
        value.split(':').any(|entry| entry.trim_end_matches('/') == path) || (before && value.contains(reference))
    })
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use crate::pod::LMCACHE;

    #[test]
    fn the_last_search_path_counts() {
        let searched = |values: &[&str]| {
            let env: Vec<Value> = values
                .iter()
                .map(|value| json!({"name": "PYTHONPATH", "value": value}))
                .collect();
            searches(&json!({"env": env}), "/p")
        };
        assert!(searched(&["/p"]) && searched(&["/a:/p/"]) && searched(&["/a", "/p"]));
        assert!(searched(&["/p", "/a:$(PYTHONPATH)"]) && searched(&["/a", "/p", "/b:$(PYTHONPATH)", "$(PYTHONPATH)"]));
        assert!(!searched(&[]) && !searched(&["/pp"]) && !searched(&["/p", "/a"]) && !searched(&["$(PYTHONPATH)"]));
        assert!(!searched(&["/p", "/a", "$(PYTHONPATH)"]));
        let from_elsewhere =
            json!({"env": [{"name": "PYTHONPATH", "value": "/p"}, {"name": "PYTHONPATH", "valueFrom": {}}]});
        assert!(!searches(&from_elsewhere, "/p"));
    }

    #[test]
    fn only_the_payloads_own_program_fills_the_volume() {
        let names = &LMCACHE.staging;
        let init = json!({"name": names.init_container, "env": [{"name": "SHARED_DIR", "value": names.path}],
            "volumeMounts": [{"name": names.volume, "mountPath": names.path}], "command": [], "args": null});
        assert!(fills(&init, names));
        for (pointer, value) in [
            ("/command", json!(["true"])),
            ("/args", json!(["true"])),
            ("/volumeMounts/0/subPath", json!("x")),
            ("/volumeMounts/0/subPathExpr", json!("x")),
            ("/volumeMounts/0/readOnly", json!(true)),
            ("/volumeMounts/0/name", json!("other")),
            ("/env/0/value", json!("/other")),
        ] {
            let mut other = init.clone();
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            other.pointer_mut(parent).unwrap()[key] = value;
            assert!(!fills(&other, names), "{pointer}");
        }
    }
}
