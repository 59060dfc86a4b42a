//! What becomes of Pods when their engine comes, changes or goes after them.

use anyhow::{Result, ensure};
use control_plane::cluster::condition;
use control_plane::wait_until;
use serde_json::{Value, json};

use super::shared::workloads::{clients, deployment, event, opted_in, restarted, rolled_out, skipped, wired, wiring};
use super::shared::{LIMIT, engine, node, runs};
use super::{ENGINE, served, wirings};

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn an_engine_that_comes_later_needs_a_restart_of_its_clients() -> Result<()> {
    let ns = "late";
    let (_, admin) = served(ns).await?;
    node(&admin, ns, 0).await?;
    admin.apply(&deployment(ns, "chat", 1, opted_in(ns, "kv"))).await?;
    let first = rolled_out(&admin, ns, "chat").await?;
    assert_eq!(wirings(&first), [skipped("kv", "engine-not-found")]);
    admin.apply(&engine(ns, "kv", ns)).await?;
    runs(&admin, ns, "kv", 1).await?;
    let counted = clients(&admin, ENGINE, (ns, "kv"), [0, 1, 0, 0]).await?;
    assert_eq!(condition(&counted, "ClientsCovered").unwrap()["reason"], "NoClients");
    let name = first[0]["metadata"]["name"].as_str().unwrap();
    let told = event(&admin, ns, "Pod", name, "ClientSkipped").await?;
    let note = "not wired: engine-not-found; LMCacheEngine late/kv is there now, so recreate the Pod";
    assert_eq!(told, ("Warning".to_owned(), note.to_owned()));
    // Nobody restarts it but the user.
    let still = rolled_out(&admin, ns, "chat").await?;
    assert_eq!(still[0]["metadata"]["uid"], first[0]["metadata"]["uid"]);

    assert_eq!(wirings(&restarted(&admin, ns, "chat").await?), [wired(ns, "kv", 5555)]);
    clients(&admin, ENGINE, (ns, "kv"), [1, 0, 0, 0]).await?;
    Ok(())
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn a_changed_port_shows_until_the_clients_are_restarted() -> Result<()> {
    let ns = "drift";
    let (_, admin) = served(ns).await?;
    node(&admin, ns, 0).await?;
    admin.apply(&engine(ns, "kv", ns)).await?;
    runs(&admin, ns, "kv", 1).await?;
    admin.apply(&deployment(ns, "chat", 1, opted_in(ns, "kv"))).await?;
    let first = rolled_out(&admin, ns, "chat").await?;
    clients(&admin, ENGINE, (ns, "kv"), [1, 0, 0, 0]).await?;

    let port = json!({"spec": {"server": {"port": 6000}}});
    admin.patch(ENGINE, ns, "kv", &port).await?;
    runs(&admin, ns, "kv", 1).await?;
    clients(&admin, ENGINE, (ns, "kv"), [1, 0, 1, 0]).await?;
    let name = first[0]["metadata"]["name"].as_str().unwrap();
    let told = event(&admin, ns, "Pod", name, "ClientDrifted").await?;
    let note = "wired to a connection that LMCacheEngine drift/kv no longer has; recreate the Pod, or correct its \
                --kv-transfer-config where that is its own";
    assert_eq!(told, ("Warning".to_owned(), note.to_owned()));
    // It runs on as it was made.
    let still = rolled_out(&admin, ns, "chat").await?;
    assert_eq!(still[0]["metadata"]["uid"], first[0]["metadata"]["uid"]);
    assert_eq!(wirings(&still), [wired(ns, "kv", 5555)]);

    assert_eq!(wirings(&restarted(&admin, ns, "chat").await?), [wired(ns, "kv", 6000)]);
    clients(&admin, ENGINE, (ns, "kv"), [1, 0, 0, 0]).await?;
    Ok(())
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn a_deleted_engine_leaves_its_clients_running() -> Result<()> {
    let ns = "deleted";
    let (_, admin) = served(ns).await?;
    node(&admin, ns, 0).await?;
    admin.apply(&engine(ns, "kv", ns)).await?;
    runs(&admin, ns, "kv", 1).await?;
    admin.apply(&deployment(ns, "chat", 1, opted_in(ns, "kv"))).await?;
    let first = rolled_out(&admin, ns, "chat").await?.remove(0);
    admin.delete(ENGINE, ns, "kv").await?;
    wait_until("the servers and the connection are gone", LIMIT, async || {
        let left = admin.find("ConfigMap", ns, "kv-connection").await?;
        ensure!(left.is_none(), "the ConfigMap is there");
        let servers = admin.list("Pod", ns, "app.kubernetes.io/instance=kv").await?;
        ensure!(servers.is_empty(), "{} servers", servers.len());
        Ok(())
    })
    .await?;

    let two = json!({"spec": {"replicas": 2}});
    admin.patch("Deployment", ns, "chat", &two).await?;
    let both = rolled_out(&admin, ns, "chat").await?;
    let (old, new): (Vec<&Value>, Vec<&Value>) = both
        .iter()
        .partition(|pod| pod["metadata"]["uid"] == first["metadata"]["uid"]);
    let (old, new) = (old[0], new[0]);
    assert_eq!((&old["spec"], &old["status"]), (&first["spec"], &first["status"]));
    assert_eq!(wiring(old), wired(ns, "kv", 5555));
    assert_eq!(wiring(new), skipped("kv", "engine-not-found"));

    // Made anew as it was, it has its old client back, and is told of the other.
    admin.apply(&engine(ns, "kv", ns)).await?;
    runs(&admin, ns, "kv", 1).await?;
    clients(&admin, ENGINE, (ns, "kv"), [1, 1, 0, 0]).await?;
    Ok(())
}
