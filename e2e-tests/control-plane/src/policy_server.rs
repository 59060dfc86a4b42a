//! The policies as webhooks: `policy-host serve` in the role of policy-server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::binaries;
use crate::cluster::{read, repository};
use crate::process::Process;
use crate::{ControlPlane, Identity, ports, wait_until};

/// How long it may take to be ready: it compiles the policies first.
const START: Duration = Duration::from_secs(120);
/// How long it may take to end once it is killed.
const END: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// A ClusterAdmissionPolicy to be served: a manifest of the repository, as it stands or changed by a test.
#[derive(Clone, Debug)]
pub struct Policy(pub Value);

impl Policy {
    /// The manifest that a file of the repository holds, `deploy/policies/lmcache-guard.yaml`.
    ///
    /// # Errors
    /// The file holds no manifest, or more than one.
    pub fn read(file: &str) -> Result<Policy> {
        let mut objects = read(file)?;
        let policy = objects.pop().filter(|_| objects.is_empty());
        Ok(Policy(
            policy.with_context(|| format!("{file} does not hold one manifest"))?,
        ))
    }

    /// All manifests that users are told to apply: the files of `deploy/policies` itself.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn deployed() -> Result<Vec<Policy>> {
        let folder = repository().join("deploy/policies");
        let mut policies = Vec::new();
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let name = entry?.file_name();
            let file = format!("deploy/policies/{}", name.display());
            if !file.ends_with(".yaml") {
                continue;
            }
            let objects = read(&file)?;
            let kind = |object: &Value| object.get("kind").and_then(Value::as_str) == Some("ClusterAdmissionPolicy");
            policies.extend(objects.into_iter().filter(kind).map(Policy));
        }
        policies.sort_by_key(|policy| policy.name().to_owned());
        Ok(policies)
    }

    /// Its `metadata.name`.
    pub fn name(&self) -> &str {
        let name = self.0.pointer("/metadata/name").and_then(Value::as_str);
        name.unwrap_or_default()
    }

    /// The same under another name. The names decide the order in which the API server calls webhooks.
    #[must_use]
    pub fn named(mut self, name: &str) -> Policy {
        if let Some(found) = self.0.pointer_mut("/metadata/name") {
            *found = name.into();
        }
        self
    }

    /// The same for one namespace alone, so that tests in other namespaces of the cluster do not meet it.
    #[must_use]
    pub fn only_in(mut self, namespace: &str) -> Policy {
        let selector = json!({"matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "In", "values": [namespace]},
        ]});
        if let Some(spec) = self.0.get_mut("spec").and_then(Value::as_object_mut) {
            spec.insert("namespaceSelector".to_owned(), selector);
        }
        self
    }

    /// The same with another value for one of its settings.
    #[must_use]
    pub fn with_setting(mut self, name: &str, value: Value) -> Policy {
        if let Some(settings) = self.0.pointer_mut("/spec/settings").and_then(Value::as_object_mut) {
            settings.insert(name.to_owned(), value);
        }
        self
    }
}

