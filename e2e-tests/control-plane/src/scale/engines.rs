//! Many engines, made at once.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::Subject;
use super::figures::Usage;
use super::subject::Running;
use crate::audit::{Request, Tail};
use crate::{Cluster, ControlPlane, Identity, Program, Programs};

/// Where the engines are.
pub(super) const NAMESPACE: &str = "scale";
/// How many clients make them, at a time; as many make nodes.
const CLIENTS: usize = 6;
/// How often is looked whether the subject is done. Reading the audit log costs the API server nothing.
const PAUSE: Duration = Duration::from_secs(2);
/// How long nothing may have been written for a run to count as quiet.
const QUIET: Duration = Duration::from_secs(10);

/// What is made.
#[derive(Clone, Debug)]
pub struct Engines {
    /// How many engines.
    pub count: usize,
    /// How many nodes with GPUs.
    pub nodes: usize,
    /// How many of the nodes each engine has servers on; with 0 no node fits any.
    pub servers: usize,
    /// How long a settled subject is watched.
    pub settled: Duration,
    /// When to give up waiting for it to be quiet.
    pub limit: Duration,
}

/// What was measured. Times are in seconds from the first request that made an engine.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Run {
    /// How many engines.
    pub engines: usize,
    /// How many servers of each.
    pub servers: usize,
    /// When the last engine had been made.
    pub created: f64,
    /// When the last child had been made and every engine had a status.
    pub reconciled: Option<f64>,
    /// When every engine said Running, with all servers; known to a few seconds. `None` without servers.
    pub running: Option<f64>,
    /// When the subject wrote for the last time; `None` if it did not stop within the limit.
    pub last_write: Option<f64>,
    /// Its requests until then, by verb and resource; watches and Leases left out.
    pub requests: BTreeMap<String, usize>,
    /// How many those are.
    pub requests_in_all: usize,
    /// How many of them for each engine.
    pub requests_per_engine: f64,
    /// Writes a minute once it was quiet.
    pub settled_writes_per_minute: f64,
    /// Requests a minute once it was quiet.
    pub settled_requests_per_minute: f64,
    /// Of the subject, idle.
    pub idle: Usage,
    /// Of the subject, when it was quiet.
    pub usage: Usage,
    /// Processor time of the API server from the first engine until it was quiet, in seconds.
    pub api_server_cpu_seconds: f64,
    /// Requests in the first seconds of another process, after this one had ended.
    pub restart_requests: usize,
    /// Writes among them.
    pub restart_writes: usize,
}

impl Engines {
    /// Makes a control plane, runs the subject in it, and measures. The control plane is given back with the subject
    /// running, for what comes next.
    ///
    /// # Errors
    /// Something does not start, or the API server refuses.
    pub async fn run(&self, programs: Programs, subject: &Subject) -> Result<(Run, ControlPlane, impl Sized + use<>)> {
        let plane = ControlPlane::start(programs).await?;
        let admin = plane.cluster(Identity::Admin).await?;
        subject.install(&admin).await?;
        admin.namespace(NAMESPACE).await?;
        self.make_nodes(&admin).await?;
        let mut running = subject.start(&plane, "subject-0").await?;
        sleep(PAUSE).await;
        let mut log = Log::new(&plane, subject)?;
        let api_server = plane.id(Program::ApiServer).context("no API server")?;
        let (idle, before) = (Usage::of(running.id())?, Usage::of(api_server)?);
        self.make(&admin).await?;
        let mut run = Run {
            engines: self.count,
            servers: self.servers,
            idle,
            ..Run::default()
        };
        self.until_quiet(&admin, &mut log, &mut running, &mut run).await?;
        log.fill(&mut run, self);
        run.usage = Usage::of(running.id())?;
        run.api_server_cpu_seconds = Usage::of(api_server)?.cpu_seconds - before.cpu_seconds;
        run.usage.cpu_seconds -= idle.cpu_seconds;

        let settled = log.count(self.settled).await?;
        let minutes = self.settled.as_secs_f64() / 60.0;
        run.settled_requests_per_minute = per(settled.0, minutes);
        run.settled_writes_per_minute = per(settled.1, minutes);

        running.stop()?;
        log.read()?;
        let running = subject.start(&plane, "subject-1").await?;
        (run.restart_requests, run.restart_writes) = log.count(QUIET).await?;
        Ok((run, plane, running))
    }

    fn pools(&self) -> usize {
        self.nodes.checked_div(self.servers).unwrap_or(1).max(1)
    }

    async fn make_nodes(&self, admin: &Cluster) -> Result<()> {
        let pools = self.pools();
        in_parallel(self.nodes, async |number| {
            let pool = format!("pool-{}", number % pools);
            let labels = [("e2e.lmcache.ai/pool", pool.as_str())];
            admin.gpu_node(&format!("gpu-{number}"), &labels).await
        })
        .await
    }

