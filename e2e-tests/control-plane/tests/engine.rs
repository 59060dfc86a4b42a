//! The life of an engine: children, Pods on nodes, status, changes, the end.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod shared;

use std::time::Duration;

use anyhow::{Result, ensure};
use control_plane::{Cluster, Identity, wait_until};
use serde_json::{Value, json};
use shared::{CHILDREN, LIMIT, children, controlled, engine, node, runs};

/// The addresses that are ready behind the Service of an engine, if all are served at this port.
async fn ready_endpoints(admin: &Cluster, namespace: &str, port: u16) -> Result<usize> {
    let slices = admin
        .list("EndpointSlice", namespace, "kubernetes.io/service-name=kv")
        .await?;
    let mut ready = 0;
    for slice in &slices {
        let endpoints = slice["endpoints"].as_array().map(Vec::as_slice).unwrap_or_default();
        if endpoints.is_empty() {
            continue;
        }
        let ports = slice["ports"].as_array().unwrap();
        ensure!(ports.iter().any(|entry| entry["port"] == port), "{}", slice["ports"]);
        ready += endpoints
            .iter()
            .filter(|endpoint| endpoint["conditions"]["ready"] == true)
            .count();
    }
    Ok(ready)
}

fn ports_of(engine: &Value) -> Vec<u64> {
    let endpoints = engine["status"]["endpoints"].as_array().unwrap();
    endpoints
        .iter()
        .map(|endpoint| endpoint["port"].as_u64().unwrap())
        .collect()
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn created_changed_extended_and_deleted() -> Result<()> {
    let ns = "life";
    let (plane, admin) = controlled(ns).await?;
    node(&admin, ns, 0).await?;
    node(&admin, ns, 1).await?;
    admin.apply(&engine(ns, "kv", ns)).await?;
    children(&admin, ns, "kv").await?;
    let running = runs(&admin, ns, "kv", 2).await?;
    assert_eq!(ports_of(&running), [5555, 5555]);
    assert_eq!(
        control_plane::cluster::condition(&running, "Ready").unwrap()["status"],
        "True"
    );
    let pods = admin.list("Pod", ns, "app.kubernetes.io/instance=kv").await?;
    let mut nodes: Vec<&str> = pods
        .iter()
        .map(|pod| pod["spec"]["nodeName"].as_str().unwrap())
        .collect();
    nodes.sort_unstable();
    assert_eq!(nodes, ["life-0", "life-1"]);
    wait_until("both servers are behind the Service", LIMIT, async || {
        let ready = ready_endpoints(&admin, ns, 5555).await?;
        ensure!(ready == 2, "{ready}");
        Ok(())
    })
    .await?;

    // A settled engine costs no write. Who wrote what is known of our own control plane alone.
    if !plane.is_given() {
        let writes = || {
            let audit = plane.audit()?;
            let writes = audit.writes(Identity::Controller.user());
            anyhow::Ok(writes.into_iter().filter(|request| request.namespace == ns).count())
        };
        assert!(writes()? >= 5);
        wait_until("nothing is written any more", LIMIT, async || {
            let before = writes()?;
            tokio::time::sleep(Duration::from_secs(5)).await;
            let after = writes()?;
            ensure!(after == before, "{} writes in 5 seconds", after - before);
            Ok(())
        })
        .await?;
    }

    // Another port: everything follows.
    admin
        .patch("LMCacheEngine", ns, "kv", &json!({"spec": {"server": {"port": 6000}}}))
        .await?;
    let running = wait_until("all servers have the new port", LIMIT, async || {
        let running = runs(&admin, ns, "kv", 2).await?;
        ensure!(ports_of(&running) == [6000, 6000], "{}", running["status"]);
        for pod in admin.list("Pod", ns, "app.kubernetes.io/instance=kv").await? {
            ensure!(pod["spec"].to_string().contains("6000"), "{}", pod["spec"]);
        }
        let ready = ready_endpoints(&admin, ns, 6000).await?;
        ensure!(ready == 2, "{ready} ready endpoints");
        Ok(running)
    })
    .await?;
    assert_eq!(running["status"]["observedGeneration"], 2);
    let connection = admin.get("ConfigMap", ns, "kv-connection").await?;
    assert!(
        connection["data"]["kv-transfer-config.json"]
            .as_str()
            .unwrap()
            .contains("6000")
    );
    assert_eq!(admin.get("Service", ns, "kv").await?["spec"]["ports"][0]["port"], 6000);

    // Another node: covered.
    node(&admin, ns, 2).await?;
    runs(&admin, ns, "kv", 3).await?;

    // The end: nothing is left.
    admin.delete("LMCacheEngine", ns, "kv").await?;
    wait_until("everything is collected", LIMIT, async || {
        for (kind, suffix) in CHILDREN {
            let left = admin.find(kind, ns, &format!("kv{suffix}")).await?;
            ensure!(left.is_none(), "{kind} kv{suffix} is there");
        }
        for kind in ["LMCacheEngine", "Pod", "EndpointSlice"] {
            let left = admin.list(kind, ns, "").await?;
            ensure!(left.is_empty(), "{} of kind {kind}", left.len());
        }
        Ok(())
    })
    .await
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn servers_that_are_slow_count_once_they_are_ready() -> Result<()> {
    let ns = "slow";
    let (_, admin) = controlled(ns).await?;
    node(&admin, ns, 0).await?;
    let mut slow = engine(ns, "kv", ns);
    slow["spec"]["podAnnotations"] = json!({"e2e.lmcache.ai/life": "slow"});
    admin.apply(&slow).await?;
    wait_until("the server is started and not ready", LIMIT, async || {
        let pods = admin.list("Pod", ns, "").await?;
        ensure!(
            pods.len() == 1 && pods[0]["status"]["phase"] == "Running",
            "{} Pods",
            pods.len()
        );
        let status = admin.get("LMCacheEngine", ns, "kv").await?["status"].clone();
        ensure!(
            status["phase"] == "Pending" && status["readyInstances"] == 0,
            "{status}"
        );
        ensure!(status["desiredInstances"] == 1, "{status}");
        Ok(())
    })
    .await?;
    runs(&admin, ns, "kv", 1).await?;
    Ok(())
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn servers_that_fail_are_no_servers() -> Result<()> {
    let ns = "crash";
    let (_, admin) = controlled(ns).await?;
    node(&admin, ns, 0).await?;
    let mut failing = engine(ns, "kv", ns);
    failing["spec"]["podAnnotations"] = json!({"e2e.lmcache.ai/life": "crash"});
    admin.apply(&failing).await?;
    let status = wait_until("the failing server is seen", LIMIT, async || {
        let pods = admin.list("Pod", ns, "").await?;
        let waiting = pods
            .first()
            .map(|pod| pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"].clone());
        ensure!(waiting == Some(json!("CrashLoopBackOff")), "{waiting:?}");
        let engine = admin.get("LMCacheEngine", ns, "kv").await?;
        ensure!(engine["status"]["phase"] == "Failed", "{}", engine["status"]);
        Ok(engine["status"].clone())
    })
    .await?;
    assert_eq!(
        (&status["desiredInstances"], &status["readyInstances"]),
        (&json!(1), &json!(0))
    );
    // Repaired by whoever wrote the engine: servers are replaced and run.
    admin
        .patch("LMCacheEngine", ns, "kv", &json!({"spec": {"podAnnotations": null}}))
        .await?;
    runs(&admin, ns, "kv", 1).await?;
    Ok(())
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn an_evicted_server_is_replaced() -> Result<()> {
    let ns = "evicted";
    let (_, admin) = controlled(ns).await?;
    node(&admin, ns, 0).await?;
    let mut evicted = engine(ns, "kv", ns);
    evicted["spec"]["podAnnotations"] = json!({"e2e.lmcache.ai/life": "evicted"});
    admin.apply(&evicted).await?;
    let running = runs(&admin, ns, "kv", 1).await?;
    let first = running["status"]["endpoints"][0]["podName"].clone();
    wait_until("another Pod serves", LIMIT, async || {
        let running = runs(&admin, ns, "kv", 1).await?;
        ensure!(
            running["status"]["endpoints"][0]["podName"] != first,
            "{}",
            running["status"]
        );
        Ok(())
    })
    .await
}
