//! A stand-in for the Go operator's mutating webhooks, which are no part of this repository: it replays what was recorded of
//! them, under `fixtures/go-operator`, on Pods that say which recording they are.
//!
//! Of what the webhooks decide by themselves it knows the first question alone, whether the Pod is stamped already.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, ensure};
use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::ControlPlane;
use crate::cluster::read;
use crate::setup::OF_TESTS;
use crate::webhook_server::{WebhookServer, allowed};

/// The annotation of a Pod that names its recording, and what is called otherwise in it: `lmcache-basic kv-pool=kv`.
pub const RECORDING: &str = "e2e.lmcache.ai/recording";
/// The name of the configuration, as the Go operator's manifests have it.
pub const CONFIGURATION: &str = "lmcache-operator-mutating-webhook-configuration";

/// The two webhooks: name, path, opt-in label, stamp.
const WEBHOOKS: [(&str, &str, &str, &str); 2] = [
    (
        "mcacheblendpod.lmcache.ai",
        "/mutate--v1-pod",
        "lmcache.ai/cacheblend-inject",
        "lmcache.ai/cacheblend-injected",
    ),
    (
        "mlmcachepod.lmcache.ai",
        "/mutate-lmcache--v1-pod",
        "lmcache.ai/lmcache-inject",
        "lmcache.ai/lmcache-injected",
    ),
];
/// Members of a Pod's specification that the webhooks change, and of a container's.
const OF_PODS: [&str; 4] = ["hostIPC", "imagePullSecrets", "initContainers", "volumes"];
const OF_CONTAINERS: [&str; 3] = ["args", "env", "volumeMounts"];

/// What became of a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It has a stamp already, whoever set it.
    Stamped,
    /// It was changed as its recording says.
    Replayed,
    /// It is not what its recording was made of: it was let through as it was.
    Unknown(String),
}

/// The workload of each Pod that it was asked about, by the recording that the Pod names, and the answer.
type Answers = Arc<Mutex<Vec<(String, Answer)>>>;

/// The webhooks. They answer until they are stopped.
#[derive(Debug)]
pub struct GoWebhooks {
    server: WebhookServer,
    answers: Answers,
}

impl GoWebhooks {
    /// Starts them. Nothing calls them before a [`GoWebhooks::configuration`] is in the cluster.
    ///
    /// # Errors
    /// They cannot listen.
    pub fn start(plane: &ControlPlane) -> Result<GoWebhooks> {
        let answers = Answers::default();
        let mut router = Router::new();
        for (_, path, _, stamp) in WEBHOOKS {
            let answers = Arc::clone(&answers);
            router = router.route(path, post(review).with_state((stamp, answers)));
        }
        let server = WebhookServer::start(plane, "go-webhooks", router)?;
        Ok(GoWebhooks { server, answers })
    }

    /// What registers them as the Go operator's manifests do, for the Pods of one namespace.
    pub fn configuration(&self, namespace: &str, failure_policy: &str) -> Value {
        let webhook = |(name, path, label, _): (&str, &str, &str, &str)| {
            json!({
                "name": name, "clientConfig": self.server.client_config(path),
                "rules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"],
                }],
                "objectSelector": {"matchLabels": {(label): "true"}},
                "namespaceSelector": {"matchExpressions": [
                    {"key": "kubernetes.io/metadata.name", "operator": "In", "values": [namespace]},
                ]},
                "failurePolicy": failure_policy, "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "reinvocationPolicy": "Never",
            })
        };
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {
                "name": CONFIGURATION, "labels": {(OF_TESTS): "true"},
                "annotations": {
                    "cert-manager.io/inject-ca-from": "lmcache-operator-system/lmcache-operator-serving-cert",
                },
            },
            "webhooks": WEBHOOKS.map(webhook),
        })
    }

    /// What they answered about Pods that name this recording, in the order of the requests.
    pub fn answers(&self, recording: &str) -> Vec<Answer> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let about = answers.iter().filter(|(named, _)| named == recording);
        about.map(|(_, answer)| answer.clone()).collect()
    }

    /// Ends them, as the Go operator does when it is scaled to nothing.
    pub fn stop(self) {
        self.server.stop();
    }
}

