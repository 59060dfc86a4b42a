//! The single files hold the manifests of `deploy/`, all of them, in an order in which they can be applied.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;

use chart::{dist, documents, repository};
use serde_json::Value;

fn deploy() -> PathBuf {
    repository().join("deploy")
}

/// The objects of the YAML files of a folder.
fn folder(name: &str) -> Vec<Value> {
    let mut objects = Vec::new();
    for entry in std::fs::read_dir(deploy().join(name)).unwrap() {
        let path = entry.unwrap().path();
        let is_manifest = path.extension().is_some_and(|extension| extension == "yaml");
        if is_manifest && path.file_name().unwrap() != "kustomization.yaml" {
            objects.extend(documents(&std::fs::read_to_string(&path).unwrap()).unwrap());
        }
    }
    objects
}

fn named(objects: &[Value]) -> BTreeMap<(String, String), &Value> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let all: BTreeMap<_, _> = objects
        .iter()
        .map(|object| ((text(&object["kind"]), text(&object["metadata"]["name"])), object))
        .collect();
    assert_eq!(all.len(), objects.len(), "an object is there twice");
    all
}

#[test]
fn install_is_all_but_the_policies() {
    let installed = documents(&dist::install(&deploy(), None).unwrap()).unwrap();
    let manifests = [folder("crds"), folder("rbac"), folder("controller")].concat();
    assert_eq!(named(&installed), named(&manifests));
    let kinds: Vec<&Value> = installed.iter().map(|object| &object["kind"]).collect();
    assert_eq!(kinds[0], "Namespace");
    assert_eq!(kinds[kinds.len() - 1], "Deployment");
}

#[test]
fn without_the_kinds_no_engine_goes() {
    let controller = documents(&dist::controller(&deploy(), None).unwrap()).unwrap();
    let manifests = [folder("rbac"), folder("controller")].concat();
    let mut expected = named(&manifests);
    // People keep their rights on the engines that stay.
    expected.retain(|(_, name), _| {
        !name.starts_with("lmcacheengine-")
            && !name.starts_with("cacheblendengine-")
            && !name.starts_with("lmcachecoordinator-")
    });
    assert_eq!(named(&manifests).len() - expected.len(), 9);
    assert_eq!(named(&controller), expected);
    // Who has the file with everything is told.
    let all = dist::install(&deploy(), None).unwrap();
    assert!(
        all.starts_with("# Never `kubectl delete -f` this file"),
        "{}",
        all.lines().next().unwrap()
    );
}

#[test]
fn policies_are_what_one_apply_of_the_folder_installs() {
    let policies = documents(&dist::policies(&deploy(), None).unwrap()).unwrap();
    assert_eq!(named(&policies), named(&folder("policies")));
    assert_eq!(policies[0]["kind"], "ClusterRole");
}

#[test]
fn an_image_is_put_into_the_deployment_and_nowhere_else() {
    let image = "registry.example.com:5000/kv/controller@sha256:0123";
    let mut with = documents(&dist::install(&deploy(), Some(image)).unwrap()).unwrap();
    let mut without = documents(&dist::install(&deploy(), None).unwrap()).unwrap();
    let (changed, original) = (with.pop().unwrap(), without.pop().unwrap());
    assert_eq!(with, without);
    let path = "/spec/template/spec/containers/0/image";
    assert_eq!(changed.pointer(path).unwrap(), image);
    let mut back = changed.clone();
    *back.pointer_mut(path).unwrap() = original.pointer(path).unwrap().clone();
    assert_eq!(back, original);
    for bad in ["", "an image"] {
        let error = format!("{:#}", dist::install(&deploy(), Some(bad)).unwrap_err());
        assert!(error.contains("the image must be a reference"), "{error}");
    }
}

#[test]
fn modules_are_taken_from_another_registry() {
    let modules = |text: &str| -> BTreeSet<String> {
        let objects = documents(text).unwrap();
        let modules = objects.iter().filter_map(|object| object["spec"]["module"].as_str());
        modules.map(str::to_owned).collect()
    };
    let own = modules(&dist::policies(&deploy(), None).unwrap());
    let moved = modules(&dist::policies(&deploy(), Some("registry.example.com:5000/kv/")).unwrap());
    let expected: BTreeSet<String> = own
        .iter()
        .map(|module| {
            format!(
                "registry://registry.example.com:5000/kv/{}",
                module.rsplit_once('/').unwrap().1
            )
        })
        .collect();
    assert_eq!((own.len(), moved), (4, expected));
    for bad in ["", "registry://registry.example.com", "a b"] {
        let error = format!("{:#}", dist::policies(&deploy(), Some(bad)).unwrap_err());
        assert!(error.contains("the registry must be a place"), "{error}");
    }
}

#[test]
fn the_command_prints_them() {
    let run = |args: &[&str]| Command::new(env!("CARGO_BIN_EXE_chart")).args(args).output().unwrap();
    let printed = run(&["install", "--image=registry.example.com/controller:v1"]);
    assert!(printed.status.success());
    let expected = dist::install(&deploy(), Some("registry.example.com/controller:v1")).unwrap();
    assert!(String::from_utf8(printed.stdout).unwrap() == expected);
    let refused = run(&["policies", "--registry="]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        String::from_utf8_lossy(&refused.stderr).starts_with("chart: deploy/policies/"),
        "{refused:?}"
    );
}
