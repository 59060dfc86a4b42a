//! The order that hurts: the Go operator is stopped, and a webhook of it that fails closed stays.

use anyhow::{Context, Result, ensure};
use control_plane::go_webhooks::CONFIGURATION;
use control_plane::{Cluster, ControlPlane, GoWebhooks, wait_until};
use serde_json::{Value, json};

use crate::check::{Check, check, next};
use crate::shared::LIMIT;
use crate::shared::policies::refused;
use crate::world::{NS, deployment, scale};

/// A Pod of the workload `chat`, as its ReplicaSet would make it.
fn pod(name: &str, opts_in: bool) -> Result<Value> {
    let mut pod = deployment("chat", "lmcache-basic")?["spec"]["template"].take();
    pod["apiVersion"] = "v1".into();
    pod["kind"] = "Pod".into();
    pod["metadata"]["name"] = name.into();
    pod["metadata"]["namespace"] = NS.into();
    if !opts_in {
        pod["metadata"]["labels"]
            .as_object_mut()
            .unwrap()
            .remove("lmcache.ai/lmcache-inject");
    }
    Ok(pod)
}

/// Somebody else's webhook, between the Go operator's in their configuration, which is asked about nothing.
const OTHER: &str = "pods.example.com";

fn shared(mut configuration: Value) -> Value {
    let webhooks = configuration["webhooks"].as_array_mut().unwrap();
    let mut other = webhooks[0].clone();
    other["name"] = json!(OTHER);
    other["failurePolicy"] = json!("Ignore");
    other["clientConfig"]["url"] = json!("https://127.0.0.1:1/other");
    other["objectSelector"] = json!({"matchLabels": {"example.com/nobody": "true"}});
    webhooks.insert(1, other);
    configuration
}

/// Runs the `kubectl patch` that it names for the Go operator's entries.
async fn patch(admin: &Cluster, told: &Check) -> Result<()> {
    let mut findings = told.report["findings"].as_array().unwrap().iter();
    let refused = findings.find(|finding| finding["code"] == "pods-refused").unwrap();
    let todo = refused["todo"].as_str().unwrap();
    let command = format!("kubectl patch mutatingwebhookconfiguration {CONFIGURATION} --type=json -p '");
    let (_, patch) = todo.split_once(&command).with_context(|| todo.to_owned())?;
    let patch = patch.strip_suffix('\'').with_context(|| todo.to_owned())?;
    let path = format!("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/{CONFIGURATION}");
    let request = http::Request::patch(path)
        .header("content-type", "application/json-patch+json")
        .body(patch.as_bytes().to_vec())?;
    let left: Value = admin.client().request(request).await?;
    let left: Vec<&Value> = left["webhooks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|webhook| &webhook["name"])
        .collect();
    assert_eq!(left, [OTHER]);
    Ok(())
}

/// It was warned of before it happened, and is told when it has.
pub async fn a_webhook_that_fails_closed(plane: &ControlPlane, admin: &Cluster) -> Result<()> {
    let webhooks = GoWebhooks::start(plane)?;
    admin.apply(&shared(webhooks.configuration(NS, "Fail"))).await?;
    wait_until("the webhooks are asked", LIMIT, async || {
        let stored = admin.dry_run(&pod("asked", true)?).await?;
        ensure!(stored["spec"]["hostIPC"] == true, "not yet");
        Ok(())
    })
    .await?;
    let warned = next(
        plane,
        1,
        &[
            "go-operator-runs",
            "webhook-fails-closed",
            "go-webhooks",
            "crds-at-risk",
        ],
    )
    .await?;
    assert_eq!(warned.report["webhooks"][0]["failurePolicy"], "Fail");

    scale(admin, 0).await?;
    webhooks.stop();
    let told = wait_until("that Pods are refused is told", LIMIT, async || {
        let told = check(plane)?;
        ensure!(
            told.codes("first").contains(&"pods-refused"),
            "{:#}",
            told.report["findings"]
        );
        Ok(told)
    })
    .await?;
    assert_eq!((told.code, told.next()), (1, 4));
    assert!(
        told.codes("first").contains(&"pods-unwired"),
        "{:#}",
        told.report["findings"]
    );
    let (code, message) = refused(admin.dry_run(&pod("refused", true)?).await)?;
    assert_eq!(code, 500, "{message}");
    assert!(
        message.contains("failed calling webhook \"mlmcachepod.lmcache.ai\""),
        "{message}"
    );
    // Nobody else is.
    admin.dry_run(&pod("other", false)?).await?;

    // The way out that it names.
    patch(admin, &told).await?;
    wait_until("Pods are let in again", LIMIT, async || {
        admin.dry_run(&pod("let-in", true)?).await
    })
    .await?;
    admin.delete("MutatingWebhookConfiguration", "", CONFIGURATION).await?;
    scale(admin, 1).await
}
