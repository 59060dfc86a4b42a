//! In which ways our objects differ from the Go operator's. docs/differences.md has the same list, with the reasons.

use lmcache_api::{AnyObject, EngineSpec, IpcMode, Kind};
use lmcache_server::{CoordinatorOffers, Offers};
use serde_json::{Value, json};

use crate::go_operator::ours;

/// A recording.
pub struct Case {
    /// `july` or `newest`.
    pub state: &'static str,
    /// The custom resource as it is stored.
    pub input: Value,
    pub object: AnyObject,
    /// What else was there.
    pub cluster: Vec<Value>,
}

impl Case {
    pub fn engine(&self) -> Option<&dyn EngineSpec> {
        self.object.engine()
    }

    fn july(&self) -> bool {
        self.state == "july"
    }

    /// Port of metrics; `None` where there are none to scrape.
    fn metrics(&self) -> Option<i32> {
        let metrics = match &self.object {
            AnyObject::LMCacheCoordinator(coordinator) => {
                let prometheus = coordinator.spec.prometheus.as_ref();
                let off = prometheus.is_some_and(|prometheus| prometheus.enabled == Some(false));
                CoordinatorOffers::of(&coordinator.spec).metrics.filter(|_| !off)
            }
            engine => engine.engine().and_then(|spec| Offers::of_engine(spec).metrics),
        };
        metrics.map(|metrics| metrics.port)
    }
}

/// A way in which ours differ: how to make ours of theirs.
pub struct Difference {
    /// As the page has it, which also gives the reason.
    pub what: &'static str,
    pub apply: fn(&Case, &mut Vec<Value>),
}

