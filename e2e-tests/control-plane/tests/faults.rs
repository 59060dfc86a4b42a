//! Processes die, halt and come back; the end is right each time, and nothing is there twice.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod shared;
#[path = "faults/watches.rs"]
mod watches;

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use control_plane::{Cluster, ControlPlane, Controller, Identity, Policy, PolicyServer, Program, wait_until};
use serde_json::{Value, json};
use shared::policies::{in_force, refused};
use shared::workloads::{clients, deployment, opted_in, restarted, rolled_out, untouched, wired, wiring};
use shared::{LIMIT, children, engine, installed, node, runs};
use tokio::sync::{Mutex, MutexGuard, OnceCell};

/// The tests share a control plane and break it in turn.
static TURN: Mutex<()> = Mutex::const_new(());
/// Never a given cluster.
static PLANE: OnceCell<ControlPlane> = OnceCell::const_new();

async fn turn(namespace: &str) -> Result<(MutexGuard<'static, ()>, &'static ControlPlane, Cluster)> {
    let turn = TURN.lock().await;
    let plane = PLANE.get_or_try_init(installed).await?;
    let admin = plane.cluster(Identity::Admin).await?;
    admin.namespace(namespace).await?;
    Ok((turn, plane, admin))
}

/// Every request of a controller that made or changed a child in a namespace, by kind and name.
fn changes(plane: &ControlPlane, namespace: &str, resource: &str) -> Result<Vec<String>> {
    let audit = plane.audit()?;
    let writes = audit.writes(Identity::Controller.user());
    let about = writes
        .into_iter()
        .filter(|write| write.namespace == namespace && write.resource == resource);
    Ok(about
        .filter(|write| write.code < 300)
        .map(|write| write.name.clone())
        .collect())
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn a_controller_killed_in_the_middle_of_its_work() -> Result<()> {
    let ns = "killed";
    const ENGINES: usize = 40;
    let (_turn, plane, admin) = turn(ns).await?;
    for number in 0..ENGINES {
        admin.apply(&engine(ns, &format!("kv-{number}"), "nowhere")).await?;
    }
    let first = Controller::start(plane, "killed-0", &["--concurrency=1"]).await?;
    wait_until("some children are there", LIMIT, async || {
        ensure!(admin.list("DaemonSet", ns, "").await?.len() >= 3, "not yet");
        Ok(())
    })
    .await?;
    first.kill();
    let half = admin.list("DaemonSet", ns, "").await?.len();
    let _second = Controller::start(plane, "killed-1", &[]).await?;
    for number in 0..ENGINES {
        children(&admin, ns, &format!("kv-{number}")).await?;
    }
    // Counted so that a machine on which the kill came too late does not pass for one on which it was tried.
    assert!(half < ENGINES, "all {half} were there already");
    let sets = admin.list("DaemonSet", ns, "").await?;
    assert_eq!(sets.len(), ENGINES);
    assert!(sets.iter().all(|set| set["metadata"]["generation"] == 1));
    for (kind, count) in [("Service", 2 * ENGINES), ("ConfigMap", ENGINES)] {
        let objects = admin
            .list(kind, ns, "app.kubernetes.io/managed-by=lmcache-operator")
            .await?;
        assert_eq!(objects.len(), count, "{kind}");
    }
    Ok(())
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn the_api_server_is_started_anew_and_the_store_halts() -> Result<()> {
    let ns = "restarted";
    let (_turn, plane, admin) = turn(ns).await?;
    let mut controller = Controller::start(plane, "restarted-0", &[]).await?;
    node(&admin, ns, 0).await?;
    admin.apply(&engine(ns, "kv", ns)).await?;
    runs(&admin, ns, "kv", 1).await?;
    let set = admin.get("DaemonSet", ns, "kv").await?;

    plane.restart(Program::ApiServer).await?;
    let admin = plane.cluster(Identity::Admin).await?;
    controller.check()?;
    admin.apply(&engine(ns, "later", ns)).await?;
    runs(&admin, ns, "later", 1).await?;
    runs(&admin, ns, "kv", 1).await?;

    plane.pause(Program::Etcd)?;
    let halted = engine(ns, "halted", ns);
    let taken = tokio::time::timeout(Duration::from_secs(8), admin.create(&halted, "test")).await;
    assert!(
        !matches!(taken, Ok(Ok(_))),
        "nothing is stored while the store is halted"
    );
    plane.resume(Program::Etcd)?;
    wait_until("the API server answers", LIMIT, async || admin.ready().await).await?;
    wait_until("an engine is taken", LIMIT, async || {
        admin.apply(&engine(ns, "last", ns)).await
    })
    .await?;
    runs(&admin, ns, "last", 1).await?;
    controller.check()?;
    let after = admin.get("DaemonSet", ns, "kv").await?;
    assert_eq!(after["metadata"]["generation"], set["metadata"]["generation"]);
    assert_eq!(after["metadata"]["uid"], set["metadata"]["uid"]);
    Ok(())
}

async fn leader(admin: &Cluster) -> Result<String> {
    let lease = admin.get("Lease", "lmcache-system", "lmcache-controller").await?;
    Ok(lease["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn of_two_controllers_one_works_and_the_other_takes_over() -> Result<()> {
    let ns = "elected";
    let (_turn, plane, admin) = turn(ns).await?;
    let elect = ["--leader-elect", "--lease-namespace=lmcache-system"];
    let first = Controller::start(plane, "elected-0", &elect).await?;
    wait_until("the first leads", LIMIT, async || {
        let leader = leader(&admin).await?;
        ensure!(leader == "elected-0", "{leader} leads");
        Ok(())
    })
    .await?;
    let second = Controller::start(plane, "elected-1", &elect).await?;
    admin.apply(&engine(ns, "one", "nowhere")).await?;
    children(&admin, ns, "one").await?;
    assert_eq!(leader(&admin).await?, "elected-0");

    // Halted, not dead: it believes to lead when it goes on, and must not write any more.
    first.pause()?;
    wait_until("the second leads", LIMIT, async || {
        let leader = leader(&admin).await?;
        ensure!(leader == "elected-1", "{leader} leads");
        Ok(())
    })
    .await?;
    admin.apply(&engine(ns, "two", "nowhere")).await?;
    children(&admin, ns, "two").await?;
    first.resume()?;
    let mut first = first;
    let ended = wait_until("the first gives up", LIMIT, async || {
        ensure!(first.check().is_err(), "it runs");
        Ok(first.check().unwrap_err().to_string())
    })
    .await?;
    assert!(ended.contains("is no longer the leader"), "{ended}");
    assert_eq!(leader(&admin).await?, "elected-1");

    // Ended with SIGTERM, it gives the Lease back: the next one leads at once.
    let third = Controller::start(plane, "elected-2", &elect).await?;
    second.stop()?;
    wait_until("the third leads", Duration::from_secs(10), async || {
        let leader = leader(&admin).await?;
        ensure!(leader == "elected-2", "{leader} leads");
        Ok(())
    })
    .await?;
    admin.apply(&engine(ns, "three", "nowhere")).await?;
    children(&admin, ns, "three").await?;

    // Each DaemonSet was written once, whoever led.
    let sets = changes(plane, ns, "daemonsets")?;
    let names: BTreeSet<&String> = sets.iter().collect();
    assert_eq!((sets.len(), names.len()), (3, 3), "{sets:?}");
    let sets = admin.list("DaemonSet", ns, "").await?;
    let generations: Vec<&Value> = sets.iter().map(|set| &set["metadata"]["generation"]).collect();
    assert_eq!(generations, [1, 1, 1]);
    third.stop().context("the third")?;
    Ok(())
}

/// Takes the webhooks away when the test ends, however it ends: other tests need the API server.
struct Installed(PolicyServer);

impl Drop for Installed {
    fn drop(&mut self) {
        if let Err(error) = self.0.uninstall() {
            eprintln!("webhooks stay: {error:#}");
        }
    }
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn the_policies_are_killed_and_come_back() -> Result<()> {
    let ns = "policies-down";
    let (_turn, plane, admin) = turn(ns).await?;
    let server = PolicyServer::start(plane, "faults", &Policy::deployed()?, &[]).await?;
    server.install()?;
    let mut server = Installed(server);
    in_force(&admin).await?;
    let _controller = Controller::start(plane, "outage-0", &[]).await?;
    node(&admin, ns, 0).await?;
    admin.apply(&engine(ns, "kv", ns)).await?;
    runs(&admin, ns, "kv", 1).await?;

    server.0.kill();
    let refusal =
        "Internal error occurred: failed calling webhook \"kw.cap.lmcache-engine-validation.kubewarden.admission\": ";
    let port = json!({"spec": {"server": {"port": 6001}}});
    for answer in [
        admin.apply(&engine(ns, "later", ns)).await,
        admin.patch("LMCacheEngine", ns, "kv", &port).await,
    ] {
        let (code, message) = refused(answer)?;
        assert!(code == 500 && message.starts_with(refusal), "{code}: {message}");
    }
    assert_eq!(admin.find("LMCacheEngine", ns, "later").await?, None);
    // What is about no specification goes on: status, metadata, deletion.
    node(&admin, ns, 1).await?;
    runs(&admin, ns, "kv", 2).await?;
    let note = json!({"metadata": {"annotations": {"note": "a"}}});
    admin.patch("LMCacheEngine", ns, "kv", &note).await?;
    // Serving does too, without the cache.
    admin.apply(&deployment(ns, "chat", 1, opted_in(ns, "kv"))).await?;
    let pods = rolled_out(&admin, ns, "chat").await?;
    let asks = json!({"lmcache.ai/lmcache-engine": "kv"});
    assert_eq!(wiring(&pods[0]), untouched(asks));
    let before = clients(&admin, "LMCacheEngine", (ns, "kv"), [0, 1, 0, 0]).await?;
    assert_eq!(before["spec"]["server"], Value::Null);

    server.0.restart().await?;
    // Whoever applies has to try again, as kubectl, Argo CD and Flux do.
    wait_until("an engine is taken again", LIMIT, async || {
        admin.apply(&engine(ns, "later", ns)).await
    })
    .await?;
    runs(&admin, ns, "later", 2).await?;
    let pods = restarted(&admin, ns, "chat").await?;
    assert_eq!(wiring(&pods[0]), wired(ns, "kv", 5555));
    clients(&admin, "LMCacheEngine", (ns, "kv"), [1, 0, 0, 0]).await?;
    // Judged again, too.
    let faulty = json!({"spec": {"server": {"port": 80}}});
    assert_eq!(refused(admin.patch("LMCacheEngine", ns, "kv", &faulty).await)?.0, 422);
    assert_eq!(admin.list("DaemonSet", ns, "").await?.len(), 2);
    Ok(())
}
