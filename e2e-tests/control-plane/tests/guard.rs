//! What the deployed policies refuse and what they let pass: stamps, protected keys, everything that is none of their
//! business, and all of it without a policy server. No controller runs here: Pods are wired from the engine alone.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

#[path = "guard/outage.rs"]
mod outage;
mod shared;

use anyhow::{Context, Result, ensure};
use control_plane::cluster::condition;
use control_plane::{Cluster, Identity, PolicyServer, wait_until};
use serde_json::{Value, json};
use shared::policies::{KEYS_ADVICE, STAMP_ADVICE, apply_deployment, asked, denied_by, policies, post, refused};
use shared::workloads::{deployment, opted_in, pod, skipped, template, wired, wiring};
use shared::{LIMIT, engine, lost, node, plane};

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
    let unbacked = |told: &str| {
        let found = format!("metadata.annotations[lmcache.ai/lmcache-injected]: is \"true\", but {told}");
        denied_by("lmcache-guard", &format!("{found}\n{STAMP_ADVICE}"))
    };
    let message = unbacked("no container carries LMCacheMPConnector for engine stamps/kv");
    let answer = refused(admin.create(&pod(ns, "forged", forged(ns)), "kubectl").await)?;
    assert_eq!(answer, (422, message.clone()));
    // The same of a Deployment is stored, and none of its Pods.
    admin.apply(&deployment(ns, "forged", 1, forged(ns))).await?;
    wait_until("the refusal is told", LIMIT, async || {
        let deployment = admin.get("Deployment", ns, "forged").await?;
        let failure = condition(&deployment, "ReplicaFailure").context("no condition")?;
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
        (
            "/spec/containers/0/args",
            json!(["--model", "org/model-8b"]),
            "no container carries LMCacheMPConnector for engine stamps/kv",
        ),
        (
            "/spec/containers/0/env",
            json!([]),
            "container \"vllm\" has no PYTHONHASHSEED",
        ),
        (
            "/spec/hostIPC",
            json!(false),
            "container \"vllm\" has no memory to share: neither host IPC nor a volume at /dev/shm",
        ),
    ];
    for (path, less, told) in parts {
        let mut copy = copy.clone();
        copy["metadata"]["name"] = "less".into();
        *copy.pointer_mut(path).context(path)? = less;
        let answer = refused(admin.create(&copy, "kubectl").await)?;
        assert_eq!(answer, (422, unbacked(told)));
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
    wait_until("its controller has seen it", LIMIT, async || {
        let chat = admin.get("Deployment", ns, "chat").await?;
        ensure!(chat["spec"]["replicas"] == 1, "{}", chat["spec"]);
        ensure!(
            chat["status"]["observedGeneration"] == 2 && chat["status"]["replicas"] == 1,
            "{}",
            chat["status"]
        );
        Ok(())
    })
    .await?;
    // Neither that nor the status ever came to the policy.
    let updates = || asked(server, "lmcache-workload-preflight", "UPDATE deployments warned/chat");
    assert_eq!(updates()?, 0);
    // A changed template is looked at again.
    scaled["spec"]["template"]["spec"]["containers"][0]["args"] = json!(["--model", "org/model-70b"]);
    assert_eq!(
        apply_deployment(&admin, &scaled).await?,
        (200, vec![missing.to_owned()])
    );
    // The API server asks again where somebody else wrote at the same time.
    assert!(updates()? >= 1);

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
        &format!("/api/v1/namespaces/{ns}/pods"),
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
    Ok(())
}
