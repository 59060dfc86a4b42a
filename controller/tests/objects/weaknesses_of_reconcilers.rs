//! Weaknesses 1 to 19 of the Go operator, those of its reconcilers, as far as they are decided by what is rendered.

use lmcache_api::{AnyObject, Kind, decode};
use lmcache_controller::build::{SecretFault, resp_secret};
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{cacheblend, child, children, container, coordinator, engine, optional, pod, report};

fn read(object: &Value) -> AnyObject {
    let kind: Kind = object["kind"].as_str().unwrap().parse().unwrap();
    let mut object = decode(kind, object).object;
    object.set_defaults();
    object
}

/// Two kinds of one name would fight over one DaemonSet, or take one another's Services.
#[test]
fn weakness_03_two_kinds_of_one_name_are_refused() {
    let all = [engine(json!({})), cacheblend(json!({})), coordinator(json!({}))];
    for first in &all {
        for second in all.iter().filter(|second| second["kind"] != first["kind"]) {
            let report = report(&[first.clone(), second.clone()]);
            assert!(report.objects.is_empty());
            let (first, second) = (first["kind"].as_str().unwrap(), second["kind"].as_str().unwrap());
            let expected = format!(
                "1.yaml: {second} serving/kv: metadata.name: Duplicate value: \"kv\": {first} serving/kv in 0.yaml \
                 would share its children's names; choose another name"
            );
            assert_eq!(report.faults, [expected]);
            // In another namespace there is nothing to share.
            let mut elsewhere = all.iter().find(|object| object["kind"] == *second).unwrap().clone();
            elsewhere["metadata"]["namespace"] = json!("other");
            let first = all.iter().find(|object| object["kind"] == *first).unwrap().clone();
            assert_eq!(crate::support::report(&[first, elsewhere]).faults, [""; 0]);
        }
    }
}

/// Every Service carries its selector, so that a drifted one is put right.
#[test]
fn weakness_04_services_carry_their_selector() {
    let engine = children(&engine(json!({"prometheus": {"serviceMonitor": {"enabled": true}}})));
    let coordinator = children(&coordinator(
        json!({"prometheus": {"serviceMonitor": {"enabled": true}}}),
    ));
    for (children, app) in [(&engine, "lmcache"), (&coordinator, "lmcache-coordinator")] {
        for suffix in ["", "-metrics"] {
            assert_eq!(
                child(children, "Service", suffix)["spec"]["selector"],
                json!({"app.kubernetes.io/instance": "kv", "app.kubernetes.io/managed-by": "lmcache-operator",
                    "app.kubernetes.io/name": app})
            );
        }
    }
}

#[test]
fn weakness_05_pod_labels_cannot_change_the_selector() {
    let labels = json!({"podLabels": {"app.kubernetes.io/name": "x", "app.kubernetes.io/instance": "x",
        "app.kubernetes.io/managed-by": "x", "app.kubernetes.io/component": "mine", "team": "a"}});
    for object in [engine(labels.clone()), cacheblend(labels.clone()), coordinator(labels)] {
        let children = children(&object);
        let spec = &children[0]["spec"];
        let pod_labels = spec["template"]["metadata"]["labels"].as_object().unwrap();
        for (key, value) in spec["selector"]["matchLabels"].as_object().unwrap() {
            assert_ne!(value, "x");
            assert_eq!(&pod_labels[key], value);
        }
        assert_eq!(
            (&pod_labels["team"], &pod_labels["app.kubernetes.io/component"]),
            (&json!("a"), &json!("mine"))
        );
    }
}

/// What Pods need to be wired does not wait for the coordinator.
#[test]
fn weakness_11_only_the_daemon_set_depends_on_the_coordinator() {
    let connected =
        json!({"coordinator": {"ref": {"name": "fleet"}}, "prometheus": {"serviceMonitor": {"enabled": true}}});
    let mut other = connected.clone();
    other["coordinator"] = json!(null);
    let (with, without) = (children(&engine(connected)), children(&engine(other)));
    assert_ne!(with[0], without[0]);
    assert_eq!(with[0]["kind"], "DaemonSet");
    assert_eq!(with[1..], without[1..]);
}

