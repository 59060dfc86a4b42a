//! Every alert fires once, on a real cause, and is silent at rest.

use std::time::Duration;

use anyhow::{Result, ensure};
use control_plane::cluster::repository;
use control_plane::{Cluster, ControlPlane, Controller, Identity, Policy, PolicyServer, Program, wait_until};
use serde_json::{Value, json};

use crate::shared::policies::in_force;
use crate::shared::workloads::{clients, deployment, opted_in, pod};
use crate::shared::{LIMIT, engine, installed, node, runs};
use crate::watched::{Servers, Watched, controller};

/// The namespace, and the pool of its nodes.
const NS: &str = "watched";
const ELECTS: [&str; 2] = ["--leader-elect", "--lease-namespace=lmcache-system"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "starts a control plane: make e2e"]
async fn every_alert_fires_on_a_real_cause_and_is_silent_at_rest() -> Result<()> {
    let plane = installed().await?;
    let admin = plane.cluster(Identity::Admin).await?;
    admin.namespace(NS).await?;
    let policies = PolicyServer::start(&plane, "policies", &Policy::deployed()?, &[]).await?;
    policies.install()?;
    in_force(&admin).await?;
    node(&admin, NS, 0).await?;
    node(&admin, NS, 1).await?;
    let first = Controller::start(&plane, "alerts-0", &ELECTS).await?;
    admin.apply(&engine(NS, "kv", NS)).await?;
    runs(&admin, NS, "kv", 2).await?;
    admin.apply(&deployment(NS, "chat", 2, opted_in(NS, "kv"))).await?;
    clients(&admin, "LMCacheEngine", (NS, "kv"), [2, 0, 0, 0]).await?;
    let servers = Servers::start().await?;
    let watched = Watched::start(&plane).await?;
    let mut targets = servers.targets(NS, "kv", &["kv-a", "kv-b"]);
    targets.push(controller(&first, "alerts-0"));
    watched.prometheus.scrape(&targets)?;

    watched
        .has(r#"count(lmcache_controller_condition{name="kv"}) == 6"#)
        .await?;
    watched.has(r#"sum(up{service="kv-metrics"}) == 2"#).await?;
    watched.has("lmcache_controller_leader == 1").await?;
    // Longer than any rule waits.
    watched.silent(Duration::from_secs(12)).await?;
    the_dashboard_shows(&watched).await?;

    of_clients(&watched, &admin).await?;
    servers.stop().await;
    watched
        .fires("LMCacheScrapeDown", &[("namespace", NS), ("name", "kv")])
        .await?;
    of_engines(&watched, &admin).await?;
    denied(&watched, &admin).await?;

    let second = Controller::start(&plane, "alerts-1", &[]).await?;
    let both = [controller(&first, "alerts-0"), controller(&second, "alerts-1")];
    watched.prometheus.scrape(&both)?;
    watched.fires("LMCacheControllerSeveralLeaders", &[]).await?;
    first.stop()?;

    policies.uninstall()?;
    unguarded(&watched, &admin).await?;
    second.stop()?;
    overloaded(&watched, &plane, &admin).await?;
    leaderless(&watched, &plane).await?;
    watched.fires("LMCacheControllerDown", &[]).await?;
    assert_eq!(watched.unseen()?, [""; 0]);
    Ok(())
}

/// Every query of the dashboard is one that Prometheus answers, and most of them with something.
async fn the_dashboard_shows(watched: &Watched) -> Result<()> {
    let text = std::fs::read_to_string(repository().join("deploy/monitoring/dashboard.json"))?;
    let dashboard: Value = serde_json::from_str(&text)?;
    let (mut queries, mut empty) = (0, Vec::new());
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let query = target["expr"].as_str().unwrap();
            let query = query.replace("$__rate_interval", "1m");
            let query = query.replace("$namespace", ".*").replace("$name", ".*");
            queries += 1;
            if watched.prometheus.query(&query)?.is_empty() {
                empty.push(panel["title"].as_str().unwrap().to_owned());
            }
        }
    }
    ensure!(queries > 20, "{queries} queries");
    // What is about something wrong.
    let expected = [
        "Alerts",
        "Instances missing",
        "What is wrong",
        "Skipped by reason",
        "Failed steps",
    ];
    empty.retain(|title| !expected.contains(&title.as_str()));
    ensure!(empty.is_empty(), "nothing is shown by {empty:?}");
    Ok(())
}

