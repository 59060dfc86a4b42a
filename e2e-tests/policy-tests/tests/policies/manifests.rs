//! The manifests under `deploy/policies` install what the metadata describes.

use crate::installed::{MODULES, Manifest, documents, manifests, texts};
use policy_host::metadata::{Metadata, artifacthub_package};
use policy_tests::{POLICIES, root};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The label by which all of it is switched off at once.
const PART_OF: (&str, &str) = ("app.kubernetes.io/part-of", "lmcache-kubewarden");

fn metadata(policy: &str) -> Value {
    serde_json::to_value(MODULES[policy].metadata().unwrap()).unwrap()
}

/// The manifests of the guard that feed the audit scanner.
fn audits(manifest: &Manifest) -> bool {
    manifest.policy == "injection-guard" && texts(&manifest.spec("settings")["checks"]).contains("Wiring")
}

/// The manifests that one `kubectl apply -f deploy/policies` installs.
fn default_set() -> Vec<Manifest> {
    manifests()
        .into_iter()
        .filter(|manifest| manifest.folder().is_empty())
        .collect()
}

#[test]
fn every_policy_is_installed_by_some_manifest_and_in_its_present_version() {
    let manifests = manifests();
    for policy in POLICIES {
        assert!(manifests.iter().any(|manifest| manifest.policy == policy), "{policy}");
    }
    for manifest in &manifests {
        let annotations = &metadata(&manifest.policy)["annotations"];
        let text = |key: &str| annotations[key].as_str().unwrap().to_owned();
        assert_eq!(
            *manifest.spec("module"),
            json!(format!(
                "registry://{}:v{}",
                text("io.kubewarden.policy.ociUrl"),
                text("io.kubewarden.policy.version")
            )),
            "{}",
            manifest.place()
        );
        for key in ["io.kubewarden.policy.severity", "io.kubewarden.policy.category"] {
            if !audits(manifest) {
                assert_eq!(
                    manifest.object["metadata"]["annotations"][key],
                    text(key),
                    "{}: {key}",
                    manifest.place()
                );
            }
        }
    }
}

/// What replaces a policy has its name; all others have one of their own, so that applying a folder installs all of it.
#[test]
fn names_are_taken_once_but_for_replacements() {
    let mut by_folder: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for manifest in manifests() {
        let names = by_folder.entry(manifest.folder().to_owned()).or_default();
        assert!(
            names.insert(manifest.name.clone()),
            "{} is there twice",
            manifest.place()
        );
    }
    let default = by_folder.remove("").unwrap();
    assert!(by_folder["by-annotation"].is_subset(&default), "{by_folder:?}");
    for folder in ["separate", "optional"] {
        assert!(by_folder[folder].is_disjoint(&default), "{by_folder:?}");
    }
}

#[test]
fn grants_and_audit_are_those_of_the_metadata() {
    for manifest in manifests() {
        let metadata = metadata(&manifest.policy);
        for key in ["mutating", "contextAwareResources"] {
            assert_eq!(*manifest.spec(key), metadata[key], "{}: spec.{key}", manifest.place());
        }
        // One module, two policies: the guard itself is as the metadata says, the audit is what the scanner runs.
        let audit = if audits(&manifest) {
            &Value::Bool(true)
        } else {
            &metadata["backgroundAudit"]
        };
        assert_eq!(
            manifest.spec("backgroundAudit"),
            audit,
            "{}: spec.backgroundAudit",
            manifest.place()
        );
    }
}

/// One rule as (group, version, resource, operation), taken apart.
fn taken_apart(rules: &Value) -> BTreeSet<[String; 4]> {
    let mut all = BTreeSet::new();
    for rule in rules.as_array().unwrap() {
        for group in texts(&rule["apiGroups"]) {
            for version in texts(&rule["apiVersions"]) {
                for resource in texts(&rule["resources"]) {
                    for operation in texts(&rule["operations"]) {
                        all.insert([group.clone(), version.clone(), resource.clone(), operation]);
                    }
                }
            }
        }
    }
    all
}

#[test]
fn the_manifests_of_a_policy_have_its_rules_between_them() {
    let mut found: BTreeMap<String, BTreeSet<[String; 4]>> = BTreeMap::new();
    for manifest in manifests() {
        let rules = taken_apart(manifest.spec("rules"));
        let allowed = taken_apart(&metadata(&manifest.policy)["rules"]);
        assert!(rules.is_subset(&allowed), "{}: {rules:?}", manifest.place());
        // A rule for a kind that is not installed stops the audit scanner, so it has to stand alone.
        let groups: BTreeSet<&String> = rules.iter().map(|[group, ..]| group).collect();
        assert!(
            groups.len() == 1 || !groups.contains(&"leaderworkerset.x-k8s.io".to_owned()),
            "{}",
            manifest.place()
        );
        found.entry(manifest.policy).or_default().extend(rules);
    }
    for policy in POLICIES {
        assert_eq!(found[policy], taken_apart(&metadata(policy)["rules"]), "{policy}");
    }
}

#[test]
fn only_the_two_guards_of_what_is_stored_fail_closed() {
    for manifest in manifests() {
        let place = manifest.place();
        let closed = matches!(manifest.name.as_str(), "lmcache-engine-validation" | "lmcache-guard");
        let failure = if closed { "Fail" } else { "Ignore" };
        assert_eq!(*manifest.spec("failurePolicy"), failure, "{place}");
        // What only reports, and what only warns, may refuse nothing, not even by an evaluation that is cut off.
        let refuses_nothing = audits(&manifest) || manifest.policy == "workload-preflight";
        let mode = if refuses_nothing { "monitor" } else { "protect" };
        assert_eq!(*manifest.spec("mode"), mode, "{place}");
    }
}

