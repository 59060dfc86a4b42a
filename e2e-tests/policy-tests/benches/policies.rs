//! Times one evaluation of the compiled policies as policy-server does it: a fresh instance for every call, the request
//! handed over as JSON, look-ups answered from memory.

use criterion::{Criterion, criterion_group, criterion_main};
use policy_host::host::ClusterDir;
use policy_host::{AdmissionRequest, EvaluationContext, Policy};
use policy_tests::load;
use serde_json::{Value, json};
use std::hint::black_box;

fn policy(name: &str) -> Policy {
    match load(name) {
        Ok(policy) => policy,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1)
        }
    }
}

fn request(kind: Value, object: Value) -> Option<AdmissionRequest> {
    AdmissionRequest::from_value(json!({
        "uid": "1", "operation": "CREATE", "namespace": "team-a", "userInfo": {"username": "u"}, "kind": kind,
        "resource": {"group": "", "version": "v1", "resource": "x"}, "object": object,
    }))
    .ok()
}

/// A serving Pod with `bytes` of other people's annotations and environment around it.
fn pod(opted_in: bool, bytes: usize) -> Option<AdmissionRequest> {
    let labels = if opted_in {
        json!({"lmcache.ai/lmcache-inject": "true"})
    } else {
        json!({"app": "web"})
    };
    let env: Vec<Value> = (0..bytes / 100)
        .map(|n| json!({"name": format!("VARIABLE_{n}"), "value": "x".repeat(60)}))
        .collect();
    let object = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"generateName": "chat-7c9d-", "labels": labels, "annotations": {"lmcache.ai/lmcache-engine": "kv-pool"}},
        "spec": {"containers": [{
            "name": "vllm", "image": "vllm/vllm-openai:v0.24.0", "args": ["--model", "org/model-8b"], "env": env,
            "resources": {"limits": {"nvidia.com/gpu": "1"}}
        }]}
    });
    request(json!({"group": "", "version": "v1", "kind": "Pod"}), object)
}

fn cluster() -> Option<ClusterDir> {
    ClusterDir::new([
        json!({"apiVersion": "lmcache.lmcache.ai/v1alpha1", "kind": "LMCacheEngine",
            "metadata": {"name": "kv-pool", "namespace": "team-a", "uid": "u1"}, "spec": {"l1": {"sizeGB": 60}}}),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}}),
    ])
    .ok()
}

fn bench(criterion: &mut Criterion) {
    let (Some(cluster), settings) = (cluster(), json!({})) else {
        return;
    };
    let context = EvaluationContext::new(cluster).context_aware_any();
    let injection = policy("connection-injection");
    let mut run = |name: &str, policy: &Policy, request: Option<AdmissionRequest>| {
        if let Some(request) = request {
            criterion.bench_function(name, |bencher| {
                bencher.iter(|| black_box(policy.validate(&request, &settings, &context)));
            });
        }
    };
    run("pod not opted in", &injection, pod(false, 0));
    run("pod not opted in, 30 kB", &injection, pod(false, 30_000));
    run("full injection", &injection, pod(true, 0));
    run("full injection, 30 kB pod", &injection, pod(true, 30_000));
    let invalid = json!({"metadata": {"name": "kv-pool"}, "spec": {
        "l1": {"sizeGB": -1}, "server": {"port": 80}, "eviction": {"policy": "FIFO", "evictionRatio": 2},
        "l2Backend": {}, "coordinator": {}, "resourceOverrides": {"limits": {"memory": "64GB"}}
    }});
    let kind = json!({"group": "lmcache.lmcache.ai", "version": "v1alpha1", "kind": "LMCacheEngine"});
    run("invalid engine", &policy("engine-validation"), request(kind, invalid));
}

criterion_group!(benches, bench);
criterion_main!(benches);
