//! `make install`, `deploy`, `undeploy` and `uninstall` with the real kubectl.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use anyhow::{Result, ensure};
use control_plane::Identity;
use control_plane::cluster::repository;
use serde_json::{Value, json};

use crate::setup::{Setup, documents, installing, run};
use crate::shared::engine;

const IMAGE: &str = "registry.example.com/lmcache-controller:v9";
const KIND: &str = "lmcacheengines.lmcache.lmcache.ai";

impl Setup {
    fn make(&self, args: &[&str]) -> Command {
        let mut command = self.command("make".as_ref());
        command
            .current_dir(repository())
            .arg(format!("KUBECTL={}", self.kubectl.display()))
            .args(args);
        // Those of a `make e2e` around this are not meant for it.
        for variable in ["MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"] {
            command.env_remove(variable);
        }
        command
    }

    fn made(&self, args: &[&str]) -> Result<String> {
        let (succeeded, out, err) = run(&mut self.make(args), None)?;
        ensure!(succeeded, "make {}: {err}", args.join(" "));
        Ok(out)
    }

    fn make_refuses(&self, args: &[&str]) -> Result<String> {
        let (succeeded, out, err) = run(&mut self.make(args), None)?;
        ensure!(!succeeded, "make {} succeeds: {out}", args.join(" "));
        Ok(err)
    }
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn the_targets_install_and_remove_and_delete_no_engine_unasked() -> Result<()> {
    let (setup, _alone) = installing().await?;
    let context = format!("context admin ({})", setup.plane.server());
    let there = || setup.find("customresourcedefinition", "", KIND);

    // The kinds.
    for _ in 0..2 {
        let said = setup.made(&["install"])?;
        assert!(said.contains(&context), "{said}");
        assert!(there()?.is_some());
    }
    // KUBECTL may have arguments.
    let with = |context: &str| format!("KUBECTL={} --context {context}", setup.kubectl.display());
    let said = setup.made(&["install", &with("admin")])?;
    assert!(said.contains(&context), "{said}");
    let complaint = setup.make_refuses(&["install", &with("elsewhere")])?;
    assert!(complaint.contains("no such context"), "{complaint}");
    setup.apply(&[engine("team-a", "kv", "nowhere")])?;
    let uid = |object: &Value| object["metadata"]["uid"].clone();
    let kept = uid(&setup.get("lmcacheengine", "team-a", "kv")?);
    // Who may not look at kinds does not know what would go with them.
    let blind = setup.plane.folder().join("blind-kubectl");
    let refused = "Error from server (Forbidden): customresourcedefinitions is forbidden";
    std::fs::write(
        &blind,
        format!(
            "#!/bin/sh\ncase \" $* \" in *' get customresourcedefinition '*) echo '{refused}' >&2; exit 1;; esac\nexec {} \"$@\"\n",
            setup.kubectl.display()
        ),
    )?;
    std::fs::set_permissions(&blind, std::fs::Permissions::from_mode(0o755))?;
    let blind = format!("KUBECTL={}", blind.display());
    for target in ["uninstall", "undeploy"] {
        let complaint = setup.make_refuses(&[target, &blind])?;
        assert!(complaint.contains(refused), "{target}: {complaint}");
        assert_eq!(uid(&setup.get("lmcacheengine", "team-a", "kv")?), kept, "{target}");
    }
    let complaint = setup.make_refuses(&["uninstall"])?;
    for text in ["LMCacheEngine team-a/kv", "Nothing was changed", "FORCE=1"] {
        assert!(complaint.contains(text), "{text} is not in: {complaint}");
    }
    assert!(there()?.is_some());

    // The controller.
    let complaint = setup.make_refuses(&["deploy"])?;
    assert!(complaint.contains("make deploy IMG="), "{complaint}");
    let deploy = ["deploy", &format!("IMG={IMAGE}")];
    for (name, labels, image) in [
        (
            "kv",
            json!({"app": "go"}),
            "registry.example.com/lmcache-operator@sha256:0123",
        ),
        (
            "lmcache-controller-manager",
            json!({"app": "go", "control-plane": "controller-manager"}),
            "mirror/op:v1",
        ),
        (
            "cache",
            json!({"app": "go", "control-plane": "controller-manager"}),
            "mirror/lmcache/op:v1",
        ),
    ] {
        let go = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"namespace": "team-b", "name": name, "labels": labels}, "spec": {"replicas": 2,
            "selector": {"matchLabels": {"app": "go"}}, "template": {"metadata": {"labels": {"app": "go"}},
            "spec": {"containers": [{"name": "manager", "image": image}]}}}});
        setup.apply(&[go])?;
        let complaint = setup.make_refuses(&deploy)?;
        for text in [&format!("team-b/{name}, replicas: 2"), "Nothing was changed"] {
            assert!(complaint.contains(text), "{text} is not in: {complaint}");
        }
        assert!(
            setup
                .find("deployment", "lmcache-system", "lmcache-controller")?
                .is_none()
        );
        setup.stopped("team-b", name).await?;
    }
    let said = setup.made(&deploy)?;
    assert!(said.contains(&context), "{said}");
    setup.kubectl(&["-n", "team-b", "delete", "deployments", "--all"], None)?;
    let deployment = setup.get("deployment", "lmcache-system", "lmcache-controller")?;
    assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["image"], IMAGE);
    setup.kubectl(
        &[
            "-n",
            "lmcache-system",
            "rollout",
            "status",
            "deployment/lmcache-controller",
            "--timeout=90s",
        ],
        None,
    )?;
    let can = |verb: &str, what: &str| {
        let as_controller = ["auth", "can-i", verb, what, "--as", Identity::Controller.user(), "-A"];
        setup
            .kubectl(&as_controller, None)
            .is_ok_and(|answer| answer.trim() == "yes")
    };
    assert!(can("create", "daemonsets.apps") && can("list", KIND) && !can("delete", KIND));

    // An engine in the namespace that would go with it.
    setup.apply(&[engine("lmcache-system", "kv", "nowhere")])?;
    let complaint = setup.make_refuses(&["undeploy"])?;
    for text in ["LMCacheEngine lmcache-system/kv", "Nothing was changed"] {
        assert!(complaint.contains(text), "{text} is not in: {complaint}");
    }
    assert!(!complaint.contains("team-a"), "{complaint}");
    assert!(
        setup
            .find("deployment", "lmcache-system", "lmcache-controller")?
            .is_some()
    );
    setup.kubectl(&["-n", "lmcache-system", "delete", "lmcacheengine", "kv"], None)?;
    let said = setup.made(&["undeploy"])?;
    assert!(said.contains(&context), "{said}");
    assert!(setup.find("namespace", "", "lmcache-system")?.is_none());
    assert!(setup.find("clusterrole", "", "lmcache-controller")?.is_none());
    // Engines stay, and so do people's rights on them.
    assert!(setup.find("clusterrole", "", "lmcacheengine-editor")?.is_some());
    assert_eq!(uid(&setup.get("lmcacheengine", "team-a", "kv")?), kept);

    // The end of everything, asked for.
    let said = setup.made(&["uninstall", "FORCE=1"])?;
    assert!(said.contains("LMCacheEngine team-a/kv"), "{said}");
    assert!(there()?.is_none());
    assert!(setup.find("clusterrole", "", "lmcacheengine-editor")?.is_none());
    setup.made(&["uninstall"])?;
    Ok(())
}

