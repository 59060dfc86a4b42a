//! Watches that cannot go on from what they saw last.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use control_plane::{Cluster, ControlPlane, Controller, Identity, Program, wait_until};
use serde_json::json;

use crate::shared::{CHILDREN, LIMIT, children, engine, installed, node, runs};
use crate::{TURN, changes};

/// How often the controllers listed each resource so far.
fn lists(plane: &ControlPlane) -> Result<BTreeMap<String, usize>> {
    let audit = plane.audit()?;
    let counts = audit.counts(Identity::Controller.user()).into_iter();
    let lists = counts.filter(|((verb, _), _)| *verb == "list");
    Ok(lists
        .map(|((_, resource), count)| (resource.to_owned(), count))
        .collect())
}

/// What is watched, and by how many watches.
const WATCHES: [(&str, usize); 10] = [
    ("lmcacheengines", 1),
    ("cacheblendengines", 1),
    ("lmcachecoordinators", 1),
    ("configmaps", 1),
    ("daemonsets", 1),
    ("deployments", 1),
    ("secrets", 1),
    ("services", 1),
    ("servicemonitors", 1),
    // Those of servers, and those that opted in to each system.
    ("pods", 3),
];

/// Waits until the garbage collector has deleted the children of the engine `gone`.
async fn gone(admin: &Cluster, ns: &str) -> Result<()> {
    wait_until("the children of the deleted engine are gone", LIMIT, async || {
        for (kind, suffix) in CHILDREN {
            let child = admin.find(kind, ns, &format!("gone{suffix}")).await?;
            ensure!(child.is_none(), "{kind} gone{suffix} is there");
        }
        Ok(())
    })
    .await
}

/// Waits until nothing is going on any more, and then changes something else: so that what the API server knows when it
/// starts is newer than what the controller saw, or will find in its buffers.
async fn settled(admin: &Cluster, ns: &str) -> Result<()> {
    wait_until("the DaemonSets have their status", LIMIT, async || {
        for (name, available) in [("still", 1), ("changed", 0), ("gone", 0)] {
            let status = admin.get("DaemonSet", ns, name).await?["status"].take();
            ensure!(status["observedGeneration"] == 1, "{name}: {status}");
            ensure!(
                status["updatedNumberScheduled"].as_u64().unwrap_or_default() == available,
                "{name}: {status}"
            );
            ensure!(
                status["numberAvailable"].as_u64().unwrap_or_default() == available,
                "{name}: {status}"
            );
        }
        Ok(())
    })
    .await?;
    admin.namespace("expired-too").await
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn watches_have_expired() -> Result<()> {
    let ns = "expired";
    // Its own, so that each list is of one page, which is one request.
    let _turn = TURN.lock().await;
    let plane = &installed().await?;
    let admin = plane.cluster(Identity::Admin).await?;
    admin.namespace(ns).await?;
    let debug = "--log-level=info,lmcache_controller::watch=debug";
    let mut controller = Controller::start(plane, "expired-0", &[debug]).await?;
    node(&admin, ns, 0).await?;
    admin.apply(&engine(ns, "still", ns)).await?;
    for name in ["changed", "gone"] {
        admin.apply(&engine(ns, name, "nowhere")).await?;
        children(&admin, ns, name).await?;
    }
    let before = children(&admin, ns, "still").await?;
    runs(&admin, ns, "still", 1).await?;
    let (listed, written) = (lists(plane)?, changes(plane, ns, "daemonsets")?);

    // Its connections end, and the new API server remembers nothing from before its own start: a watch cannot go on from
    // what the controller saw last. What happens now it has to find out otherwise.
    controller.pause()?;
    settled(&admin, ns).await?;
    // Killed: in good order it would wait for the controller's watches to end.
    plane.kill(Program::ApiServer);
    plane.restart(Program::ApiServer).await?;
    // Else the garbage collector takes half a minute to find the new one.
    plane.restart(Program::ControllerManager).await?;
    let admin = plane.cluster(Identity::Admin).await?;
    admin.apply(&engine(ns, "later", "nowhere")).await?;
    let port = json!({"spec": {"server": {"port": 6001}}});
    admin.patch("LMCacheEngine", ns, "changed", &port).await?;
    admin.delete("LMCacheEngine", ns, "gone").await?;
    admin.delete("Service", ns, "still").await?;
    node(&admin, ns, 1).await?;
    gone(&admin, ns).await?;
    controller.resume()?;

    runs(&admin, ns, "still", 2).await?;
    children(&admin, ns, "later").await?;
    let after = children(&admin, ns, "still").await?;
    let changed = wait_until("the port is changed everywhere", LIMIT, async || {
        let changed = children(&admin, ns, "changed").await?;
        ensure!(changed[1]["spec"]["ports"][0]["port"] == 6001, "{}", changed[1]["spec"]);
        let connection = changed[3]["data"]["kv-transfer-config.json"].as_str().unwrap();
        ensure!(connection.contains("6001"), "{connection}");
        Ok(changed)
    })
    .await?;
    assert_eq!(changed[0]["metadata"]["generation"], 2);
    // The DaemonSet was not touched; the Service is another one.
    assert_eq!(after[0]["metadata"]["uid"], before[0]["metadata"]["uid"]);
    assert_eq!(after[0]["metadata"]["generation"], 1);
    assert_ne!(after[1]["metadata"]["uid"], before[1]["metadata"]["uid"]);
    let mut sets = changes(plane, ns, "daemonsets")?.split_off(written.len());
    // The watches find out one after another: an engine that is gone can look as if its children alone were, and be given
    // new ones, until its own watch has listed. Kubernetes deletes them like the others.
    sets.retain(|name| name != "gone");
    sets.sort();
    assert_eq!(sets, ["changed", "later"]);

    // Each watch listed once more, and said why.
    let counts = WATCHES.map(|(resource, watches)| (resource.to_owned(), listed[resource] + watches));
    wait_until("each watch has listed again", LIMIT, async || {
        let lists = lists(plane)?;
        ensure!(lists == counts.clone().into(), "{lists:?}, first {listed:?}");
        Ok(())
    })
    .await?;
    let expired = controller.log()?.matches("watch expired, listing again").count();
    assert_eq!(expired, 12);
    controller.check()?;
    gone(&admin, ns).await?;
    for (kind, count) in [("DaemonSet", 3), ("Service", 6), ("ConfigMap", 3)] {
        let objects = admin
            .list(kind, ns, "app.kubernetes.io/managed-by=lmcache-operator")
            .await?;
        assert_eq!(objects.len(), count, "{kind}");
    }
    Ok(())
}