/// A recorded Pod as it was sent, and as the webhooks left it.
pub struct Recording {
    /// Engines and connections that the webhooks found.
    pub cluster: Vec<Value>,
    /// The Pod as it was sent.
    pub before: Value,
    /// The Pod as it was stored.
    pub after: Value,
}

impl Recording {
    /// The recording that an annotation [`RECORDING`] names.
    ///
    /// # Errors
    /// There is none.
    pub fn read(named: &str) -> Result<Recording> {
        let mut words = named.split(' ');
        let case = words.next().unwrap_or_default();
        let folder = format!("fixtures/go-operator/july/pod/{case}");
        let renamed = |objects: Vec<Value>| -> Result<Vec<Value>> {
            let mut text = Value::from(objects).to_string();
            for (old, new) in words.clone().filter_map(|word| word.split_once('=')) {
                text = text.replace(old, new);
            }
            Ok(serde_json::from_str(&text)?)
        };
        let one = |file: &str| {
            let mut objects = renamed(read(&format!("{folder}/{file}"))?)?;
            objects.pop().with_context(|| format!("{folder}/{file} is empty"))
        };
        Ok(Recording {
            cluster: renamed(read(&format!("{folder}/cluster.yaml"))?)?,
            before: one("pod.yaml")?,
            after: one("expected-pod.yaml")?,
        })
    }

    /// The JSON patch that makes of a Pod what the webhooks made of the recorded one.
    ///
    /// # Errors
    /// The Pod is not like the recorded one where they changed that.
    pub fn patch(&self, pod: &Value) -> Result<Vec<Value>> {
        let mut patch = Vec::new();
        let annotations = |pod: &Value| pod.pointer("/metadata/annotations").cloned().unwrap_or_default();
        let (before, after) = (annotations(&self.before), annotations(&self.after));
        for (key, value) in after.as_object().into_iter().flatten() {
            if before.get(key) != Some(value) {
                let path = format!("/metadata/annotations/{}", key.replace('~', "~0").replace('/', "~1"));
                patch.push(json!({"op": "add", "path": path, "value": value}));
            }
        }
        self.members("/spec", &OF_PODS, pod, &mut patch)?;
        let containers = self.before.pointer("/spec/containers").and_then(Value::as_array);
        for number in 0..containers.map_or(0, Vec::len) {
            self.members(&format!("/spec/containers/{number}"), &OF_CONTAINERS, pod, &mut patch)?;
        }
        Ok(patch)
    }

    fn members(&self, parent: &str, names: &[&str], pod: &Value, patch: &mut Vec<Value>) -> Result<()> {
        for name in names {
            let path = format!("{parent}/{name}");
            let [before, after, found] = [&self.before, &self.after, pod].map(|pod| pod.pointer(&path));
            let Some(after) = after.filter(|after| Some(*after) != before) else {
                continue;
            };
            ensure!(found == before, "{path} is {found:?}, recorded was {before:?}");
            patch.push(json!({"op": "add", "path": path, "value": after}));
        }
        Ok(())
    }
}

async fn review(State((stamp, answers)): State<(&'static str, Answers)>, Json(review): Json<Value>) -> Json<Value> {
    let pod = review.pointer("/request/object").unwrap_or(&Value::Null);
    let annotation = |key: &str| {
        let annotations = pod.pointer("/metadata/annotations");
        annotations
            .and_then(|annotations| annotations.get(key)?.as_str())
            .unwrap_or_default()
    };
    let named = annotation(RECORDING);
    let replay = || Recording::read(named).and_then(|recording| recording.patch(pod));
    let (answer, patch) = if annotation(stamp) == "true" {
        (Answer::Stamped, Vec::new())
    } else {
        match replay() {
            Ok(patch) => (Answer::Replayed, patch),
            Err(why) => (Answer::Unknown(format!("{why:#}")), Vec::new()),
        }
    };
    let mut all = answers.lock().unwrap_or_else(PoisonError::into_inner);
    all.push((named.to_owned(), answer));
    Json(allowed(&review, &patch))
}