/// What plain manifests installed can be handed to Helm as it is, and what Helm installed is not taken unasked.
#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn plain_manifests_are_handed_over_to_helm() -> Result<()> {
    let (setup, _alone) = installing().await?;
    setup.made(&["deploy", &format!("IMG={IMAGE}")])?;
    setup.apply(&[engine("team-a", "kv", "nowhere")])?;
    let kept = setup.get("lmcacheengine", "team-a", "kv")?["metadata"]["uid"].clone();
    let chart = setup.chart.to_str().unwrap();
    let install = ["install", "lmcache", chart, "--namespace", "lmcache-system"];
    let complaint = setup.helm_refuses(&install)?;
    assert!(complaint.contains("invalid ownership metadata"), "{complaint}");
    setup.helm(&[&install[..], &["--take-ownership", "--force-conflicts"]].concat())?;
    let deployment = setup.get("deployment", "lmcache-system", "lmcache-controller")?;
    let image = &deployment["spec"]["template"]["spec"]["containers"][0]["image"];
    assert!(image.as_str().unwrap().starts_with("ghcr.io/"), "{image}");
    assert_eq!(deployment["metadata"]["labels"]["app.kubernetes.io/managed-by"], "Helm");
    assert_eq!(setup.get("lmcacheengine", "team-a", "kv")?["metadata"]["uid"], kept);

    let complaint = setup.make_refuses(&["deploy", &format!("IMG={IMAGE}")])?;
    assert!(
        complaint.contains("conflict") && complaint.contains("FORCE=1"),
        "{complaint}"
    );
    setup.helm(&["uninstall", "lmcache", "--namespace", "lmcache-system", "--wait"])?;
    setup.made(&["uninstall", "FORCE=1"])?;
    setup.kubectl(&["delete", "namespace", "lmcache-system"], None)?;
    Ok(())
}

