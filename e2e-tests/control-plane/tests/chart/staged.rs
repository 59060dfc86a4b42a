//! The steps of docs/install.md on a cluster whose kinds somebody else brought.

use std::collections::BTreeSet;

use anyhow::Result;
use control_plane::cluster::repository;
use serde_json::{Value, json};

use crate::setup::{Setup, installing};
use crate::shared::engine;

fn policies(setup: &Setup) -> Result<BTreeSet<String>> {
    let names = setup.kubectl(
        &[
            "get",
            "clusteradmissionpolicies",
            "-o",
            "jsonpath={.items[*].metadata.name}",
        ],
        None,
    )?;
    Ok(names.split_whitespace().map(str::to_owned).collect())
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn step_by_step_beside_the_go_operator() -> Result<()> {
    let (setup, _alone) = installing().await?;
    // As a Go operator's manifests do, with fields of their own.
    let crds = repository().join("deploy/crds");
    setup.kubectl(&["apply", "-k", crds.to_str().unwrap()], None)?;
    setup.served(&["lmcacheengines.lmcache.lmcache.ai"]).await?;
    setup.apply(&[engine("team-a", "kv", "nowhere")])?;
    let kept = setup.get("lmcacheengine", "team-a", "kv")?["metadata"]["uid"].clone();

    // The commands of the page, taken from it.
    let page = std::fs::read_to_string(repository().join("docs/install.md"))?;
    let (_, rest) = page.split_once("**Where the Go operator runs**").unwrap();
    let (_, rest) = rest.split_once("```console\n").unwrap();
    let (block, _) = rest.split_once("```").unwrap();
    let block = block.replace("\\\n", " ");
    let commands: Vec<&str> = block.lines().filter(|line| line.starts_with("helm ")).collect();
    let values = setup.plane.folder().join("my-values.yaml");
    std::fs::write(&values, "ipcDefault: HostShm\n")?;
    // The Go operator runs until its turn.
    let go = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"namespace": "team-b", "name": "kv-operator"}, "spec": {"replicas": 1,
        "selector": {"matchLabels": {"app": "go"}}, "template": {"metadata": {"labels": {"app": "go"}},
        "spec": {"containers": [{"name": "manager", "image": "registry.example.com/mirror/lmcache-operator:v0.5.2"}]}}}});
    setup.apply(&[go])?;
    let mut seen = Vec::new();
    for command in &commands {
        let words = command.split_whitespace().skip(1).map(|word| match word {
            "deploy/chart" => setup.chart.to_str().unwrap(),
            "my-values.yaml" => values.to_str().unwrap(),
            word => word,
        });
        let words: Vec<&str> = words.collect();
        if words.iter().any(|word| word.contains("controller.enabled=true")) {
            let complaint = setup.helm_refuses(&words)?;
            let text = "the Go operator runs (Deployment team-b/kv-operator, replicas: 1)";
            assert!(complaint.contains(text), "{complaint}");
            setup.stopped("team-b", "kv-operator").await?;
        }
        setup.helm(&words)?;
        let controller = setup.find("deployment", "lmcache-system", "lmcache-controller")?;
        seen.push((policies(setup)?.len(), controller.is_some()));
        assert_eq!(
            setup.get("lmcacheengine", "team-a", "kv")?["metadata"]["uid"],
            kept,
            "{command}"
        );
    }
    // Validation and preflight; injection; the audit; the guard; the controller.
    assert_eq!(seen, [(2, false), (4, false), (6, false), (7, false), (7, true)]);
    let args = &setup.get("deployment", "lmcache-system", "lmcache-controller")?["spec"]["template"]["spec"]["containers"]
        [0]["args"];
    assert!(
        args.as_array().unwrap().contains(&Value::from("--ipc-default=HostShm")),
        "{args}"
    );
    let guard = setup.get("clusteradmissionpolicy", "", "lmcache-guard")?;
    assert_eq!(guard["spec"]["settings"]["ipcDefault"], "HostShm");
    let kind = setup.get("customresourcedefinition", "", "lmcacheengines.lmcache.lmcache.ai")?;
    assert_eq!(kind["metadata"]["annotations"]["helm.sh/resource-policy"], "keep");

    setup.helm(&["uninstall", "lmcache", "--namespace", "lmcache-system", "--wait"])?;
    assert_eq!(setup.get("lmcacheengine", "team-a", "kv")?["metadata"]["uid"], kept);
    setup.kubectl(&["-n", "team-b", "delete", "deployment", "kv-operator"], None)?;
    setup.kubectl(&["delete", "-k", crds.to_str().unwrap()], None)?;
    Ok(())
}
