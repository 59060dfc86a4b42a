//! Objects as the Go operator left them: the controller takes them over and restarts nothing.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod shared;

use anyhow::{Context, Result, ensure};
use control_plane::cluster::condition;
use control_plane::{Controller, Identity, wait_until};
use serde_json::{Value, json};
use shared::stored::{id, managers, seed};
use shared::{LIMIT, installed, lost};

/// How many passes a controller has made, by its metrics.
fn passes(metrics: &str) -> usize {
    let lines = metrics
        .lines()
        .filter(|line| line.starts_with("lmcache_controller_reconciles_total{"));
    let numbers = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok());
    numbers.sum()
}

/// A release without metrics has nothing that a Service or a ServiceMonitor could lead to.
fn is_dead(case: &str, child: &Value) -> bool {
    let (kind, _, name) = id(child);
    case == "coordinator-full" && (kind == "ServiceMonitor" || name.ends_with("-metrics"))
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn nothing_is_restarted_and_later_removals_take_effect() -> Result<()> {
    let plane = installed().await?;
    let admin = plane.cluster(Identity::Admin).await?;
    let seeded = seed(&admin).await?;
    assert!(seeded.customs.len() >= 14 && seeded.children.len() >= 50);
    let controller = Controller::start(&plane, "controller-0", &[]).await?;
    wait_until("every object has been reconciled", LIMIT, async || {
        for (kind, namespace, name) in seeded.customs.values() {
            let custom = admin.get(kind, namespace, name).await?;
            let status = &custom["status"];
            ensure!(
                status["observedGeneration"] == custom["metadata"]["generation"],
                "{kind} {name}: {status}"
            );
            ensure!(condition(&custom, "Reconciled").is_some(), "{kind} {name}: {status}");
        }
        Ok(())
    })
    .await?;

    for (case, before) in &seeded.children {
        let (kind, namespace, name) = id(before);
        let what = format!("{case}: {kind} {name}");
        let after = admin.find(&kind, &namespace, &name).await?;
        if is_dead(case, before) {
            assert_eq!(after, None, "{what}");
            continue;
        }
        let after = after.context(what.clone())?;
        let (old, new) = (&before["metadata"], &after["metadata"]);
        assert_eq!(new["uid"], old["uid"], "{what}");
        assert_eq!(after["spec"]["template"], before["spec"]["template"], "{what}");
        if let Some(annotations) = old.get("annotations") {
            assert_eq!(lost("", annotations, &new["annotations"]), [""; 0], "{what}");
        }
        if kind != "ServiceMonitor" {
            assert_eq!(new["generation"], old["generation"], "{what}");
        }
        if case == "foreign" {
            assert_eq!(managers(&after), managers(before), "{what}");
            continue;
        }
        let managers = managers(&after);
        assert!(
            managers.contains(&("lmcache-controller", "Apply")),
            "{what}: {managers:?}"
        );
        assert!(
            !managers.iter().any(|(manager, _)| *manager == "manager"),
            "{what}: {managers:?}"
        );
    }
    let (kind, namespace, name) = &seeded.customs["foreign"];
    let foreign = admin.get(kind, namespace, name).await?;
    assert_eq!(
        condition(&foreign, "Reconciled").unwrap()["status"],
        "False",
        "{}",
        foreign["status"]
    );
    let (kind, namespace, name) = &seeded.customs["full"];
    let full = admin.get(kind, namespace, name).await?;
    assert_eq!(
        condition(&full, "Reconciled").unwrap()["reason"],
        "LegacyTemplateKept",
        "{}",
        full["status"]
    );

    // The next process finds nothing to do.
    controller.stop()?;
    let writes = || anyhow::Ok(plane.audit()?.writes(Identity::Controller.user()).len());
    let before = writes()?;
    let next = Controller::start(&plane, "controller-1", &[]).await?;
    wait_until("the next process has looked at every object", LIMIT, async || {
        let passes = passes(&next.metrics()?);
        ensure!(passes >= seeded.customs.len(), "{passes} passes");
        Ok(())
    })
    .await?;
    assert_eq!(
        writes()?,
        before,
        "{:#?}",
        plane.audit()?.writes(Identity::Controller.user()).split_off(before)
    );

    // Fields that the Go operator wrote are ours to remove.
    let (_, namespace, name) = &seeded.customs["full"];
    let before = admin.get("DaemonSet", namespace, name).await?;
    assert_eq!(before["spec"]["template"]["metadata"]["labels"]["tier"], "cache");
    assert_ne!(before["spec"]["template"]["spec"]["tolerations"], Value::Null);
    let removal = json!({"spec": {"podLabels": null, "tolerations": null}});
    admin.patch("LMCacheEngine", namespace, name, &removal).await?;
    let after = wait_until("the removal reaches the DaemonSet", LIMIT, async || {
        let after = admin.get("DaemonSet", namespace, name).await?;
        ensure!(
            after["metadata"]["generation"] != before["metadata"]["generation"],
            "nothing changed"
        );
        Ok(after)
    })
    .await?;
    let template = &after["spec"]["template"];
    assert_eq!(template["metadata"]["labels"].get("tier"), None, "{template}");
    assert_eq!(template["spec"].get("tolerations"), None, "{template}");
    assert_eq!(
        template["spec"]["volumes"], before["spec"]["template"]["spec"]["volumes"],
        "{template}"
    );
    Ok(())
}
