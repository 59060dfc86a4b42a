//! A cluster that runs already, in the place of a control plane of our own.
//!
//! Whoever sets `E2E_CLUSTER` to the name of the current context says that the tests may make namespaces, nodes, kinds, roles
//! and webhooks in its cluster. Its administrator acts for every [`Identity`]: by impersonation, so that the rights of each count.
//! Nodes and Pods are played by a kwok of ours, which looks at the nodes that the tests make and at no other.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::config::{Kubeconfig, NamedAuthInfo};
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::identity::Identity;
use crate::setup::OF_TESTS;
use crate::wait_until;

/// How long a namespace may take until it is gone.
const GONE: Duration = Duration::from_secs(120);

/// Whether the tests shall use the cluster of the user's kubeconfig: the environment variable `E2E_CLUSTER` is not empty.
pub fn wanted() -> bool {
    std::env::var_os("E2E_CLUSTER").is_some_and(|value| !value.is_empty())
}

/// The kubeconfig that `KUBECONFIG` names, else the one in the home folder.
///
/// # Errors
/// There is none, it cannot be read, or its current context is not the one that `E2E_CLUSTER` names: what a kubeconfig
/// leads to changes with every `kubectl config use-context`.
pub fn kubeconfig() -> Result<Kubeconfig> {
    let read = Kubeconfig::read().context("cannot read the kubeconfig (KUBECONFIG, else ~/.kube/config)")?;
    let wanted = std::env::var("E2E_CLUSTER").unwrap_or_default();
    let current = read.current_context.as_deref().unwrap_or_default();
    ensure!(
        !wanted.is_empty() && wanted == current,
        "E2E_CLUSTER must be the name of the current context, which is '{current}'; found '{wanted}'"
    );
    Ok(read)
}

/// Where the API server of the cluster is, by the current context.
///
/// # Errors
/// The kubeconfig has no current context, or it names no cluster.
pub(crate) fn server(kubeconfig: &Kubeconfig) -> Result<String> {
    let context = context_of(kubeconfig)?;
    let cluster = kubeconfig
        .clusters
        .iter()
        .find(|cluster| cluster.name == context.cluster);
    let server = cluster.and_then(|cluster| cluster.cluster.as_ref()?.server.clone());
    server.with_context(|| format!("the kubeconfig has no server for the cluster '{}'", context.cluster))
}

/// Writes a kubeconfig for each identity.
///
/// # Errors
/// The kubeconfig names no user, or a file cannot be written.
pub(crate) fn write(folder: &Path, kubeconfig: &Kubeconfig) -> Result<()> {
    let context = context_of(kubeconfig)?;
    let user = context.user.clone().unwrap_or_default();
    let found = kubeconfig.auth_infos.iter().find(|info| info.name == user);
    let own = found.and_then(|info| info.auth_info.clone());
    let own = own.with_context(|| format!("the kubeconfig has no user '{user}'"))?;
    for identity in Identity::ALL {
        let mut auth_info = own.clone();
        if let Some(groups) = identity.impersonated() {
            auth_info.impersonate = Some(identity.user().to_owned());
            auth_info.impersonate_groups = Some(groups);
        }
        let mut theirs = kubeconfig.clone();
        theirs.auth_infos = vec![NamedAuthInfo {
            name: user.clone(),
            auth_info: Some(auth_info),
            ..NamedAuthInfo::default()
        }];
        for context in &mut theirs.contexts {
            if Some(&context.name) == kubeconfig.current_context.as_ref()
                && let Some(context) = context.context.as_mut()
            {
                context.namespace = Some(identity.namespace().to_owned());
            }
        }
        let path = identity.kubeconfig(folder);
        let text = yaml_serde::to_string(&theirs).context("cannot write a kubeconfig")?;
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn context_of(kubeconfig: &Kubeconfig) -> Result<kube::config::Context> {
    let name = kubeconfig.current_context.as_deref().unwrap_or_default();
    let found = kubeconfig.contexts.iter().find(|context| context.name == name);
    let context = found.and_then(|context| context.context.clone());
    context.with_context(|| format!("the kubeconfig has no context '{name}'"))
}

/// The name or address by which a given cluster reaches webhooks on this machine, and where they listen: `E2E_WEBHOOK_HOST`
/// and every address; without it the loopback address alone, which does for an API server on this machine.
pub(crate) fn webhook_address() -> (String, Ipv4Addr) {
    match std::env::var("E2E_WEBHOOK_HOST") {
        Ok(host) if !host.is_empty() => (host, Ipv4Addr::UNSPECIFIED),
        _ => loopback(),
    }
}

/// The same for a control plane of our own.
pub(crate) fn loopback() -> (String, Ipv4Addr) {
    (Ipv4Addr::LOCALHOST.to_string(), Ipv4Addr::LOCALHOST)
}

/// Deletes what tests left in a cluster: webhooks first, so that they are in nobody's way, then namespaces and nodes. Kinds
/// and roles stay.
///
/// # Errors
/// The API server refuses, or a namespace is not gone after two minutes.
pub async fn clean(cluster: &Cluster) -> Result<()> {
    for kind in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] {
        for labels in ["kubewardenPolicyScope=cluster", OF_TESTS] {
            // Kubewarden's own name a Service; those of policy-host an address.
            for object in cluster.list(kind, "", labels).await? {
                if object.pointer("/webhooks/0/clientConfig/url").is_some() {
                    cluster.delete(kind, "", name(&object)).await?;
                }
            }
        }
    }
    for namespace in cluster.list("Namespace", "", OF_TESTS).await? {
        // A test that failed may have left one.
        without_finalizers(cluster, name(&namespace)).await?;
    }
    for kind in ["Namespace", "Node"] {
        for object in cluster.list(kind, "", OF_TESTS).await? {
            if object.pointer("/metadata/deletionTimestamp").is_none() {
                cluster.delete(kind, "", name(&object)).await?;
            }
        }
    }
    wait_until("the namespaces of earlier tests are gone", GONE, async || {
        let left = cluster.list("Namespace", "", OF_TESTS).await?;
        ensure!(left.is_empty(), "{} are left", left.len());
        Ok(())
    })
    .await
}

async fn without_finalizers(cluster: &Cluster, namespace: &str) -> Result<()> {
    // Engines are not served before the first tests.
    let engines = cluster.list("LMCacheEngine", namespace, "").await.unwrap_or_default();
    for object in cluster.list("Pod", namespace, "").await?.iter().chain(&engines) {
        let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
        if object.pointer("/metadata/finalizers").is_some() {
            let patch = json!({"metadata": {"finalizers": null}});
            cluster.patch(kind, namespace, name(object), &patch).await?;
        }
    }
    Ok(())
}

fn name(object: &Value) -> &str {
    let name = object.pointer("/metadata/name").and_then(Value::as_str);
    name.unwrap_or_default()
}
