//! A cluster as the Go operator runs it: engines with their children, its Deployment, its webhooks, and workloads.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, ensure};
use control_plane::cluster::read;
use control_plane::go_webhooks::{RECORDING, Recording};
use control_plane::{Cluster, ControlPlane, Controller, Identity, Programs, wait_until};
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::shared::LIMIT;
use crate::shared::stored::{Seeded, id, seed};

/// Where the recordings have their Pods.
pub const NS: &str = "inference";
pub const OPERATOR_NS: &str = "lmcache-operator-system";
pub const OPERATOR: &str = "lmcache-operator-controller-manager";

/// The workloads: name, and the recording of their Pods. `chat` and `staged` come out as the Go operator has them, `own` has a
/// connector of another kind, `served` has a command, `blend` uses CacheBlend.
pub const WORKLOADS: [(&str, &str); 5] = [
    ("chat", "lmcache-basic"),
    ("staged", "lmcache-stage-basic kv-pool=kv-staged"),
    ("own", "lmcache-kv-user-two-tokens"),
    ("served", "lmcache-command-vllm-serve"),
    ("blend", "cacheblend-basic"),
];

/// A control plane with what every cluster has, and the CRDs of the Go operator: ours without what it does not know.
pub async fn bare() -> Result<ControlPlane> {
    let programs = tokio::task::spawn_blocking(Programs::find).await??;
    let plane = ControlPlane::start(programs).await?;
    let admin = plane.cluster(Identity::Admin).await?;
    release(&admin, None).await?;
    for kind in ["LMCacheEngine", "CacheBlendEngine", "LMCacheCoordinator"] {
        wait_until(&format!("{kind} is served"), LIMIT, async || {
            admin.list(kind, "", "").await
        })
        .await?;
    }
    admin.install_service_monitors().await?;
    admin.runtime_class().await?;
    // One of the recorded engines names its node.
    for node in ["node-00", "node-01"] {
        admin.gpu_node(node, &[]).await?;
    }
    Ok(plane)
}

/// What `helm upgrade` does with the CRDs of a release, which keeps them on uninstall or does not.
pub async fn release(admin: &Cluster, policy: Option<&str>) -> Result<()> {
    for plural in ["lmcacheengines", "cacheblendengines", "lmcachecoordinators"] {
        let mut crd = read(&format!("deploy/crds/{plural}.yaml"))?.remove(0);
        without_ours(&mut crd);
        let metadata = &mut crd["metadata"];
        metadata["labels"] = json!({"app.kubernetes.io/managed-by": "Helm"});
        metadata["annotations"] = json!({
            "meta.helm.sh/release-name": "lmcache", "meta.helm.sh/release-namespace": OPERATOR_NS,
        });
        if let Some(policy) = policy {
            metadata["annotations"]["helm.sh/resource-policy"] = json!(policy);
        }
        let name = metadata["name"].as_str().unwrap().to_owned();
        let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let resource = ApiResource::from_gvk_with_plural(&kind, "customresourcedefinitions");
        let api: Api<DynamicObject> = Api::all_with(admin.client().clone(), &resource);
        let params = PatchParams::apply("helm").force();
        api.patch(&name, &params, &Patch::Apply(&crd)).await.context(name)?;
    }
    Ok(())
}

/// Takes the fields away that the Go operator's CRDs do not have.
fn without_ours(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if let Some(fields) = members.get_mut("properties").and_then(Value::as_object_mut) {
                let is_ours = |field: &Value| {
                    let text = field["description"].as_str().unwrap_or_default();
                    text.contains("Not known to the Go operator")
                };
                fields.retain(|_, field| !is_ours(field));
            }
            members.values_mut().for_each(without_ours);
        }
        Value::Array(items) => items.iter_mut().for_each(without_ours),
        _ => {}
    }
}

/// The Go operator's namespace, Deployment and Lease, as its manifests make them. kwok plays its Pod.
pub async fn go_operator(admin: &Cluster) -> Result<()> {
    admin.namespace(OPERATOR_NS).await?;
    let labels = json!({"control-plane": "controller-manager", "app.kubernetes.io/name": "operator"});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": OPERATOR, "namespace": OPERATOR_NS, "labels": labels},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [
                {"name": "manager", "image": "lmcache/lmcache-operator:v0.5.2", "command": ["/manager"]},
            ]}},
        },
    });
    admin.apply(&deployment).await?;
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "f517be84.lmcache.ai", "namespace": OPERATOR_NS},
        "spec": {
            "holderIdentity": "manager-0", "leaseDurationSeconds": 15,
            "renewTime": jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.000000Z").to_string(),
        },
    });
    admin.apply(&lease).await?;
    scaled(admin, 1).await
}

