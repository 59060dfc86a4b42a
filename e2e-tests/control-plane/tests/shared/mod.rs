//! What the tests of one file share: a control plane with our kinds and rights, and a controller.

// Each file uses a part of it.
#![allow(dead_code)]

pub mod policies;
pub mod stored;
pub mod workloads;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use control_plane::{Cluster, ControlPlane, Controller, Identity, Programs, given, wait_until};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

/// How long anything may take that the controller or Kubernetes does by themselves.
pub const LIMIT: Duration = Duration::from_secs(90);

/// Statics are not dropped. What they run ends with this process, by the watchdog of the folder.
static PLANE: OnceCell<ControlPlane> = OnceCell::const_new();
static CONTROLLER: OnceCell<Controller> = OnceCell::const_new();

/// The control plane of this file, with everything installed: a running cluster where `E2E_CLUSTER` asks for it.
pub async fn plane() -> Result<&'static ControlPlane> {
    PLANE
        .get_or_try_init(async || {
            if !given::wanted() {
                return installed().await;
            }
            let programs = tokio::task::spawn_blocking(Programs::find).await??;
            equipped(ControlPlane::attach(&given::kubeconfig()?, programs).await?).await
        })
        .await
}

/// A control plane of its own, for a test that breaks it or reads what was asked of it.
pub async fn installed() -> Result<ControlPlane> {
    let programs = tokio::task::spawn_blocking(Programs::find).await??;
    equipped(ControlPlane::start(programs).await?).await
}

async fn equipped(plane: ControlPlane) -> Result<ControlPlane> {
    let admin = plane.cluster(Identity::Admin).await?;
    admin.install().await?;
    admin.install_service_monitors().await?;
    admin.runtime_class().await?;
    Ok(plane)
}

/// The control plane with a controller, and the administrator's access to a new namespace.
pub async fn controlled(namespace: &str) -> Result<(&'static ControlPlane, Cluster)> {
    let plane = plane().await?;
    CONTROLLER
        .get_or_try_init(|| Controller::start(plane, "controller-0", &[]))
        .await?;
    let admin = plane.cluster(Identity::Admin).await?;
    admin.namespace(namespace).await?;
    Ok((plane, admin))
}

/// An engine that runs on the nodes of a pool.
pub fn engine(namespace: &str, name: &str, pool: &str) -> Value {
    json!({
        "apiVersion": "lmcache.lmcache.ai/v1alpha1", "kind": "LMCacheEngine",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {
            "image": {"repository": "lmcache/vllm-openai", "tag": "v0.5.6"},
            "l1": {"sizeGB": 10},
            "nodeSelector": {"e2e.lmcache.ai/pool": pool},
        },
    })
}

/// Makes a GPU node of a pool.
pub async fn node(admin: &Cluster, pool: &str, number: u16) -> Result<()> {
    admin
        .gpu_node(&format!("{pool}-{number}"), &[("e2e.lmcache.ai/pool", pool)])
        .await
}

/// Waits until an engine runs on so many nodes, as of its newest generation; returns it.
pub async fn runs(admin: &Cluster, namespace: &str, name: &str, servers: u64) -> Result<Value> {
    wait_until(
        &format!("{namespace}/{name} runs {servers} servers"),
        LIMIT,
        async || {
            let engine = admin.get("LMCacheEngine", namespace, name).await?;
            let status = engine.get("status").context("no status")?;
            ensure!(
                status["observedGeneration"] == engine["metadata"]["generation"],
                "{status}"
            );
            ensure!(
                status["phase"] == "Running" && status["readyInstances"] == servers,
                "{status}"
            );
            ensure!(status["desiredInstances"] == servers, "{status}");
            Ok(engine)
        },
    )
    .await
}

/// The children that an engine without metrics options has.
pub const CHILDREN: [(&str, &str); 4] = [
    ("DaemonSet", ""),
    ("Service", ""),
    ("Service", "-metrics"),
    ("ConfigMap", "-connection"),
];

/// Waits until all children of an engine are there and it owns them; returns them.
pub async fn children(admin: &Cluster, namespace: &str, name: &str) -> Result<Vec<Value>> {
    wait_until(&format!("{namespace}/{name} has its children"), LIMIT, async || {
        let uid = admin.get("LMCacheEngine", namespace, name).await?["metadata"]["uid"].clone();
        let mut children = Vec::new();
        for (kind, suffix) in CHILDREN {
            let child = admin.get(kind, namespace, &format!("{name}{suffix}")).await?;
            let owner = &child["metadata"]["ownerReferences"][0];
            ensure!(
                owner["uid"] == uid && owner["controller"] == true,
                "{kind} {name}{suffix}: {owner}"
            );
            children.push(child);
        }
        Ok(children)
    })
    .await
}

/// The paths of `part` that `whole` lacks or has otherwise. Numbers are compared by value.
pub fn lost(path: &str, part: &Value, whole: &Value) -> Vec<String> {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => part
            .iter()
            .flat_map(|(key, part)| lost(&format!("{path}.{key}"), part, whole.get(key).unwrap_or(&Value::Null)))
            .collect(),
        (Value::Array(part), Value::Array(whole)) if part.len() == whole.len() => part
            .iter()
            .zip(whole)
            .enumerate()
            .flat_map(|(index, (part, whole))| lost(&format!("{path}[{index}]"), part, whole))
            .collect(),
        (Value::Number(part), Value::Number(whole)) if part.as_f64() == whole.as_f64() => Vec::new(),
        (part, whole) if part == whole => Vec::new(),
        _ => vec![path.trim_start_matches('.').to_owned()],
    }
}
