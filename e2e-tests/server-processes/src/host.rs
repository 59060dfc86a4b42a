//! Starting a rendered container on this host.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use lmcache_api::Release;
use serde_json::json;

use crate::arguments;
use crate::container::{Cluster, Line};
use crate::installed::{Installed, needs_stub};
use crate::process::Process;
use crate::rendered::Rendered;
use crate::report::Report;
use crate::sandbox::{Mounts, Sandbox};
use crate::sockets::free_port;

/// Size of the first tier in GB: what is rendered may be larger than this host.
const L1_GB: &str = "0.1";

/// Where processes are started, and what they are called in the report.
#[derive(Debug)]
pub struct Host<'a> {
    /// The releases.
    pub installed: &'a Installed,
    /// How processes are set apart.
    pub sandbox: Sandbox,
    /// A folder for logs, and for what would be volumes.
    pub folder: PathBuf,
}

/// What differs from the rendered container, beyond what a shared host needs.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Password of the second tier in the Secret, and its user.
    pub login: Option<(&'static str, &'static str)>,
    /// Port of Redis.
    pub redis: Option<u16>,
    /// Port of a coordinator.
    pub port: Option<u16>,
    /// More arguments.
    pub arguments: Vec<String>,
    /// Flags that are taken away with their values.
    pub without: Vec<&'static str>,
    /// More environment.
    pub env: BTreeMap<String, String>,
    /// Mounts.
    pub mounts: Mounts,
    /// Leave the file with the key for the second tier away.
    pub no_key: bool,
}

/// Ports in place of the rendered ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// `--port`.
    pub main: u16,
    /// `--http-port`; of a coordinator the same.
    pub http: u16,
    /// `--prometheus-port`.
    pub prometheus: u16,
}

/// A started container.
#[derive(Debug)]
pub struct Started {
    /// The process.
    pub process: Process,
    /// Its ports.
    pub ports: Ports,
    /// Its command line.
    pub line: Line,
}

impl Host<'_> {
    /// Starts the container with free ports, a small first tier, folders and files of this host, and the release's own
    /// program. `name` is that of the log.
    ///
    /// # Errors
    /// The container refers to what a node would not have, or cannot be started.
    pub fn start(&self, name: &str, rendered: &Rendered, changes: &Changes, report: &mut Report) -> Result<Started> {
        let mut line = rendered.container.on(&self.cluster(rendered, changes))?;
        for flag in &changes.without {
            arguments::remove(&mut line.argv, flag);
        }
        let ports = self.ports(&mut line, changes)?;
        arguments::set(&mut line.argv, "--l1-size-gb", L1_GB);
        self.second_tier(&mut line, changes)?;
        line.argv.extend(changes.arguments.iter().cloned());
        self.environment(&mut line, rendered.release, changes)?;
        let program = self.installed.program(rendered.release);
        let shown = line
            .argv
            .iter()
            .skip(1)
            .map(|word| quoted(word))
            .collect::<Vec<_>>()
            .join(" ");
        let stub = if needs_stub(rendered.release) {
            " (no GPU: two CUDA calls stubbed)"
        } else {
            ""
        };
        report.started(format!("lmcache {shown}{stub}"));
        if let Some(first) = line.argv.first_mut() {
            *first = program.display().to_string();
        }
        let log = self.folder.join(format!("{name}.log"));
        let process = Process::start(&line, self.sandbox, &changes.mounts, &self.folder, &log)?;
        Ok(Started { process, ports, line })
    }

    /// A new folder of the scenario.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.folder.join(name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder)
    }

    fn cluster(&self, rendered: &Rendered, changes: &Changes) -> Cluster {
        let secret = format!("{}-resp-auth", rendered.name);
        let mut secrets = BTreeMap::new();
        if let Some((user, password)) = changes.login {
            secrets.insert((secret.clone(), "username".to_owned()), user.to_owned());
            secrets.insert((secret, "password".to_owned()), password.to_owned());
        }
        let fields = [
            ("status.podIP", "127.0.0.1"),
            ("status.hostIP", "127.0.0.1"),
            ("metadata.namespace", "team-a"),
        ];
        Cluster {
            secrets,
            fields: fields.map(|(path, value)| (path.to_owned(), value.to_owned())).into(),
        }
    }

    /// A rendered pair of equal ports stays equal: that is a case of its own.
    fn ports(&self, line: &mut Line, changes: &Changes) -> Result<Ports> {
        let rendered = |flag| arguments::value(&line.argv, flag).map(str::to_owned);
        let same = rendered("--port") == rendered("--http-port");
        let main = changes.port.map_or_else(free_port, Ok)?;
        let ports = Ports {
            main,
            http: if same { main } else { free_port()? },
            prometheus: free_port()?,
        };
        arguments::set(&mut line.argv, "--port", &ports.main.to_string());
        arguments::set(&mut line.argv, "--prometheus-port", &ports.prometheus.to_string());
        if arguments::set(&mut line.argv, "--http-port", &ports.http.to_string()) == 0 {
            return Ok(Ports {
                http: ports.main,
                ..ports
            });
        }
        Ok(ports)
    }

    /// What would be volumes and a Service lies on this host.
    fn second_tier(&self, line: &mut Line, changes: &Changes) -> Result<()> {
        let tier = self.folder("l2")?;
        let key = self.folder.join("master-key");
        if !changes.no_key {
            fs::write(&key, [7; 32])?;
        }
        arguments::change_adapters(&mut line.argv, |adapter| {
            if let (Some(port), Some("resp")) = (changes.redis, adapter.get("type").and_then(|kind| kind.as_str())) {
                replace(adapter, "/host", &json!("127.0.0.1"));
                replace(adapter, "/port", &json!(port));
            }
            replace(adapter, "/base_path", &json!(tier));
            replace(adapter, "/serde/master_key_path", &json!(key));
        });
        Ok(())
    }

    fn environment(&self, line: &mut Line, release: Release, changes: &Changes) -> Result<()> {
        let home = self.folder("home")?.display().to_string();
        let of_image = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("HOME", home),
            // A test is no use of LMCache that its developers should count.
            ("LMCACHE_TRACK_USAGE", "false".to_owned()),
        ];
        for (name, value) in of_image {
            line.env.entry(name.to_owned()).or_insert(value);
        }
        if let Some(path) = self.installed.python_path(release) {
            line.env.insert("PYTHONPATH".to_owned(), path);
        }
        line.env.extend(changes.env.clone());
        Ok(())
    }

    /// Mounts of a container with a read-only root file system: nothing that the process would write to can be written,
    /// but for one folder.
    pub fn read_only(&self, writable: Option<&Path>) -> Mounts {
        Mounts {
            read_only: vec![
                self.installed.root().to_owned(),
                self.folder.clone(),
                "/tmp".into(),
                "/var/tmp".into(),
            ],
            writable: writable.map(Path::to_owned).into_iter().collect(),
        }
    }
}

/// A member that is there gets another value.
fn replace(object: &mut serde_json::Value, path: &str, value: &serde_json::Value) {
    if let Some(member) = object.pointer_mut(path) {
        *member = value.clone();
    }
}

/// As one would type it in a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_for_a_shell() {
        assert_eq!(quoted("--port"), "--port");
        assert_eq!(quoted(r#"{"type":"fs"}"#), r#"'{"type":"fs"}'"#);
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
