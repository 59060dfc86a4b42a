//! Whether a Pod template in the cluster is one that the Go operator renders.

use lmcache_api::image_parts;
use lmcache_api::quantity::Quantity;
use serde_json::{Map, Value, json};

use super::kubernetes::{AFFINITY, CONTAINER, LOCAL_OBJECT_REFERENCE, TOLERATION, VOLUME};
use super::schema::Kind::{Bool, Object, Objects, Text, TextMap};
use super::schema::{INT64, Kind, PRUNED, Shape, field, literal};
use super::{State, args, go};

/// `kubectl rollout restart` leaves it in the template; it is no reason for another restart.
const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";

/// The fields of a Pod that the Go operator sets, and those that the API server adds.
static POD: Shape = Shape(&[
    field("volumes", Objects(&VOLUME)),
    field("initContainers", Objects(&CONTAINER)),
    field("containers", Objects(&CONTAINER)),
    field("restartPolicy", Text).in_pod("\"Always\""),
    field("terminationGracePeriodSeconds", INT64).pointer().in_pod("30"),
    field("dnsPolicy", Text).in_pod("\"ClusterFirst\""),
    field("nodeSelector", TextMap),
    field("serviceAccountName", Text),
    field("hostNetwork", Bool),
    field("hostIPC", Bool),
    field("securityContext", Object(&PRUNED)),
    field("imagePullSecrets", Objects(&LOCAL_OBJECT_REFERENCE)),
    field("affinity", Object(&AFFINITY)).pointer(),
    field("schedulerName", Text).in_pod("\"default-scheduler\""),
    field("tolerations", Objects(&TOLERATION)),
    field("priorityClassName", Text),
    field("runtimeClassName", Text).pointer(),
]);

/// Whether the Pod template of `live`, a DaemonSet or Deployment as the API server returns it, is that of `rendered`,
/// which [`super::workload`] of `state` made.
///
/// What the API server fills in counts as not there, quantities are compared by amount, and labels of the live selector belong
/// to the template as the operator puts them in. Any other member that one of the two has alone is a difference.
pub fn same_template(state: State, rendered: &Value, live: &Value) -> bool {
    LiveTemplate::read(live).is_some_and(|live| live.is_of(state, rendered))
}

/// Whether two states compare one rendering with what is live in the same way.
pub(super) fn compare_alike(one: State, other: State) -> bool {
    let way = |state| (state >= LABELS_WIN, state >= SWITCH);
    way(one) == way(other)
}

/// The first state in which labels of a live selector win over the rendered ones, and in which a Deployment gets them.
const LABELS_WIN: State = State::Newest;

/// The first state that has the switch of isolated IPC.
const SWITCH: State = State::V0_5_5;

/// The Pod template of a workload in the cluster, read once to be compared with many.
pub struct LiveTemplate<'a> {
    workload: &'a Value,
    plain: Value,
    switch_first: Value,
}

impl<'a> LiveTemplate<'a> {
    /// Reads a DaemonSet or Deployment as the API server returns it; `None` where it has no template.
    pub fn read(workload: &'a Value) -> Option<Self> {
        let plain = template(workload)?;
        let mut switch_first = plain.clone();
        move_isolated_ipc(&mut switch_first);
        Some(LiveTemplate {
            workload,
            plain,
            switch_first,
        })
    }

    /// Whether this is what [`same_template`] calls the template of `rendered`.
    pub fn is_of(&self, state: State, rendered: &Value) -> bool {
        let compared = self.comparable(state, rendered);
        compared.is_some_and(|(wanted, found)| wanted == *found)
    }

    /// The template of `rendered` and this one, in a form in which equal ones are equal; `None` where `rendered` has none.
    pub fn comparable(&self, state: State, rendered: &Value) -> Option<(Value, &Value)> {
        let mut rendered = rendered.clone();
        add_selector_labels(state, &mut rendered, self.workload);
        let mut wanted = template(&rendered)?;
        if state < SWITCH {
            return Some((wanted, &self.plain));
        }
        move_isolated_ipc(&mut wanted);
        Some((wanted, &self.switch_first))
    }
}

