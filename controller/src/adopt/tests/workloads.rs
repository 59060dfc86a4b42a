use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use super::support::{documents, found, report, root, snapshot};
use crate::adopt::workloads::Workload;
use crate::adopt::{Level, Options, Report, codes as code};

/// A recording of one of the Go operator's webhooks: what they find, the Pod as it was sent, and as it was stored.
struct Recorded {
    cluster: Vec<Value>,
    sent: Value,
    stored: Value,
    scenario: Value,
}

fn recorded(case: &str) -> Recorded {
    let folder = root().join("fixtures/go-operator/july/pod").join(case);
    let one = |file: &str| documents(&folder.join(file)).remove(0);
    Recorded {
        cluster: documents(&folder.join("cluster.yaml")),
        sent: one("pod.yaml"),
        stored: one("expected-pod.yaml"),
        scenario: one("scenario.yaml"),
    }
}

impl Recorded {
    /// What the cluster holds: the Deployment whose Pod it is, and the Pod.
    fn objects(&self) -> Vec<Value> {
        let namespace = self.scenario["namespace"].as_str().filter(|text| !text.is_empty());
        let namespace = namespace
            .or(self.sent["metadata"]["namespace"].as_str())
            .unwrap_or("default");
        let mut metadata = self.sent["metadata"].clone();
        for key in ["name", "namespace", "creationTimestamp"] {
            metadata.as_object_mut().unwrap().remove(key);
        }
        let template = json!({"metadata": metadata, "spec": self.sent["spec"]});
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "chat", "namespace": namespace},
            "spec": {"template": template},
        });
        let mut pod = self.stored.clone();
        pod["metadata"]["namespace"] = json!(namespace);
        pod["metadata"]["name"] = json!("chat-6c9d8f7b5-x2x7k");
        if pod["metadata"]["labels"].is_null() {
            pod["metadata"]["labels"] = json!({});
        }
        pod["metadata"]["labels"]["pod-template-hash"] = json!("6c9d8f7b5");
        pod["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "chat-6c9d8f7b5", "controller": true,
        }]);
        let mut objects = self.cluster.clone();
        objects.extend([deployment, pod]);
        objects
    }

    fn workload(&self) -> Workload {
        report(self.objects()).workloads.remove(0)
    }
}

/// What every Pod gets that has a payload, and the Go operator does not give.
const ADDITIONS: [&str; 3] = [
    "init container lmcache-payload-stage: gets resources and securityContext",
    "init container cb-plugin-stage: gets resources and securityContext",
    "annotation lmcache.ai/lmcache-payload-staged is added",
];

/// The cases that docs/differences.md lists. All others come out as the Go operator has them: nothing is to be said of those.
#[test]
fn what_is_not_listed_as_a_difference_is_none() {
    let page = fs::read_to_string(root().join("docs/differences.md")).unwrap();
    let listed: BTreeSet<&str> = page
        .split('`')
        .filter_map(|word| word.strip_prefix("july/pod/"))
        .collect();
    let mut quiet = 0;
    for entry in fs::read_dir(root().join("fixtures/go-operator/july/pod")).unwrap() {
        let case = entry.unwrap().file_name().into_string().unwrap();
        let recorded = recorded(&case);
        let is_apart = |key: &str| !recorded.scenario[key].is_null();
        if listed.contains(case.as_str()) || ["failingReadsOf", "rawOnly", "denied"].iter().any(|key| is_apart(key)) {
            continue;
        }
        let report = report(recorded.objects());
        for workload in &report.workloads {
            assert_eq!(workload.pods, 1, "{case}");
            let said: Vec<&String> = workload
                .differences
                .iter()
                .filter(|said| !ADDITIONS.contains(&said.as_str()))
                .collect();
            assert!(said.is_empty(), "{case}: {said:#?}");
        }
        quiet += 1;
    }
    assert!(quiet > 60, "{quiet}");
}

/// No value of a variable or an argument is ever shown: every case has some.
#[test]
fn values_are_not_shown() {
    for entry in fs::read_dir(root().join("fixtures/go-operator/july/pod")).unwrap() {
        let case = entry.unwrap().file_name().into_string().unwrap();
        let recorded = recorded(&case);
        let mut objects = recorded.objects();
        let secret = "hunter2-hunter2";
        for object in &mut objects {
            for list in ["/spec/template/spec/containers", "/spec/containers"] {
                let containers = object.pointer_mut(list).and_then(Value::as_array_mut);
                for container in containers.into_iter().flatten() {
                    let Some(container) = container.as_object_mut() else {
                        continue;
                    };
                    let env = container.entry("env").or_insert_with(|| json!([]));
                    for entry in env.as_array_mut().into_iter().flatten() {
                        if entry["name"] == "PYTHONHASHSEED" {
                            entry["value"] = json!(secret);
                        }
                    }
                    if let Some(env) = env.as_array_mut() {
                        env.push(json!({"name": "HF_TOKEN", "value": secret}));
                    }
                }
            }
        }
        let report = report(objects);
        let said = format!("{report}{}", serde_json::to_string(&report).unwrap());
        assert!(!said.contains(secret), "{case}: {said}");
    }
}