async fn of_clients(watched: &Watched, admin: &Cluster) -> Result<()> {
    // A node where the engine does not run.
    node(admin, "bare", 0).await?;
    admin.apply(&deployment(NS, "stray", 1, opted_in("bare", "kv"))).await?;
    let said = watched.fires("LMCacheNodeUncovered", &[("engine", "kv")]).await?;
    assert_eq!(
        said["summary"],
        "Pods of LMCacheEngine watched/kv run on nodes without a ready server (1)."
    );
    admin.delete("Deployment", NS, "stray").await?;
    watched.over("LMCacheNodeUncovered").await?;

    let mut shell = opted_in(NS, "kv");
    shell["spec"]["containers"][0]["command"] = json!(["sh", "-c"]);
    shell["spec"]["containers"][0]["args"] = json!(["vllm serve org/model-8b | tee /log"]);
    admin.apply(&deployment(NS, "shell", 1, shell)).await?;
    let reason = [("engine", "kv"), ("reason", "command-override")];
    watched.fires("LMCacheClientsSkipped", &reason).await?;

    let port = json!({"spec": {"server": {"port": 6000}}});
    admin.patch("LMCacheEngine", NS, "kv", &port).await?;
    watched.fires("LMCacheClientsDrifted", &[("engine", "kv")]).await?;
    Ok(())
}

async fn of_engines(watched: &Watched, admin: &Cluster) -> Result<()> {
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"},
        "metadata": {"namespace": NS, "name": "foreign-connection"}});
    admin.apply(&theirs).await?;
    admin.apply(&engine(NS, "foreign", NS)).await?;
    let reason = [("name", "foreign"), ("reason", "ForeignObject")];
    watched.fires("LMCacheNotReconciled", &reason).await?;
    admin.delete("LMCacheEngine", NS, "foreign").await?;
    let gone = r#"absent({__name__=~"lmcache_controller_(condition|instances_.+)",name="foreign"})"#;
    watched.has(gone).await?;

    let mut failing = engine(NS, "down", NS);
    failing["spec"]["podAnnotations"] = json!({"e2e.lmcache.ai/life": "crash"});
    admin.apply(&failing).await?;
    watched.fires("LMCacheNoReadyInstance", &[("name", "down")]).await?;
    let said = watched.fires("LMCacheNotReady", &[("name", "down")]).await?;
    let said = said["description"].as_str().unwrap();
    assert!(said.contains(" is not True (InstancesFailing): "), "{said}");

    // A rollout that fails at its first server.
    admin.apply(&engine(NS, "half", NS)).await?;
    runs(admin, NS, "half", 2).await?;
    let crash = json!({"spec": {"podAnnotations": {"e2e.lmcache.ai/life": "crash"}}});
    admin.patch("LMCacheEngine", NS, "half", &crash).await?;
    watched.fires("LMCacheDegraded", &[("name", "half")]).await?;

    let login = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": NS, "name": "redis-login"},
        "stringData": {"password": "hunter2"}});
    admin.apply(&login).await?;
    let mut redis = engine(NS, "redis", NS);
    redis["spec"]["l2Backend"] =
        json!({"resp": {"host": "redis.test", "port": 6379, "authSecretRef": {"name": "redis-login"}}});
    admin.apply(&redis).await?;
    runs(admin, NS, "redis", 2).await?;
    // Times of Kubernetes are whole seconds.
    tokio::time::sleep(Duration::from_secs(2)).await;
    // Not the login itself, which would be rolled out.
    let note = json!({"stringData": {"note": "a"}});
    admin.patch("Secret", NS, "redis-login", &note).await?;
    watched.fires("LMCacheRestartNeeded", &[("name", "redis")]).await?;
    Ok(())
}

