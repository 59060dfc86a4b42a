//! What the API server fills in and leaves out.

use serde_json::{Map, Value, json};

/// Makes an object as it is stored. `old` is what was stored before.
pub fn fill_in(object: &mut Value, old: Option<&Value>) {
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    if !matches!(
        kind.as_str(),
        "ConfigMap" | "Secret" | "Service" | "DaemonSet" | "Deployment" | "Pod"
    ) {
        return;
    }
    drop_zero_values("", object);
    match kind.as_str() {
        "Secret" => set(object, json!({"type": "Opaque"})),
        "Service" => service(object),
        "DaemonSet" => {
            set(
                &mut object["spec"],
                json!({"revisionHistoryLimit": 10, "updateStrategy": {"type": "RollingUpdate"}}),
            );
            if object["spec"]["updateStrategy"]["type"] == "RollingUpdate" {
                let default = json!({"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}});
                set(&mut object["spec"]["updateStrategy"], default);
            }
            template(&mut object["spec"]["template"]);
            template_generation(object, old);
        }
        "Deployment" => {
            let spec = &mut object["spec"];
            set(
                spec,
                json!({"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600,
                    "strategy": {"type": "RollingUpdate"}}),
            );
            if spec["strategy"]["type"] == "RollingUpdate" {
                let default = json!({"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}});
                set(&mut spec["strategy"], default);
            }
            template(&mut spec["template"]);
        }
        _ => {}
    }
}

/// Members that are not there get their default, also in maps that are there.
fn set(object: &mut Value, defaults: Value) {
    if object.is_null() {
        *object = json!({});
    }
    let (Value::Object(object), Value::Object(defaults)) = (object, defaults) else {
        return;
    };
    for (name, default) in defaults {
        match object.get_mut(&name) {
            Some(own) if own.is_object() && default.is_object() => set(own, default),
            Some(_) => {}
            None => drop(object.insert(name, default)),
        }
    }
}

fn each(list: Option<&mut Value>, change: impl FnMut(&mut Value)) {
    let items = list.and_then(Value::as_array_mut).into_iter().flatten();
    items.for_each(change);
}

fn service(object: &mut Value) {
    let spec = &mut object["spec"];
    set(
        spec,
        json!({"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster"}),
    );
    each(spec.get_mut("ports"), |port| {
        let number = port["port"].clone();
        set(port, json!({"protocol": "TCP", "targetPort": number}));
    });
}

/// Addresses are given out last; nobody owns those fields.
pub fn give_addresses(object: &mut Value, old: Option<&Value>) {
    if object["kind"] == "Service" {
        let address = old.map_or(json!("10.96.0.10"), |old| old["spec"]["clusterIP"].clone());
        let spec = &mut object["spec"];
        set(
            spec,
            json!({"clusterIP": address, "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}),
        );
        spec["clusterIPs"] = json!([spec["clusterIP"]]);
        set(object, json!({"status": {"loadBalancer": {}}}));
    }
}

/// Kubernetes keeps this annotation, whatever is written.
fn template_generation(object: &mut Value, old: Option<&Value>) {
    const NAME: &str = "deprecated.daemonset.template.generation";
    let generation = old.map_or(0, |old| {
        let text = old["metadata"]["annotations"][NAME].as_str().unwrap_or("0");
        text.parse::<u64>().unwrap()
    });
    let is_new = old.is_none_or(|old| old["spec"]["template"] != object["spec"]["template"]);
    let annotations = json!({"annotations": {}});
    set(&mut object["metadata"], annotations);
    object["metadata"]["annotations"][NAME] = json!((generation + u64::from(is_new)).to_string());
}

fn template(template: &mut Value) {
    let spec = &mut template["spec"];
    set(
        spec,
        json!({"dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler",
            "securityContext": {}, "terminationGracePeriodSeconds": 30}),
    );
    if let Some(account) = spec.get("serviceAccountName").cloned() {
        set(spec, json!({"serviceAccount": account}));
    }
    let is_on_host = spec["hostNetwork"] == true;
    for list in ["initContainers", "containers"] {
        each(spec.get_mut(list), |item| container(item, is_on_host));
    }
    each(spec.get_mut("volumes"), |volume| {
        for (source, default) in [
            ("hostPath", json!({"type": ""})),
            ("secret", json!({"defaultMode": 420})),
            ("configMap", json!({"defaultMode": 420})),
            ("downwardAPI", json!({"defaultMode": 420})),
            ("projected", json!({"defaultMode": 420})),
        ] {
            if let Some(source) = volume.get_mut(source) {
                set(source, default);
            }
        }
    });
}

fn container(container: &mut Value, is_on_host: bool) {
    let image = container["image"].as_str().unwrap_or_default();
    let tag = image.rsplit_once('/').map_or(image, |(_, name)| name).split_once(':');
    let floats = tag.is_none_or(|(_, tag)| tag == "latest") && !image.contains('@');
    set(
        container,
        json!({"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "resources": {},
            "imagePullPolicy": if floats { "Always" } else { "IfNotPresent" }}),
    );
    each(container.get_mut("ports"), |port| {
        set(port, json!({"protocol": "TCP"}));
        if is_on_host {
            let number = port["containerPort"].clone();
            set(port, json!({"hostPort": number}));
        }
    });
    each(container.get_mut("env"), |variable| {
        if let Some(reference) = variable.pointer_mut("/valueFrom/fieldRef") {
            set(reference, json!({"apiVersion": "v1"}));
        }
    });
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
        if let Some(probe) = container.get_mut(probe) {
            set(
                probe,
                json!({"failureThreshold": 3, "periodSeconds": 10, "successThreshold": 1, "timeoutSeconds": 1}),
            );
            if let Some(action) = probe.get_mut("httpGet") {
                set(action, json!({"path": "/", "scheme": "HTTP"}));
            }
        }
    }
}

/// Go leaves these out where they are zero.
fn drop_zero_values(field: &str, value: &mut Value) {
    match value {
        Value::Object(members) => {
            let verbatim = matches!(
                field,
                "data" | "labels" | "annotations" | "matchLabels" | "nodeSelector"
            );
            if !verbatim {
                for (name, member) in members.iter_mut() {
                    drop_zero_values(name, member);
                }
                members.retain(|name, member| !is_left_out(name, member));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| drop_zero_values("", item)),
        _ => {}
    }
}

fn is_left_out(name: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty() && is_map(name),
        Value::Bool(value) => {
            !value
                && matches!(
                    name,
                    "hostIPC" | "hostNetwork" | "hostPID" | "readOnly" | "stdin" | "tty"
                )
        }
        Value::Number(number) => number.as_i64() == Some(0) && name == "initialDelaySeconds",
        Value::String(text) => {
            text.is_empty()
                && matches!(
                    name,
                    "value" | "serviceAccountName" | "priorityClassName" | "schedulerName"
                )
        }
    }
}

fn is_map(name: &str) -> bool {
    matches!(
        name,
        "labels" | "annotations" | "nodeSelector" | "data" | "limits" | "requests" | "matchLabels" | "selector"
    )
}

/// Members of `metadata` that the API server keeps from what was stored.
pub fn keep_metadata(object: &mut Value, old: &Value) {
    let Some(metadata) = object["metadata"].as_object_mut() else {
        return;
    };
    let kept: Map<String, Value> = [
        "uid",
        "creationTimestamp",
        "generation",
        "resourceVersion",
        "deletionTimestamp",
    ]
    .into_iter()
    .filter_map(|name| Some((name.to_owned(), old["metadata"].get(name)?.clone())))
    .collect();
    metadata.extend(kept);
}
