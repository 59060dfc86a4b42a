//! What Kubernetes' own controllers do.

use serde_json::{Value, json};

use crate::api::NAMESPACE;
use crate::objects::{id, id_of};
use crate::world::World;

impl World {
    /// The DaemonSet controller runs Pods of a DaemonSet on these nodes, ready or not, all of the present template.
    pub fn run_servers(&mut self, name: &str, nodes: &[(&str, bool)]) {
        let set = self.get(&id("daemonsets", name));
        for (node, is_ready) in nodes {
            let pod = server_pod(&set, node, *is_ready);
            self.put_pod(pod);
        }
        self.daemon_set_status(name, nodes);
    }

    /// The DaemonSet controller counts.
    pub fn daemon_set_status(&mut self, name: &str, nodes: &[(&str, bool)]) {
        let ready = nodes.iter().filter(|(_, is_ready)| *is_ready).count();
        let status = |object: &mut Value| {
            object["status"] = json!({
                "desiredNumberScheduled": nodes.len(),
                "currentNumberScheduled": nodes.len(),
                "updatedNumberScheduled": nodes.len(),
                "numberReady": ready,
                "observedGeneration": object["metadata"]["generation"],
            });
        };
        self.edit_status(&id("daemonsets", name), "kube-controller-manager", status);
    }

    /// The Deployment controller counts.
    pub fn deployment_status(&mut self, name: &str, ready: u32) {
        let status = |object: &mut Value| {
            object["status"] = json!({
                "replicas": ready, "readyReplicas": ready, "updatedReplicas": ready,
                "observedGeneration": object["metadata"]["generation"],
            });
        };
        self.edit_status(&id("deployments", name), "kube-controller-manager", status);
    }

    /// A Pod is created or changes.
    pub fn put_pod(&mut self, pod: Value) {
        let mut state = self.server.state();
        let id = id_of(&pod);
        match state.store.get(&id).cloned() {
            Ok(_) => drop(state.store.edit(&id, "kubelet", "", |live| {
                live["spec"] = pod["spec"].clone();
                live["metadata"]["annotations"] = pod["metadata"]["annotations"].clone();
            })),
            Err(_) => drop(state.store.create(id.clone(), pod.clone(), "kubelet")),
        }
        state
            .store
            .edit(&id, "kubelet", "status", |live| live["status"] = pod["status"].clone())
            .unwrap();
    }
}

fn server_pod(set: &Value, node: &str, is_ready: bool) -> Value {
    let name = set["metadata"]["name"].as_str().unwrap();
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("{name}-{node}"),
            "namespace": NAMESPACE,
            "labels": set["spec"]["template"]["metadata"]["labels"],
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": name, "uid": set["metadata"]["uid"],
                "controller": true}],
        },
        "spec": {"nodeName": node},
        "status": {
            "phase": "Running",
            "hostIP": "10.0.0.1",
            "conditions": [{"type": "Ready", "status": if is_ready { "True" } else { "False" }}],
            "containerStatuses": [{"name": "lmcache", "restartCount": 0,
                "state": {"running": {"startedAt": "2026-11-30T00:00:10Z"}}}],
        },
    })
}

/// A Pod that opted in to the engine `kv` and carries these annotations too.
pub fn client_pod(name: &str, node: &str, annotations: Value, args: Value) -> Value {
    let mut all = json!({"lmcache.ai/lmcache-engine": "kv"});
    all.as_object_mut()
        .unwrap()
        .extend(annotations.as_object().unwrap().clone());
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "labels": {"lmcache.ai/lmcache-inject": "true"},
            "annotations": all,
        },
        "spec": {"nodeName": node, "containers": [{"name": "vllm", "command": ["vllm", "serve"], "args": args}]},
        "status": {"phase": "Running"},
    })
}
