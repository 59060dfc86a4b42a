//! Passes to look at: an engine `kv` in namespace `team-a`, generation 4, with a DaemonSet of uid `ds`.

use std::collections::BTreeMap;
use std::sync::Arc;

use lmcache_api::{IpcMode, Kind};
use serde_json::{Value, json};

use crate::live::{Cached, Child, ChildKind, ClientPod, Custom, Key, SecretSource, ServerPod, WorkloadStatus};
use crate::plan::{ChildName, Inputs, Monitors, Problem, Reason, Report, Rival, Settings, Sought, Verdict, Workload};
use crate::status;

pub const NOW: &str = "2026-05-01T12:00:00Z";
pub const LATER: &str = "2026-05-01T13:00:00Z";

/// What a pass looked at and came to.
#[derive(Clone)]
pub struct Pass {
    pub inputs: Inputs,
    pub report: Report,
}

pub fn settings() -> Settings {
    Settings {
        ipc_default: IpcMode::HostIPC,
        cluster_domain: "cluster.local".to_owned(),
    }
}

pub fn numbers(desired: i32, ready: i32) -> WorkloadStatus {
    WorkloadStatus {
        generation: 2,
        observed_generation: 2,
        desired,
        ready,
        updated: desired,
    }
}

fn pass(custom: Value, status: WorkloadStatus) -> Pass {
    Pass {
        inputs: Inputs {
            custom: Arc::new(Custom::read(custom)),
            rivals: Vec::new(),
            children: BTreeMap::new(),
            coordinator: None,
            login: Sought::NotNamed,
            master_key: Sought::NotNamed,
            servers: Vec::new(),
            clients: Vec::new(),
            monitors: Monitors::NotServed,
        },
        report: Report {
            is_held: false,
            verdict: Verdict::Valid,
            problems: Vec::new(),
            legacy_template: None,
            workload: Some(Workload {
                uid: "ds".to_owned(),
                status,
            }),
        },
    }
}

fn custom(kind: Kind, spec: Value) -> Value {
    json!({"apiVersion": lmcache_api::API_VERSION, "kind": kind.as_str(), "spec": spec, "metadata": {
        "name": "kv", "namespace": "team-a", "uid": "e", "generation": 4, "creationTimestamp": "2026-05-01T10:00:00Z"}})
}

pub fn engine_with(spec: Value, status: WorkloadStatus) -> Pass {
    pass(custom(Kind::LMCacheEngine, spec), status)
}

pub fn engine(status: WorkloadStatus) -> Pass {
    engine_with(json!({"l1": {"sizeGB": 60}}), status)
}

pub fn coordinator(status: WorkloadStatus) -> Pass {
    pass(custom(Kind::LMCacheCoordinator, json!({})), status)
}

/// A server Pod of the DaemonSet, ready on `node`.
pub fn server(name: &str, node: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "team-a", "uid": name, "creationTimestamp": "2026-05-01T10:00:00Z",
            "labels": {"app.kubernetes.io/name": "lmcache", "app.kubernetes.io/instance": "kv"},
            "ownerReferences": [{"controller": true, "kind": "DaemonSet", "name": "kv", "uid": "ds"}]},
        "spec": {"nodeName": node},
        "status": {"phase": "Running", "hostIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "lmcache", "restartCount": 0,
                "state": {"running": {"startedAt": "2026-05-01T10:00:05Z"}}}]}})
}

/// The same Pod, not ready and waiting for `reason`.
pub fn waiting(name: &str, node: &str, reason: &str) -> Value {
    let mut pod = server(name, node);
    pod["status"]["conditions"][0]["status"] = json!("False");
    pod["status"]["containerStatuses"][0]["state"] = json!({"waiting": {"reason": reason}});
    pod
}

/// The same Pod, not ready and running after `restarts` crashes.
pub fn restarted(name: &str, node: &str, restarts: i64) -> Value {
    let mut pod = server(name, node);
    pod["status"]["conditions"][0]["status"] = json!("False");
    pod["status"]["containerStatuses"][0]["restartCount"] = json!(restarts);
    pod
}

/// A replica of the coordinator.
pub fn replica(name: &str, set: &str) -> Value {
    let mut pod = server(name, "n1");
    pod["metadata"]["labels"]["app.kubernetes.io/name"] = json!("lmcache-coordinator");
    pod["metadata"]["ownerReferences"] = json!([{"controller": true, "kind": "ReplicaSet", "name": set, "uid": "rs"}]);
    pod
}

/// A Pod that opted in, with these annotations beside the one that names the engine.
pub fn client(name: &str, node: &str, annotations: Value) -> Value {
    let mut pod = json!({"metadata": {"name": name, "namespace": "team-a", "uid": name,
            "creationTimestamp": "2026-05-01T11:30:00Z", "labels": {"lmcache.ai/lmcache-inject": "true"},
            "annotations": {"lmcache.ai/lmcache-engine": "kv"}},
        "spec": {"nodeName": node, "containers": [{"name": "vllm"}]}});
    let members = pod["metadata"]["annotations"].as_object_mut().unwrap();
    members.extend(annotations.as_object().unwrap().clone());
    pod
}