#[test]
fn the_webhook_gives_up_before_the_evaluation_and_nothing_depends_on_dropped_selectors() {
    for manifest in manifests() {
        let place = manifest.place();
        assert_eq!(*manifest.spec("policyServer"), "default", "{place}");
        let seconds = |key: &str| {
            manifest
                .spec(key)
                .as_u64()
                .unwrap_or_else(|| panic!("{place}: spec.{key}"))
        };
        // The API server gives up first: an evaluation that is cut off refuses, whatever failurePolicy says.
        assert_eq!(seconds("timeoutEvalSeconds"), seconds("timeoutSeconds"), "{place}");
        // Labels of a namespaceSelector are dropped by some releases of the controller; expressions are not.
        assert!(manifest.spec("namespaceSelector")["matchLabels"].is_null(), "{place}");
        if manifest.policy != "engine-validation" {
            let namespaces = &manifest.spec("namespaceSelector")["matchExpressions"][0];
            assert_eq!(namespaces["operator"], "NotIn", "{place}");
            assert_eq!(
                namespaces["values"],
                json!(["kube-system", "kube-public", "kubewarden"]),
                "{place}"
            );
        }
    }
}

/// Everything can be switched off by one label, also what is no policy.
#[test]
fn every_object_has_the_label_by_which_all_is_switched_off() {
    for (file, document) in documents() {
        assert_eq!(
            document["metadata"]["labels"][PART_OF.0], PART_OF.1,
            "{file}: {}",
            document["metadata"]["name"]
        );
    }
}

#[test]
fn policies_on_pods_are_asked_about_few_of_them() {
    for manifest in manifests() {
        let selected = !manifest.spec("objectSelector").is_null();
        let conditions = manifest.spec("matchConditions").as_array().map_or(0, Vec::len);
        assert!(selected || conditions > 0, "{}", manifest.place());
        // An optIn that the selector contradicts would leave every Pod out, or let every Pod in.
        let by_annotation = manifest.spec("settings")["optIn"] == "Annotation";
        assert_eq!(
            by_annotation,
            manifest.folder() == "by-annotation",
            "{}",
            manifest.place()
        );
        if by_annotation {
            assert!(!selected, "{}", manifest.place());
        }
    }
}

/// Both policies see a Pod with both labels. Were a step in both, it would be decided twice.
#[test]
fn each_step_is_in_one_of_the_installed_policies() {
    for folder in ["", "by-annotation"] {
        let mut steps: Vec<String> = Vec::new();
        for manifest in manifests().iter().filter(|manifest| manifest.policy == "pod-injection") {
            if manifest.folder() == folder {
                steps.extend(texts(&manifest.spec("settings")["steps"]));
            }
        }
        steps.sort();
        assert_eq!(
            steps,
            ["cacheblend-injection", "connection-injection", "payload-staging"],
            "{folder:?}"
        );
    }
}

#[test]
fn the_module_of_the_guard_is_installed_twice() {
    let of_guard: Vec<Manifest> = default_set()
        .into_iter()
        .filter(|manifest| manifest.policy == "injection-guard")
        .collect();
    let names: Vec<&str> = of_guard.iter().map(|manifest| manifest.name.as_str()).collect();
    assert_eq!(
        names,
        ["lmcache-guard", "lmcache-wiring-audit", "cacheblend-wiring-audit"]
    );
    for manifest in &of_guard {
        let guards = manifest.name == "lmcache-guard";
        let checks: &[&str] = if guards { &["Stamps", "Keys"] } else { &["Wiring"] };
        assert_eq!(manifest.spec("settings")["checks"], json!(checks), "{}", manifest.name);
        // The audit scanner knows objectSelectors and no matchConditions.
        assert_eq!(manifest.spec("objectSelector").is_null(), guards, "{}", manifest.name);
        assert_eq!(manifest.spec("matchConditions").is_null(), !guards, "{}", manifest.name);
    }
}

/// The account of a PolicyServer may get what some policy reads, and nothing else.
#[test]
fn the_role_grants_what_the_policies_read() {
    let plural = |kind: &str| format!("{}s", kind.to_lowercase());
    let needed: BTreeSet<(String, String)> = POLICIES
        .iter()
        .flat_map(|policy| metadata(policy)["contextAwareResources"].as_array().unwrap().clone())
        .map(|resource| {
            let version = resource["apiVersion"].as_str().unwrap();
            let group = version.split_once('/').map_or("", |(group, _)| group);
            (group.to_owned(), plural(resource["kind"].as_str().unwrap()))
        })
        .collect();
    let documents = documents();
    let role = documents
        .iter()
        .map(|(_, document)| document)
        .find(|document| {
            document["kind"] == "ClusterRole" && document["metadata"]["name"] == "lmcache-kubewarden-policies"
        })
        .unwrap();
    let mut granted = BTreeSet::new();
    for rule in role["rules"].as_array().unwrap() {
        assert_eq!(rule["verbs"], json!(["get"]));
        for group in texts(&rule["apiGroups"]) {
            granted.extend(
                texts(&rule["resources"])
                    .into_iter()
                    .map(|resource| (group.clone(), resource)),
            );
        }
    }
    assert_eq!(granted, needed);
    let bound: BTreeSet<String> = documents
        .iter()
        .filter(|(_, document)| document["kind"] == "ClusterRoleBinding")
        .inspect(|(file, document)| assert_eq!(document["roleRef"]["name"], role["metadata"]["name"], "{file}"))
        .map(|(_, document)| document["subjects"][0]["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        bound,
        BTreeSet::from(["lmcache-policy-server".to_owned(), "policy-server".to_owned()])
    );
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