fn login(namespace: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "namespace": namespace, "labels": {"a": "b"}},
        "type": "kubernetes.io/basic-auth", "data": {"password": "cHc=", "username": "dQ==", "ca.crt": "Yw=="}})
}

fn redis(namespace: Value) -> Value {
    json!({"l2Backend": {"resp": {"host": "redis", "port": 6379, "authSecretRef": {"name": "login", "namespace": namespace}}}})
}

/// The copy is made of the source as it is now, and of nothing but the login.
#[test]
fn weakness_12_the_copy_follows_its_source() {
    let engine = read(&engine(redis(json!(null))));
    let mut source = login("serving");
    let copy = resp_secret(&engine, &source).unwrap().unwrap();
    assert_eq!(copy["metadata"]["name"], "kv-resp-auth");
    assert_eq!(copy["metadata"]["namespace"], "serving");
    assert_eq!(copy["data"], json!({"password": "cHc=", "username": "dQ=="}));
    assert!(copy.get("type").is_none());
    source["data"] = json!({"password": "bmV3"});
    assert_eq!(
        resp_secret(&engine, &source).unwrap().unwrap()["data"],
        json!({"password": "bmV3"})
    );
    // An empty user name is one.
    source["data"]["username"] = json!("");
    assert_eq!(resp_secret(&engine, &source).unwrap().unwrap()["data"]["username"], "");
    for data in [
        json!(null),
        json!({}),
        json!({"password": ""}),
        json!({"username": "dQ=="}),
    ] {
        source["data"] = data;
        assert_eq!(resp_secret(&engine, &source), Err(SecretFault::NoPassword));
    }
}

/// Whoever may create an engine must not be able to read Secrets of other namespaces through it.
#[rstest]
#[case::nothing_said(json!(null), false)]
#[case::empty(json!(""), false)]
#[case::another_namespace(json!("serving-2, other"), false)]
#[case::part_of_a_name(json!("serv"), false)]
#[case::everything(json!("*"), false)]
#[case::named(json!("serving"), true)]
#[case::one_of_several(json!("other, serving ,third"), true)]
fn weakness_13_secrets_of_other_namespaces_need_consent(#[case] annotation: Value, #[case] allowed: bool) {
    let engine = read(&engine(redis(json!("stores"))));
    let mut source = login("stores");
    source["metadata"]["annotations"] = json!({"lmcache.ai/allow-copy-to": annotation});
    match resp_secret(&engine, &source) {
        Ok(copy) => assert!(allowed && copy.unwrap()["metadata"]["namespace"] == "serving"),
        Err(fault) => {
            assert!(!allowed && fault == SecretFault::NoConsent);
            assert!(fault.to_string().contains("lmcache.ai/allow-copy-to"));
        }
    }
}

/// Secrets never show in what is rendered.
#[test]
fn weakness_13_logins_are_only_referred_to() {
    let children = children(&engine(redis(json!("stores"))));
    assert!(children.iter().all(|child| child["kind"] != "Secret"));
    let env = container(&children)["env"].as_array().unwrap();
    let password = env
        .iter()
        .find(|variable| variable["name"] == "LMCACHE_RESP_PASSWORD")
        .unwrap();
    assert_eq!(
        password["valueFrom"]["secretKeyRef"],
        json!({"name": "kv-resp-auth", "key": "password"})
    );
}

/// Only what is asked for is rendered, and always in the same bytes: nothing of the API server's defaults to fight over.
#[test]
fn weakness_16_no_field_that_is_somebody_elses() {
    let object = engine(json!({"podLabels": {"b": "1", "a": "2"}}));
    let children = children(&object);
    assert_eq!(
        report(std::slice::from_ref(&object)).yaml(),
        report(std::slice::from_ref(&object)).yaml()
    );
    let text = Value::Array(children).to_string();
    for default in [
        "restartPolicy",
        "schedulerName",
        "terminationMessagePath",
        "clusterIPs",
        "ipFamilies",
        "sessionAffinity",
        "creationTimestamp",
        "status",
        "revisionHistoryLimit",
        "updateStrategy",
        "successThreshold",
        "terminationGracePeriodSeconds",
    ] {
        assert!(!text.contains(&format!("\"{default}\"")), "{default}");
    }
}