    async fn make(&self, admin: &Cluster) -> Result<()> {
        let pools = self.pools();
        in_parallel(self.count, async |number| {
            let pool = match self.servers {
                0 => "none".to_owned(),
                _ => format!("pool-{}", number % pools),
            };
            let engine = json!({
                "apiVersion": "lmcache.lmcache.ai/v1alpha1", "kind": "LMCacheEngine",
                "metadata": {"name": format!("engine-{number}"), "namespace": NAMESPACE},
                "spec": {"l1": {"sizeGB": 10}, "nodeSelector": {"e2e.lmcache.ai/pool": pool}},
            });
            admin.create(&engine, "scale").await.map(drop)
        })
        .await
    }

    /// Waits until every engine is what it should be and nothing is written any more, or the limit is over.
    async fn until_quiet(&self, admin: &Cluster, log: &mut Log, running: &mut Running, run: &mut Run) -> Result<()> {
        let begin = Instant::now();
        let mut quiet_since = Instant::now();
        loop {
            sleep(PAUSE).await;
            running.check()?;
            if log.read()? > 0 {
                quiet_since = Instant::now();
            }
            if self.servers > 0 && run.running.is_none() && self.all_run(admin).await? {
                run.running = log.seconds(Timestamp::now());
            }
            let is_there = log.statuses.len() >= self.count && (self.servers == 0 || run.running.is_some());
            if is_there && quiet_since.elapsed() >= QUIET {
                run.last_write = log.last_write.and_then(|time| log.seconds(time));
                return Ok(());
            }
            if begin.elapsed() >= self.limit {
                return Ok(());
            }
        }
    }

    async fn all_run(&self, admin: &Cluster) -> Result<bool> {
        let engines = admin.list("LMCacheEngine", NAMESPACE, "").await?;
        let runs = |engine: &Value| {
            let status = |field: &str| engine.pointer(&format!("/status/{field}"));
            status("phase").is_some_and(|phase| phase == "Running")
                && status("readyInstances").and_then(Value::as_u64) == u64::try_from(self.servers).ok()
        };
        Ok(engines.len() == self.count && engines.iter().all(runs))
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts that are far below 2^52")]
fn per(count: usize, whole: f64) -> f64 {
    count as f64 / whole
}

/// Does something for each number below `count`, a few at a time.
async fn in_parallel(count: usize, each: impl AsyncFn(usize) -> Result<()>) -> Result<()> {
    let each = &each;
    let lanes = (0..CLIENTS).map(|lane| async move {
        for number in (lane..count).step_by(CLIENTS) {
            each(number).await?;
        }
        Ok(())
    });
    futures::future::try_join_all(lanes).await.map(drop)
}

/// What the subject asked for since the first engine was made.
struct Log {
    tail: Tail,
    user: &'static str,
    begin: Option<Timestamp>,
    created: Option<Timestamp>,
    statuses: BTreeMap<String, Timestamp>,
    last_child: Option<Timestamp>,
    last_write: Option<Timestamp>,
    requests: Vec<Request>,
}

impl Log {
    fn new(plane: &ControlPlane, subject: &Subject) -> Result<Log> {
        let mut tail = plane.audit_log();
        tail.read()?;
        Ok(Log {
            tail,
            user: subject.user(),
            begin: None,
            created: None,
            statuses: BTreeMap::new(),
            last_child: None,
            last_write: None,
            requests: Vec::new(),
        })
    }

    /// Reads on; how many requests of the subject that were.
    fn read(&mut self) -> Result<usize> {
        let audit = self.tail.read()?;
        for made in audit.of(Identity::Admin.user()) {
            if made.verb == "create" && made.resource == "lmcacheengines" {
                self.begin = Some(self.begin.map_or(made.received, |begin| begin.min(made.received)));
                self.created = self.created.max(Some(made.answered));
            }
        }
        let mut count = 0;
        for request in audit.of(self.user) {
            if request.verb == "watch" || request.resource == "leases" {
                continue;
            }
            count += 1;
            if request.is_write() {
                self.last_write = self.last_write.max(Some(request.answered));
            }
            if request.resource == "lmcacheengines/status" && request.code < 300 {
                self.statuses.entry(request.name.clone()).or_insert(request.answered);
            } else if request.code == 201 {
                self.last_child = self.last_child.max(Some(request.answered));
            }
            self.requests.push(request.clone());
        }
        Ok(count)
    }

    /// Requests and writes from now on, for some time.
    async fn count(&mut self, time: Duration) -> Result<(usize, usize)> {
        self.read()?;
        let before = self.requests.len();
        sleep(time).await;
        self.read()?;
        let new = self.requests.get(before..).unwrap_or_default();
        Ok((new.len(), new.iter().filter(|request| request.is_write()).count()))
    }

    fn seconds(&self, time: Timestamp) -> Option<f64> {
        self.begin.map(|begin| time.duration_since(begin).as_secs_f64())
    }

    fn fill(&self, run: &mut Run, engines: &Engines) {
        run.created = self.created.and_then(|time| self.seconds(time)).unwrap_or_default();
        if self.statuses.len() >= engines.count {
            let last = self.statuses.values().copied().max().max(self.last_child);
            run.reconciled = last.and_then(|time| self.seconds(time));
        }
        for request in &self.requests {
            *run.requests
                .entry(format!("{} {}", request.verb, request.resource))
                .or_default() += 1;
        }
        run.requests_in_all = self.requests.len();
        run.requests_per_engine = per(run.requests_in_all, per(engines.count.max(1), 1.0));
    }
}
