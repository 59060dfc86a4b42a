//! Servers of models: Pod templates of vLLM, the workloads that make Pods of them, and what became of the Pods.

use anyhow::{Context, Result, ensure};
use control_plane::{Cluster, wait_until};
use serde_json::{Value, json};

use super::LIMIT;

/// A Pod template that runs vLLM on a node of a pool.
pub fn template(pool: &str, labels: Value, annotations: Value) -> Value {
    json!({
        "metadata": {"labels": labels, "annotations": annotations},
        "spec": {
            "nodeSelector": {"e2e.lmcache.ai/pool": pool},
            // So that it has no volume besides those of the policies, whatever the cluster gives others.
            "automountServiceAccountToken": false,
            "containers": [{
                "name": "vllm", "image": "vllm/vllm-openai:v0.24.0", "args": ["--model", "org/model-8b"],
                "resources": {"limits": {"nvidia.com/gpu": "1"}},
            }],
        },
    })
}

/// The same, opted in to an LMCacheEngine.
pub fn opted_in(pool: &str, engine: &str) -> Value {
    template(
        pool,
        json!({"lmcache.ai/lmcache-inject": "true"}),
        json!({"lmcache.ai/lmcache-engine": engine}),
    )
}

/// A Deployment of a template, whose Pods have the label `app` with its name.
pub fn deployment(namespace: &str, name: &str, replicas: u64, template: Value) -> Value {
    workload("apps/v1", "Deployment", namespace, name, Some(replicas), template)
}

/// A StatefulSet likewise.
pub fn stateful_set(namespace: &str, name: &str, replicas: u64, template: Value) -> Value {
    let mut set = workload("apps/v1", "StatefulSet", namespace, name, Some(replicas), template);
    set["spec"]["serviceName"] = name.into();
    set
}

/// A Job likewise, of one Pod.
pub fn job(namespace: &str, name: &str, template: Value) -> Value {
    let mut job = workload("batch/v1", "Job", namespace, name, None, template);
    job["spec"]["template"]["spec"]["restartPolicy"] = "Never".into();
    job
}

fn workload(
    version: &str,
    kind: &str,
    namespace: &str,
    name: &str,
    replicas: Option<u64>,
    mut template: Value,
) -> Value {
    template["metadata"]["labels"]["app"] = name.into();
    let mut spec = json!({"template": template});
    // A Job finds its Pods by a label of its own.
    if let Some(replicas) = replicas {
        spec["replicas"] = replicas.into();
        spec["selector"] = json!({"matchLabels": {"app": name}});
    }
    json!({"apiVersion": version, "kind": kind, "metadata": {"namespace": namespace, "name": name}, "spec": spec})
}

/// A Pod of a template.
pub fn pod(namespace: &str, name: &str, template: Value) -> Value {
    let mut pod = template;
    pod["apiVersion"] = "v1".into();
    pod["kind"] = "Pod".into();
    pod["metadata"]["namespace"] = namespace.into();
    pod["metadata"]["name"] = name.into();
    pod
}

/// Namespace and name of an object of a test.
pub fn named(object: &Value) -> (&str, &str) {
    let text = |key: &str| object["metadata"][key].as_str().unwrap();
    (text("namespace"), text("name"))
}

/// The connection of an LMCacheEngine, as vLLM gets it.
pub fn connection(namespace: &str, engine: &str, port: u16) -> Value {
    json!({
        "kv_connector": "LMCacheMPConnector",
        "kv_connector_module_path": "lmcache.integration.vllm.lmcache_mp_connector",
        "kv_role": "kv_both",
        "kv_connector_extra_config": {
            "lmcache.mp.host": format!("tcp://{engine}.{namespace}.svc.cluster.local"),
            "lmcache.mp.port": port.to_string(),
        },
    })
}

/// Everything of a Pod that the policies may change, to compare in one go: absent parts are null, arguments that are JSON
/// objects are parsed, and of init containers there are name and image.
pub fn wiring(pod: &Value) -> Value {
    let containers = pod["spec"]["containers"].as_array().unwrap();
    assert_eq!(containers.len(), 1, "{containers:?}");
    let container = &containers[0];
    let args = container["args"].as_array().unwrap().iter();
    let args = args.map(|arg| {
        let parsed = serde_json::from_str(arg.as_str().unwrap()).ok();
        parsed.filter(Value::is_object).unwrap_or_else(|| arg.clone())
    });
    let init = pod["spec"]["initContainers"].as_array();
    let init = init.map(|all| {
        let brief = all
            .iter()
            .map(|each| json!({"name": each["name"], "image": each["image"]}));
        brief.collect::<Vec<_>>()
    });
    json!({
        "annotations": pod["metadata"]["annotations"],
        "args": args.collect::<Vec<_>>(),
        "env": container["env"],
        "hostIPC": pod["spec"]["hostIPC"],
        "initContainers": init,
        "serviceLinks": pod["spec"]["enableServiceLinks"],
        "volumeMounts": container["volumeMounts"],
        "volumes": pod["spec"]["volumes"],
    })
}