/// Server-side apply refuses a list that has a name twice; of variables the last one counts, as for the kubelet.
#[test]
fn weakness_16_nothing_stands_twice() {
    let children = children(&engine(
        json!({"env": [{"name": "A", "value": "1"}, {"name": "NVIDIA_VISIBLE_DEVICES", "value": "0"},
        {"name": "B", "value": "$(A)"}, {"name": "A", "value": "2"}], "imagePullSecrets": [{"name": "r"}, {"name": "r"}, {"name": ""}]}),
    ));
    let env = container(&children)["env"].as_array().unwrap();
    let env: Vec<_> = env
        .iter()
        .map(|variable| (variable["name"].as_str().unwrap(), variable["value"].as_str().unwrap()))
        .collect();
    let expected = [
        ("LMCACHE_LOG_LEVEL", "INFO"),
        ("NVIDIA_DRIVER_CAPABILITIES", "all"),
        ("NVIDIA_VISIBLE_DEVICES", "0"),
        ("B", "$(A)"),
        ("A", "2"),
    ];
    assert_eq!(env, expected);
    assert_eq!(pod(&children)["imagePullSecrets"], json!([{"name": "r"}]));
}

/// Where the metrics of each release are; nothing points at a port that nobody opens.
#[rstest]
#[case::own_port("v0.4.4", json!({}), Some(9090), true)]
#[case::own_port_chosen("v0.4.4", json!({"port": 9191}), Some(9191), true)]
#[case::http_port("v0.4.5", json!({"port": 9191}), Some(8080), false)]
#[case::newest("v0.5.6", json!({}), Some(8080), false)]
#[case::unknown_is_newest("latest", json!({}), Some(8080), false)]
#[case::switched_off("v0.5.6", json!({"enabled": false}), None, false)]
#[case::switched_off_early("v0.4.4", json!({"enabled": false}), None, false)]
fn weakness_17_metrics_are_scraped_where_they_are(
    #[case] tag: &str,
    #[case] mut prometheus: Value,
    #[case] port: Option<i32>,
    #[case] own_port: bool,
) {
    prometheus["serviceMonitor"] = json!({"enabled": true});
    let children = children(&engine(json!({"image": {"tag": tag}, "prometheus": prometheus})));
    let service = optional(&children, "Service", "-metrics");
    assert_eq!(
        service.map(|service| service["spec"]["ports"].clone()),
        port.map(|port| json!([{"name": "metrics", "port": port, "protocol": "TCP"}]))
    );
    assert_eq!(optional(&children, "ServiceMonitor", "").is_some(), port.is_some());
    let ports = container(&children)["ports"].as_array().unwrap();
    let names: Vec<_> = ports.iter().map(|port| port["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        if own_port {
            vec!["server", "http", "metrics"]
        } else {
            vec!["server", "http"]
        }
    );
}

#[rstest]
#[case::none("v0.5.3", json!({}), None)]
#[case::http_port("v0.5.4", json!({"port": 9090}), Some(9300))]
#[case::switched_off("v0.5.6", json!({"enabled": false}), None)]
fn weakness_17_metrics_of_coordinators(#[case] tag: &str, #[case] mut prometheus: Value, #[case] port: Option<i32>) {
    prometheus["serviceMonitor"] = json!({"enabled": true});
    let children = children(&coordinator(json!({"image": {"tag": tag}, "prometheus": prometheus})));
    let service = optional(&children, "Service", "-metrics");
    assert_eq!(
        service.map(|service| service["spec"]["ports"][0]["port"].clone()),
        port.map(Value::from)
    );
    assert_eq!(optional(&children, "ServiceMonitor", "").is_some(), port.is_some());
    assert_eq!(
        container(&children)["ports"],
        json!([{"name": "http", "containerPort": 9300, "protocol": "TCP"}])
    );
}
