//! The policies do not answer: what goes on all the same, and what is refused until they are back.

use anyhow::Result;
use control_plane::{Cluster, Controller, Identity, Policy, PolicyServer};
use serde_json::{Value, json};

use super::shared::policies::{apply_deployment, in_force, refused};
use super::shared::workloads::{clients, deployment, opted_in, pod, rolled_out, template, untouched, wired, wiring};
use super::shared::{engine, installed, lost, node};
use super::{annotation, forged, is_gone, is_running, label};

/// The deployed policies that change objects, and those that do not.
fn halves() -> Result<(Vec<Policy>, Vec<Policy>)> {
    let changes = |policy: &Policy| policy.0.pointer("/spec/mutating") == Some(&Value::Bool(true));
    let (mutators, validators): (Vec<Policy>, Vec<Policy>) = Policy::deployed()?.into_iter().partition(changes);
    assert_eq!((mutators.len(), validators.len()), (2, 5));
    Ok((mutators, validators))
}

/// Creates an ordinary Pod, sees it run, edits and deletes it: nobody changes a thing about it.
async fn ordinary_life(admin: &Cluster, namespace: &str, name: &str) -> Result<()> {
    let sent = pod(
        namespace,
        name,
        template(namespace, json!({"app": "web"}), json!({"note": "a"})),
    );
    let stored = admin.create(&sent, "kubectl").await?;
    assert_eq!(lost("", &sent, &stored), [""; 0]);
    assert_eq!(wiring(&stored), untouched(json!({"note": "a"})));
    is_running(admin, namespace, name).await?;
    let patch =
        json!({"metadata": {"labels": {"app": "shop"}, "annotations": {"note": null}, "finalizers": ["a.b/c"]}});
    let edited = admin.patch("Pod", namespace, name, &patch).await?;
    assert_eq!(edited["metadata"]["labels"], json!({"app": "shop"}));
    assert_eq!(edited["metadata"]["annotations"], Value::Null);
    let free = json!({"metadata": {"finalizers": null}});
    admin.patch("Pod", namespace, name, &free).await?;
    admin.delete("Pod", namespace, name).await?;
    is_gone(admin, namespace, name).await
}

/// What the API server says where a policy with `failurePolicy: Fail` does not answer.
fn unanswered(policy: &str, (code, message): &(u16, String)) {
    let start = format!("Internal error occurred: failed calling webhook \"kw.cap.{policy}.kubewarden.admission\": ");
    assert!(*code == 500 && message.starts_with(&start), "{code}: {message}");
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn without_a_policy_server() -> Result<()> {
    let ns = "down";
    let plane = installed().await?;
    let admin = plane.cluster(Identity::Admin).await?;
    admin.namespace(ns).await?;
    node(&admin, ns, 0).await?;
    // Two servers, so that the policies that wire can be down alone.
    let (mutators, validators) = halves()?;
    let mut mutators = PolicyServer::start(&plane, "mutators", &mutators, &[]).await?;
    let mut validators = PolicyServer::start(&plane, "validators", &validators, &[]).await?;
    mutators.install()?;
    validators.install()?;
    in_force(&admin).await?;
    admin.apply(&engine(ns, "kv", ns)).await?;
    admin.create(&pod(ns, "wired", opted_in(ns, "kv")), "kubectl").await?;
    assert_eq!(wiring(&is_running(&admin, ns, "wired").await?), wired(ns, "kv", 5555));
    let asks = json!({"lmcache.ai/lmcache-engine": "kv"});
    let other = annotation("lmcache.ai/lmcache-engine", "other");

    // Nobody wires: the Pod starts all the same, with nothing on it, and forging is as futile as ever.
    mutators.kill();
    let unwired = admin.create(&pod(ns, "unwired", opted_in(ns, "kv")), "kubectl").await?;
    assert_eq!(wiring(&unwired), untouched(asks.clone()));
    is_running(&admin, ns, "unwired").await?;
    assert_eq!(
        refused(admin.create(&pod(ns, "forged", forged(ns)), "kubectl").await)?.0,
        422
    );
    ordinary_life(&admin, ns, "web-0").await?;

    // Nobody guards either.
    validators.kill();
    ordinary_life(&admin, ns, "web-1").await?;
    let again = admin
        .create(&pod(ns, "unguarded", opted_in(ns, "kv")), "kubectl")
        .await?;
    assert_eq!(wiring(&again), untouched(asks.clone()));
    is_running(&admin, ns, "unguarded").await?;
    let answer = refused(admin.create(&pod(ns, "forged", forged(ns)), "kubectl").await)?;
    unanswered("lmcache-guard", &answer);
    assert_eq!(admin.find("Pod", ns, "forged").await?, None);
    for name in ["wired", "unwired"] {
        let answer = refused(admin.patch("Pod", ns, name, &other).await)?;
        unanswered("lmcache-guard", &answer);
        let edited = admin.patch("Pod", ns, name, &label("team", "a")).await?;
        assert_eq!(edited["metadata"]["labels"]["team"], "a");
        assert_eq!(edited["metadata"]["annotations"]["lmcache.ai/lmcache-engine"], "kv");
    }
    admin.delete("Pod", ns, "wired").await?;
    is_gone(&admin, ns, "wired").await?;
    // What is only ever told is not told. The Pods come, unwired.
    let chat = deployment(ns, "chat", 1, opted_in(ns, "kv"));
    assert_eq!(apply_deployment(&admin, &chat).await?, (201, vec![]));
    let pods = rolled_out(&admin, ns, "chat").await?;
    assert_eq!(wiring(&pods[0]), untouched(asks));
    // A new engine has to wait, and one that is there can be labelled.
    let answer = refused(admin.create(&engine(ns, "second", ns), "kubectl").await)?;
    unanswered("lmcache-engine-validation", &answer);
    admin.patch("LMCacheEngine", ns, "kv", &label("team", "a")).await?;

    // The controller sees which Pods no policy saw: those made while nobody wired.
    let _controller = Controller::start(&plane, "controller-0", &[]).await?;
    clients(&admin, "LMCacheEngine", (ns, "kv"), [0, 3, 0, 0]).await?;

    // All is well again, and nobody has to touch the webhook configurations.
    validators.restart().await?;
    mutators.restart().await?;
    let stored = admin.create(&pod(ns, "wired", opted_in(ns, "kv")), "kubectl").await?;
    assert_eq!(wiring(&stored), wired(ns, "kv", 5555));
    assert_eq!(
        refused(admin.create(&pod(ns, "forged", forged(ns)), "kubectl").await)?.0,
        422
    );
    assert_eq!(refused(admin.patch("Pod", ns, "unwired", &other).await)?.0, 422);
    ordinary_life(&admin, ns, "web-2").await?;
    admin.create(&engine(ns, "second", ns), "kubectl").await?;
    let name = pods[0]["metadata"]["name"].as_str().unwrap();
    admin.delete("Pod", ns, name).await?;
    is_gone(&admin, ns, name).await?;
    assert_eq!(wiring(&rolled_out(&admin, ns, "chat").await?[0]), wired(ns, "kv", 5555));
    // The two that are left from then are still to be made anew.
    clients(&admin, "LMCacheEngine", (ns, "kv"), [2, 2, 0, 0]).await?;
    Ok(())
}