#[test]
fn a_foreign_connector_is_left_alone() {
    let workload = recorded("lmcache-kv-user-two-tokens").workload();
    assert_eq!((workload.wired_now, workload.wired_then), (Some(true), false));
    assert_eq!(workload.reasons, ["kv-transfer-config-present"]);
    assert_eq!(
        workload.differences,
        [
            "is not wired to LMCache any more (kv-transfer-config-present)",
            "hostIPC is not set any more",
            "container vllm: variable PYTHONHASHSEED goes",
        ]
    );
    assert!(workload.warnings[0].contains("Pods will not be wired"), "{workload:#?}");
}

#[test]
fn a_command_that_hands_its_arguments_on_is_wired() {
    let workload = recorded("lmcache-command-vllm-serve").workload();
    assert_eq!((workload.wired_now, workload.wired_then), (Some(false), true));
    assert_eq!(
        workload.differences,
        [
            "is wired to LMCache, which it is not now (command-override)",
            "hostIPC is set",
            "container vllm: --kv-transfer-config is added",
            "container vllm: variable PYTHONHASHSEED is added",
        ]
    );
}

#[test]
fn the_proxy_in_front_loses_what_is_the_servers() {
    let workload = recorded("lmcache-shape-mesh-sidecar-first").workload();
    let said = workload.differences.join("; ");
    assert!(
        said.contains("--kv-transfer-config goes") && said.contains("--kv-transfer-config is added"),
        "{said}"
    );
}

#[test]
fn a_changed_connection_is_named_by_its_members() {
    let mut recorded = recorded("lmcache-basic");
    for object in &mut recorded.cluster {
        if object["kind"] == "ConfigMap" {
            let text = object["data"]["kv-transfer-config.json"]
                .as_str()
                .unwrap()
                .replace("5555", "6000");
            object["data"]["kv-transfer-config.json"] = json!(text);
        }
        if object["kind"] == "LMCacheEngine" {
            object["spec"]["server"] = json!({"port": 6000});
        }
    }
    let workload = recorded.workload();
    assert_eq!(
        workload.differences,
        ["container vllm: --kv-transfer-config differs in kv_connector_extra_config.lmcache.mp.port"]
    );
}

#[test]
fn cacheblend_arguments_are_compared_and_settings_count() {
    let recorded = recorded("cacheblend-basic");
    let full = recorded.workload();
    assert_eq!(
        full.differences,
        ["init container cb-plugin-stage: gets resources and securityContext"]
    );
    let mut objects = recorded.objects();
    objects.push(json!({
        "apiVersion": "policies.kubewarden.io/v1", "kind": "ClusterAdmissionPolicy",
        "metadata": {"name": "cacheblend-pod-injection"},
        "spec": {"settings": {"steps": ["cacheblend-injection"], "cacheblendArguments": "Minimal"}},
    }));
    let report = report(objects);
    assert_eq!(
        report.settings.source,
        "ClusterAdmissionPolicy cacheblend-pod-injection"
    );
    let said = report.workloads[0].differences.join("; ");
    for flag in [
        "--attention-backend goes",
        "--block-size goes",
        "--async-scheduling goes",
    ] {
        assert!(said.contains(flag), "{said}");
    }
    assert!(!said.contains("--enforce-eager"), "{said}");
    let finding = found(&report, code::WORKLOADS_CHANGE);
    assert_eq!(finding.level, Level::Change);
    assert!(
        finding
            .found
            .starts_with("1 of 1 workloads change at their next rollout: Deployment inference/chat")
    );
}

#[test]
fn settings_that_cannot_be_read_are_told() {
    let report = report([json!({
        "apiVersion": "policies.kubewarden.io/v1", "kind": "ClusterAdmissionPolicy",
        "metadata": {"name": "lmcache-pod-injection"}, "spec": {"settings": {"optIn": "label"}},
    })]);
    let finding = found(&report, code::SETTINGS_UNREADABLE);
    assert!(finding.found.contains("optIn"), "{finding:?}");
}

#[test]
fn options_win_over_policies() {
    let policy = json!({
        "apiVersion": "policies.kubewarden.io/v1", "kind": "ClusterAdmissionPolicy",
        "metadata": {"name": "lmcache-pod-injection"},
        "spec": {"settings": {"ipcDefault": "HostShm", "clusterDomain": "k8s.example"}},
    });
    let told = |options: &Options| Report::new(&snapshot([policy.clone()]), options).settings;
    let used = told(&Options::default());
    assert_eq!(
        (used.ipc_default.as_str(), used.cluster_domain.as_str()),
        ("HostShm", "k8s.example")
    );
    let options = Options {
        ipc_default: Some("Isolated".parse().unwrap()),
        cluster_domain: Some("c.local".to_owned()),
    };
    let used = told(&options);
    assert_eq!(
        (used.ipc_default.as_str(), used.cluster_domain.as_str()),
        ("Isolated", "c.local")
    );
}