/// [`wiring`] of a Pod that no policy touched, with these annotations.
pub fn untouched(annotations: Value) -> Value {
    json!({
        "annotations": annotations, "args": ["--model", "org/model-8b"], "env": null, "hostIPC": null,
        "initContainers": null, "serviceLinks": true, "volumeMounts": null, "volumes": null,
    })
}

/// [`wiring`] of a Pod of [`opted_in`] that is not wired, for this reason.
pub fn skipped(engine: &str, reason: &str) -> Value {
    untouched(json!({"lmcache.ai/lmcache-engine": engine, "lmcache.ai/lmcache-skip-reason": reason}))
}

/// [`wiring`] of a Pod of [`opted_in`] that is wired to an engine of [`super::engine`].
pub fn wired(namespace: &str, engine: &str, port: u16) -> Value {
    let mut wired = untouched(json!({"lmcache.ai/lmcache-engine": engine, "lmcache.ai/lmcache-injected": "true"}));
    wired["args"] = json!([
        "--model",
        "org/model-8b",
        "--kv-transfer-config",
        connection(namespace, engine, port)
    ]);
    wired["env"] = json!([{"name": "PYTHONHASHSEED", "value": "0"}]);
    wired["hostIPC"] = true.into();
    wired
}

/// The Pods with the label `app` that are there to stay.
pub async fn pods(admin: &Cluster, namespace: &str, app: &str) -> Result<Vec<Value>> {
    let mut pods = admin.list("Pod", namespace, &format!("app={app}")).await?;
    pods.retain(|pod| pod["metadata"]["deletionTimestamp"].is_null());
    Ok(pods)
}

/// Waits until all Pods of a Deployment are there, ready, and of its present template; returns them.
pub async fn rolled_out(admin: &Cluster, namespace: &str, name: &str) -> Result<Vec<Value>> {
    wait_until(&format!("{namespace}/{name} is rolled out"), LIMIT, async || {
        let deployment = admin.get("Deployment", namespace, name).await?;
        let (status, replicas) = (&deployment["status"], &deployment["spec"]["replicas"]);
        ensure!(
            status["observedGeneration"] == deployment["metadata"]["generation"],
            "{status}"
        );
        for count in ["replicas", "updatedReplicas", "readyReplicas"] {
            ensure!(status[count] == *replicas, "{status}");
        }
        let pods = pods(admin, namespace, name).await?;
        ensure!(
            replicas.as_u64() == Some(u64::try_from(pods.len())?),
            "{} Pods",
            pods.len()
        );
        Ok(pods)
    })
    .await
}

/// What `kubectl rollout restart` does; waits until it is done, and returns the new Pods.
pub async fn restarted(admin: &Cluster, namespace: &str, name: &str) -> Result<Vec<Value>> {
    let annotations = json!({"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"});
    let patch = json!({"spec": {"template": {"metadata": {"annotations": annotations}}}});
    admin.patch("Deployment", namespace, name, &patch).await?;
    let mut pods = rolled_out(admin, namespace, name).await?;
    for pod in &mut pods {
        let annotations = pod["metadata"]["annotations"].as_object_mut().unwrap();
        // So that they compare with others.
        let restarted = annotations.remove("kubectl.kubernetes.io/restartedAt");
        restarted.context("not a Pod of the changed template")?;
    }
    Ok(pods)
}

/// Waits until an engine's status counts its clients so; returns the engine.
pub async fn clients(
    admin: &Cluster,
    kind: &str,
    (namespace, name): (&str, &str),
    [wired, skipped, drifted, uncovered]: [u64; 4],
) -> Result<Value> {
    let wanted = json!({"wired": wired, "skipped": skipped, "drifted": drifted, "uncovered": uncovered});
    wait_until(&format!("{namespace}/{name} has clients {wanted}"), LIMIT, async || {
        let engine = admin.get(kind, namespace, name).await?;
        ensure!(engine["status"]["clients"] == wanted, "{}", engine["status"]);
        Ok(engine)
    })
    .await
}

/// Waits for an Event about an object, and returns its type and text.
pub async fn event(admin: &Cluster, namespace: &str, kind: &str, name: &str, reason: &str) -> Result<(String, String)> {
    let what = format!("{reason} is told about {kind} {namespace}/{name}");
    wait_until(&what, LIMIT, async || {
        let events = admin.list("Event", namespace, "").await?;
        let about: Vec<&Value> = events
            .iter()
            .filter(|event| event["regarding"]["kind"] == kind && event["regarding"]["name"] == name)
            .collect();
        let found = about.iter().find(|event| event["reason"] == reason);
        let found = found.with_context(|| format!("{about:?}"))?;
        let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
        Ok((text("type"), text("note")))
    })
    .await
}
