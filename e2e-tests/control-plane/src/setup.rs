//! What tests need in a cluster before they begin.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::cluster::condition;
use crate::{Cluster, wait_until};

/// The annotation by which our kwok knows its nodes: another one in the cluster has `fake`.
pub(crate) const NODES: (&str, &str) = ("kwok.x-k8s.io/node", "e2e.lmcache.ai");
/// The label of what tests make in no namespace, so that it can be found and deleted.
pub(crate) const OF_TESTS: &str = "e2e.lmcache.ai/of-tests";
/// How long things take that take a second on an idle machine.
const SOON: Duration = Duration::from_secs(60);

impl Cluster {
    /// Makes a namespace. One that tests made is used again.
    ///
    /// # Errors
    /// There is one that tests did not make, or the API server refuses.
    pub async fn namespace(&self, name: &str) -> Result<()> {
        if let Some(there) = self.find("Namespace", "", name).await? {
            let label = there
                .pointer("/metadata/labels")
                .and_then(|labels| labels.get(OF_TESTS));
            ensure!(
                label.is_some(),
                "namespace {name} is not of these tests, which delete theirs"
            );
        }
        let labels = json!({(OF_TESTS): "true"});
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}});
        self.apply(&object).await?;
        Ok(())
    }

    /// Makes a node with 8 GPUs that kwok plays, labelled as NVIDIA's GPU operator does.
    ///
    /// # Errors
    /// The API server refuses, or the node is not ready after a minute.
    pub async fn gpu_node(&self, name: &str, labels: &[(&str, &str)]) -> Result<()> {
        let room = json!({"cpu": "128", "memory": "1Ti", "pods": "1000", "nvidia.com/gpu": "8"});
        let mut node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {
                "name": name, "annotations": {(NODES.0): NODES.1},
                "labels": {
                    "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "nvidia.com/gpu.present": "true",
                    (OF_TESTS): "true",
                },
            },
            "status": {"allocatable": room, "capacity": room},
        });
        if let Some(all) = node.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
            all.extend(labels.iter().map(|(key, value)| ((*key).to_owned(), json!(value))));
        }
        self.create(&node, "kubelet").await?;
        wait_until(&format!("node {name} is ready"), SOON, async || {
            let node = self.get("Node", "", name).await?;
            let ready = condition(&node, "Ready").and_then(|ready| ready.get("status"));
            ensure!(
                ready.is_some_and(|ready| ready == "True"),
                "{:?}",
                node.pointer("/status")
            );
            Ok(())
        })
        .await
    }

    /// Makes the RuntimeClass `nvidia`, which engines ask for unless told otherwise, where there is none.
    ///
    /// # Errors
    /// The API server refuses.
    pub async fn runtime_class(&self) -> Result<()> {
        if self.find("RuntimeClass", "", "nvidia").await?.is_some() {
            return Ok(());
        }
        let class = json!({
            "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "nvidia"}, "handler": "nvidia",
        });
        self.apply(&class).await?;
        Ok(())
    }

    /// Installs the CRDs, the controller's namespace, account and rights, and the roles for users, as `deploy/` has them.
    ///
    /// # Errors
    /// A file cannot be read, the API server refuses, or a kind is not served after a minute.
    pub async fn install(&self) -> Result<()> {
        let kinds = ["lmcacheengines", "cacheblendengines", "lmcachecoordinators"];
        for kind in kinds {
            self.apply_file(&format!("deploy/crds/{kind}.yaml"), "").await?;
        }
        for file in [
            "controller/namespace.yaml",
            "controller/service-account.yaml",
            "rbac/controller.yaml",
            "rbac/users.yaml",
            "policies/rbac.yaml",
        ] {
            self.apply_file(&format!("deploy/{file}"), "").await?;
        }
        for kind in ["LMCacheEngine", "CacheBlendEngine", "LMCacheCoordinator"] {
            wait_until(&format!("{kind} is served"), SOON, async || {
                self.list(kind, "", "").await
            })
            .await?;
        }
        Ok(())
    }

    /// Installs a kind `ServiceMonitor` that takes everything, where there is none.
    ///
    /// # Errors
    /// The API server refuses, or the kind is not served after a minute.
    pub async fn install_service_monitors(&self) -> Result<()> {
        let name = "servicemonitors.monitoring.coreos.com";
        if self.find("CustomResourceDefinition", "", name).await?.is_some() {
            return Ok(());
        }
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": name},
            "spec": {
                "group": "monitoring.coreos.com", "scope": "Namespaced",
                "names": {"kind": "ServiceMonitor", "plural": "servicemonitors", "singular": "servicemonitor"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
            },
        });
        self.apply(&crd).await?;
        wait_until("ServiceMonitor is served", SOON, async || {
            self.list("ServiceMonitor", "", "").await
        })
        .await?;
        Ok(())
    }
}
