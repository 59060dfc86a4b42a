//! Objects as the Go operator left them: the controller takes them over and restarts nothing.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod shared;

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use control_plane::cluster::{condition, read, repository};
use control_plane::{Cluster, Controller, Identity, wait_until};
use serde_json::{Value, json};
use shared::{LIMIT, installed, lost};

/// Annotations that Kubernetes' controllers and the API server set. Were they in what we create, the Go operator's field
/// manager would own them, and removing its fields would remove them.
const OF_KUBERNETES: [&str; 2] = [
    "deprecated.daemonset.template.generation",
    "deployment.kubernetes.io/revision",
];

/// A recording without what the API server fills in.
fn clean(object: &Value) -> Value {
    let mut object = object.clone();
    object.as_object_mut().unwrap().remove("status");
    let metadata = object["metadata"].as_object_mut().unwrap();
    for field in [
        "uid",
        "resourceVersion",
        "managedFields",
        "creationTimestamp",
        "generation",
    ] {
        metadata.remove(field);
    }
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.retain(|key, _| !OF_KUBERNETES.contains(&key.as_str()));
    }
    // Addresses of another cluster.
    if object["kind"] == "Service" && object["spec"]["clusterIP"] != "None" {
        let spec = object["spec"].as_object_mut().unwrap();
        spec.remove("clusterIP");
        spec.remove("clusterIPs");
    }
    object
}

fn id(object: &Value) -> (String, String, String) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (
        text(&object["kind"]),
        text(&object["metadata"]["namespace"]),
        text(&object["metadata"]["name"]),
    )
}

/// The object, made if it is not there: some recordings name the same ones.
async fn ensure_created(admin: &Cluster, object: &Value, manager: &str) -> Result<Value> {
    let (kind, namespace, name) = id(object);
    match admin.find(&kind, &namespace, &name).await? {
        Some(there) => Ok(there),
        None => admin.create(&clean(object), manager).await,
    }
}

/// What was made of the recordings, by case.
struct Seeded {
    /// The custom resources.
    customs: BTreeMap<String, (String, String, String)>,
    /// The children as they are stored, with the case that each belongs to.
    children: Vec<(String, Value)>,
}

/// Makes the objects as the Go operator left them. It ran as the field manager `manager`.
async fn seed(admin: &Cluster) -> Result<Seeded> {
    for namespace in ["inference", "beh", "cache"] {
        admin.namespace(namespace).await?;
    }
    let mut seeded = Seeded {
        customs: BTreeMap::new(),
        children: Vec::new(),
    };
    let folder = "fixtures/go-operator/july/stored";
    let mut files: Vec<String> = std::fs::read_dir(repository().join(folder))?
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    for file in files {
        let case = file.trim_end_matches(".yaml");
        let recording = read(&format!("{folder}/{file}"))?.remove(0);
        for other in recording["others"].as_array().unwrap() {
            let mut other = other.clone();
            if other["kind"] == "Secret" && other["metadata"]["namespace"] == "cache" {
                // The consent that this controller asks for where a Secret is in another namespace.
                other["metadata"]["annotations"] = json!({"lmcache.ai/allow-copy-to": "inference"});
            }
            ensure_created(admin, &other, "kubectl-create")
                .await
                .context(file.clone())?;
        }
        let custom = ensure_created(admin, &recording["custom"], "kubectl-create")
            .await
            .context(file.clone())?;
        seeded.customs.insert(case.to_owned(), id(&recording["custom"]));
        for child in recording["children"].as_array().unwrap() {
            let mut child = clean(child);
            if let Some(owners) = child["metadata"]["ownerReferences"].as_array_mut() {
                owners
                    .iter_mut()
                    .for_each(|owner| owner["uid"] = custom["metadata"]["uid"].clone());
            }
            // Those of `foreign` were somebody else's before.
            let manager = if case == "foreign" { "kubectl-create" } else { "manager" };
            admin.create(&child, manager).await.context(file.clone())?;
            seeded.children.push((case.to_owned(), child));
        }
    }
    // Kubernetes' controllers note in annotations and status what they saw. That is part of what is there before.
    wait_until("Kubernetes' controllers have seen the workloads", LIMIT, async || {
        for (_, child) in &seeded.children {
            let (kind, namespace, name) = id(child);
            if matches!(kind.as_str(), "DaemonSet" | "Deployment") {
                let there = admin.get(&kind, &namespace, &name).await?;
                let (seen, is) = (&there["status"]["observedGeneration"], &there["metadata"]["generation"]);
                ensure!(seen == is, "{kind} {name}: {seen} of {is}");
            }
        }
        Ok(())
    })
    .await?;
    for (_, child) in &mut seeded.children {
        let (kind, namespace, name) = id(child);
        *child = admin.get(&kind, &namespace, &name).await?;
    }
    Ok(seeded)
}

/// The field managers that do not write the status, with their operation.
fn managers(object: &Value) -> Vec<(&str, &str)> {
    let entries = object["metadata"]["managedFields"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let own = entries.iter().filter(|entry| entry.get("subresource").is_none());
    own.map(|entry| (entry["manager"].as_str().unwrap(), entry["operation"].as_str().unwrap()))
        .collect()
}

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
