//! The five minutes of the README, on a cluster whose nodes are simulated.

use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use control_plane::cluster::repository;
use control_plane::{Controller, PolicyServer, wait_until};

use crate::life::stored;
use crate::setup::{Setup, installing, run};
use crate::shared::LIMIT;

const REGISTRY: &str = "registry.example.com/lmcache";
const WAIT: &str = "wait --timeout=2m --for=condition=PolicyUniquelyReachable";

/// The commands of the page, each on one line.
fn commands() -> Result<Vec<String>> {
    let page = std::fs::read_to_string(repository().join("README.md"))?;
    let (_, rest) = page.split_once("Then five minutes").context("no five minutes")?;
    let (_, rest) = rest.split_once("```console\n").context("no commands")?;
    let (block, _) = rest.split_once("```").context("no end")?;
    Ok(block.replace("\\\n", " ").lines().map(str::to_owned).collect())
}

/// What a command prints in a shell that knows helm, kubectl and `REGISTRY`, in the folder of the repository.
fn shell(setup: &Setup, programs: &Path, command: &str) -> Result<String> {
    let path = format!("{}:{}", programs.display(), std::env::var("PATH")?);
    let mut shell = setup.command(Path::new("bash"));
    shell
        .args(["-o", "pipefail", "-c", command])
        .current_dir(repository())
        .env("PATH", path)
        .env("REGISTRY", REGISTRY);
    let (succeeded, out, err) = run(&mut shell, None)?;
    ensure!(succeeded, "{command}: {out}{err}");
    Ok(out)
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn the_five_minutes_of_the_readme() -> Result<()> {
    let (setup, _alone) = installing().await?;
    let programs = setup.plane.folder().join("readme");
    std::fs::create_dir(&programs)?;
    symlink(&setup.helm, programs.join("helm"))?;
    symlink(&setup.kubectl, programs.join("kubectl"))?;

    let mut working = None;
    let mut printed = String::new();
    for command in commands()? {
        // Kubewarden is not here, so nobody sets the condition: the policies that were installed are served by the test.
        if command.contains(WAIT) {
            let named = command.replacen(WAIT, "get -o name", 1);
            assert_eq!(shell(setup, &programs, &named)?.lines().count(), 7, "{named}");
            let deployment = setup.get("deployment", "lmcache-system", "lmcache-controller")?;
            let image = &deployment["spec"]["template"]["spec"]["containers"][0]["image"];
            let image = image.as_str().context("no image")?;
            assert!(image.starts_with(&format!("{REGISTRY}/lmcache-controller:")), "{image}");
            let policies = stored(setup)?;
            let module = policies[0].0["spec"]["module"].as_str().context("no module")?;
            assert!(
                module.starts_with(&format!("registry://{REGISTRY}/policies/")),
                "{module}"
            );
            let server = PolicyServer::start(&setup.plane, "readme-policies", &policies, &[]).await?;
            server.install()?;
            let controller = Controller::start(&setup.plane, "readme", &["--leader-elect"]).await?;
            working = Some((server, controller));
            continue;
        }
        printed = if command.contains("get pods") {
            // Until a Deployment has Pods takes a moment, which nobody notices who types.
            wait_until(&command, LIMIT, async || shell(setup, &programs, &command)).await?
        } else {
            shell(setup, &programs, &command)?
        };
    }
    assert!(printed.contains("lmcache.ai/lmcache-injected: \"true\""), "{printed}");
    let (server, controller) = working.context("nobody waited for the policies")?;

    server.uninstall()?;
    drop(server);
    drop(controller);
    setup.helm(&["uninstall", "lmcache", "--namespace", "lmcache-system", "--wait"])?;
    let crds = repository().join("deploy/crds");
    setup.kubectl(&["delete", "-k", crds.to_str().context("no path")?], None)?;
    setup.kubectl(&["delete", "namespace", "chat", "--wait=false"], None)?;
    Ok(())
}
