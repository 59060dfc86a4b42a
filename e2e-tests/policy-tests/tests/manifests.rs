//! The manifests under `deploy/policies` install what the metadata describes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

use policy_host::metadata::{Metadata, artifacthub_package};
use policy_tests::{POLICIES, load, root};
use serde_json::Value;

fn manifest(file: &str) -> Value {
    let path = root().join("deploy/policies").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    yaml_serde::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

const MANIFESTS: [(&str, &str); 3] = [
    ("engine-validation.yaml", "engine-validation"),
    ("connection-injection.yaml", "connection-injection"),
    ("connection-injection-by-annotation.yaml", "connection-injection"),
];

#[test]
fn rules_and_grants_are_those_of_the_metadata() {
    for (file, name) in MANIFESTS {
        let spec = manifest(file)["spec"].clone();
        let metadata = serde_json::to_value(load(name).unwrap().metadata().unwrap()).unwrap();
        for key in ["rules", "mutating", "backgroundAudit", "contextAwareResources"] {
            // `backgroundAudit: true` is the default and may be left out.
            let found = if key == "backgroundAudit" && spec[key].is_null() {
                Value::Bool(true)
            } else {
                spec[key].clone()
            };
            assert_eq!(found, metadata[key], "{file}: spec.{key}");
        }
    }
}

#[test]
fn mutators_fail_open_and_evaluation_ends_before_the_webhook() {
    for (file, _) in MANIFESTS {
        let spec = manifest(file)["spec"].clone();
        if spec["mutating"] == true {
            assert_eq!(spec["failurePolicy"], "Ignore", "{file}");
        }
        assert!(spec["policyServer"].is_string(), "{file}");
        let seconds = |key: &str| spec[key].as_u64().unwrap_or_else(|| panic!("{file}: spec.{key}"));
        assert!(seconds("timeoutEvalSeconds") < seconds("timeoutSeconds"), "{file}");
        // Labels of a namespaceSelector are dropped by some releases of the controller; expressions are not.
        assert!(spec["namespaceSelector"]["matchLabels"].is_null(), "{file}");
    }
}

#[test]
fn settings_in_manifests_are_valid() {
    for (file, name) in MANIFESTS {
        let settings = manifest(file)["spec"]["settings"].clone();
        let settings = if settings.is_null() {
            serde_json::json!({})
        } else {
            settings
        };
        let verdict = load(name)
            .unwrap()
            .validate_settings(&settings, &policy_host::EvaluationContext::without_cluster());
        assert!(verdict.valid, "{file}: {:?}", verdict.message);
    }
}

#[test]
fn artifact_hub_packages_are_generated_from_the_metadata() {
    let read = |path: String| {
        std::fs::read_to_string(root().join(&path))
            .unwrap_or_else(|error| panic!("{path}: {error}: run `make generate`"))
    };
    let created_at = read("artifacthub/created-at".to_owned());
    for name in POLICIES {
        let metadata = Metadata::from_file(root().join(format!("metadata/{name}/metadata.yml"))).unwrap();
        let questions = read(format!("metadata/{name}/questions-ui.yml"));
        let package = artifacthub_package(&metadata, Some(&questions), created_at.trim()).unwrap();
        assert_eq!(
            read(format!("artifacthub/{name}/artifacthub-pkg.yml")),
            package,
            "{name}: run `make generate`"
        );
        let readme = read(format!("artifacthub/{name}/README.md"));
        assert_eq!(
            readme,
            read(format!("policies/{name}/README.md")),
            "{name}: run `make generate`"
        );
    }
}
