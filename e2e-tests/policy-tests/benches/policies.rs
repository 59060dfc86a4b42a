//! Times one evaluation of the compiled policies as policy-server does it: a fresh instance for every call, the request
//! handed over as JSON, look-ups answered from memory.

use criterion::{Criterion, criterion_group, criterion_main};
use policy_host::host::ClusterDir;
use policy_host::{AdmissionRequest, EvaluationContext, Policy};
use policy_tests::load;
use serde_json::{Value, json};
use std::hint::black_box;

/// A benchmark that cannot run ends the program with the reason.
fn or_exit<T>(result: Result<T, impl std::fmt::Display>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1)
        }
    }
}

fn policy(name: &str) -> Policy {
    or_exit(load(name))
}

fn request(kind: Value, object: Value) -> AdmissionRequest {
    or_exit(AdmissionRequest::from_value(json!({
        "uid": "1", "operation": "CREATE", "namespace": "team-a", "userInfo": {"username": "u"}, "kind": kind,
        "resource": {"group": "", "version": "v1", "resource": "x"}, "object": object,
    })))
}

/// The label, the annotation and the engine by which a Pod asks for one of the systems.
type OptIn = (&'static str, &'static str, &'static str);

const NOTHING: OptIn = ("app", "lmcache.ai/lmcache-engine", "kv-pool");
const LMCACHE: OptIn = ("lmcache.ai/lmcache-inject", "lmcache.ai/lmcache-engine", "kv-pool");
const STAGED: OptIn = ("lmcache.ai/lmcache-inject", "lmcache.ai/lmcache-engine", "kv-staged");
const CACHEBLEND: OptIn = ("lmcache.ai/cacheblend-inject", "lmcache.ai/cacheblend-engine", "blend");

/// A serving Pod with `bytes` of other people's environment in it.
fn pod((label, annotation, engine): OptIn, bytes: usize) -> Value {
    let env: Vec<Value> = (0..bytes / 100)
        .map(|n| json!({"name": format!("VARIABLE_{n}"), "value": "x".repeat(60)}))
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"generateName": "chat-7c9d-", "labels": {label: "true"}, "annotations": {annotation: engine}},
        "spec": {"containers": [{
            "name": "vllm", "image": "vllm/vllm-openai:v0.24.0", "args": ["--model", "org/model-8b"], "env": env,
            "resources": {"limits": {"nvidia.com/gpu": "1"}}
        }]}
    })
}

fn create_pod(object: Value) -> AdmissionRequest {
    request(json!({"group": "", "version": "v1", "kind": "Pod"}), object)
}

fn create_deployment(pod: &Value) -> AdmissionRequest {
    let template = json!({"metadata": pod.get("metadata"), "spec": pod.get("spec")});
    let object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "chat"}, "spec": {"template": template},
    });
    request(json!({"group": "apps", "version": "v1", "kind": "Deployment"}), object)
}

fn cluster() -> ClusterDir {
    let engine = |kind: &str, name: &str, injection: Value| {
        json!({"apiVersion": "lmcache.lmcache.ai/v1alpha1", "kind": kind,
            "metadata": {"name": name, "namespace": "team-a", "uid": name},
            "spec": {"l1": {"sizeGB": 60}, "injection": injection}})
    };
    let payload = json!({"payloadImage": {"repository": "ghcr.io/acme/payload", "tag": "0.5.6"}});
    or_exit(ClusterDir::new([
        engine("LMCacheEngine", "kv-pool", json!({})),
        engine("LMCacheEngine", "kv-staged", payload.clone()),
        engine("CacheBlendEngine", "blend", payload),
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}}),
    ]))
}

/// What a mutating policy makes of a Pod.
fn mutated(policy: &Policy, pod: &Value, context: &EvaluationContext) -> Value {
    let mut after = pod.clone();
    let response = policy
        .validate(&create_pod(after.clone()), &json!({}), context)
        .response;
    if let Some(patch) = &response.patch {
        or_exit(json_patch::patch(&mut after, patch));
    }
    after
}

/// A benchmark of what changes nothing where it should would time the wrong thing.
fn wired(policy: &Policy, pod: &Value, context: &EvaluationContext) -> Value {
    let after = mutated(policy, pod, context);
    if after.pointer("/spec/hostIPC") != Some(&Value::Bool(true)) {
        or_exit::<()>(Err(format!("the Pod is not wired: {after}")));
    }
    after
}

fn bench(criterion: &mut Criterion) {
    let settings = json!({});
    let context = EvaluationContext::new(cluster()).context_aware_any();
    let mut run = |name: &str, steps: &[(&Policy, AdmissionRequest)]| {
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| {
                for (policy, request) in steps {
                    black_box(policy.validate(request, &settings, &context));
                }
            });
        });
    };
    let [connection, staging, blending] =
        ["connection-injection", "payload-staging", "cacheblend-injection"].map(policy);
    let all = policy("pod-injection");
    for (name, bytes) in [("", 0), (", 30 kB", 30_000)] {
        run(
            &format!("pod not opted in{name}"),
            &[(&all, create_pod(pod(NOTHING, bytes)))],
        );
        for (what, opt_in) in [("", LMCACHE), (" with staging", STAGED), (" CacheBlend", CACHEBLEND)] {
            let pod = pod(opt_in, bytes);
            wired(&all, &pod, &context);
            run(&format!("pod-injection{what}{name}"), &[(&all, create_pod(pod))]);
        }
        run(
            &format!("connection-injection{name}"),
            &[(&connection, create_pod(pod(LMCACHE, bytes)))],
        );
        let first = pod(STAGED, bytes);
        let second = wired(&connection, &first, &context);
        let third = mutated(&staging, &second, &context);
        let chain = [(&connection, first), (&staging, second), (&blending, third)];
        run(
            &format!("chain of three{name}"),
            &chain.map(|(policy, pod)| (policy, create_pod(pod))),
        );
        let accepted = wired(&all, &pod(STAGED, bytes), &context);
        run(
            &format!("guard{name}"),
            &[(&policy("injection-guard"), create_pod(accepted))],
        );
        let deployment = create_deployment(&pod(STAGED, bytes));
        run(
            &format!("preflight{name}"),
            &[(&policy("workload-preflight"), deployment)],
        );
    }
    let invalid = json!({"metadata": {"name": "kv-pool"}, "spec": {
        "l1": {"sizeGB": -1}, "server": {"port": 80}, "eviction": {"policy": "FIFO", "evictionRatio": 2},
        "l2Backend": {}, "coordinator": {}, "resourceOverrides": {"limits": {"memory": "64GB"}}
    }});
    let kind = json!({"group": "lmcache.lmcache.ai", "version": "v1alpha1", "kind": "LMCacheEngine"});
    run(
        "invalid engine",
        &[(&policy("engine-validation"), request(kind, invalid))],
    );
}

criterion_group!(benches, bench);
criterion_main!(benches);
