//! The rights of deploy/rbac.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use control_plane::cluster::{condition, read};
use control_plane::{Cluster, Controller, Identity, wait_until};
use serde_json::json;

use crate::shared::policies::refused;
use crate::shared::{CHILDREN, LIMIT, children, engine, installed, node, runs};
use crate::{Right, rights};

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
        // An admission plugin asks for it, and there is no call: see the next test.
        .filter(|(_, resource, _)| !resource.ends_with("/finalizers"))
        .collect();
    assert!(unused.is_empty(), "granted and not used: {unused:#?}");
    Ok(())
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn without_the_right_to_finalizers_no_child_is_made() -> Result<()> {
    const ROLES: &str = "deploy/rbac/controller.yaml";
    let ns = "finalizers";
    let plane = installed().await?;
    let admin = plane.cluster(Identity::Admin).await?;
    admin.namespace(ns).await?;
    let mut role = read(ROLES)?.remove(0);
    let rules = role["rules"].as_array_mut().unwrap();
    let all = rules.len();
    rules.retain(|rule| !rule["resources"][0].as_str().unwrap().ends_with("/finalizers"));
    assert_eq!(rules.len(), all - 1);
    admin.apply(&role).await?;
    let owner = admin.apply(&engine(ns, "kv", "nowhere")).await?;
    let own = plane.cluster(Identity::Controller).await?;
    let child = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "child", "namespace": ns, "ownerReferences": [{
            "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": "kv", "uid": owner["metadata"]["uid"],
            "controller": true, "blockOwnerDeletion": true,
        }]},
    });
    wait_until("the API server knows the smaller role", LIMIT, async || {
        let (code, message) = refused(own.dry_run(&child).await)?;
        ensure!(
            code == 403 && message.contains("blockOwnerDeletion"),
            "{code}: {message}"
        );
        Ok(())
    })
    .await?;

    let _controller = Controller::start(&plane, "finalizers-0", &[]).await?;
    wait_until("the status says why nothing is there", LIMIT, async || {
        let engine = admin.get("LMCacheEngine", ns, "kv").await?;
        let reconciled = condition(&engine, "Reconciled").context("no condition Reconciled")?;
        ensure!(
            reconciled["status"] == "False" && reconciled["reason"] == "Forbidden",
            "{reconciled}"
        );
        let message = reconciled["message"].as_str().unwrap_or_default();
        ensure!(message.contains("blockOwnerDeletion"), "{message}");
        Ok(())
    })
    .await?;
    for (kind, suffix) in CHILDREN {
        assert_eq!(admin.find(kind, ns, &format!("kv{suffix}")).await?, None);
    }
    // It tries again by itself.
    admin.apply_file(ROLES, "").await?;
    children(&admin, ns, "kv").await?;
    Ok(())
}
