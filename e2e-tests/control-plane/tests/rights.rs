//! Controller and policies work with the rights of deploy/, need each of them, and people see what the roles promise.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

#[path = "rights/controller.rs"]
mod controller;
#[path = "rights/policies.rs"]
mod policies;
mod shared;

use anyhow::Result;
use control_plane::cluster::{read, refusal};
use control_plane::{Identity, wait_until};
use serde_json::{Value, json};
use shared::{LIMIT, engine, plane};

/// Group, resource, verb.
type Right = (String, String, String);

fn rights(file: &str, role: &str) -> Vec<Right> {
    let strings = |value: &Value| -> Vec<String> {
        value
            .as_array()
            .unwrap()
            .iter()
            .map(|text| text.as_str().unwrap().to_owned())
            .collect()
    };
    let mut rights = Vec::new();
    for object in read(file).unwrap() {
        if object["kind"].as_str().unwrap().ends_with("Role") && object["metadata"]["name"] == role {
            for rule in object["rules"].as_array().unwrap() {
                for group in strings(&rule["apiGroups"]) {
                    for resource in strings(&rule["resources"]) {
                        for verb in strings(&rule["verbs"]) {
                            rights.push((group.clone(), resource.clone(), verb));
                        }
                    }
                }
            }
        }
    }
    rights
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn people_see_and_change_what_the_roles_say() -> Result<()> {
    let ns = "people";
    let plane = plane().await?;
    let admin = plane.cluster(Identity::Admin).await?;
    let viewer = plane.cluster(Identity::Viewer).await?;
    admin.namespace(ns).await?;
    admin.apply(&engine(ns, "kv", "nowhere")).await?;
    let kinds = ["LMCacheEngine", "CacheBlendEngine", "LMCacheCoordinator"];
    let code = |error: anyhow::Error| refusal(&error).map(|status| status.code);
    assert_eq!(viewer.list(kinds[0], ns, "").await.map_err(code), Err(Some(403)));

    let bind = |role: &str| {
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": {"name": format!("viewer-{role}"), "namespace": ns},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": Identity::Viewer.user()}],
        })
    };
    admin.apply(&bind("view")).await?;
    wait_until("the role view has our kinds", LIMIT, async || {
        for kind in kinds {
            viewer.list(kind, ns, "").await?;
        }
        Ok(())
    })
    .await?;
    let change = json!({"spec": {"l1": {"sizeGB": 20}}});
    assert_eq!(
        viewer.patch(kinds[0], ns, "kv", &change).await.map_err(code),
        Err(Some(403))
    );

    admin.apply(&bind("edit")).await?;
    wait_until("the role edit may change engines", LIMIT, async || {
        viewer.patch(kinds[0], ns, "kv", &change).await
    })
    .await?;
    viewer.delete(kinds[0], ns, "kv").await?;
    Ok(())
}