/// Pods are told apart by their owners; those that end are not counted, and what others make is not looked at twice.
#[test]
fn whose_pods_they_are() {
    let base = recorded("lmcache-basic");
    let template = base
        .objects()
        .iter()
        .find(|object| object["kind"] == "Deployment")
        .unwrap()["spec"]["template"]
        .clone();
    let stored = base.objects().pop().unwrap();
    let workload = |api: &str, kind: &str, name: &str, spec: Value| json!({"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": "inference"}, "spec": spec});
    let owned = |object: &Value, owners: &[(&str, &str)]| {
        let mut object = object.clone();
        let owners = owners
            .iter()
            .map(|(kind, name)| json!({"kind": kind, "name": name, "controller": true}));
        object["metadata"]["ownerReferences"] = Value::Array(owners.collect());
        object
    };
    let plain = json!({"template": template});
    let cron_job = json!({"jobTemplate": {"spec": {"template": template}}});
    let sets = json!({"leaderWorkerTemplate": {"leaderTemplate": template, "workerTemplate": template}});
    let mut objects = base.cluster.clone();
    objects.extend([
        workload("apps/v1", "StatefulSet", "set", plain.clone()),
        workload("batch/v1", "CronJob", "nightly", cron_job),
        owned(
            &workload("batch/v1", "Job", "nightly-1", plain.clone()),
            &[("CronJob", "nightly")],
        ),
        workload("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "big", sets),
        owned(
            &workload("apps/v1", "StatefulSet", "big", plain.clone()),
            &[("LeaderWorkerSet", "big")],
        ),
    ]);
    let mut ended = workload("batch/v1", "Job", "ended", plain);
    ended["status"] = json!({"completionTime": "2026-11-01T00:00:00Z"});
    objects.push(ended);
    objects.push(owned(&stored, &[("StatefulSet", "set")]));
    let mut leaving = owned(&stored, &[("StatefulSet", "set")]);
    leaving["metadata"]["deletionTimestamp"] = json!("2026-11-29T11:00:00Z");
    objects.push(leaving);
    objects.push(owned(&stored, &[("Job", "nightly-1")]));
    for (index, owner) in [
        ("0", ("StatefulSet", "big")),
        ("1", ("StatefulSet", "big-0")),
        ("2", ("StatefulSet", "big-0")),
    ] {
        let mut pod = owned(&stored, &[owner]);
        let labels = pod["metadata"]["labels"].as_object_mut().unwrap();
        labels.insert("leaderworkerset.sigs.k8s.io/name".to_owned(), json!("big"));
        labels.insert("leaderworkerset.sigs.k8s.io/worker-index".to_owned(), json!(index));
        objects.push(pod);
    }
    let report = report(objects);
    let counted: Vec<(String, usize)> = report.workloads.iter().map(|of| (of.title(), of.pods)).collect();
    let expected = [
        ("LeaderWorkerSet inference/big (leaderTemplate)", 1),
        ("LeaderWorkerSet inference/big (workerTemplate)", 2),
        ("CronJob inference/nightly", 1),
        ("StatefulSet inference/set", 1),
    ];
    assert_eq!(counted, expected.map(|(title, count)| (title.to_owned(), count)));
    assert!(report.workloads.iter().all(|workload| workload.wired_now == Some(true)));
}

#[test]
fn without_a_pod_there_is_nothing_to_compare() {
    let mut objects = recorded("lmcache-command-vllm-serve").objects();
    objects.pop();
    let report = report(objects);
    let workload = &report.workloads[0];
    assert_eq!(
        (workload.pods, workload.wired_now, workload.wired_then),
        (0, None, true)
    );
    assert!(workload.differences.is_empty());
    assert!(report.to_string().contains("no Pod to compare with"));
}

/// Without a template of its own, the leader is made from the worker's.
#[test]
fn leaders_without_a_template_of_their_own_are_of_the_workers() {
    let base = recorded("lmcache-basic");
    let objects = base.objects();
    let template = &objects.iter().find(|object| object["kind"] == "Deployment").unwrap()["spec"]["template"];
    for leader in [None, Some(Value::Null)] {
        let mut templates = json!({"workerTemplate": template});
        if let Some(leader) = leader {
            templates["leaderTemplate"] = leader;
        }
        let mut objects = base.cluster.clone();
        objects.push(json!({
            "apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet",
            "metadata": {"name": "big", "namespace": "inference"}, "spec": {"leaderWorkerTemplate": templates},
        }));
        for index in ["0", "1"] {
            let mut pod = base.objects().pop().unwrap();
            let labels = pod["metadata"]["labels"].as_object_mut().unwrap();
            labels.insert("leaderworkerset.sigs.k8s.io/name".to_owned(), json!("big"));
            labels.insert("leaderworkerset.sigs.k8s.io/worker-index".to_owned(), json!(index));
            pod["metadata"]["ownerReferences"] = json!([{"kind": "StatefulSet", "name": "big", "controller": true}]);
            objects.push(pod);
        }
        let report = report(objects);
        let counted: Vec<(String, usize)> = report.workloads.iter().map(|of| (of.title(), of.pods)).collect();
        assert_eq!(counted, [("LeaderWorkerSet inference/big".to_owned(), 2)]);
    }
}
