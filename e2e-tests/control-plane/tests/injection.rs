//! From a Deployment that opts in to Pods that are wired, and what the engine says about its clients: the controllers of
//! Kubernetes make the Pods, the deployed policies are asked by the API server, our controller counts.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

#[path = "injection/later.rs"]
mod later;
mod shared;

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use control_plane::cluster::condition;
use control_plane::{Cluster, PolicyServer, wait_until};
use serde_json::{Value, json};
use shared::policies::{denied_by, policies};
use shared::workloads::{
    clients, connection, deployment, event, job, opted_in, pod, pods, rolled_out, stateful_set, template, untouched,
    wired, wiring,
};
use shared::{LIMIT, controlled, engine, node, runs};
use tokio::time::sleep;

const ENGINE: &str = "LMCacheEngine";

/// A namespace with policies and controller at work.
async fn served(namespace: &str) -> Result<(&'static PolicyServer, Cluster)> {
    let (plane, admin) = controlled(namespace).await?;
    Ok((policies(plane).await?, admin))
}

fn wirings(pods: &[Value]) -> Vec<Value> {
    pods.iter().map(wiring).collect()
}

/// Waits until one Pod with the label `app` is there and its phase is this; returns it.
async fn one(admin: &Cluster, namespace: &str, app: &str, phase: &str) -> Result<Value> {
    wait_until(&format!("one Pod of {namespace}/{app} is {phase}"), LIMIT, async || {
        let mut pods = pods(admin, namespace, app).await?;
        ensure!(pods.len() == 1, "{} Pods", pods.len());
        ensure!(pods[0]["status"]["phase"] == phase, "{}", pods[0]["status"]);
        Ok(pods.remove(0))
    })
    .await
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn a_deployment_is_wired_beside_its_servers_and_counted() -> Result<()> {
    let ns = "wired";
    let (_, admin) = served(ns).await?;
    node(&admin, ns, 0).await?;
    admin.apply(&engine(ns, "kv", ns)).await?;
    let running = runs(&admin, ns, "kv", 1).await?;
    let chat = admin.apply(&deployment(ns, "chat", 2, opted_in(ns, "kv"))).await?;
    let pods = rolled_out(&admin, ns, "chat").await?;
    assert_eq!(wirings(&pods), [wired(ns, "kv", 5555), wired(ns, "kv", 5555)]);
    // It is the very text that people can mount themselves.
    let connection = admin.get("ConfigMap", ns, "kv-connection").await?;
    let text = &connection["data"]["kv-transfer-config.json"];
    for pod in &pods {
        assert_eq!(pod["spec"]["containers"][0]["args"][3], *text);
        assert_eq!(pod["spec"]["nodeName"], running["status"]["endpoints"][0]["nodeName"]);
        assert_eq!(pod["status"]["phase"], "Running");
    }
    // Nothing of it goes back into what the user wrote.
    let template = &admin.get("Deployment", ns, "chat").await?["spec"]["template"];
    assert_eq!(*template, chat["spec"]["template"]);

    let counted = clients(&admin, ENGINE, (ns, "kv"), [2, 0, 0, 0]).await?;
    let covered = condition(&counted, "ClientsCovered").context("no condition ClientsCovered")?;
    assert_eq!(
        (&covered["status"], &covered["reason"]),
        (&json!("True"), &json!("AllCovered"))
    );
    let one = json!({"spec": {"replicas": 1}});
    admin.patch("Deployment", ns, "chat", &one).await?;
    clients(&admin, ENGINE, (ns, "kv"), [1, 0, 0, 0]).await?;
    admin.delete("Deployment", ns, "chat").await?;
    let counted = clients(&admin, ENGINE, (ns, "kv"), [0, 0, 0, 0]).await?;
    assert_eq!(condition(&counted, "ClientsCovered").unwrap()["reason"], "NoClients");
    Ok(())
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn stateful_sets_and_jobs_are_wired_as_well() -> Result<()> {
    let ns = "others";
    let (_, admin) = served(ns).await?;
    node(&admin, ns, 0).await?;
    admin.apply(&engine(ns, "kv", ns)).await?;
    runs(&admin, ns, "kv", 1).await?;
    admin.apply(&stateful_set(ns, "chat", 1, opted_in(ns, "kv"))).await?;
    admin.apply(&job(ns, "batch", opted_in(ns, "kv"))).await?;
    let chat = one(&admin, ns, "chat", "Running").await?;
    assert_eq!(chat["metadata"]["name"], "chat-0");
    assert_eq!(wiring(&chat), wired(ns, "kv", 5555));
    let batch = one(&admin, ns, "batch", "Succeeded").await?;
    assert_eq!(wiring(&batch), wired(ns, "kv", 5555));
    // The Job controller takes its finalizer off the Pod before it counts it: the guard does not mind.
    wait_until("the Job is complete", LIMIT, async || {
        let job = admin.get("Job", ns, "batch").await?;
        ensure!(
            job["status"]["succeeded"] == 1 && condition(&job, "Complete").is_some(),
            "{}",
            job["status"]
        );
        Ok(())
    })
    .await?;
    // What has ended is no client.
    clients(&admin, ENGINE, (ns, "kv"), [1, 0, 0, 0]).await?;
    Ok(())
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn engine_and_deployment_in_one_apply() -> Result<()> {
    let ns = "together";
    const PAIRS: usize = 6;
    let (_, admin) = served(ns).await?;
    node(&admin, ns, 0).await?;
    // Nothing is waited for: Pods come while the controller makes children, of one engine or another.
    for number in 0..PAIRS {
        let (kv, chat) = (format!("kv-{number}"), format!("chat-{number}"));
        let mut template = opted_in(ns, &kv);
        if number % 2 == 1 {
            template["metadata"]["annotations"]["lmcache.ai/on-missing-engine"] = "Deny".into();
        }
        admin.apply(&engine(ns, &kv, ns)).await?;
        admin.apply(&deployment(ns, &chat, 1, template)).await?;
    }
    for number in 0..PAIRS {
        let (kv, chat) = (format!("kv-{number}"), format!("chat-{number}"));
        let pods = rolled_out(&admin, ns, &chat).await?;
        let mut expected = wired(ns, &kv, 5555);
        if number % 2 == 1 {
            expected["annotations"]["lmcache.ai/on-missing-engine"] = "Deny".into();
        }
        assert_eq!(wirings(&pods), [expected]);
        clients(&admin, ENGINE, (ns, &kv), [1, 0, 0, 0]).await?;
        // The text from the engine is that of the ConfigMap, whichever was there.
        let stored = admin.get("ConfigMap", ns, &format!("{kv}-connection")).await?;
        assert_eq!(
            pods[0]["spec"]["containers"][0]["args"][3],
            stored["data"]["kv-transfer-config.json"]
        );
    }
    // No Pod was refused on the way.
    let events = admin.list("Event", ns, "").await?;
    let failed: Vec<&Value> = events
        .iter()
        .filter(|event| event["reason"] == "FailedCreate")
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
    Ok(())
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn a_deployment_that_waits_for_its_engine() -> Result<()> {
    let ns = "waits";
    let (_, admin) = served(ns).await?;
    node(&admin, ns, 0).await?;
    let mut template = opted_in(ns, "kv");
    template["metadata"]["annotations"]["lmcache.ai/on-missing-engine"] = "Deny".into();
    admin.apply(&deployment(ns, "chat", 2, template)).await?;
    let message = denied_by(
        "lmcache-pod-injection",
        "engine-not-found: LMCacheEngine waits/kv does not exist; create it first, then recreate the Pod",
    );
    // Where people look: the Deployment, its ReplicaSet, and the Events.
    let set = wait_until("the refusal is told", LIMIT, async || {
        let deployment = admin.get("Deployment", ns, "chat").await?;
        let set = admin
            .list("ReplicaSet", ns, "app=chat")
            .await?
            .pop()
            .context("no ReplicaSet")?;
        for object in [&deployment, &set] {
            let failure = condition(object, "ReplicaFailure").context("no condition ReplicaFailure")?;
            ensure!(
                failure["status"] == "True" && failure["reason"] == "FailedCreate" && failure["message"] == message,
                "{failure}"
            );
        }
        Ok(set)
    })
    .await?;
    let name = set["metadata"]["name"].as_str().unwrap();
    let told = event(&admin, ns, "ReplicaSet", name, "FailedCreate").await?;
    assert_eq!(told, ("Warning".to_owned(), format!("Error creating: {message}")));
    sleep(Duration::from_secs(3)).await;
    assert!(pods(&admin, ns, "chat").await?.is_empty());

    admin.apply(&engine(ns, "kv", ns)).await?;
    let pods = rolled_out(&admin, ns, "chat").await?;
    let mut expected = wired(ns, "kv", 5555);
    expected["annotations"]["lmcache.ai/on-missing-engine"] = "Deny".into();
    assert_eq!(wirings(&pods), [expected.clone(), expected]);
    // By the same ReplicaSet: nobody had to do anything.
    for pod in &pods {
        assert_eq!(pod["metadata"]["ownerReferences"][0]["uid"], set["metadata"]["uid"]);
    }
    clients(&admin, ENGINE, (ns, "kv"), [2, 0, 0, 0]).await?;
    wait_until("the refusal is forgotten", LIMIT, async || {
        let deployment = admin.get("Deployment", ns, "chat").await?;
        let failure = condition(&deployment, "ReplicaFailure");
        ensure!(failure.is_none(), "{failure:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn pods_that_did_not_opt_in_are_never_sent_to_the_policy_server() -> Result<()> {
    let ns = "quiet";
    let (server, admin) = served(ns).await?;
    node(&admin, ns, 0).await?;
    admin.apply(&engine(ns, "kv", ns)).await?;
    runs(&admin, ns, "kv", 1).await?;
    // Annotations alone are no opt-in by the deployed manifests, nor is another value of the label.
    let asks = json!({"lmcache.ai/lmcache-engine": "kv"});
    let plain = template(ns, json!({}), json!({}));
    let annotated = template(ns, json!({}), asks.clone());
    let declined = template(ns, json!({"lmcache.ai/lmcache-inject": "false"}), asks.clone());
    admin.apply(&deployment(ns, "plain", 2, plain)).await?;
    let pods = rolled_out(&admin, ns, "plain").await?;
    assert_eq!(wirings(&pods), [untouched(Value::Null), untouched(Value::Null)]);
    for (name, template) in [("annotated", annotated), ("declined", declined)] {
        admin.create(&pod(ns, name, template), "kubectl").await?;
        let running = wait_until(&format!("{name} runs"), LIMIT, async || {
            let pod = admin.get("Pod", ns, name).await?;
            ensure!(pod["status"]["phase"] == "Running", "{}", pod["status"]);
            Ok(pod)
        })
        .await?;
        assert_eq!(wiring(&running), untouched(asks.clone()));
    }
    let label = json!({"metadata": {"labels": {"team": "a"}, "annotations": {"note": "b"}}});
    admin.patch("Pod", ns, "annotated", &label).await?;
    admin.delete("Pod", ns, "annotated").await?;
    // The Deployment is none of its business either, nor are the engine's own servers.
    let about = |what: &str| -> Result<Vec<String>> {
        let log = server.log()?;
        let lines = log
            .lines()
            .filter(|line| line.contains(what) && line.contains(" quiet/"));
        Ok(lines.map(str::to_owned).collect())
    };
    for resource in ["pods", "deployments"] {
        assert_eq!(about(resource)?, [""; 0]);
    }

    // One that opts in shows that the log would have told.
    admin.create(&pod(ns, "chat", opted_in(ns, "kv")), "kubectl").await?;
    let asked = wait_until("the policies were asked", LIMIT, async || {
        let mut lines = about("pods")?;
        // The audit's own answer has a line of its own without the Pod.
        lines.retain(|line| line.starts_with("kw.cap."));
        lines.sort();
        ensure!(lines.len() >= 3, "{lines:?}");
        Ok(lines)
    })
    .await?;
    assert_eq!(
        asked,
        [
            "kw.cap.lmcache-guard: CREATE pods quiet/chat: admitted, 0 changes",
            "kw.cap.lmcache-pod-injection: CREATE pods quiet/chat: admitted, 5 changes",
            "kw.cap.lmcache-wiring-audit: CREATE pods quiet/chat: admitted, 0 changes",
        ]
    );
    Ok(())
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn a_pod_that_asks_for_both_systems_gets_cacheblend() -> Result<()> {
    let ns = "both";
    let (_, admin) = served(ns).await?;
    node(&admin, ns, 0).await?;
    let mut blend = engine(ns, "blend", ns);
    blend["kind"] = "CacheBlendEngine".into();
    blend["spec"]["injection"] =
        json!({"payloadImage": {"repository": "registry.example.com/kv/blend", "tag": "v0.5.6"}});
    admin.apply(&blend).await?;
    admin.apply(&engine(ns, "kv", ns)).await?;
    let both = template(
        ns,
        json!({"lmcache.ai/lmcache-inject": "true", "lmcache.ai/cacheblend-inject": "true"}),
        json!({"lmcache.ai/lmcache-engine": "kv", "lmcache.ai/cacheblend-engine": "blend"}),
    );
    admin.apply(&deployment(ns, "chat", 1, both)).await?;
    let pods = rolled_out(&admin, ns, "chat").await?;
    let mut connection = connection(ns, "blend", 5555);
    connection["kv_connector"] = "CBKVConnector".into();
    connection["kv_connector_module_path"] = "lmcache_cacheblend.connector".into();
    connection["kv_connector_extra_config"]["cb.check_layer"] = 1.into();
    connection["kv_connector_extra_config"]["cb.recomp_ratio"] = 0.15.into();
    assert_eq!(
        wirings(&pods),
        [json!({
            "annotations": {
                "lmcache.ai/lmcache-engine": "kv", "lmcache.ai/lmcache-skip-reason": "cacheblend-takes-precedence",
                "lmcache.ai/cacheblend-engine": "blend", "lmcache.ai/cacheblend-injected": "true",
            },
            "args": [
                "--model", "org/model-8b", "--attention-backend", "CUSTOM", "--kv-transfer-config", connection,
                "--no-enable-chunked-prefill", "--block-size", "64", "--pipeline-parallel-size", "1",
                "--no-async-scheduling", "--enforce-eager",
            ],
            "env": [{"name": "PYTHONPATH", "value": "/cb-plugin"}],
            "hostIPC": true,
            "initContainers": [{"name": "cb-plugin-stage", "image": "registry.example.com/kv/blend:v0.5.6"}],
            "serviceLinks": true,
            "volumeMounts": [{"name": "cb-plugin", "mountPath": "/cb-plugin", "readOnly": true}],
            "volumes": [{"name": "cb-plugin", "emptyDir": {}}],
        })]
    );
    // It is a client of one of them.
    clients(&admin, "CacheBlendEngine", (ns, "blend"), [1, 0, 0, 0]).await?;
    clients(&admin, ENGINE, (ns, "kv"), [0, 0, 0, 0]).await?;
    Ok(())
}
