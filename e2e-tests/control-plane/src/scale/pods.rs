//! Pods through the policies, evenly spaced.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use super::engines::NAMESPACE;
use super::figures::{Quantiles, quantiles};
use crate::{Cluster, ControlPlane, Identity, Policy, PolicyServer, wait_until};

/// How long Pods are made.
pub const PODS_IN: Duration = Duration::from_secs(60);
/// How long the API server may take to know new webhooks.
const IN_FORCE: Duration = Duration::from_secs(60);

/// How long a client waited for the answer to the creation of a Pod.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Pods {
    /// How many engines there were.
    pub engines: usize,
    /// How many Pods of each sort were made in a minute.
    pub per_minute: u32,
    /// Pods that did not opt in: what the API server takes by itself.
    pub ordinary: Quantiles,
    /// Pods that opted in, wired by `pod-injection` and accepted by the guard.
    pub opted_in: Quantiles,
}

impl Pods {
    /// Serves the policies of `deploy/policies` and makes Pods: first ordinary ones, then such that opt in to one of the
    /// engines. No node fits them.
    ///
    /// # Errors
    /// The policies do not start, a Pod is refused, or one that opted in is not wired.
    pub async fn measure(plane: &ControlPlane, engines: usize, per_minute: u32) -> Result<Pods> {
        let server = PolicyServer::start(plane, "policies", &Policy::deployed()?, &[]).await?;
        server.install()?;
        let admin = plane.cluster(Identity::Admin).await?;
        let mut tries = 0..;
        wait_until("Pods are wired", IN_FORCE, async || {
            let number = tries.next().unwrap_or_default();
            let made = admin.create(&pod(&format!("first-{number}"), Some(0)), "scale").await?;
            ensure!(is_wired(&made), "{:?}", made.pointer("/metadata/annotations"));
            Ok(())
        })
        .await?;
        let ordinary = make(&admin, per_minute, "ordinary", |_| None).await?;
        let opted_in = make(&admin, per_minute, "wired", |number| Some(number % engines.max(1))).await?;
        server.uninstall()?;
        Ok(Pods {
            engines,
            per_minute,
            ordinary,
            opted_in,
        })
    }
}

/// Makes Pods for a minute; how long each took.
async fn make(
    admin: &Cluster,
    per_minute: u32,
    name: &str,
    engine: impl Fn(usize) -> Option<usize>,
) -> Result<Quantiles> {
    let mut ticks = interval(PODS_IN / per_minute.max(1));
    // A slow answer does not make the next Pod wait.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut answers = JoinSet::new();
    for number in 0..usize::try_from(per_minute)? {
        ticks.tick().await;
        let (admin, engine) = (admin.clone(), engine(number));
        let pod = pod(&format!("{name}-{number}"), engine);
        answers.spawn(async move {
            let begin = Instant::now();
            let made = admin.create(&pod, "scale").await?;
            let took = begin.elapsed();
            ensure!(is_wired(&made) == engine.is_some(), "{:?}", made.pointer("/metadata"));
            Ok(took)
        });
    }
    let mut took = Vec::new();
    while let Some(answer) = answers.join_next().await {
        took.push(answer??);
    }
    Ok(quantiles(&took))
}

fn is_wired(pod: &Value) -> bool {
    pod.pointer("/metadata/annotations/lmcache.ai~1lmcache-injected") == Some(&json!("true"))
}

/// A Pod of vLLM; with an engine, one that opts in.
fn pod(name: &str, engine: Option<usize>) -> Value {
    let (labels, annotations) = match engine {
        None => (json!({}), json!({})),
        Some(number) => (
            json!({"lmcache.ai/lmcache-inject": "true"}),
            json!({"lmcache.ai/lmcache-engine": format!("engine-{number}")}),
        ),
    };
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels, "annotations": annotations},
        "spec": {
            "nodeSelector": {"e2e.lmcache.ai/pool": "none"},
            "containers": [{
                "name": "vllm", "image": "vllm/vllm-openai:v0.24.0", "args": ["--model", "org/model-8b"],
                "resources": {"limits": {"nvidia.com/gpu": "1"}},
            }],
        },
    })
}
