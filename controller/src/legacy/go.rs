//! How Go's JSON encoder writes the Kubernetes types of a spec: a zero value of a field that is no pointer is left out, so
//! an environment variable with `value: ""` is sent without `value`.

use serde_json::{Map, Value};

use super::schema::{Field, Kind, Shape};

/// An object as it is sent.
pub(super) fn object(shape: &Shape, value: &Value) -> Value {
    let members = value.as_object();
    let sent = shape.0.iter().filter_map(|field| {
        let value = members?.get(field.name).filter(|value| !value.is_null());
        Some((field.name.to_owned(), sent(field, value)?))
    });
    Value::Object(sent.collect())
}

/// A list of objects as it is sent; `None` when it is empty.
pub(super) fn objects(shape: &Shape, value: Option<&Value>) -> Option<Value> {
    let items = value?.as_array()?;
    (!items.is_empty()).then(|| items.iter().map(|item| object(shape, item)).collect())
}

fn sent(field: &Field, value: Option<&Value>) -> Option<Value> {
    let Some(value) = value else {
        // A quantity that is no pointer is a struct, which is never empty to Go.
        return matches!((&field.kind, field.pointer), (Kind::Quantity, false)).then(|| Value::from("0"));
    };
    let value = written(&field.kind, value);
    (field.required || field.pointer || !is_zero(&value)).then_some(value)
}

fn written(kind: &Kind, value: &Value) -> Value {
    match (kind, value) {
        (Kind::Object(shape), Value::Object(_)) => object(shape, value),
        (Kind::Objects(shape), Value::Array(items)) => items.iter().map(|item| object(shape, item)).collect(),
        (Kind::Quantity, Value::Number(number)) => Value::from(number.to_string()),
        (Kind::Quantities, Value::Object(entries)) => {
            let entries = entries.iter();
            let written = entries.map(|(name, amount)| (name.clone(), written(&Kind::Quantity, amount)));
            Value::Object(written.collect::<Map<_, _>>())
        }
        _ => value.clone(),
    }
}

/// Whether Go's encoder takes a value of a field that is no pointer for empty.
pub(super) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::kubernetes::{AFFINITY, CONTAINER, ENV_VAR, LOCAL_OBJECT_REFERENCE, TOLERATION, VOLUME};
    use super::*;

    /// Each expectation is what a Go program wrote that read the input into the types of `k8s.io/api` v0.35, without empty
    /// `resources` and `metadata`.
    fn check(shape: &Shape, input: Value, expected: Value) {
        assert_eq!(objects(shape, Some(&input)), Some(expected));
    }

    #[test]
    fn environment() {
        check(
            &ENV_VAR,
            json!([
                {"name": "A", "value": ""},
                {"name": "B", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "containerName": ""}}},
                {"name": "C", "valueFrom": {"secretKeyRef": {"name": "", "key": "k", "optional": false}}},
                {"name": "D", "valueFrom": {}},
            ]),
            json!([
                {"name": "A"},
                {"name": "B", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}}},
                {"name": "C", "valueFrom": {"secretKeyRef": {"key": "k", "optional": false}}},
                {"name": "D", "valueFrom": {}},
            ]),
        );
        check(&LOCAL_OBJECT_REFERENCE, json!([{"name": ""}]), json!([{}]));
    }

    #[test]
    fn volumes() {
        check(
            &VOLUME,
            json!([
                {"name": "a"},
                {"name": "b", "hostPath": {"path": "/x", "type": ""}},
                {"name": "c", "secret": {"secretName": "", "items": [], "optional": false, "defaultMode": 0}},
                {"name": "d", "persistentVolumeClaim": {"claimName": "x", "readOnly": false}},
                {"name": "f", "csi": {"driver": "d", "readOnly": false, "fsType": "", "volumeAttributes": {}}},
                {"name": "g", "projected": {"sources": []}},
                {"name": "h", "ephemeral": {"volumeClaimTemplate": {"spec": {
                    "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": 1}}, "storageClassName": "",
                }}}},
            ]),
            json!([
                {"name": "a"},
                {"name": "b", "hostPath": {"path": "/x", "type": ""}},
                {"name": "c", "secret": {"optional": false, "defaultMode": 0}},
                {"name": "d", "persistentVolumeClaim": {"claimName": "x"}},
                {"name": "f", "csi": {"driver": "d", "readOnly": false, "fsType": ""}},
                {"name": "g", "projected": {"sources": []}},
                {"name": "h", "ephemeral": {"volumeClaimTemplate": {"spec": {
                    "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}, "storageClassName": "",
                }}}},
            ]),
        );
    }

    #[test]
    fn scheduling() {
        let tolerations = json!([{"key": "", "operator": "Exists", "effect": "", "tolerationSeconds": 0}, {}]);
        check(
            &TOLERATION,
            tolerations,
            json!([{"operator": "Exists", "tolerationSeconds": 0}, {}]),
        );
        check(
            &AFFINITY,
            json!([{
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}},
                "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "z", "labelSelector": {}, "namespaces": []},
                ]},
                "podAntiAffinity": {},
            }]),
            json!([{
                "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}},
                "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "z", "labelSelector": {}},
                ]},
                "podAntiAffinity": {},
            }]),
        );
    }

    #[test]
    fn containers() {
        check(
            &CONTAINER,
            json!([{
                "name": "i", "image": "", "ports": [{"containerPort": 0, "hostPort": 0, "protocol": "TCP"}],
                "resources": {}, "stdin": false, "restartPolicy": "",
                "livenessProbe": {"grpc": {"port": 1, "service": ""}, "initialDelaySeconds": 0,
                    "terminationGracePeriodSeconds": 0},
                "readinessProbe": {"tcpSocket": {"port": "http"}},
                "securityContext": {"privileged": false, "runAsUser": 0, "capabilities": {}},
                "envFrom": [{"configMapRef": {"name": ""}, "prefix": ""}],
                "lifecycle": {"preStop": {"exec": {}}},
                "volumeMounts": [{"name": "v", "mountPath": "", "readOnly": false, "mountPropagation": ""}],
                "unknown": 1,
            }]),
            json!([{
                "name": "i", "ports": [{"containerPort": 0, "protocol": "TCP"}], "restartPolicy": "",
                "livenessProbe": {"grpc": {"port": 1, "service": ""}, "terminationGracePeriodSeconds": 0},
                "readinessProbe": {"tcpSocket": {"port": "http"}},
                "securityContext": {"privileged": false, "runAsUser": 0, "capabilities": {}},
                "envFrom": [{"configMapRef": {}}],
                "lifecycle": {"preStop": {"exec": {}}},
                "volumeMounts": [{"name": "v", "mountPath": "", "mountPropagation": ""}],
            }]),
        );
    }
}