/// One that was wired to this host and port.
pub fn wired_to(name: &str, node: &str, host: &str, port: &str) -> Value {
    let mut pod = client(name, node, json!({"lmcache.ai/lmcache-injected": "true"}));
    let config = json!({"kv_connector": "LMCacheMPConnector",
        "kv_connector_extra_config": {"lmcache.mp.host": host, "lmcache.mp.port": port}});
    pod["spec"]["containers"][0]["args"] = json!(["--kv-transfer-config", config.to_string()]);
    pod
}

/// One that was wired as the engine is now.
pub fn wired(name: &str, node: &str) -> Value {
    wired_to(name, node, "tcp://kv.team-a.svc.cluster.local", "5555")
}

pub fn skipped(name: &str, reason: &str) -> Value {
    client(name, "n1", json!({"lmcache.ai/lmcache-skip-reason": reason}))
}

pub fn problem(kind: ChildKind, reason: Reason) -> Problem {
    Problem {
        child: ChildName::new(kind, "kv"),
        reason,
        message: format!("it is {}", reason.as_str()),
        after: None,
    }
}

pub fn rival() -> Rival {
    Rival {
        key: Key::new(Kind::CacheBlendEngine, "team-a", "kv"),
        uid: "r".to_owned(),
        created: "2026-05-01T09:00:00Z".to_owned(),
    }
}

/// The Secret that an engine with [`login_spec`] names.
pub fn login(changed: &str) -> Sought<Arc<SecretSource>> {
    Sought::Found(Arc::new(SecretSource::read(json!({
        "metadata": {"name": "redis", "namespace": "team-a", "creationTimestamp": changed},
        "data": {"password": "aHVudGVyMg=="}}))))
}

pub fn login_spec() -> Value {
    json!({"l1": {"sizeGB": 60},
        "l2Backend": {"resp": {"host": "redis", "port": 6379, "authSecretRef": {"name": "redis"}}}})
}

pub fn spoil(pod: &mut Value) {
    pod["metadata"]["deletionTimestamp"] = json!(NOW);
}

impl Pass {
    pub fn with_servers(mut self, pods: impl IntoIterator<Item = Value>) -> Self {
        self.inputs.servers = pods.into_iter().map(|pod| Arc::new(ServerPod::read(pod))).collect();
        self
    }

    pub fn with_clients(mut self, pods: impl IntoIterator<Item = Value>) -> Self {
        self.inputs.clients = pods.into_iter().map(|pod| Arc::new(ClientPod::read(pod))).collect();
        self
    }

    pub fn with_problems(mut self, problems: impl IntoIterator<Item = Problem>) -> Self {
        self.report.problems = problems.into_iter().collect();
        self
    }

    pub fn with_verdict(mut self, verdict: Verdict) -> Self {
        self.report.verdict = verdict;
        self
    }

    pub fn without_workload(mut self) -> Self {
        self.report.workload = None;
        self
    }

    pub fn with_login(mut self, login: Sought<Arc<SecretSource>>) -> Self {
        self.inputs.login = login;
        self
    }

    pub fn with_child(mut self, child: Value) -> Self {
        let child = Child::read(child);
        let name = ChildName::new(child.facts.kind.unwrap(), child.name());
        self.inputs.children.insert(name, Arc::new(child));
        self
    }

    /// The same after `status` was stored.
    pub fn after(mut self, status: &Value) -> Self {
        let mut custom = self.inputs.custom.value();
        custom["status"] = status.clone();
        self.inputs.custom = Arc::new(Cached::read(custom));
        self
    }

    /// The same with another generation.
    pub fn at_generation(mut self, generation: i64) -> Self {
        let mut custom = self.inputs.custom.value();
        custom["metadata"]["generation"] = json!(generation);
        self.inputs.custom = Arc::new(Cached::read(custom));
        self
    }

    pub fn status(&self) -> Value {
        self.status_at(NOW)
    }

    pub fn status_at(&self, now: &str) -> Value {
        status::of(&self.inputs, &self.report, &settings(), now)
    }
}

/// `status reason` of a condition; empty where there is none.
pub fn said(status: &Value, type_: &str) -> String {
    match condition(status, type_) {
        Some(found) => format!(
            "{} {}",
            found["status"].as_str().unwrap(),
            found["reason"].as_str().unwrap()
        ),
        None => String::new(),
    }
}

pub fn message(status: &Value, type_: &str) -> String {
    condition(status, type_).unwrap()["message"]
        .as_str()
        .unwrap()
        .to_owned()
}

pub fn condition<'a>(status: &'a Value, type_: &str) -> Option<&'a Value> {
    let mut found = status["conditions"].as_array().into_iter().flatten();
    found.find(|condition| condition["type"] == type_)
}