/// Has the policies themselves judge the settings in the manifests below a folder, by `policy-host check`; returns its report.
///
/// # Errors
/// A manifest has a fault; or policy-host cannot be built, or the modules are not there.
pub fn check_policies(folder: &Path) -> Result<String> {
    let output = Command::new(binaries::find("policy-host", "POLICY_HOST")?)
        .arg("check")
        .arg(folder)
        .arg("--policy-dir")
        .arg(binaries::policies()?)
        .output()
        .context("cannot run policy-host")?;
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(
        output.status.success(),
        "policy-host check: {report}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(report)
}

/// `policy-host serve` against a control plane, with the rights of the PolicyServer's service account and no others, and
/// the webhook configurations that Kubewarden's controller would write. Killed when dropped; the configurations stay, as
/// they would if policy-server died.
#[derive(Debug)]
pub struct PolicyServer {
    process: Process,
    command: Command,
    name: String,
    folder: PathBuf,
    manifests: PathBuf,
    authority: PathBuf,
    host: PathBuf,
    admin: PathBuf,
    address: String,
    port: u16,
}

impl PolicyServer {
    /// Serves policies under a name that no other server of this control plane has, and waits until it is ready. Nothing
    /// calls it before [`PolicyServer::install`].
    ///
    /// # Errors
    /// policy-host cannot be built, a policy is not there or refuses its settings, or it is not ready in time.
    pub async fn start(plane: &ControlPlane, name: &str, policies: &[Policy], args: &[&str]) -> Result<PolicyServer> {
        let folder = plane.folder().to_owned();
        let file = |suffix: &str| folder.join(format!("{name}{suffix}"));
        let manifests = file("-policies");
        let (address, listen) = plane.webhook_address();
        // It is there where an earlier start of the name failed.
        fs::create_dir_all(&manifests).with_context(|| format!("cannot make {}", manifests.display()))?;
        for policy in policies {
            let path = manifests.join(format!("{}.json", policy.name()));
            fs::write(&path, policy.0.to_string()).with_context(|| format!("cannot write {}", path.display()))?;
        }
        let pair = plane.certificate(&["127.0.0.1", "localhost", &address])?;
        let (certificate, key, authority) = (file(".crt"), file(".key"), file("-ca.crt"));
        for (path, text) in [
            (&certificate, pair.certificate.as_str()),
            (&key, pair.key.as_str()),
            (&authority, plane.authority()),
        ] {
            fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        let host = binaries::find("policy-host", "POLICY_HOST")?;
        let port = ports::free()?;
        let mut command = Command::new(&host);
        command
            .arg("serve")
            .arg("--policies")
            .arg(&manifests)
            .arg("--policy-dir")
            .arg(binaries::policies()?)
            .arg("--kubeconfig")
            .arg(plane.kubeconfig(Identity::PolicyServer))
            .arg("--cert")
            .arg(&certificate)
            .arg("--key")
            .arg(&key)
            .args(["--listen", &format!("{listen}:{port}")])
            .args(args);
        let process = Process::start(&folder, name, &command)?;
        let mut server = PolicyServer {
            process,
            command,
            name: name.to_owned(),
            folder,
            manifests,
            authority,
            host,
            admin: plane.kubeconfig(Identity::Admin),
            address,
            port,
        };
        server.ready().await?;
        Ok(server)
    }

    /// Registers its policies with the API server, under the names and in the order that Kubewarden gives them.
    ///
    /// # Errors
    /// The API server refuses one.
    pub fn install(&self) -> Result<()> {
        self.webhooks("--apply")
    }

    /// Takes its policies out of the API server again.
    ///
    /// # Errors
    /// The API server refuses.
    pub fn uninstall(&self) -> Result<()> {
        self.webhooks("--delete")
    }

    fn webhooks(&self, action: &str) -> Result<()> {
        let output = Command::new(&self.host)
            .arg("webhooks")
            .arg("--policies")
            .arg(&self.manifests)
            .args(["--url", &self.url(), action])
            .arg("--ca-bundle")
            .arg(&self.authority)
            .arg("--kubeconfig")
            .arg(&self.admin)
            .output()
            .context("cannot run policy-host")?;
        ensure!(
            output.status.success(),
            "policy-host webhooks {action}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(())
    }

    /// Where the API server finds it.
    pub fn url(&self) -> String {
        format!("https://{}:{}", self.address, self.port)
    }

    /// Kills it: nothing listens any more, and the API server still wants to call it.
    pub fn kill(&self) {
        // It may have ended already, which is what is wanted.
        let _ = self.process.signal(Signal::KILL);
        // The system takes a moment for it.
        let limit = Instant::now() + END;
        while ports::open(self.port).is_ok() && Instant::now() < limit {
            thread::sleep(PAUSE);
        }
    }

    /// Starts it again on its port after [`PolicyServer::kill`], and waits until it is ready.
    ///
    /// # Errors
    /// It is not ready in time.
    pub async fn restart(&mut self) -> Result<()> {
        self.process = Process::start(&self.folder, &self.name, &self.command)?;
        self.ready().await
    }

    /// Halts it: connections are taken and nothing is answered.
    ///
    /// # Errors
    /// It has ended.
    pub fn pause(&self) -> Result<()> {
        self.process.signal(Signal::STOP)
    }

    /// Lets it go on.
    ///
    /// # Errors
    /// It has ended.
    pub fn resume(&self) -> Result<()> {
        self.process.signal(Signal::CONT)
    }

    /// Everything that it logged: a line for each request, and what the policies log.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn log(&self) -> Result<String> {
        self.process.log()
    }

    /// Its process, to look at in /proc.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    async fn ready(&mut self) -> Result<()> {
        let port = self.port;
        wait_until(&format!("{} listens", self.name), START, async || {
            self.process.check()?;
            ports::open(port)
        })
        .await
        .with_context(|| self.process.tail())
    }
}