pub const DIFFERENCES: &[Difference] = &[
    Difference {
        what: "The command line is one for the release that runs, see above",
        // crates/lmcache-server compares every token with the recorded ones, but for where the coordinator is.
        apply: |case, children| {
            let ours = ours(case);
            let (Some(theirs), Some(ours)) = (container(children), ours.iter().find_map(args)) else {
                return;
            };
            if coordinator_of(&theirs["args"]) == coordinator_of(ours) {
                theirs["args"] = ours.clone();
            }
        },
    },
    Difference {
        what: "The connection ConfigMap has the annotation `lmcache.ai/ipc-mode`",
        apply: |case, children| {
            if let (Some(engine), Some(config_map)) = (case.engine(), of_kind(children, "ConfigMap")) {
                let mode = lmcache_api::ipc_mode(engine, IpcMode::HostIPC);
                config_map["metadata"]["annotations"] = json!({"lmcache.ai/ipc-mode": mode.as_str()});
            }
        },
    },
    Difference {
        what: "No container port `metrics` where metrics are served on the HTTP port",
        apply: |_, children| {
            // All recorded releases serve them there.
            if let Some(ports) = container(children).and_then(|container| container["ports"].as_array_mut()) {
                ports.retain(|port| port["name"] != "metrics");
            }
        },
    },
    Difference {
        what: "The metrics Service leads to the port that metrics are served on",
        apply: |case, children| {
            if let (Some(port), Some(service)) = (case.metrics(), metrics_service(children)) {
                service["spec"]["ports"][0]["port"] = json!(port);
            }
        },
    },
    Difference {
        what: "No metrics Service and no ServiceMonitor with `prometheus.enabled: false`",
        apply: |case, children| {
            if case.metrics().is_none() {
                children.retain(|child| child["kind"] != "ServiceMonitor" && child["spec"]["clusterIP"] != "None");
            }
        },
    },
    Difference {
        what: "A large first tier has longer to start (July)",
        apply: |case, children| {
            let size = case.engine().and_then(|spec| spec.l1()?.size_gb).unwrap_or_default();
            if case.july() && case.engine().is_some() && size >= 155.0 {
                container(children).unwrap()["startupProbe"]["failureThreshold"] = json!((size / 5.0) as i32);
            }
        },
    },
    Difference {
        what: "`podLabels` do not change the keys of the selector (July)",
        apply: |case, children| {
            if let Some(workload) = children.iter_mut().find(|child| child["spec"]["template"].is_object())
                && case.july()
            {
                let selector = workload["spec"]["selector"]["matchLabels"].as_object().unwrap().clone();
                let labels = workload["spec"]["template"]["metadata"]["labels"]
                    .as_object_mut()
                    .unwrap();
                labels.extend(selector);
            }
        },
    },
    Difference {
        what: "`hostIPC: true` with `isolatedIPC` unset means host IPC (newest)",
        apply: |case, children| {
            let asked = |spec: &dyn EngineSpec| spec.host_ipc() == Some(true) && spec.isolated_ipc().is_none();
            if case.july() || !case.engine().is_some_and(asked) || case.object.kind() != Kind::LMCacheEngine {
                return;
            }
            pod(children).unwrap()["hostIPC"] = json!(true);
            let data = of_kind(children, "ConfigMap").unwrap()["data"].as_object_mut().unwrap();
            for text in data.values_mut() {
                let without = text
                    .as_str()
                    .unwrap()
                    .replace("    \"lmcache.mp.isolated_ipc\": true,\n", "");
                *text = json!(without);
            }
        },
    },
    Difference {
        what: "A mount of the user's at `/dev/shm/` is one at `/dev/shm`",
        apply: |case, children| {
            let is_shm = |mount: &Value| mount["mountPath"] == "/dev/shm/";
            if case
                .engine()
                .is_some_and(|spec| spec.volume_mounts().iter().any(is_shm))
            {
                without_item(pod(children).unwrap(), "volumes", "lmcache-dev-shm");
                without_item(container(children).unwrap(), "volumeMounts", "lmcache-dev-shm");
            }
        },
    },
    Difference {
        what: "A volume of the user's called `lmcache-dev-shm` does not stand in for ours, which is then called `lmcache-dev-shm-2`",
        apply: |case, children| {
            let Some(spec) = case.engine() else { return };
            let shares = lmcache_api::ipc_mode(spec, IpcMode::HostIPC) == IpcMode::HostShm && !case.july();
            let volumes = case.input["spec"]["volumes"].as_array();
            let taken = volumes.is_some_and(|volumes| volumes.iter().any(|volume| volume["name"] == "lmcache-dev-shm"));
            let at = |mount: &Value| {
                mount["mountPath"]
                    .as_str()
                    .is_some_and(|path| path.trim_end_matches('/') == "/dev/shm")
            };
            if shares && taken && !spec.volume_mounts().iter().any(at) {
                let volume =
                    json!({"name": "lmcache-dev-shm-2", "hostPath": {"path": "/dev/shm", "type": "Directory"}});
                let volumes = pod(children).unwrap()["volumes"].as_array_mut().unwrap();
                // The master key's volume is last.
                let place = volumes.len() - usize::from(volumes.last().unwrap()["name"] == "l2-master-key");
                volumes.insert(place, volume);
                let mounts = &mut container(children).unwrap()["volumeMounts"];
                let mut all = mounts.as_array().cloned().unwrap_or_default();
                let last_is_key = all.last().is_some_and(|mount| mount["name"] == "l2-master-key");
                all.insert(
                    all.len() - usize::from(last_is_key),
                    json!({"name": "lmcache-dev-shm-2", "mountPath": "/dev/shm"}),
                );
                *mounts = json!(all);
            }
        },
    },
    Difference {
        what: "A Redis login of another namespace is copied only if its Secret allows it (`lmcache.ai/allow-copy-to`)",
        apply: |case, children| {
            let foreign = |object: &Value| object["metadata"]["namespace"] != case.input["metadata"]["namespace"];
            if case
                .cluster
                .iter()
                .any(|object| object["kind"] == "Secret" && foreign(object))
            {
                children.retain(|child| child["kind"] != "Secret");
            }
        },
    },
];

/// The value behind `--coordinator-url`.
fn coordinator_of(args: &Value) -> Option<&Value> {
    let args = args.as_array().unwrap();
    let place = args.iter().position(|arg| arg == "--coordinator-url")?;
    args.get(place + 1)
}

fn args(child: &Value) -> Option<&Value> {
    child.pointer("/spec/template/spec/containers/0/args")
}

fn of_kind<'a>(children: &'a mut [Value], kind: &str) -> Option<&'a mut Value> {
    children.iter_mut().find(|child| child["kind"] == kind)
}

fn metrics_service(children: &mut [Value]) -> Option<&mut Value> {
    children.iter_mut().find(|child| child["spec"]["clusterIP"] == "None")
}

fn pod(children: &mut [Value]) -> Option<&mut Value> {
    children
        .iter_mut()
        .find_map(|child| child.pointer_mut("/spec/template/spec"))
}

fn container(children: &mut [Value]) -> Option<&mut Value> {
    pod(children)?.pointer_mut("/containers/0")
}

fn without_item(parent: &mut Value, list: &str, name: &str) {
    parent[list].as_array_mut().unwrap().retain(|item| item["name"] != name);
}
