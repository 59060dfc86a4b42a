//! The rights of deploy/policies.

use std::collections::BTreeSet;

use anyhow::Result;
use control_plane::cluster::refusal;
use control_plane::{Identity, Policy, PolicyServer};
use serde_json::json;

use crate::shared::policies::{in_force, post};
use crate::shared::workloads::{deployment, opted_in, pod, wired, wiring};
use crate::shared::{engine, installed};
use crate::{Right, rights};

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn the_policies_need_their_rights_and_no_others() -> Result<()> {
    let ns = "policies";
    let plane = installed().await?;
    let admin = plane.cluster(Identity::Admin).await?;
    admin.namespace(ns).await?;
    let server = PolicyServer::start(&plane, "rights", &Policy::deployed()?, &[]).await?;
    server.install()?;
    in_force(&admin).await?;
    // Validation asks whether the name is taken by an object of the other kinds.
    for (kind, name) in [
        ("LMCacheEngine", "kv"),
        ("CacheBlendEngine", "blend"),
        ("LMCacheCoordinator", "fleet"),
    ] {
        let mut object = engine(ns, name, "nowhere");
        object["kind"] = kind.into();
        match kind {
            "CacheBlendEngine" => {
                let image = json!({"repository": "registry.example.com/kv/blend", "tag": "v0.5.6"});
                object["spec"]["injection"] = json!({"payloadImage": image});
            }
            "LMCacheCoordinator" => {
                object["spec"].as_object_mut().unwrap().remove("l1");
            }
            _ => {}
        }
        admin.apply(&object).await?;
    }
    // Injection and guard.
    let stored = admin
        .create(&pod(ns, "chat", opted_in("nowhere", "kv")), "kubectl")
        .await?;
    assert_eq!(wiring(&stored), wired(ns, "kv", 5555));
    // Preflight.
    let path = format!("/apis/apps/v1/namespaces/{ns}/deployments?dryRun=All");
    let (code, warnings) = post(&admin, &path, &deployment(ns, "chat", 1, opted_in("nowhere", "kv"))).await?;
    assert_eq!((code, warnings.len()), (201, 0), "{warnings:?}");

    let audit = plane.audit()?;
    let asked: Vec<_> = audit.of(Identity::PolicyServer.user()).collect();
    let refused: Vec<_> = asked.iter().filter(|request| request.code == 403).collect();
    assert!(refused.is_empty(), "{refused:#?}");
    let used: BTreeSet<Right> = asked
        .iter()
        .map(|request| (request.group.clone(), request.resource.clone(), request.verb.clone()))
        .collect();
    let granted = rights("deploy/policies/rbac.yaml", "lmcache-kubewarden-policies");
    assert_eq!(used, granted.into_iter().collect());

    // What is granted can be read, and nothing else.
    let settings = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kv-connection", "namespace": ns}, "data": {"a": "b"},
    });
    admin.apply(&settings).await?;
    let policies = plane.cluster(Identity::PolicyServer).await?;
    policies.get("LMCacheEngine", ns, "kv").await?;
    policies.get("ConfigMap", ns, "kv-connection").await?;
    policies.get("Namespace", "", ns).await?;
    let code = |error: anyhow::Error| refusal(&error).map(|status| status.code);
    for kind in ["Secret", "Pod", "DaemonSet"] {
        assert_eq!(
            policies.get(kind, ns, "kv").await.map_err(code),
            Err(Some(403)),
            "{kind}"
        );
    }
    assert_eq!(policies.list("ConfigMap", ns, "").await.map_err(code), Err(Some(403)));
    assert_eq!(
        policies.delete("LMCacheEngine", ns, "kv").await.map_err(code),
        Err(Some(403))
    );
    Ok(())
}
