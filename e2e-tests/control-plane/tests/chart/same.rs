//! The chart installs what the manifests install, and what is given once reaches controller and policies alike.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result};
use control_plane::check_policies;
use control_plane::cluster::{read, repository};
use serde_json::{Value, json};

use crate::setup::{documents, keyed, only, policies, setup};
use crate::shared::lost;

/// The manifests of `deploy/`: what `kubectl apply` takes, the policies included.
fn manifests() -> Result<Vec<Value>> {
    let mut objects = Vec::new();
    for folder in ["crds", "rbac", "controller", "policies"] {
        for entry in fs::read_dir(repository().join("deploy").join(folder))? {
            let name = entry?.file_name().into_string().unwrap();
            if name.ends_with(".yaml") && name != "kustomization.yaml" {
                objects.extend(read(&format!("deploy/{folder}/{name}"))?);
            }
        }
    }
    Ok(objects)
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn without_values_the_chart_is_the_manifests() -> Result<()> {
    let setup = setup().await?;
    let chart = setup.chart.to_str().unwrap();
    let rendered = setup.helm(&["template", "any", chart, "--namespace", "lmcache-system"])?;
    let rendered = keyed(documents(&rendered));
    let mut expected = keyed(manifests()?);
    // Helm makes the namespace.
    expected.retain(|(kind, _, _), _| kind != "Namespace");
    for ((kind, _, _), object) in &mut expected {
        if kind == "CustomResourceDefinition" {
            object["metadata"]["annotations"] = json!({"helm.sh/resource-policy": "keep"});
        }
    }
    assert_eq!(rendered.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (key, object) in &expected {
        let rendered = &rendered[key];
        let differences = [lost("", object, rendered), lost("", rendered, object)].concat();
        assert!(rendered == object, "{key:?}: {differences:?}");
    }
    // Among which the arguments are.
    let args = &only(&rendered, "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"];
    assert_eq!(
        *args,
        json!([
            "run",
            "--leader-elect",
            "--ipc-default=HostIPC",
            "--cluster-domain=cluster.local"
        ])
    );
    Ok(())
}

/// Every policy that there is, in the four ways in which Pods are wired.
const VARIANTS: [(&str, &str); 4] = [
    ("Label", "Combined"),
    ("Label", "Separate"),
    ("Annotation", "Combined"),
    ("Annotation", "Separate"),
];

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn a_setting_is_given_once() -> Result<()> {
    let setup = setup().await?;
    let given = json!({
        "ipcDefault": "Isolated", "clusterDomain": "k8s.example.com", "allowedEngineNamespaces": ["kv", "*"],
        "onMissingEngine": "Deny", "onUnavailable": "Deny", "podSecurity": "Off", "compatibility": "Warn",
        "commandOverride": "Skip", "cacheblendArguments": "Minimal",
    });
    let settings = given.as_object().unwrap();
    let mut names = BTreeSet::new();
    for (opt_in, variant) in VARIANTS {
        let mut values = json!({
            "ipcDefault": given["ipcDefault"], "clusterDomain": given["clusterDomain"],
            "policies": {
                "settings": {"optIn": opt_in}, "podInjection": {"variant": variant},
                "workloadPreflight": {"leaderWorkerSet": true},
            },
        });
        for (key, value) in settings
            .iter()
            .filter(|(key, _)| !matches!(key.as_str(), "ipcDefault" | "clusterDomain"))
        {
            values["policies"]["settings"][key] = value.clone();
        }
        let file = setup.plane.folder().join(format!("settings-{opt_in}-{variant}.yaml"));
        // Unquoted, as people write it: Helm's YAML takes it for false.
        fs::write(
            &file,
            yaml_serde::to_string(&values)?
                .replace("'Off'", "Off")
                .replace("\"Off\"", "Off"),
        )?;
        assert!(fs::read_to_string(&file)?.contains("podSecurity: Off\n"));
        let rendered = keyed(documents(&setup.render(&["--values", file.to_str().unwrap()])?));
        let args = &only(&rendered, "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"];
        assert_eq!(
            *args,
            json!([
                "run",
                "--leader-elect",
                "--ipc-default=Isolated",
                "--cluster-domain=k8s.example.com"
            ])
        );
        let policies = policies(&rendered);
        for (name, policy) in &policies {
            let own = policy["spec"]["settings"].as_object().context("no settings")?;
            assert!(own.contains_key("ipcDefault"), "{name}");
            for (key, value) in own {
                let expected = if key == "optIn" {
                    Some(json!(opt_in))
                } else {
                    settings.get(key).cloned()
                };
                assert!(
                    expected.is_none_or(|expected| expected == *value),
                    "{name}: {key}: {value}"
                );
            }
            // A selector that contradicts the way to opt in would leave every Pod out.
            let selects = !policy["spec"]["objectSelector"].is_null();
            assert!(!selects || opt_in == "Label", "{name} selects by labels");
            let conditions = policy["spec"]["matchConditions"].as_array().map_or(0, Vec::len);
            assert!(selects || conditions > 0, "{name} is asked about everything");
        }
        names.extend(policies.keys().map(|name| (*name).to_owned()));
    }
    assert_eq!(names, every_policy()?);
    Ok(())
}

/// The names in `deploy/policies` and the folders below.
fn every_policy() -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for folder in ["", "/by-annotation", "/optional", "/separate"] {
        let folder = format!("deploy/policies{folder}");
        for entry in fs::read_dir(repository().join(&folder))? {
            let name = entry?.file_name().into_string().unwrap();
            if name.ends_with(".yaml") {
                let objects = read(&format!("{folder}/{name}"))?;
                let policies = objects
                    .iter()
                    .filter(|object| object["kind"] == "ClusterAdmissionPolicy");
                names.extend(policies.map(|policy| policy["metadata"]["name"].as_str().unwrap().to_owned()));
            }
        }
    }
    Ok(names)
}

/// By the policies themselves: settings, grants, and whether each may do what it does.
#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn the_policies_accept_what_the_chart_makes() -> Result<()> {
    let setup = setup().await?;
    let digest = format!("sha256:{}", "ab".repeat(32));
    // All in one folder: each module is compiled once.
    let folder = setup.plane.folder().join("check");
    let mut count = 0;
    for (opt_in, variant) in VARIANTS {
        let rendered = setup.render(&[
            "--set",
            &format!("policies.settings.optIn={opt_in},policies.podInjection.variant={variant}"),
            "--set",
            "policies.settings.podSecurity=Off,policies.settings.allowedEngineNamespaces={kv},ipcDefault=HostShm",
            "--set",
            "policies.engineValidation.allowedRepositories={lmcache/*},policies.engineValidation.requirePinnedImages=true",
            "--set",
            "policies.guard.sharedMemory=Deny,policies.wiringAudit.sharedMemory=Warn",
            "--set",
            &format!("policies.workloadPreflight.leaderWorkerSet=true,policies.digests.pod-injection={digest}"),
        ])?;
        let folder = folder.join(format!("{opt_in}-{variant}"));
        fs::create_dir_all(&folder)?;
        let rendered = keyed(documents(&rendered));
        let found = policies(&rendered);
        for (name, policy) in &found {
            fs::write(folder.join(format!("{name}.json")), policy.to_string())?;
            count += 1;
        }
        let settings = &found["lmcache-engine-validation"]["spec"]["settings"];
        assert_eq!(settings["allowedRepositories"], json!(["lmcache/*"]));
        assert_eq!(settings["requirePinnedImages"], true);
        assert_eq!(found["lmcache-guard"]["spec"]["settings"]["sharedMemory"], "Deny");
        assert_eq!(
            found["lmcache-wiring-audit"]["spec"]["settings"]["sharedMemory"],
            "Warn"
        );
        if variant == "Combined" {
            let module = &found["lmcache-pod-injection"]["spec"]["module"];
            assert_eq!(
                *module,
                format!("registry://ghcr.io/lmcache-kubewarden/policies/pod-injection@{digest}")
            );
        }
    }
    let report = check_policies(&folder)?;
    let fine = report.lines().filter(|line| line.ends_with(": ok")).count();
    assert_eq!((fine, report.lines().count()), (count, count), "{report}");
    // What is wrong is found: the check above can fail.
    let folder = setup.plane.folder().join("check-faulty");
    fs::create_dir_all(&folder)?;
    let rendered = keyed(documents(&setup.render(&[])?));
    let mut faulty = policies(&rendered)["lmcache-guard"].clone();
    faulty["spec"]["settings"]["ipcDefault"] = "None".into();
    fs::write(folder.join("faulty.json"), faulty.to_string())?;
    let error = check_policies(&folder).unwrap_err().to_string();
    assert!(error.contains("ipcDefault"), "{error}");
    Ok(())
}

