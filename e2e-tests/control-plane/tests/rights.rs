//! The controller works with the rights of deploy/rbac, needs each of them, and people see what the roles promise.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod shared;

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use control_plane::cluster::{read, refusal};
use control_plane::{Cluster, Controller, Identity, wait_until};
use serde_json::{Value, json};
use shared::{LIMIT, engine, installed, node, plane, runs};

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

/// Objects of others under every kind of name that the children of `taken` and `taken-fleet` would have: the controller
/// has to look whose they are.
async fn names_taken(admin: &Cluster, ns: &str) -> Result<()> {
    let labels = json!({"app": "theirs"});
    let pod = json!({
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "theirs", "image": "registry.example.com/theirs:1"}]},
    });
    let workload = json!({"selector": {"matchLabels": labels}, "template": pod});
    for (version, kind, name, field, value) in [
        ("apps/v1", "DaemonSet", "taken", "spec", &workload),
        ("apps/v1", "Deployment", "taken-fleet", "spec", &workload),
        ("v1", "Service", "taken", "spec", &json!({"ports": [{"port": 80}]})),
        ("v1", "ConfigMap", "taken-connection", "data", &json!({"a": "b"})),
        ("v1", "Secret", "taken-resp-auth", "stringData", &json!({"a": "b"})),
        (
            "monitoring.coreos.com/v1",
            "ServiceMonitor",
            "taken",
            "spec",
            &json!({"endpoints": []}),
        ),
    ] {
        let metadata = json!({"name": name, "namespace": ns});
        let object = json!({"apiVersion": version, "kind": kind, "metadata": metadata, (field): value});
        admin.create(&object, "theirs").await?;
    }
    Ok(())
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn the_controller_is_refused_nothing_and_uses_every_right() -> Result<()> {
    let ns = "rights";
    let plane = installed().await?;
    let admin = plane.cluster(Identity::Admin).await?;
    admin.namespace(ns).await?;
    node(&admin, ns, 0).await?;
    // Left by the Go operator: its engine has the finalizer of early versions.
    let mut finalized = engine(ns, "finalized", ns);
    finalized["metadata"]["finalizers"] = json!(["lmcache.ai/cleanup"]);
    admin.apply(&finalized).await?;
    let mut controller = Controller::start(
        &plane,
        "rights-0",
        &["--leader-elect", "--lease-namespace=lmcache-system"],
    )
    .await?;
    runs(&admin, ns, "finalized", 1).await?;
    admin.delete("LMCacheEngine", ns, "finalized").await?;

    let login = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "redis", "namespace": ns},
        "stringData": {"username": "kv", "password": "one"},
    });
    admin.apply(&login).await?;
    let mut full = engine(ns, "kv", ns);
    full["spec"]["prometheus"] = json!({"serviceMonitor": {"enabled": true}});
    full["spec"]["l2Backend"] = json!({"resp": {"host": "redis", "port": 6379, "authSecretRef": {"name": "redis"}}});
    full["spec"]["coordinator"] = json!({"ref": {"name": "fleet"}});
    admin.apply(&full).await?;
    names_taken(&admin, ns).await?;
    let mut taken = full.clone();
    taken["metadata"]["name"] = json!("taken");
    admin.apply(&taken).await?;
    for (kind, name, spec) in [
        ("LMCacheCoordinator", "taken-fleet", json!({})),
        (
            "LMCacheCoordinator",
            "fleet",
            json!({"prometheus": {"enabled": true, "serviceMonitor": {"enabled": true}}}),
        ),
        (
            "CacheBlendEngine",
            "blend",
            json!({
                "l1": {"sizeGB": 10}, "nodeSelector": {"e2e.lmcache.ai/pool": ns},
                "injection": {"payloadImage": {"repository": "registry.example.com/blend", "tag": "v0.5.6"}},
            }),
        ),
    ] {
        let object = json!({
            "apiVersion": "lmcache.lmcache.ai/v1alpha1", "kind": kind,
            "metadata": {"name": name, "namespace": ns}, "spec": spec,
        });
        admin.apply(&object).await?;
    }
    wait_until("everything is there", LIMIT, async || {
        for (kind, name) in [
            ("Deployment", "fleet"),
            ("DaemonSet", "blend"),
            ("DaemonSet", "kv"),
            ("Secret", "kv-resp-auth"),
            ("ServiceMonitor", "kv"),
        ] {
            admin.get(kind, ns, name).await?;
        }
        Ok(())
    })
    .await?;
    runs(&admin, ns, "kv", 1).await?;
    // A changed login is copied; without metrics and login nothing is left of either.
    admin
        .patch("Secret", ns, "redis", &json!({"stringData": {"password": "two"}}))
        .await?;
    wait_until("the new login is copied", LIMIT, async || {
        let copy = admin.get("Secret", ns, "kv-resp-auth").await?;
        ensure!(
            copy["data"]["password"] == "dHdv",
            "{}",
            copy["metadata"]["resourceVersion"]
        );
        Ok(())
    })
    .await?;
    // Objects that others changed are put right.
    admin
        .patch("Service", ns, "kv", &json!({"spec": {"selector": {"x": "y"}}}))
        .await?;
    admin
        .patch(
            "ConfigMap",
            ns,
            "kv-connection",
            &json!({"data": {"kv-transfer-config.json": "{}"}}),
        )
        .await?;
    admin
        .patch("ServiceMonitor", ns, "kv", &json!({"spec": {"endpoints": []}}))
        .await?;
    admin
        .patch("Deployment", ns, "fleet", &json!({"spec": {"replicas": 3}}))
        .await?;
    wait_until("what others changed is put right", LIMIT, async || {
        let service = admin.get("Service", ns, "kv").await?;
        ensure!(
            service["spec"]["selector"]["app.kubernetes.io/instance"] == "kv",
            "{}",
            service["spec"]
        );
        let monitor = admin.get("ServiceMonitor", ns, "kv").await?;
        ensure!(monitor["spec"]["endpoints"] != json!([]), "{}", monitor["spec"]);
        let connection = admin.get("ConfigMap", ns, "kv-connection").await?;
        ensure!(
            connection["data"]["kv-transfer-config.json"] != "{}",
            "{}",
            connection["data"]
        );
        let deployment = admin.get("Deployment", ns, "fleet").await?;
        ensure!(
            deployment["spec"]["replicas"] == 1,
            "{}",
            deployment["spec"]["replicas"]
        );
        Ok(())
    })
    .await?;
    let less = json!({"spec": {"prometheus": {"enabled": false, "serviceMonitor": null}, "l2Backend": null}});
    admin.patch("LMCacheEngine", ns, "kv", &less).await?;
    wait_until("what is not wanted any more is gone", LIMIT, async || {
        for (kind, name) in [
            ("Secret", "kv-resp-auth"),
            ("ServiceMonitor", "kv"),
            ("Service", "kv-metrics"),
        ] {
            ensure!(admin.find(kind, ns, name).await?.is_none(), "{kind} {name} is there");
        }
        Ok(())
    })
    .await?;
    wait_until("the finalized engine is gone", LIMIT, async || {
        ensure!(
            admin.find("LMCacheEngine", ns, "finalized").await?.is_none(),
            "it is there"
        );
        Ok(())
    })
    .await?;
    controller.check()?;
    // Gives the Lease back.
    controller.stop()?;

    let audit = plane.audit()?;
    let user = Identity::Controller.user();
    let refused: Vec<_> = audit.of(user).filter(|request| request.code == 403).collect();
    assert!(refused.is_empty(), "{refused:#?}");
    let mut used = BTreeSet::new();
    for request in audit.of(user) {
        let mut right = (request.group.clone(), request.resource.clone(), request.verb.clone());
        used.insert(right.clone());
        // An apply that makes the object takes both rights.
        if request.verb == "patch" && request.code == 201 {
            right.2 = "create".to_owned();
            used.insert(right);
        }
    }
    let unused: Vec<Right> = rights("deploy/rbac/controller.yaml", "lmcache-controller")
        .into_iter()
        .filter(|right| !used.contains(right))
        // Asked for by an admission plugin that is off here; there is no call for it.
        .filter(|(_, resource, _)| !resource.ends_with("/finalizers"))
        // Listed and watched; reading one goes with that, and there is no call for it.
        .filter(|(group, _, verb)| !(group == "lmcache.lmcache.ai" && verb == "get"))
        .collect();
    assert!(unused.is_empty(), "granted and not used: {unused:#?}");
    Ok(())
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

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn the_policies_read_what_they_need_and_nothing_else() -> Result<()> {
    let ns = "policies";
    let plane = plane().await?;
    let admin = plane.cluster(Identity::Admin).await?;
    admin.namespace(ns).await?;
    admin.apply(&engine(ns, "kv", "nowhere")).await?;
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
