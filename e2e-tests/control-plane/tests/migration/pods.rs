//! What becomes of new Pods, by who wires.

use anyhow::{Context, Result, ensure};
use control_plane::go_webhooks::Answer;
use control_plane::{Cluster, GoWebhooks, wait_until};
use serde_json::{Value, json};

use crate::shared;
use crate::shared::LIMIT;
use crate::shared::workloads::rolled_out;
use crate::world::{NS, WORKLOADS, deployment};

/// The recording of a workload's Pods.
pub fn recording(name: &str) -> &'static str {
    WORKLOADS.iter().find(|(workload, _)| *workload == name).unwrap().1
}

/// A Pod of a workload's template under another name.
pub fn template_pod(workload: &str, name: &str) -> Result<Value> {
    let template = deployment(workload, recording(workload))?["spec"]["template"].take();
    Ok(shared::workloads::pod(NS, name, template))
}

/// Ours come first, by the names of the configurations. What they wire, the Go operator's leave alone; what they leave alone
/// for a reason, those wire after all.
pub async fn both_wire(admin: &Cluster, webhooks: &GoWebhooks) -> Result<()> {
    wait_until("our policies wire", LIMIT, async || {
        let pod = admin.dry_run(&template_pod("served", "both")?).await?;
        ensure!(pod["spec"]["hostIPC"] == true, "not yet");
        let blend = admin.dry_run(&template_pod("blend", "both-blend")?).await?;
        ensure!(
            !blend["spec"]["initContainers"][0]["resources"]["limits"].is_null(),
            "not yet"
        );
        Ok(())
    })
    .await?;
    for (workload, answer) in [("chat", Answer::Stamped), ("own", Answer::Replayed)] {
        let name = format!("{workload}-both");
        let named = recording(workload);
        let before = webhooks.answers(named).len();
        admin.apply(&deployment(&name, named)?).await?;
        let made = rolled_out(admin, NS, &name).await?;
        let answers = webhooks.answers(named).split_off(before);
        assert_eq!(answers, [answer], "{workload}");
        let annotations = &made[0]["metadata"]["annotations"];
        assert_eq!(annotations["lmcache.ai/lmcache-injected"], "true", "{workload}");
        assert_eq!(connections(&made[0]), 1, "{workload}");
    }
    Ok(())
}

/// How many connectors a Pod's command line has.
fn connections(pod: &Value) -> usize {
    let args = pod["spec"]["containers"][0]["args"].as_array().unwrap().iter();
    args.filter(|arg| arg.as_str().unwrap().starts_with("--kv-transfer-config"))
        .count()
}

/// New Pods while nobody reconciles.
pub async fn new_pods(admin: &Cluster, suffix: &str) -> Result<()> {
    for workload in ["chat", "own", "blend"] {
        let name = format!("{workload}-{suffix}");
        admin.apply(&deployment(&name, recording(workload))?).await?;
        wired_by_us(workload, &rolled_out(admin, NS, &name).await?)?;
    }
    Ok(())
}

/// Pods that our policies decided about, and nobody else.
pub fn wired_by_us(workload: &str, pods: &[Value]) -> Result<()> {
    let pod = pods.first().context("no Pod")?;
    let annotations = &pod["metadata"]["annotations"];
    let (system, stamped, host_ipc) = match workload {
        "own" => ("lmcache", Value::Null, Value::Null),
        "blend" => ("cacheblend", json!("true"), json!(true)),
        _ => ("lmcache", json!("true"), json!(true)),
    };
    assert_eq!(
        annotations[format!("lmcache.ai/{system}-injected")],
        stamped,
        "{workload}: {annotations}"
    );
    let reason = if workload == "own" {
        json!("kv-transfer-config-present")
    } else {
        Value::Null
    };
    assert_eq!(
        annotations[format!("lmcache.ai/{system}-skip-reason")],
        reason,
        "{workload}"
    );
    assert_eq!(pod["spec"]["hostIPC"], host_ipc, "{workload}");
    assert_eq!(connections(pod), 1, "{workload}");
    let staging = pod["spec"]["initContainers"].as_array().map_or(0, Vec::len);
    assert_eq!(
        staging,
        usize::from(matches!(workload, "staged" | "blend")),
        "{workload}"
    );
    if staging > 0 {
        // Ours alone gives it limits.
        assert!(
            !pod["spec"]["initContainers"][0]["resources"]["limits"].is_null(),
            "{workload}"
        );
    }
    Ok(())
}

/// Restarts a workload that was restarted before.
pub async fn restarted_again(admin: &Cluster, name: &str) -> Result<Vec<Value>> {
    let annotations = json!({"kubectl.kubernetes.io/restartedAt": "2026-02-02T00:00:00Z"});
    let patch = json!({"spec": {"template": {"metadata": {"annotations": annotations}}}});
    admin.patch("Deployment", NS, name, &patch).await?;
    rolled_out(admin, NS, name).await
}
