//! What the deployed policies refuse and what they let pass: stamps, protected keys, everything that is none of their
//! business, and all of it without a policy server. No controller runs here: Pods are wired from the engine alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod shared;

use anyhow::{Context, Result, ensure};
use control_plane::{Cluster, Controller, Identity, Policy, PolicyServer, wait_until};
use serde_json::{Value, json};
use shared::policies::{
    KEYS_ADVICE, STAMP_ADVICE, apply_deployment, asked, denied_by, in_force, policies, post, refused,
};
use shared::workloads::{clients, deployment, opted_in, pod, rolled_out, skipped, template, untouched, wired, wiring};
use shared::{LIMIT, engine, installed, lost, node, plane};

const POD_PATH: &str = "/api/v1/namespaces";

/// A new namespace with the policies at work.
async fn guarded(namespace: &str) -> Result<(&'static PolicyServer, Cluster)> {
    let plane = plane().await?;
    let server = policies(plane).await?;
    let admin = plane.cluster(Identity::Admin).await?;
    admin.namespace(namespace).await?;
    Ok((server, admin))
}

/// An annotation that is set, or taken away by null.
fn annotation(key: &str, value: impl Into<Value>) -> Value {
    json!({"metadata": {"annotations": {(key): value.into()}}})
}

fn label(key: &str, value: impl Into<Value>) -> Value {
    json!({"metadata": {"labels": {(key): value.into()}}})
}

/// A template without an opt-in label whose annotations claim that it is wired.
fn forged(pool: &str) -> Value {
    let claims = json!({"lmcache.ai/lmcache-engine": "kv", "lmcache.ai/lmcache-injected": "true"});
    template(pool, json!({}), claims)
}

async fn is_running(admin: &Cluster, namespace: &str, name: &str) -> Result<Value> {
    wait_until(&format!("{namespace}/{name} runs"), LIMIT, async || {
        let pod = admin.get("Pod", namespace, name).await?;
        ensure!(pod["status"]["phase"] == "Running", "{}", pod["status"]);
        Ok(pod)
    })
    .await
}

