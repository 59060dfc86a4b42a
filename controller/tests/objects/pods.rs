//! Pods of engines: shared memory, keys, waiting, classes and networks.

use std::process::Command;

use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{cacheblend, child, children, container, engine, pod};

/// The volume of the host's shared memory and where it is mounted, as far as they are there.
fn shared_memory(object: &Value) -> (Option<String>, bool) {
    let children = children(object);
    let is_host = |volume: &&Value| volume["hostPath"]["path"] == "/dev/shm";
    let volume = pod(&children)["volumes"]
        .as_array()
        .and_then(|volumes| volumes.iter().find(is_host));
    let name = volume.map(|volume| volume["name"].as_str().unwrap().to_owned());
    let mounts = container(&children)["volumeMounts"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let mounted = mounts.contains(&json!({"name": name, "mountPath": "/dev/shm"}));
    (name, mounted)
}

#[rstest]
#[case::nothing_said(json!({}), None)]
#[case::host_ipc(json!({"hostIPC": true}), None)]
#[case::isolated(json!({"isolatedIPC": true, "hostIPC": true}), None)]
#[case::neither(json!({"isolatedIPC": false, "hostIPC": false}), Some("lmcache-dev-shm"))]
#[case::user_mount(json!({"isolatedIPC": false, "hostIPC": false, "volumeMounts": [{"name": "a", "mountPath": "/dev/shm"}]}), None)]
#[case::user_mount_with_slash(json!({"isolatedIPC": false, "hostIPC": false, "volumeMounts": [{"name": "a", "mountPath": "/dev/shm/"}]}), None)]
#[case::name_taken(json!({"isolatedIPC": false, "hostIPC": false, "volumes": [{"name": "lmcache-dev-shm", "emptyDir": {}},
    {"name": "lmcache-dev-shm-2", "emptyDir": {}}]}), Some("lmcache-dev-shm-3"))]
fn the_hosts_shared_memory(#[case] more: Value, #[case] volume: Option<&str>) {
    let expected = (volume.map(str::to_owned), volume.is_some());
    assert_eq!(shared_memory(&engine(more)), expected);
}

/// A CacheBlendEngine is never isolated, and follows the installation where it says nothing.
#[test]
fn shared_memory_of_cacheblend() {
    assert_eq!(shared_memory(&cacheblend(json!({}))), (None, false));
    assert_eq!(pod(&children(&cacheblend(json!({}))))["hostIPC"], true);
    let shared = cacheblend(json!({"hostIPC": false}));
    assert_eq!(shared_memory(&shared), (Some("lmcache-dev-shm".to_owned()), true));
    assert!(pod(&children(&shared)).get("hostIPC").is_none());
}

/// The user's volumes come first, then ours, in the order of their mounts.
#[test]
fn the_master_key_is_mounted_read_only() {
    let children = children(&engine(json!({"hostIPC": false, "isolatedIPC": false,
        "l2Backend": {"raw": {"type": "fs", "config": {"base_path": "/l2"}},
            "serde": {"aesgcm": {"masterKeySecretRef": {"name": "master-key"}}}},
        "volumes": [{"name": "l2", "hostPath": {"path": "/mnt"}}], "volumeMounts": [{"name": "l2", "mountPath": "/l2"}]})));
    let names = |items: &Value| -> Vec<String> {
        let items = items.as_array().unwrap().iter();
        items.map(|item| item["name"].as_str().unwrap().to_owned()).collect()
    };
    let expected = ["l2", "lmcache-dev-shm", "l2-master-key"];
    assert_eq!(names(&pod(&children)["volumes"]), expected);
    assert_eq!(names(&container(&children)["volumeMounts"]), expected);
    assert_eq!(
        pod(&children)["volumes"][2]["secret"],
        json!({"secretName": "master-key", "items": [{"key": "master", "path": "master"}], "defaultMode": 256})
    );
    assert_eq!(
        container(&children)["volumeMounts"][2],
        json!({"name": "l2-master-key", "mountPath": "/etc/lmcache/keys", "readOnly": true})
    );
}

#[rstest]
#[case(json!({}), Some("nvidia"))]
#[case(json!({"runtimeClassName": ""}), None)]
#[case(json!({"runtimeClassName": "nvidia-cdi"}), Some("nvidia-cdi"))]
#[case(json!({"gpuVendor": "amd", "nodeSelector": {"gpu": "amd"}}), None)]
#[case(json!({"gpuVendor": "amd", "runtimeClassName": "own"}), Some("own"))]
fn runtime_classes(#[case] more: Value, #[case] class: Option<&str>) {
    let children = children(&engine(more));
    assert_eq!(pod(&children).get("runtimeClassName").and_then(Value::as_str), class);
}

#[test]
fn vendors() {
    let selector = |more: Value| pod(&children(&engine(more))).get("nodeSelector").cloned();
    assert_eq!(selector(json!({})), Some(json!({"nvidia.com/gpu.present": "true"})));
    assert_eq!(selector(json!({"nodeSelector": {}})), None);
    assert_eq!(selector(json!({"gpuVendor": "amd"})), None);
    let amd = children(&engine(json!({"gpuVendor": "amd"})));
    assert_eq!(
        container(&amd)["env"],
        json!([{"name": "LMCACHE_LOG_LEVEL", "value": "INFO"}])
    );
}

