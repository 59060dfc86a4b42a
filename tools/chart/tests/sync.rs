//! The chart holds what the manifests hold, and its values, their schema and the manifests agree.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::collections::BTreeSet;

use chart::{documents, generated, repository, rows, stale};
use serde_json::{Value, json};

fn file(path: &str) -> String {
    let path = repository().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn yaml(path: &str) -> Value {
    yaml_serde::from_str(&file(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn values() -> Value {
    yaml("deploy/chart/values.yaml")
}

#[test]
fn what_is_generated_is_in_the_chart() {
    for (path, text) in generated(&repository()).unwrap() {
        let path = path.display().to_string();
        assert!(file(&path) == text, "{path} is not what `make generate` writes: run it");
    }
    let stale = stale(&repository()).unwrap();
    assert!(stale.is_empty(), "{stale:?} should be gone: run `make generate`");
}

#[test]
fn the_chart_has_the_version_of_the_workspace() {
    let chart = yaml("deploy/chart/Chart.yaml");
    assert_eq!(chart["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
}

/// A default that says the same in two places has to say the same.
#[test]
fn values_that_repeat_a_manifest_are_its() {
    let values = values();
    let deployment = yaml("deploy/controller/deployment.yaml");
    let controller = &values["controller"];
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(controller["replicas"], deployment["spec"]["replicas"]);
    assert_eq!(controller["resources"], container["resources"]);
    let (image, _) = container["image"].as_str().unwrap().rsplit_once(':').unwrap();
    assert_eq!(controller["image"]["repository"], image);
    let args = container["args"].as_array().unwrap();
    for arg in [
        json!("--leader-elect"),
        json!(format!("--ipc-default={}", values["ipcDefault"].as_str().unwrap())),
        json!(format!(
            "--cluster-domain={}",
            values["clusterDomain"].as_str().unwrap()
        )),
    ] {
        assert!(args.contains(&arg), "{arg}");
    }
    assert_eq!(controller["leaderElection"], true);

    let server = documents(&file("deploy/policies/optional/policy-server.yaml"))
        .unwrap()
        .pop()
        .unwrap();
    let dedicated = &values["policyServer"]["dedicated"];
    for key in ["image", "replicas", "minAvailable", "requests", "limits"] {
        assert_eq!(dedicated[key], server["spec"][key], "policyServer.dedicated.{key}");
    }
    assert_eq!(server["metadata"]["name"], "lmcache", "templates/_helpers.tpl names it");
    let rights = documents(&file("deploy/policies/rbac.yaml")).unwrap();
    let binding = rights
        .iter()
        .find(|object| object["kind"] == "ClusterRoleBinding")
        .unwrap();
    assert_eq!(
        binding["subjects"][0]["name"],
        values["policyServer"]["serviceAccountName"]
    );
    assert_eq!(binding["subjects"][0]["namespace"], values["policyServer"]["namespace"]);
}

/// Every policy of `deploy/policies`, and whether the chart would install it by default.
fn policies() -> Vec<(String, Value)> {
    let copies = generated(&repository()).unwrap().into_iter();
    let of_policies = copies.filter(|(path, _)| path.starts_with("deploy/chart/files/policies"));
    let all = of_policies.flat_map(|(path, text)| {
        let objects = documents(&text).unwrap();
        objects
            .into_iter()
            .map(move |object| (path.display().to_string(), object))
    });
    all.filter(|(_, object)| object["kind"] == "ClusterAdmissionPolicy")
        .collect()
}

#[test]
fn values_that_repeat_the_policies_are_theirs() {
    let values = values();
    let policies_values = &values["policies"];
    let mut seen = BTreeSet::new();
    for (place, policy) in policies() {
        let spec = &policy["spec"];
        let module = spec["module"].as_str().unwrap().strip_prefix("registry://").unwrap();
        let (registry, name) = module.rsplit_once('/').unwrap();
        assert_eq!(policies_values["registry"], registry, "{place}");
        let (name, _) = name.split_once(':').unwrap();
        assert_eq!(policies_values["digests"][name], "", "{place}: policies.digests.{name}");
        assert_eq!(spec["timeoutSeconds"], policies_values["timeoutSeconds"], "{place}");
        assert_eq!(spec["policyServer"], values["policyServer"]["name"], "{place}");
        if let Some(expressions) = spec["namespaceSelector"]["matchExpressions"].as_array() {
            assert_eq!(expressions.len(), 1, "{place}: the template changes the first");
            assert_eq!(
                expressions[0]["values"], policies_values["excludedNamespaces"],
                "{place}"
            );
        }
        for (key, value) in spec["settings"].as_object().unwrap() {
            let install_wide = values.get(key).or_else(|| policies_values["settings"].get(key));
            // The manifests for that are chosen by it.
            if let Some(default) = install_wide.filter(|_| !(key == "optIn" && place.contains("/by-annotation/"))) {
                assert_eq!(value, default, "{place}: {key}");
                seen.insert(key.clone());
            }
        }
        let own = match policy["metadata"]["name"].as_str().unwrap() {
            "lmcache-engine-validation" => "engineValidation",
            "lmcache-guard" => "guard",
            "lmcache-wiring-audit" | "cacheblend-wiring-audit" => "wiringAudit",
            _ => continue,
        };
        let own = &policies_values[own];
        for key in ["mode", "failurePolicy"] {
            assert!(own.get(key).is_none() || own[key] == spec[key], "{place}: {key}");
        }
        for key in ["sharedMemory", "requirePinnedImages"] {
            assert!(
                own.get(key).is_none() || own[key] == spec["settings"][key],
                "{place}: {key}"
            );
        }
    }
    let settings = policies_values["settings"].as_object().unwrap().keys().cloned();
    let all: BTreeSet<String> = settings
        .chain(["ipcDefault".to_owned(), "clusterDomain".to_owned()])
        .collect();
    assert_eq!(seen, all, "a setting that no policy has");
}

/// What a part of the schema says, its reference followed.
fn part<'a>(schema: &'a Value, mut at: &'a Value) -> &'a Value {
    while let Some(reference) = at.get("$ref").and_then(Value::as_str) {
        at = schema.pointer(reference.strip_prefix('#').unwrap()).unwrap();
    }
    at
}

fn schema() -> Value {
    serde_json::from_str(&file("deploy/chart/values.schema.json")).unwrap()
}

/// Both ways: a value that the schema lacks would be refused, and one that the values lack would be undocumented.
#[test]
fn the_schema_knows_the_values_and_no_others() {
    fn compare(schema: &Value, at: &Value, value: &Value, path: &str) {
        let at = part(schema, at);
        let Some(properties) = at.get("properties") else {
            return;
        };
        assert_eq!(
            at["additionalProperties"], false,
            "{path}: unknown keys have to be refused"
        );
        let names = |object: &Value| -> BTreeSet<String> { object.as_object().unwrap().keys().cloned().collect() };
        let mut known = names(properties);
        if path.is_empty() {
            // Helm gives it to a chart that is part of another.
            known.remove("global");
        }
        if path == "controller.resources" {
            known.remove("claims");
        }
        assert_eq!(known, names(value), "{path}");
        for (key, member) in value.as_object().unwrap() {
            let below = if path.is_empty() {
                key.clone()
            } else {
                format!("{path}.{key}")
            };
            compare(schema, &properties[key], member, &below);
        }
    }
    let schema = schema();
    compare(&schema, &schema, &values(), "");
}

/// The words that a setting may have are those of the policies' forms, which tests hold to the policies themselves.
#[test]
fn the_schema_allows_what_the_policies_take() {
    let schema = schema();
    let words = |path: &[&str]| -> BTreeSet<String> {
        let at = path
            .iter()
            .fold(&schema, |at, key| &part(&schema, at)["properties"][key]);
        let words = part(&schema, at)["enum"]
            .as_array()
            .unwrap_or_else(|| panic!("{path:?} has no words"));
        // `Off` without quotes is false in Helm's YAML.
        let words = words.iter().filter(|word| **word != json!(false));
        words.map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let mut compared = BTreeSet::new();
    for (policy, keys) in [
        ("pod-injection", &["policies", "settings"][..]),
        ("pod-injection", &[][..]),
        ("injection-guard", &["policies", "guard"][..]),
        ("injection-guard", &["policies", "wiringAudit"][..]),
        ("engine-validation", &[][..]),
    ] {
        let form = yaml(&format!("metadata/{policy}/questions-ui.yml"));
        for question in form["questions"].as_array().unwrap() {
            let name = question["variable"].as_str().unwrap();
            let at = keys
                .iter()
                .fold(&schema, |at, key| &part(&schema, at)["properties"][key]);
            let here = part(&schema, at)["properties"].get(name).is_some();
            if let Some(options) = question["options"].as_array().filter(|_| here) {
                let options: BTreeSet<String> = options
                    .iter()
                    .map(|option| option.as_str().unwrap().to_owned())
                    .collect();
                assert_eq!(words(&[keys, &[name]].concat()), options, "{policy}: {name}");
                compared.insert(name.to_owned());
            }
        }
    }
    assert!(compared.len() >= 9, "{compared:?}");
}

#[test]
fn every_value_is_in_the_table() {
    let readme = file("deploy/chart/README.md");
    let rows = rows(&file("deploy/chart/values.yaml")).unwrap();
    assert!(rows.len() > 80, "{}", rows.len());
    for row in rows {
        assert!(readme.contains(&format!("| `{}` |", row.path)), "{}", row.path);
    }
}