async fn is_gone(admin: &Cluster, namespace: &str, name: &str) -> Result<()> {
    wait_until(&format!("{namespace}/{name} is gone"), LIMIT, async || {
        let found = admin.find("Pod", namespace, name).await?;
        ensure!(found.is_none(), "{found:?}");
        Ok(())
    })
    .await
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn a_stamp_needs_its_wiring() -> Result<()> {
    let ns = "stamps";
    let (_, admin) = guarded(ns).await?;
    admin.apply(&engine(ns, "kv", ns)).await?;
    let unbacked = "metadata.annotations[lmcache.ai/lmcache-injected]: is \"true\", but no container carries \
                    LMCacheMPConnector for engine stamps/kv";
    let message = denied_by("lmcache-guard", &format!("{unbacked}\n{STAMP_ADVICE}"));
    let answer = refused(admin.create(&pod(ns, "forged", forged(ns)), "kubectl").await)?;
    assert_eq!(answer, (422, message.clone()));
    // The same of a Deployment is stored, and none of its Pods.
    admin.apply(&deployment(ns, "forged", 1, forged(ns))).await?;
    wait_until("the refusal is told", LIMIT, async || {
        let deployment = admin.get("Deployment", ns, "forged").await?;
        let failure = control_plane::cluster::condition(&deployment, "ReplicaFailure").context("no condition")?;
        ensure!(failure["message"] == message, "{failure}");
        Ok(())
    })
    .await?;
    assert!(admin.list("Pod", ns, "").await?.is_empty());

    // With the label the Pod is wired, from the engine alone, and then its stamp is true.
    let mut asks = forged(ns);
    asks["metadata"]["labels"] = json!({"lmcache.ai/lmcache-inject": "true"});
    let stored = admin.create(&pod(ns, "chat", asks), "kubectl").await?;
    assert_eq!(wiring(&stored), wired(ns, "kv", 5555));
    assert_eq!(admin.find("ConfigMap", ns, "kv-connection").await?, None);

    // Its copy proves the stamp, although no policy wires it: it has no label.
    let mut copy = pod(ns, "copy", stored.clone());
    copy["metadata"] = json!({"namespace": ns, "name": "copy", "annotations": stored["metadata"]["annotations"]});
    let copied = admin.create(&copy, "kubectl").await?;
    assert_eq!(wiring(&copied), wired(ns, "kv", 5555));
    // Each part that is taken away from the copy leaves the stamp without proof.
    let parts = [
        ("/spec/containers/0/args", json!(["--model", "org/model-8b"]), unbacked),
        ("/spec/containers/0/env", json!([]), "PYTHONHASHSEED"),
        ("/spec/hostIPC", json!(false), "shared memory"),
    ];
    for (path, less, told) in parts {
        let mut copy = copy.clone();
        copy["metadata"]["name"] = "less".into();
        *copy.pointer_mut(path).context(path)? = less;
        let (code, message) = refused(admin.create(&copy, "kubectl").await)?;
        assert_eq!(code, 422, "{message}");
        let start = denied_by("lmcache-guard", "metadata.annotations[lmcache.ai/lmcache-injected]: ");
        assert!(message.starts_with(&start) && message.contains(told), "{message}");
        assert!(message.ends_with(STAMP_ADVICE), "{message}");
    }
    Ok(())
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn what_was_decided_at_admission_stays_and_all_else_may_change() -> Result<()> {
    let ns = "edits";
    let (server, admin) = guarded(ns).await?;
    node(&admin, ns, 0).await?;
    admin.apply(&engine(ns, "kv", ns)).await?;
    admin.create(&pod(ns, "chat", opted_in(ns, "kv")), "kubectl").await?;
    // The scheduler binds it, kwok writes its status.
    let before = is_running(&admin, ns, "chat").await?;
    assert_eq!(wiring(&before), wired(ns, "kv", 5555));

    let (engine_key, stamp) = ("lmcache.ai/lmcache-engine", "lmcache.ai/lmcache-injected");
    let (reason, inject) = ("lmcache.ai/lmcache-skip-reason", "lmcache.ai/lmcache-inject");
    let changes = [
        (
            annotation(engine_key, "other"),
            format!("metadata.annotations[{engine_key}]: was changed from \"kv\" to \"other\""),
        ),
        (
            annotation(stamp, Value::Null),
            format!("metadata.annotations[{stamp}]: \"true\" was removed"),
        ),
        (
            annotation(reason, "none"),
            format!("metadata.annotations[{reason}]: \"none\" was added"),
        ),
        (
            label(inject, Value::Null),
            format!("metadata.labels[{inject}]: \"true\" was removed"),
        ),
        (
            label("lmcache.ai/cacheblend-inject", "true"),
            "metadata.labels[lmcache.ai/cacheblend-inject]: \"true\" was added".to_owned(),
        ),
        // All faults at once, also where the edit has a harmless part.
        (
            json!({"metadata": {
                "labels": {(inject): "false", "team": "a"}, "annotations": {(engine_key): "other", (stamp): null},
            }}),
            format!(
                "metadata.labels[{inject}]: was changed from \"true\" to \"false\"\n\
                 metadata.annotations[{engine_key}]: was changed from \"kv\" to \"other\"\n\
                 metadata.annotations[{stamp}]: \"true\" was removed"
            ),
        ),
    ];
    for (patch, told) in &changes {
        let message = denied_by("lmcache-guard", &format!("{told}\n{KEYS_ADVICE}"));
        let answer = refused(admin.patch("Pod", ns, "chat", patch).await)?;
        assert_eq!(answer, (422, message));
    }
    let stored = admin.get("Pod", ns, "chat").await?;
    assert_eq!(stored["metadata"]["labels"], before["metadata"]["labels"]);
    assert_eq!(
        stored["metadata"]["resourceVersion"],
        before["metadata"]["resourceVersion"]
    );

    // Other keys, also LMCache's that are nobody's, and finalizers.
    let finalizers = |list: Value| json!({"metadata": {"finalizers": list}});
    for patch in [
        label("team", "a"),
        label("team", Value::Null),
        annotation("note", "b"),
        annotation("lmcache.ai/note", "b"),
        finalizers(json!(["e2e.lmcache.ai/hold"])),
        finalizers(Value::Null),
    ] {
        admin.patch("Pod", ns, "chat", &patch).await?;
    }
    let edited = admin.get("Pod", ns, "chat").await?;
    let mut annotations = before["metadata"]["annotations"].clone();
    annotations["note"] = "b".into();
    annotations["lmcache.ai/note"] = "b".into();
    assert_eq!(edited["metadata"]["annotations"], annotations);
    assert_eq!(edited["metadata"]["labels"], before["metadata"]["labels"]);
    admin.delete("Pod", ns, "chat").await?;
    is_gone(&admin, ns, "chat").await?;
    // The API server asks about protected keys and nothing else: no binding, status, finalizer or deletion.
    assert_eq!(asked(server, "lmcache-guard", "CREATE pods edits/chat")?, 1);
    assert_eq!(asked(server, "lmcache-guard", "UPDATE pods edits/chat")?, changes.len());
    let log = server.log()?;
    let about = log
        .lines()
        .filter(|line| line.starts_with("kw.cap.") && line.contains(" edits/chat"));
    // Besides the guard: injection and audit, once each.
    assert_eq!(about.count(), changes.len() + 3);
    Ok(())
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn nothing_stands_in_the_way_of_an_end() -> Result<()> {
    let ns = "ends";
    let (_, admin) = guarded(ns).await?;
    admin.apply(&engine(ns, "kv", ns)).await?;
    // Without a node nobody but this test takes the finalizer away.
    let mut held = pod(ns, "held", opted_in("nowhere", "kv"));
    held["metadata"]["finalizers"] = json!(["e2e.lmcache.ai/hold"]);
    let stored = admin.create(&held, "kubectl").await?;
    assert_eq!(wiring(&stored), wired(ns, "kv", 5555));
    let other = annotation("lmcache.ai/lmcache-engine", "other");
    assert_eq!(refused(admin.patch("Pod", ns, "held", &other).await)?.0, 422);
    admin.delete("Pod", ns, "held").await?;
    let ending = admin.get("Pod", ns, "held").await?;
    assert!(ending["metadata"]["deletionTimestamp"].is_string(), "{ending}");
    // It is ending, so its keys say nothing any more.
    let edited = admin.patch("Pod", ns, "held", &other).await?;
    assert_eq!(edited["metadata"]["annotations"]["lmcache.ai/lmcache-engine"], "other");
    let free = json!({"metadata": {"finalizers": null}});
    admin.patch("Pod", ns, "held", &free).await?;
    is_gone(&admin, ns, "held").await
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn warnings_reach_whoever_applies() -> Result<()> {
    let ns = "warned";
    let (server, admin) = guarded(ns).await?;
    let missing = "LMCacheEngine warned/kv does not exist: Pods will not be wired; create it first, then restart the \
                   Pods (kubectl rollout restart)";
    let path = format!("/apis/apps/v1/namespaces/{ns}/deployments");
    let chat = deployment(ns, "chat", 0, opted_in(ns, "kv"));
    let answer = post(&admin, &path, &chat).await?;
    assert_eq!(answer, (201, vec![missing.to_owned()]));
    // It is stored as it was sent.
    let stored = admin.get("Deployment", ns, "chat").await?;
    assert_eq!(lost("", &chat, &stored), [""; 0]);
    // Nothing new to say: the same once more, and another number of replicas.
    let mut scaled = chat.clone();
    assert_eq!(apply_deployment(&admin, &scaled).await?, (200, vec![]));
    scaled["spec"]["replicas"] = 1.into();
    assert_eq!(apply_deployment(&admin, &scaled).await?, (200, vec![]));
    assert_eq!(admin.get("Deployment", ns, "chat").await?["spec"]["replicas"], 1);
    // A changed template is looked at again.
    scaled["spec"]["template"]["spec"]["containers"][0]["args"] = json!(["--model", "org/model-70b"]);
    assert_eq!(
        apply_deployment(&admin, &scaled).await?,
        (200, vec![missing.to_owned()])
    );

    // The opt-in in the wrong place, a stamp in the template, and a Pod that would be refused.
    let mut misplaced = deployment(ns, "misplaced", 0, template(ns, json!({}), json!({})));
    misplaced["metadata"]["labels"] = json!({"lmcache.ai/lmcache-inject": "true"});
    misplaced["metadata"]["annotations"] = json!({"lmcache.ai/lmcache-engine": "kv"});
    let told = "lmcache.ai/lmcache-inject, lmcache.ai/lmcache-engine: Pods do not get what stands in metadata of a \
                Deployment; move it to spec.template.metadata";
    assert_eq!(
        apply_deployment(&admin, &misplaced).await?,
        (201, vec![told.to_owned()])
    );
    let mut denied = opted_in(ns, "kv");
    denied["metadata"]["annotations"]["lmcache.ai/on-missing-engine"] = "Deny".into();
    let told = "LMCacheEngine warned/kv does not exist: Pods will be refused until it does; create it";
    assert_eq!(
        apply_deployment(&admin, &deployment(ns, "denied", 0, denied)).await?,
        (201, vec![told.to_owned()])
    );
    // Who creates a Pod is told by the policy that wires it.
    let told = "LMCacheEngine warned/kv does not exist: not wired; create it first, then recreate the Pod";
    let answer = post(
        &admin,
        &format!("{POD_PATH}/{ns}/pods"),
        &pod(ns, "alone", opted_in("nowhere", "kv")),
    )
    .await?;
    assert_eq!(answer, (201, vec![told.to_owned()]));
    assert_eq!(
        wiring(&admin.get("Pod", ns, "alone").await?),
        skipped("kv", "engine-not-found")
    );

    // With the engine there is nothing to warn of, except that a stamp does not belong into a template.
    admin.apply(&engine(ns, "kv", ns)).await?;
    let fine = deployment(ns, "fine", 0, opted_in(ns, "kv"));
    assert_eq!(apply_deployment(&admin, &fine).await?, (201, vec![]));
    let mut stamped = opted_in(ns, "kv");
    stamped["metadata"]["annotations"]["lmcache.ai/lmcache-injected"] = "true".into();
    let told = "lmcache.ai/lmcache-injected: set by the policies on Pods, not by people in templates; remove it from \
                spec.template.metadata.annotations";
    assert_eq!(
        apply_deployment(&admin, &deployment(ns, "stamped", 0, stamped)).await?,
        (201, vec![told.to_owned()])
    );
    // Scaling, and the status that the controllers write, never came here.
    assert_eq!(
        asked(server, "lmcache-workload-preflight", "UPDATE deployments warned/chat")?,
        1
    );
    Ok(())
}

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
