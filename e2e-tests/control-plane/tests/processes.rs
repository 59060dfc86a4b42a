//! The control plane itself: what it starts, what it leaves behind.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Result, ensure};
use control_plane::{ControlPlane, Identity, Program, Programs, wait_until};
use kube::config::Kubeconfig;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

const LIMIT: Duration = Duration::from_secs(30);

/// The processes that run in a folder.
fn processes(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let inside = entries.filter(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == folder));
    let mut names: Vec<String> = inside
        .filter_map(|entry| fs::read_to_string(entry.path().join("comm")).ok())
        .collect();
    names.sort();
    names
}

async fn nothing_is_left(folder: &Path) -> Result<()> {
    wait_until("nothing is left", LIMIT, async || {
        let left = processes(folder);
        ensure!(left.is_empty() && !folder.exists(), "{left:?} in {}", folder.display());
        Ok(())
    })
    .await
}

#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn starts_counts_breaks_and_ends() -> Result<()> {
    let programs = tokio::task::spawn_blocking(Programs::find).await??;
    let plane = ControlPlane::start(programs).await?;
    let folder = plane.folder().to_owned();
    assert_eq!(processes(&folder).len(), 5);
    let admin = plane.cluster(Identity::Admin).await?;
    admin.gpu_node("gpu-0", &[]).await?;
    let node = admin.get("Node", "", "gpu-0").await?;
    assert_eq!(node["status"]["allocatable"]["nvidia.com/gpu"], "8");

    admin.namespace("counted").await?;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "counted"}});
    admin.create(&map, "test").await?;
    admin.list("ConfigMap", "counted", "").await?;
    admin.list("ConfigMap", "counted", "").await?;
    let audit = plane.audit()?;
    let counts = audit.counts(Identity::Admin.user());
    assert_eq!(
        (counts[&("create", "configmaps")], counts[&("list", "configmaps")]),
        (1, 2)
    );

    let viewer = plane.cluster(Identity::Viewer).await?;
    let refused = viewer.list("ConfigMap", "counted", "").await.unwrap_err();
    assert_eq!(control_plane::cluster::refusal(&refused).unwrap().code, 403);

    // Gone, and back with its data.
    plane.kill(Program::ApiServer);
    assert!(admin.get("ConfigMap", "counted", "a").await.is_err());
    plane.restart(Program::ApiServer).await?;
    plane
        .cluster(Identity::Admin)
        .await?
        .get("ConfigMap", "counted", "a")
        .await?;

    drop(plane);
    nothing_is_left(&folder).await
}

/// What `E2E_CLUSTER` does with the cluster of a kubeconfig.
#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn a_running_cluster_is_used_with_the_rights_of_each_user_and_cleaned() -> Result<()> {
    let programs = tokio::task::spawn_blocking(Programs::find).await??;
    let theirs = ControlPlane::start(programs.clone()).await?;
    // Only ours plays nodes.
    theirs.kill(Program::Kwok);
    let kubeconfig = Kubeconfig::read_from(theirs.kubeconfig(Identity::Admin))?;
    let given = ControlPlane::attach(&kubeconfig, programs.clone()).await?;
    assert_eq!(given.server(), theirs.server());
    let admin = given.cluster(Identity::Admin).await?;
    admin.gpu_node("gpu-0", &[]).await?;
    assert_eq!(processes(given.folder()), ["kwok\n"]);
    admin.namespace("left").await?;
    admin.install().await?;
    let controller = given.cluster(Identity::Controller).await?;
    controller.list("LMCacheEngine", "", "").await?;
    for identity in [Identity::Controller, Identity::Viewer] {
        let refused = given
            .cluster(identity)
            .await?
            .get("Node", "", "gpu-0")
            .await
            .unwrap_err();
        assert_eq!(
            control_plane::cluster::refusal(&refused).unwrap().code,
            403,
            "{identity:?}"
        );
    }
    assert!(given.audit().is_err() && given.pause(Program::ApiServer).is_err());
    let folder = given.folder().to_owned();
    drop(given);
    nothing_is_left(&folder).await?;

    // The next run begins with a clean cluster.
    let given = ControlPlane::attach(&kubeconfig, programs).await?;
    let admin = given.cluster(Identity::Admin).await?;
    assert_eq!(admin.find("Node", "", "gpu-0").await?, None);
    assert_eq!(admin.find("Namespace", "", "left").await?, None);
    admin.get("Namespace", "", "default").await?;
    Ok(())
}

/// A process that ends with the test, also with one that fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `control-plane up`, the data folder that it names, and where it writes.
fn up() -> (Running, PathBuf, BufReader<ChildStdout>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_control-plane"))
        .args(["up", "--nodes=1"])
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    let kubeconfig = line
        .trim()
        .strip_prefix("export KUBECONFIG=")
        .unwrap_or_else(|| panic!("{line:?}"));
    let folder = Path::new(kubeconfig).parent().unwrap().to_owned();
    (Running(child), folder, output)
}

/// One after the other: there is one of them for a user.
#[tokio::test]
#[ignore = "starts a control plane: make e2e"]
async fn up_leaves_nothing_behind_however_it_ends() -> Result<()> {
    for signal in [Signal::KILL, Signal::INT] {
        let (mut child, folder, _output) = up();
        assert_eq!(processes(&folder).len(), 5, "{signal:?}");
        let id = Pid::from_raw(i32::try_from(child.0.id()).unwrap()).unwrap();
        kill_process(id, signal).unwrap();
        child.0.wait()?;
        nothing_is_left(&folder).await?;
    }
    let (mut child, folder, _output) = up();
    let again = Command::new(env!("CARGO_BIN_EXE_control-plane")).arg("up").output()?;
    assert!(
        String::from_utf8_lossy(&again.stderr).contains("is up already"),
        "{again:?}"
    );
    let down = Command::new(env!("CARGO_BIN_EXE_control-plane")).arg("down").output()?;
    assert!(down.status.success(), "{down:?}");
    assert!(child.0.wait()?.success());
    nothing_is_left(&folder).await
}

#[test]
fn without_go_and_assets_the_reason_is_one_line() {
    let output = Command::new(env!("CARGO_BIN_EXE_control-plane"))
        .arg("check")
        .env("PATH", "/nowhere")
        .env_remove("KUBEBUILDER_ASSETS")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && text.lines().count() == 1, "{text}");
    assert!(text.contains("skipped") && text.contains("no Go in PATH"), "{text}");

    let output = Command::new(env!("CARGO_BIN_EXE_control-plane"))
        .arg("build")
        .env("KUBEBUILDER_ASSETS", "/nowhere/at/all")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.starts_with("control-plane: KUBEBUILDER_ASSETS: "), "{text}");
}