/// The files that a release brings, and the packaged chart.
#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn files_to_apply_and_the_package_are_taken_by_the_api_server() -> Result<()> {
    let (setup, _alone) = installing().await?;
    let chart = |args: &[&str]| -> Result<String> {
        let mut command = Command::new("cargo");
        command
            .current_dir(repository())
            .args(["run", "--locked", "--quiet", "-p", "chart", "--"])
            .args(args);
        let (succeeded, out, err) = run(&mut command, None)?;
        ensure!(succeeded, "chart {}: {err}", args.join(" "));
        Ok(out)
    };
    // The namespace is in the file, and a dry run stores none.
    setup.apply(&[crate::setup::namespace("lmcache-system")])?;
    let dist = |file: &str| std::fs::read_to_string(repository().join("dist").join(file));
    setup.dry_run(&dist("install.yaml")?)?;
    setup.dry_run(&dist("policies.yaml")?)?;
    let policies = chart(&["policies", "--registry=registry.example.com/kv"])?;
    setup.dry_run(&policies)?;
    assert_eq!(
        documents(&policies)
            .iter()
            .filter(|object| object["kind"] == "ClusterAdmissionPolicy")
            .count(),
        7
    );

    let folder = setup.plane.folder().join("package");
    let target = format!("TARGET={}", folder.display());
    let said = setup.made(&["chart", &format!("HELM={}", setup.helm.display()), &target])?;
    assert!(said.contains("Successfully packaged chart"), "{said}");
    let package = folder
        .join("chart")
        .join(format!("lmcache-kubewarden-{}.tgz", env!("CARGO_PKG_VERSION")));
    let package = package.to_str().unwrap();
    let folder = repository().join("deploy/chart");
    let rendered = |chart: &str| setup.helm(&["template", "any", chart, "--namespace", "any"]);
    assert!(rendered(package)? == rendered(folder.to_str().unwrap())?);
    Ok(())
}

#[test]
fn without_a_cluster_nothing_is_tried() {
    for target in ["install", "uninstall", "undeploy"] {
        let mut command = Command::new(repository().join("tools/cluster"));
        command
            .arg(target)
            .env("KUBECONFIG", "/nowhere")
            .env("KUBECTL", "/nowhere/kubectl");
        let (succeeded, _, err) = run(&mut command, None).unwrap();
        assert!(
            !succeeded && err.contains("there is no /nowhere/kubectl in PATH"),
            "{err}"
        );
    }
}
