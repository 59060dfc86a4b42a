//! The policies as `deploy/policies` has them, in force on the shared control plane, and how the API server answers.

use std::fmt::Debug;

use anyhow::{Context, Result, bail, ensure};
use control_plane::cluster::refusal;
use control_plane::{Cluster, ControlPlane, Identity, Policy, PolicyServer, wait_until};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::workloads::{deployment, named, opted_in, pod, template};
use super::{LIMIT, engine};

static SERVER: OnceCell<PolicyServer> = OnceCell::const_new();

/// What the guard adds to each complaint about a stamp.
pub const STAMP_ADVICE: &str = "Only the policies that wire Pods set a stamp: remove it from the Pod or from its template, and \
     create the Pod anew. If a policy set it just now, another webhook changed the Pod afterwards: what it took away is \
     named above.";
/// What the guard adds to each complaint about a changed key.
pub const KEYS_ADVICE: &str =
    "These keys are set when a Pod is created and stay as they are: change the template, and create another Pod.";

/// The server of all policies of the shared control plane, which are in force.
pub async fn policies(plane: &ControlPlane) -> Result<&'static PolicyServer> {
    SERVER
        .get_or_try_init(|| async {
            let server = PolicyServer::start(plane, "policy-server", &Policy::deployed()?, &[]).await?;
            server.install()?;
            in_force(&plane.cluster(Identity::Admin).await?).await?;
            Ok(server)
        })
        .await
}

/// Waits until the API server asks every policy of `deploy/policies` that can say something: it learns of a webhook
/// configuration a moment after that was stored. Nothing is stored here.
pub async fn in_force(admin: &Cluster) -> Result<()> {
    let ns = "in-force";
    admin.namespace(ns).await?;
    let unwired = pod(ns, "unwired", opted_in(ns, "none"));
    let blend = json!({"lmcache.ai/cacheblend-inject": "true"});
    let blend = pod(
        ns,
        "blend",
        template(ns, blend, json!({"lmcache.ai/cacheblend-engine": "none"})),
    );
    let forged = pod(
        ns,
        "forged",
        template(ns, json!({}), json!({"lmcache.ai/lmcache-injected": "true"})),
    );
    let dry = |plural: &str| format!("/api/v1/namespaces/{ns}/{plural}?dryRun=All");
    wait_until("the policies are in force", LIMIT, async || {
        for (pod, key) in [
            (&unwired, "lmcache.ai/lmcache-skip-reason"),
            (&blend, "lmcache.ai/cacheblend-skip-reason"),
        ] {
            let stored = admin.dry_run(pod).await?;
            ensure!(stored["metadata"]["annotations"][key] == "engine-not-found", "{key}");
        }
        let (code, _) = post(admin, &dry("pods"), &forged).await?;
        ensure!(code == 422, "lmcache-guard: {code}");
        // 56 characters: one more than an engine's name may have.
        let (code, _) = refused(admin.dry_run(&engine(ns, &"k".repeat(56), ns)).await)?;
        ensure!(code == 422, "lmcache-engine-validation: {code}");
        let path = format!("/apis/apps/v1/namespaces/{ns}/deployments?dryRun=All");
        let (_, warnings) = post(admin, &path, &deployment(ns, "chat", 1, opted_in(ns, "none"))).await?;
        ensure!(warnings.len() == 1, "lmcache-workload-preflight: {warnings:?}");
        Ok(())
    })
    .await
}

/// Code and message with which the API server refused.
pub fn refused<T: Debug>(answer: Result<T>) -> Result<(u16, String)> {
    let error = match answer {
        Ok(value) => bail!("not refused: {value:?}"),
        Err(error) => error,
    };
    match refusal(&error) {
        Some(status) => Ok((status.code, status.message.clone())),
        None => Err(error),
    }
}

/// A refusal by a policy, as whoever sent the request reads it.
pub fn denied_by(policy: &str, message: &str) -> String {
    format!("admission webhook \"kw.cap.{policy}.kubewarden.admission\" denied the request: {message}")
}

/// Sends an object to be created; the answer's status code, and the warnings that came with it.
pub async fn post(cluster: &Cluster, path: &str, object: &Value) -> Result<(u16, Vec<String>)> {
    send(cluster, "POST", "application/json", path, object).await
}

/// Sends a Deployment as `kubectl apply --server-side` does; likewise.
pub async fn apply_deployment(cluster: &Cluster, object: &Value) -> Result<(u16, Vec<String>)> {
    let (namespace, name) = named(object);
    let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments/{name}?fieldManager=kubectl&force=true");
    send(cluster, "PATCH", "application/apply-patch+yaml", &path, object).await
}

async fn send(
    cluster: &Cluster,
    method: &str,
    content: &str,
    path: &str,
    object: &Value,
) -> Result<(u16, Vec<String>)> {
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content)
        .body(Body::from(object.to_string().into_bytes()))?;
    let answer = cluster.client().send(request).await?;
    let warnings = answer.headers().get_all("warning").iter();
    let warnings = warnings.map(|value| warning(value.to_str()?));
    Ok((answer.status().as_u16(), warnings.collect::<Result<_>>()?))
}

/// The text of a `Warning` header: `299 - "text"`, where quotes and backslashes have a backslash before them.
fn warning(header: &str) -> Result<String> {
    let quoted = header.strip_prefix("299 - ").context("not a warning of code 299")?;
    serde_json::from_str(quoted).with_context(|| format!("not quoted: {header}"))
}

/// How often a policy was asked about an object, by what the server logged: `asked(&server, "lmcache-guard", "UPDATE pods
/// team-a/chat")`.
pub fn asked(server: &PolicyServer, policy: &str, about: &str) -> Result<usize> {
    let line = format!("kw.cap.{policy}: {about}: ");
    Ok(server.log()?.lines().filter(|logged| logged.starts_with(&line)).count())
}