/// Scales the Go operator, and waits until it is so.
pub async fn scale(admin: &Cluster, replicas: u64) -> Result<()> {
    let patch = json!({"spec": {"replicas": replicas}});
    admin.patch("Deployment", OPERATOR_NS, OPERATOR, &patch).await?;
    scaled(admin, replicas).await
}

async fn scaled(admin: &Cluster, replicas: u64) -> Result<()> {
    wait_until(&format!("the Go operator has {replicas} Pods"), LIMIT, async || {
        let status = admin.get("Deployment", OPERATOR_NS, OPERATOR).await?["status"].clone();
        for count in ["replicas", "readyReplicas"] {
            ensure!(status[count].as_u64().unwrap_or_default() == replicas, "{status}");
        }
        Ok(())
    })
    .await
}

/// Engines and coordinators as they were stored, and those of the recorded Pods.
pub async fn engines(plane: &ControlPlane, admin: &Cluster) -> Result<Seeded> {
    let seeded = seed(admin).await?;
    for (name, recording) in WORKLOADS {
        for object in Recording::read(recording)?.cluster {
            let (kind, _, engine) = id(&object);
            if kind != "ConfigMap" && admin.find(&kind, NS, &engine).await?.is_none() {
                let file = plane.folder().join(format!("{name}-engine.json"));
                let owner = admin.create(&object, "kubectl-create").await?;
                fs::write(&file, object.to_string())?;
                children(plane, admin, &owner, file.to_str().unwrap()).await?;
            }
        }
    }
    wait_until("all servers are ready", LIMIT, async || {
        for set in admin.list("DaemonSet", "", "").await? {
            let (status, name) = (&set["status"], &set["metadata"]["name"]);
            ensure!(
                status["observedGeneration"] == set["metadata"]["generation"],
                "{name}: {status}"
            );
            ensure!(
                status["numberReady"] == status["desiredNumberScheduled"],
                "{name}: {status}"
            );
        }
        Ok(())
    })
    .await?;
    Ok(seeded)
}

/// The children that the Go operator renders, as it makes them.
async fn children(plane: &ControlPlane, admin: &Cluster, owner: &Value, file: &str) -> Result<()> {
    let output = Controller::command(plane, Identity::Viewer, &["render", "--legacy=july", "-f", file])?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let rendered = plane.folder().join("rendered.yaml");
    fs::write(&rendered, &output.stdout)?;
    // An absolute path is taken as it is.
    for mut child in read(rendered.to_str().context("no text")?)? {
        child["metadata"]["ownerReferences"] = json!([{
            "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
        }]);
        admin.create(&child, "manager").await?;
    }
    Ok(())
}

/// A Deployment whose Pods are those of a recording.
pub fn deployment(name: &str, recording: &str) -> Result<Value> {
    let pod = Recording::read(recording)?.before;
    let mut template = json!({"metadata": pod["metadata"], "spec": pod["spec"]});
    let metadata = template["metadata"].as_object_mut().unwrap();
    metadata.remove("name");
    metadata.remove("namespace");
    template["metadata"]["labels"]["app"] = json!(name);
    template["metadata"]["annotations"][RECORDING] = json!(recording);
    template["spec"]["automountServiceAccountToken"] = json!(false);
    Ok(json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": NS},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template},
    }))
}

/// Every Pod of the namespaces with engines, and its uid.
pub async fn pods(admin: &Cluster) -> Result<BTreeMap<String, String>> {
    let mut pods = BTreeMap::new();
    for pod in admin.list("Pod", "", "").await? {
        let (_, namespace, name) = id(&pod);
        if ["inference", "beh", "cache"].contains(&namespace.as_str()) {
            let uid = pod["metadata"]["uid"].as_str().unwrap().to_owned();
            pods.insert(format!("{namespace}/{name}"), uid);
        }
    }
    Ok(pods)
}