/// The operator keeps the selector of a workload that is already there and puts its labels into the template: above the rendered
/// ones since the newest state, before that below them, where a Deployment does not get them.
fn add_selector_labels(state: State, wanted: &mut Value, live: &Value) {
    let selector = live.pointer("/spec/selector/matchLabels").and_then(Value::as_object);
    let is_deployment = wanted.get("kind").and_then(Value::as_str) == Some("Deployment");
    let labels = wanted
        .pointer_mut("/spec/template/metadata/labels")
        .and_then(Value::as_object_mut);
    if let (Some(selector), Some(labels)) = (selector, labels) {
        for (key, value) in selector {
            if state >= LABELS_WIN {
                labels.insert(key.clone(), value.clone());
            } else if !is_deployment {
                labels.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
    }
}

/// A workload's template in a form in which equal ones are equal.
fn template(workload: &Value) -> Option<Value> {
    let template = workload.pointer("/spec/template")?;
    let entries = |name: &str| -> Map<String, Value> {
        let metadata = template.get("metadata").and_then(|metadata| metadata.get(name));
        let entries = metadata.and_then(Value::as_object).cloned().unwrap_or_default();
        entries.into_iter().filter(|(key, _)| key != RESTARTED_AT).collect()
    };
    let mut spec = template.get("spec")?.clone();
    fill_in(&mut spec);
    let mut spec = canonical(&POD, spec.as_object()?);
    // The old name of the service account; the API server writes both.
    spec.remove("serviceAccount");
    Some(json!({"metadata": {"labels": entries("labels"), "annotations": entries("annotations")}, "spec": spec}))
}

/// What the API server fills in that hangs on something else than the field.
fn fill_in(spec: &mut Value) {
    for list in ["containers", "initContainers"] {
        for container in members(spec.get_mut(list)) {
            pull_policy(container, "image", "imagePullPolicy");
        }
    }
    for volume in members(spec.get_mut("volumes")) {
        if volume.keys().all(|key| key == "name") {
            volume.insert("emptyDir".to_owned(), json!({}));
        }
        if let Some(image) = volume.get_mut("image").and_then(Value::as_object_mut) {
            pull_policy(image, "reference", "pullPolicy");
        }
    }
}

fn members(list: Option<&mut Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    let items = list.and_then(Value::as_array_mut).into_iter().flatten();
    items.filter_map(Value::as_object_mut)
}

/// The pull policy of an image for which none is set: a tag that moves is pulled always.
fn pull_policy(members: &mut Map<String, Value>, image: &str, policy: &str) {
    let reference = members.get(image).and_then(Value::as_str).unwrap_or_default();
    let floats = match image_parts(reference).1 {
        Some(tag) => tag == "latest",
        None => !reference.contains('@') && !reference.is_empty(),
    };
    let default = if floats { "Always" } else { "IfNotPresent" };
    let entry = members.entry(policy).or_insert(Value::Null);
    if entry.as_str().is_none_or(str::is_empty) {
        *entry = json!(default);
    }
}

/// An object with the API server's defaults, without zero values, and with amounts for quantities. Members that are not in
/// the table stay what they are.
fn canonical(shape: &Shape, members: &Map<String, Value>) -> Map<String, Value> {
    let mut all = members.clone();
    for field in shape.0 {
        let value = all.shift_remove(field.name).filter(|value| !value.is_null());
        let default = if field.in_pod.is_empty() {
            field.default
        } else {
            field.in_pod
        };
        // Kubernetes stores no empty lists and maps, whatever was sent.
        let keeps = |value: &Value| field.pointer && !matches!(value, Value::Array(items) if items.is_empty());
        let empty = |value: &Value| !keeps(value) && go::is_zero(value);
        let value = value.map(|value| canonical_value(&field.kind, &value));
        let value = value.filter(|value| !empty(value)).or_else(|| literal(default));
        let value = value.map(|value| canonical_value(&field.kind, &value));
        if let Some(value) = value.filter(|value| !empty(value)) {
            all.insert(field.name.to_owned(), value);
        }
    }
    all
}

fn canonical_value(kind: &Kind, value: &Value) -> Value {
    match (kind, value) {
        (Object(shape), Value::Object(members)) => Value::Object(canonical(shape, members)),
        (Objects(shape), Value::Array(items)) => {
            let items = items.iter().map(|item| canonical_value(&Object(shape), item));
            Value::Array(items.collect())
        }
        (Kind::Quantity, Value::String(text)) => amount(text),
        (Kind::Quantities, Value::Object(entries)) => {
            let entries = entries.iter();
            let stored = entries.map(|(name, value)| (name.clone(), value.as_str().map_or(value.clone(), thousandths)));
            Value::Object(stored.collect())
        }
        _ => value.clone(),
    }
}

/// A text that is the same for equal amounts.
fn amount(text: &str) -> Value {
    match text.parse::<Quantity>() {
        Ok(amount) => Value::from(format!("{amount:?}")),
        Err(_) => Value::from(text),
    }
}

/// The same for requests and limits, which Kubernetes rounds up to thousandths.
fn thousandths(text: &str) -> Value {
    let Ok(amount) = text.parse::<Quantity>() else {
        return Value::from(text);
    };
    // The float is near enough to look from there. What is too large for an i64 has no thousandths worth rounding.
    let near = (amount.as_f64() * 1000.0).floor() as i64;
    let candidates = near.saturating_sub(1)..=near.saturating_add(2);
    let mut texts = candidates.map(|thousandths| format!("{thousandths}m"));
    let rounded = texts.find(|text| text.parse().is_ok_and(|rounded: Quantity| rounded >= amount));
    rounded.map_or_else(|| self::amount(text), |rounded| self::amount(&rounded))
}

/// The switch is put first: its place in what is between two releases is not known.
fn move_isolated_ipc(template: &mut Value) {
    for container in members(template.pointer_mut("/spec/containers")) {
        if let Some(args) = container.get_mut("args").and_then(Value::as_array_mut) {
            args.sort_by_key(|token| token.as_str() != Some(args::ISOLATED_IPC));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::workload;
    use super::*;

    fn engine(spec: Value) -> Value {
        json!({"kind": "LMCacheEngine", "metadata": {"name": "kv", "namespace": "n"}, "spec": spec})
    }

    fn rendered(state: State, spec: Value) -> Value {
        workload(state, &engine(spec), None).unwrap()
    }

    /// A live object whose selector was made by hand, with these labels on its template.
    fn live(workload: &Value, selector: Value, labels: Value) -> Value {
        let mut live = workload.clone();
        live["spec"]["selector"]["matchLabels"] = selector;
        live["spec"]["template"]["metadata"]["labels"] = labels;
        live
    }

    #[test]
    fn amounts_are_compared_and_not_spellings() {
        for (sent, stored, same) in [
            ("0.5", "500m", true),
            ("2048Mi", "2Gi", true),
            ("0.0001", "1m", true),
            ("4.35", "4350m", true),
            ("4.35", "4351m", false),
            ("0", "0", true),
            ("1e3", "1k", true),
            ("100Pi", "102400Ti", true),
        ] {
            let spec = |amount: &str| json!({"l1": {"sizeGB": 1}, "resourceOverrides": {"requests": {"cpu": amount}}});
            let (sent, stored) = (rendered(State::July, spec(sent)), rendered(State::July, spec(stored)));
            assert_eq!(same_template(State::July, &sent, &stored), same, "{sent} {stored}");
        }
    }

    #[test]
    fn labels_of_a_live_selector_belong_to_the_template() {
        let spec = json!({"l1": {"sizeGB": 1}, "podLabels": {"app": "theirs"}});
        let selector = json!({"app": "old", "kept": "yes"});
        for (state, app) in [(State::July, "theirs"), (State::Newest, "old")] {
            let rendered = rendered(state, spec.clone());
            let mut labels = rendered["spec"]["template"]["metadata"]["labels"].clone();
            labels["kept"] = json!("yes");
            labels["app"] = json!(app);
            assert!(
                same_template(state, &rendered, &live(&rendered, selector.clone(), labels.clone())),
                "{state:?}"
            );
            labels["app"] = json!("neither");
            assert!(
                !same_template(state, &rendered, &live(&rendered, selector.clone(), labels)),
                "{state:?}"
            );
        }
    }

    #[test]
    fn julys_deployments_do_not_get_them() {
        let coordinator = json!({"kind": "LMCacheCoordinator", "metadata": {"name": "c"}, "spec": {}});
        for (state, belongs) in [(State::July, false), (State::Newest, true)] {
            let rendered = workload(state, &coordinator, None).unwrap();
            let mut labels = rendered["spec"]["template"]["metadata"]["labels"].clone();
            labels["kept"] = json!("yes");
            let live = live(&rendered, json!({"kept": "yes"}), labels);
            assert_eq!(same_template(state, &rendered, &live), belongs, "{state:?}");
        }
    }

    #[test]
    fn the_place_of_isolated_ipc_is_free_but_not_whether_it_is_there() {
        let rendered = rendered(State::Newest, json!({"l1": {"sizeGB": 1}, "extraArgs": ["--verbose"]}));
        let args = "/spec/template/spec/containers/0/args";
        let mut live = rendered.clone();
        let tokens = live.pointer_mut(args).unwrap().as_array_mut().unwrap();
        let place = tokens.iter().position(|token| token == args::ISOLATED_IPC).unwrap();
        let switch = tokens.remove(place);
        assert!(!same_template(State::Newest, &rendered, &live));
        live.pointer_mut(args)
            .unwrap()
            .as_array_mut()
            .unwrap()
            .insert(6, switch);
        assert!(same_template(State::Newest, &rendered, &live));
        assert!(!same_template(State::July, &rendered, &live));
    }

    #[test]
    fn a_restart_by_kubectl_is_no_difference_and_anything_else_is() {
        let rendered = rendered(State::July, json!({"l1": {"sizeGB": 1}}));
        for (pointer, member, same) in [
            (
                "/spec/template/metadata",
                json!({"annotations": {RESTARTED_AT: "2026-08-01T00:00:00Z"}}),
                true,
            ),
            ("/spec/template/metadata", json!({"annotations": {"team": "a"}}), false),
            ("/spec/template/spec", json!({"hostPID": true}), false),
            ("/spec/template/spec", json!({"hostIPC": false}), false),
            ("/spec/template/spec/containers/0", json!({"tty": true}), false),
            ("/spec/template/spec/containers/0", json!({"tty": false}), true),
        ] {
            let mut live = rendered.clone();
            let place = live.pointer_mut(pointer).unwrap().as_object_mut().unwrap();
            place.extend(member.as_object().unwrap().clone());
            assert_eq!(same_template(State::July, &rendered, &live), same, "{pointer} {member}");
        }
    }
}