#[test]
fn the_hosts_network() {
    let network = |more: Value| {
        let children = children(&engine(more));
        let pod = pod(&children);
        (pod.get("hostNetwork").cloned(), pod.get("dnsPolicy").cloned())
    };
    assert_eq!(
        network(json!({"hostNetwork": true})),
        (Some(json!(true)), Some(json!("ClusterFirstWithHostNet")))
    );
    assert_eq!(network(json!({"hostNetwork": false})), (None, None));
    assert_eq!(network(json!({})), (None, None));
}

fn waiting(more: Value) -> Value {
    let mut resp = json!({"l2Backend": {"resp": {"host": "redis.a;b", "port": 6379, "waitSeconds": 1}}});
    resp.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
    let children = children(&engine(resp));
    pod(&children)["initContainers"].clone()
}

#[test]
fn a_wait_for_redis_comes_last_and_has_no_rights() {
    assert!(pod(&children(&engine(json!({})))).get("initContainers").is_none());
    let containers = waiting(json!({
        "initContainers": [{"name": "lmcache-wait-for-l2", "image": "a"}],
        "containerSecurityContext": {"privileged": true, "runAsUser": 1000, "capabilities": {"add": ["IPC_LOCK"]}},
        "image": {"repository": "r/lmcache", "tag": "v0.5.6", "pullPolicy": "Always"},
    }));
    assert_eq!(containers[0], json!({"name": "lmcache-wait-for-l2", "image": "a"}));
    let wait = &containers[1];
    assert_eq!(
        (&wait["name"], &wait["image"], &wait["imagePullPolicy"]),
        (
            &json!("lmcache-wait-for-l2-2"),
            &json!("r/lmcache:v0.5.6"),
            &json!("Always")
        )
    );
    assert_eq!(
        wait["securityContext"],
        json!({"privileged": false, "runAsUser": 1000, "capabilities": {"drop": ["ALL"]}, "allowPrivilegeEscalation": false})
    );
    assert_eq!(wait["resources"]["requests"], wait["resources"]["limits"]);
    assert!(containers.get(2).is_none());
}

/// The command of the wait, with `python` in place of the image's.
fn wait(python: &str, host: &str, port: &str, seconds: &str) -> (String, bool) {
    let containers = waiting(json!({}));
    let texts = |key: &str| -> Vec<String> {
        let items = containers[0][key].as_array().unwrap().iter();
        items.map(|item| item.as_str().unwrap().to_owned()).collect()
    };
    let (mut command, mut args) = (texts("command"), texts("args"));
    // Nothing of the user's is part of the shell's or Python's text.
    assert_eq!(args[1..], ["redis.a;b", "6379", "1"]);
    args.splice(1.., [host, port, seconds].map(str::to_owned));
    command[2] = command[2].replace("/opt/venv/bin/python3", python);
    let output = Command::new(&command[0])
        .args(&command[1..])
        .args(args)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
    (text, output.status.success())
}

/// Whatever happens, the server is started.
#[test]
fn the_wait_never_fails() {
    let (text, success) = wait("/does/not/exist", "127.0.0.1", "1", "1");
    assert!(
        success && text.contains("starting the server without having seen Redis"),
        "{text}"
    );
    if Command::new("python3").arg("--version").output().is_err() {
        return; // the rest needs Python
    }
    // Nothing listens on a port that was just closed.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let (text, success) = wait("python3", "127.0.0.1", &port, "60");
    assert!(
        success && text.contains("accepts connections") && !text.contains("without"),
        "{text}"
    );
    drop(listener);
    let (text, success) = wait("python3", "127.0.0.1", &port, "1");
    assert!(
        success && text.contains("accepted no connection in 1 s") && text.contains("without having seen Redis"),
        "{text}"
    );
}

/// The policies know a connection ConfigMap by these.
#[test]
fn the_connection_says_who_made_it_and_how_memory_is_shared() {
    let children = children(&engine(json!({"isolatedIPC": true})));
    let metadata = &child(&children, "ConfigMap", "-connection")["metadata"];
    assert_eq!(
        *metadata,
        json!({"name": "kv-connection", "namespace": "serving", "annotations": {"lmcache.ai/ipc-mode": "Isolated"},
            "labels": {"app.kubernetes.io/component": "cache-engine", "app.kubernetes.io/instance": "kv",
                "app.kubernetes.io/managed-by": "lmcache-operator", "app.kubernetes.io/name": "lmcache"}})
    );
}

/// Roles of a disaggregated engine each have their key.
#[test]
fn connections_by_role() {
    let keys = |object: Value| -> Vec<String> {
        let children = children(&object);
        let data = child(&children, "ConfigMap", "-connection")["data"]
            .as_object()
            .unwrap()
            .clone();
        data.into_iter().map(|(key, _)| key).collect()
    };
    let all = [
        "kv-transfer-config-decoder.json",
        "kv-transfer-config-prefiller.json",
        "kv-transfer-config.json",
    ];
    assert_eq!(keys(engine(json!({}))), ["kv-transfer-config.json"]);
    assert_eq!(keys(engine(json!({"pd": {}}))), all);
    assert_eq!(keys(cacheblend(json!({"pd": {}}))), all);
}
