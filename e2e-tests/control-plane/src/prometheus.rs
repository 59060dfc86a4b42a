//! Prometheus as a process: it scrapes what a test tells it to every second, and evaluates rules as often.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::process::Process;
use crate::{Tool, ports, wait_until};

/// How long it may take to be ready.
const START: Duration = Duration::from_secs(60);
/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(10);

/// A running Prometheus. Killed when dropped.
#[derive(Debug)]
pub struct Prometheus {
    process: Process,
    port: u16,
    targets: PathBuf,
}

/// Something to be scraped on the loopback interface, at `/metrics`.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where it listens.
    pub port: u16,
    /// The labels that its series get, as the Prometheus Operator would give them.
    pub labels: Value,
}

impl Prometheus {
    /// Starts it in a folder with rule groups (`{"groups": [...]}`), and waits until it answers. Labels of series win over
    /// those of their targets, of which there are none yet.
    ///
    /// # Errors
    /// It cannot be built, ends, which it does where it does not understand the rules, or is not ready in time.
    pub async fn start(folder: &Path, rules: &Value) -> Result<Prometheus> {
        let port = ports::free()?;
        let home = folder.join("prometheus");
        fs::create_dir(&home).with_context(|| format!("cannot make {}", home.display()))?;
        // YAML is what it reads, and JSON is YAML.
        let config = json!({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yaml"],
            "scrape_configs": [{
                "job_name": "test",
                "honor_labels": true,
                "file_sd_configs": [{"files": ["targets.json"], "refresh_interval": "1s"}],
            }],
        });
        write(&home.join("prometheus.yaml"), &config)?;
        write(&home.join("rules.yaml"), rules)?;
        let targets = home.join("targets.json");
        write(&targets, &json!([]))?;
        let mut command = Command::new(tokio::task::spawn_blocking(|| Tool::Prometheus.find()).await??);
        command
            .arg(format!("--config.file={}", home.join("prometheus.yaml").display()))
            .arg(format!("--storage.tsdb.path={}", home.join("data").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"));
        let process = Process::start(folder, "prometheus", &command)?;
        let mut prometheus = Prometheus { process, port, targets };
        wait_until("Prometheus is ready", START, async || {
            prometheus.process.check()?;
            let (status, answer) = prometheus.get("/-/ready")?;
            ensure!(status == 200, "{status}: {answer}");
            Ok(())
        })
        .await
        .with_context(|| prometheus.process.tail())?;
        Ok(prometheus)
    }

    /// Has it scrape these from now on, and nothing else.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn scrape(&self, targets: &[Target]) -> Result<()> {
        let groups = targets.iter().map(|target| {
            let address = format!("127.0.0.1:{}", target.port);
            json!({"targets": [address], "labels": target.labels})
        });
        // Never half a file: it looks at any time.
        let new = self.targets.with_extension("new");
        write(&new, &groups.collect())?;
        fs::rename(&new, &self.targets).with_context(|| format!("cannot write {}", self.targets.display()))
    }

    /// Alerts that are pending or firing.
    ///
    /// # Errors
    /// It does not answer.
    pub fn alerts(&self) -> Result<Vec<Value>> {
        let answer = self.api("/api/v1/alerts")?;
        let alerts = answer.pointer("/data/alerts").and_then(Value::as_array).cloned();
        alerts.with_context(|| format!("no alerts in {answer}"))
    }

    /// The result of a query: an array of series with labels (`metric`) and value.
    ///
    /// # Errors
    /// It does not answer, or finds a fault in the query.
    pub fn query(&self, query: &str) -> Result<Vec<Value>> {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let answer = self.api(&format!("/api/v1/query?query={encoded}"));
        let answer = answer.with_context(|| query.to_owned())?;
        let result = answer.pointer("/data/result").and_then(Value::as_array).cloned();
        result.with_context(|| format!("no result in {answer}"))
    }

    fn api(&self, path: &str) -> Result<Value> {
        let (status, body) = self.get(path)?;
        ensure!(status == 200, "Prometheus answers {status}: {body}");
        serde_json::from_str(&body).with_context(|| format!("no JSON: {body}"))
    }

    /// Status code and body of the answer to a GET.
    fn get(&self, path: &str) -> Result<(u16, String)> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let stream = TcpStream::connect_timeout(&address, LIMIT);
        let mut stream = stream.with_context(|| format!("nothing listens on {address}"))?;
        stream.set_read_timeout(Some(LIMIT))?;
        // In HTTP/1.0 the body comes whole and ends with the connection.
        write!(stream, "GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("no answer")?;
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        Ok((status.with_context(|| head.to_owned())?, body.to_owned()))
    }
}

fn write(path: &Path, value: &Value) -> Result<()> {
    fs::write(path, value.to_string()).with_context(|| format!("cannot write {}", path.display()))
}