/// Registry, tag and digests; each policy has the module of its manifest.
#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn images_and_modules_are_where_the_values_say() -> Result<()> {
    let setup = setup().await?;
    let digest = format!("sha256:{}", "cd".repeat(32));
    let default = keyed(documents(&setup.render(&[])?));
    let moved = keyed(documents(&setup.render(&[
        "--set",
        "policies.registry=registry.example.com:5000/kv/policies,policies.tag=v9",
        "--set",
        &format!(
            "policies.digests.engine-validation={digest},controller.image.repository=registry.example.com/controller"
        ),
        "--set",
        &format!("controller.image.digest={digest},controller.image.tag=ignored"),
    ])?));
    let modules: BTreeMap<&str, &str> = policies(&default)
        .iter()
        .map(|(name, policy)| (*name, policy["spec"]["module"].as_str().unwrap()))
        .collect();
    for (name, policy) in policies(&moved) {
        let module = modules[name].rsplit_once('/').unwrap().1.split_once(':').unwrap().0;
        let version = if module == "engine-validation" {
            format!("@{digest}")
        } else {
            ":v9".to_owned()
        };
        let expected = format!("registry://registry.example.com:5000/kv/policies/{module}{version}");
        assert_eq!(policy["spec"]["module"], expected, "{name}");
    }
    let image = &only(&moved, "Deployment")["spec"]["template"]["spec"]["containers"][0]["image"];
    assert_eq!(*image, format!("registry.example.com/controller@{digest}"));
    let tagged = keyed(documents(&setup.render(&["--set", "controller.image.tag=v7"])?));
    let image = &only(&tagged, "Deployment")["spec"]["template"]["spec"]["containers"][0]["image"];
    assert_eq!(*image, "ghcr.io/lmcache-kubewarden/lmcache-controller:v7");
    Ok(())
}
