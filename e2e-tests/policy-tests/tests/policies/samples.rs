//! Every sample does what its folder says: custom resources are accepted, workloads that opt in are wired.

use policy_host::document::read_all;
use policy_host::host::ClusterDir;
use policy_host::{AdmissionRequest, EvaluationContext};
use policy_tests::{load, root};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The only warning that a sample earns: it is what the sample is about.
const WARNED: [(&str, &str); 1] = [("lmcacheengine-l2-redis.yaml", "/env")];

/// Every document of every sample, by file.
fn samples() -> BTreeMap<String, Vec<Value>> {
    let mut samples = BTreeMap::new();
    for entry in std::fs::read_dir(root().join("deploy/samples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            samples.insert(name, read_all(&path).unwrap_or_else(|error| panic!("{error:#}")));
        }
    }
    assert!(samples.len() >= 20, "{:?}", samples.keys());
    samples
}

/// The objects of all samples in one namespace, as they would be applied together.
fn cluster() -> ClusterDir {
    let objects = samples().into_values().flatten().map(|mut object| {
        object["metadata"]["namespace"] = json!("default");
        object
    });
    ClusterDir::new(objects).unwrap()
}

#[test]
fn custom_resources_are_accepted() {
    let policy = load("engine-validation").unwrap();
    let mut engines = 0;
    for (name, documents) in samples() {
        for document in documents {
            if !document["apiVersion"]
                .as_str()
                .unwrap()
                .starts_with("lmcache.lmcache.ai/")
            {
                continue;
            }
            let request = AdmissionRequest::create_of(document).unwrap();
            let context = policy.grant_context_aware(EvaluationContext::new(ClusterDir::new([]).unwrap()));
            let response = policy.validate(&request, &json!({}), &context).response;
            assert!(response.allowed, "{name}: {}", response.message());
            let expected = WARNED.iter().find(|(file, _)| *file == name);
            let warnings = response.warnings();
            assert_eq!(warnings.len(), usize::from(expected.is_some()), "{name}: {warnings:?}");
            assert!(
                expected.is_none_or(|(_, text)| warnings[0].contains(text)),
                "{name}: {warnings:?}"
            );
            engines += 1;
        }
    }
    assert!(engines >= 15, "{engines}");
}

#[test]
fn workloads_that_opt_in_are_wired() {
    let policy = load("pod-injection").unwrap();
    let mut wired = 0;
    for (name, documents) in samples() {
        for document in documents {
            let Some(template) = document.pointer("/spec/template") else {
                continue;
            };
            let labels = &template["metadata"]["labels"];
            let stamp = if labels["lmcache.ai/lmcache-inject"] == "true" {
                "lmcache.ai/lmcache-injected"
            } else if labels["lmcache.ai/cacheblend-inject"] == "true" {
                "lmcache.ai/cacheblend-injected"
            } else {
                continue;
            };
            let mut pod = template.clone();
            pod["apiVersion"] = json!("v1");
            pod["kind"] = json!("Pod");
            pod["metadata"]["name"] = document["metadata"]["name"].clone();
            let request = AdmissionRequest::create_of(pod.clone()).unwrap();
            let context = policy.grant_context_aware(EvaluationContext::new(cluster()));
            let response = policy.validate(&request, &json!({}), &context).response;
            assert!(response.warnings().is_empty(), "{name}: {:?}", response.warnings());
            json_patch::patch(
                &mut pod,
                &response.patch.unwrap_or_else(|| panic!("{name} is not wired")),
            )
            .unwrap();
            assert_eq!(pod["metadata"]["annotations"][stamp], "true", "{name}");
            wired += 1;
        }
    }
    assert!(wired >= 5, "{wired}");
}