/// The controller lacks a right for a while.
async fn denied(watched: &Watched, admin: &Cluster) -> Result<()> {
    let role = admin.get("ClusterRole", "", "lmcache-controller").await?;
    let mut rules = role["rules"].clone();
    for rule in rules.as_array_mut().unwrap() {
        if rule["resources"] == json!(["services"]) {
            rule["verbs"] = json!(["get", "list", "watch"]);
        }
    }
    assert_ne!(rules, role["rules"]);
    admin
        .patch("ClusterRole", "", "lmcache-controller", &json!({"rules": rules}))
        .await?;
    admin.apply(&engine(NS, "denied", "nowhere")).await?;
    let step = [("kind", "LMCacheEngine"), ("step", "Service"), ("reason", "Forbidden")];
    watched.fires("LMCacheReconcileFailing", &step).await?;
    admin
        .patch(
            "ClusterRole",
            "",
            "lmcache-controller",
            &json!({"rules": role["rules"]}),
        )
        .await?;
    Ok(())
}

/// Without policies: an engine that they would have refused, and a Pod that they would have wired.
async fn unguarded(watched: &Watched, admin: &Cluster) -> Result<()> {
    let mut faulty = engine(NS, "faulty", NS);
    // The port of the HTTP server.
    faulty["spec"]["server"] = json!({"port": 8080});
    wait_until("the policies are out of force", LIMIT, async || {
        admin.apply(&faulty).await
    })
    .await?;
    watched.fires("LMCacheSpecInvalid", &[("name", "faulty")]).await?;
    admin.apply(&pod(NS, "unwired", opted_in(NS, "kv"))).await?;
    watched.fires("LMCacheClientsNotSeen", &[("engine", "kv")]).await?;
    Ok(())
}

/// The API server halts while there is work, and then dies.
async fn overloaded(watched: &Watched, plane: &ControlPlane, admin: &Cluster) -> Result<()> {
    const ENGINES: usize = 60;
    for number in 0..ENGINES {
        admin.apply(&engine(NS, &format!("many-{number}"), "nowhere")).await?;
    }
    let busy = Controller::start(plane, "alerts-2", &["--concurrency=1"]).await?;
    plane.pause(Program::ApiServer)?;
    watched.prometheus.scrape(&[controller(&busy, "alerts-2")])?;
    let queue = watched
        .fires("LMCacheControllerQueueStuck", &[("kind", "LMCacheEngine")])
        .await;
    // Before anything else: a halted server answers no test either.
    plane.resume(Program::ApiServer)?;
    queue?;
    plane.kill(Program::ApiServer);
    let watch = watched.fires("LMCacheControllerWatchFailing", &[]).await;
    plane.restart(Program::ApiServer).await?;
    watch?;
    busy.stop()
}

/// A Lease that somebody holds who is not there; then no controller at all.
async fn leaderless(watched: &Watched, plane: &ControlPlane) -> Result<()> {
    let admin = plane.cluster(Identity::Admin).await?;
    let held = json!({"spec": {"holderIdentity": "gone", "leaseDurationSeconds": 3600}});
    wait_until("the Lease is taken", LIMIT, async || {
        admin
            .patch("Lease", "lmcache-system", "lmcache-controller", &held)
            .await
    })
    .await?;
    let idle = Controller::start(plane, "alerts-3", &ELECTS).await?;
    watched.prometheus.scrape(&[controller(&idle, "alerts-3")])?;
    watched.fires("LMCacheControllerNoLeader", &[]).await?;
    idle.kill();
    Ok(())
}
