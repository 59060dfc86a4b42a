//! An OCI registry on the loopback interface, and the programs that are run against it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::cluster::repository;
use crate::process::{Folder, Process};
use crate::tools::Tool;
use crate::{binaries, ports, wait_until};

/// How long it may take to listen.
const START: Duration = Duration::from_secs(20);

/// `crane registry serve`, with a data folder of its own. Everything ends with it.
#[derive(Debug)]
pub struct Registry {
    // Dropped in this order: the process ends before its folder goes.
    _process: Process,
    folder: Folder,
    crane: PathBuf,
    port: u16,
}

impl Registry {
    /// Starts a registry that is empty, and open to everybody on this machine.
    ///
    /// # Errors
    /// crane cannot be found or built, or does not listen.
    pub async fn start() -> Result<Registry> {
        let crane = tokio::task::spawn_blocking(|| Tool::Crane.find()).await??;
        let folder = Folder::new()?;
        let blobs = folder.path().join("blobs");
        fs::create_dir(&blobs).with_context(|| format!("cannot make {}", blobs.display()))?;
        let port = ports::free()?;
        let mut command = Command::new(&crane);
        command
            .args(["registry", "serve", "--address", &format!("127.0.0.1:{port}"), "--disk"])
            .arg(&blobs);
        let mut process = Process::start(folder.path(), "registry", &command)?;
        wait_until("the registry listens", START, async || {
            process.check()?;
            ports::open(port)
        })
        .await?;
        Ok(Registry {
            _process: process,
            folder,
            crane,
            port,
        })
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A place in it, as `127.0.0.1:20001/<path>`.
    pub fn at(&self, path: &str) -> String {
        format!("127.0.0.1:{}/{path}", self.port)
    }

    /// Its data folder, which tests may use too.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs `crane`; returns what it printed.
    ///
    /// # Errors
    /// It fails; with what it said.
    pub fn crane(&self, arguments: &[&str]) -> Result<String> {
        self.run(Command::new(&self.crane).args(arguments))
    }

    /// Runs `publish`, this repository's own; returns what it printed.
    ///
    /// # Errors
    /// It fails; with what it said.
    pub fn publish(&self, arguments: &[&str]) -> Result<String> {
        self.publish_with(arguments, &[])
    }

    /// Runs `publish` with variables of its own; returns what it printed.
    ///
    /// # Errors
    /// It fails; with what it said.
    pub fn publish_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Result<String> {
        let publish = binaries::find("publish", "PUBLISH")?;
        self.run(Command::new(publish).args(arguments).envs(variables.iter().copied()))
    }

    /// Runs `policy-host` in the repository; returns what it printed.
    ///
    /// # Errors
    /// It fails; with what it said.
    pub fn policy_host(&self, arguments: &[&str]) -> Result<String> {
        let host = binaries::find("policy-host", "POLICY_HOST")?;
        let mut command = Command::new(host);
        command.args(arguments).current_dir(repository());
        text(self.quiet(&mut command).output(), &command)
    }

    /// Runs a program in the data folder; returns what it printed.
    ///
    /// # Errors
    /// It fails; with what it said.
    pub fn run(&self, command: &mut Command) -> Result<String> {
        command.current_dir(self.folder());
        text(self.quiet(command).output(), command)
    }

    /// The user of this machine has logins and keys that are nobody's business here.
    fn quiet<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        for (variable, folder) in [
            ("HOME", "home"),
            ("DOCKER_CONFIG", "docker"),
            ("XDG_CONFIG_HOME", "config"),
        ] {
            command.env(variable, self.folder().join(folder));
        }
        for variable in [
            "REGISTRY_USERNAME",
            "REGISTRY_PASSWORD",
            "XDG_RUNTIME_DIR",
            "REGISTRY_AUTH_FILE",
        ] {
            if !command.get_envs().any(|(name, _)| name == variable) {
                command.env_remove(variable);
            }
        }
        command
    }
}

/// The folder with the compiled and annotated policies.
///
/// # Errors
/// It is not there.
pub fn policies() -> Result<PathBuf> {
    binaries::policies()
}

fn text(output: std::io::Result<Output>, command: &Command) -> Result<String> {
    let program = command.get_program().display();
    let output = output.with_context(|| format!("cannot run {program}"))?;
    ensure!(
        output.status.success(),
        "{program} failed ({}): {}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    );
    String::from_utf8(output.stdout).with_context(|| format!("{program} printed what is no text"))
}
