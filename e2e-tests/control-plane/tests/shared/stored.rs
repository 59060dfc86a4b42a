//! Engines and coordinators as the Go operator left them, made anew in a control plane.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use control_plane::cluster::{read, repository};
use control_plane::{Cluster, wait_until};
use serde_json::{Value, json};

use super::LIMIT;

/// Annotations that Kubernetes' controllers and the API server set. Were they in what we create, the Go operator's field
/// manager would own them, and removing its fields would remove them.
const OF_KUBERNETES: [&str; 2] = [
    "deprecated.daemonset.template.generation",
    "deployment.kubernetes.io/revision",
];

/// A recording without what the API server fills in.
pub fn clean(object: &Value) -> Value {
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

/// Kind, namespace and name of an object.
pub fn id(object: &Value) -> (String, String, String) {
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
pub struct Seeded {
    /// The custom resources.
    pub customs: BTreeMap<String, (String, String, String)>,
    /// The children as they are stored, with the case that each belongs to.
    pub children: Vec<(String, Value)>,
}

/// Makes the objects as the Go operator left them. It ran as the field manager `manager`.
pub async fn seed(admin: &Cluster) -> Result<Seeded> {
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
pub fn managers(object: &Value) -> Vec<(&str, &str)> {
    let entries = object["metadata"]["managedFields"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let own = entries.iter().filter(|entry| entry.get("subresource").is_none());
    own.map(|entry| (entry["manager"].as_str().unwrap(), entry["operation"].as_str().unwrap()))
        .collect()
}
