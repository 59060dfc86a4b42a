//! A control plane with a controller, and how it comes to rest.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::figures::{Requests, Restart, Run};
use super::ledger::Ledger;
use super::load::{Load, NAMESPACE};
use super::running::{Running, now};
use super::subject::Subject;
use super::usage;
use crate::{Cluster, ControlPlane, Controller, Identity, Program, Programs};

/// What a controller does by itself after its start is over by then, before engines come.
const IDLE: Duration = Duration::from_secs(10);
/// So long without a write, and a controller has nothing left to do. Retries after a failure come sooner, at first.
const QUIET: Duration = Duration::from_secs(15);
/// How often the audit log is looked at. It is a file: the API server does not notice.
const LOOK: Duration = Duration::from_millis(500);

/// A run.
pub(super) struct Session {
    // Ends before the control plane that it talks to.
    controller: Option<Controller>,
    pub(super) admin: Cluster,
    pub(super) plane: ControlPlane,
    pub(super) load: Load,
    ledger: Ledger,
    run: String,
}

/// A controller after it came to rest, or did not.
struct Rest {
    quiet: bool,
    requests: Range<usize>,
    /// Processor seconds of each program, when the last write was seen.
    cpu: BTreeMap<String, f64>,
}

impl Session {
    /// Starts a control plane with nodes, and the controller.
    pub(super) async fn start(programs: Programs, subject: &Subject, load: Load) -> Result<Session> {
        let plane = ControlPlane::start(programs).await?;
        let admin = plane.cluster(Identity::Admin).await?;
        admin.install().await?;
        subject.prepare(&admin).await?;
        admin.runtime_class().await?;
        admin.namespace(NAMESPACE).await?;
        load.make_nodes(&admin).await?;
        let controller = subject.start(&plane, "controller-0").await?;
        Ok(Session {
            controller: Some(controller),
            admin,
            ledger: Ledger::new(plane.audit_log()),
            plane,
            load,
            run: subject.name(),
        })
    }

    /// Makes the engines and waits until nothing is left to be done.
    pub(super) async fn converge(&mut self, limit: Duration, window: Duration) -> Result<Run> {
        let Load { engines, with_pods, .. } = self.load;
        tokio::time::sleep(IDLE).await;
        self.ledger.update()?;
        let memory_idle = usage::memory(self.process()?)?.resident;
        let load_before = usage::load_average()?;
        let before = self.cpu()?;
        let begin = self.ledger.len();
        let running = Running::watch(&self.admin, self.load);
        self.load.make_engines(&self.admin).await?;
        let done = |ledger: &Ledger| {
            // Without servers nothing runs.
            let done = if with_pods {
                running.all()?
            } else {
                ledger.complete(engines)
            };
            Ok(done.is_some())
        };
        let rest = self.rest(begin, limit, done).await?;
        let memory = usage::memory(self.process()?)?;
        let (first, last) = self
            .ledger
            .created()
            .context("the audit log has no creation of an engine")?;
        let since = |time: i64| seconds(time - first);
        let settled = self.window(window).await?;
        let cpu = rest.cpu.iter().map(|(program, seconds)| {
            let earlier = before.get(program).copied().unwrap_or_default();
            (program.clone(), seconds - earlier)
        });
        Ok(Run {
            controller: self.run.clone(),
            engines,
            servers: self.load.servers(),
            load_before,
            load_after: usage::load_average()?,
            created: since(last),
            complete: self.ledger.complete(engines).map(since),
            running: if with_pods { running.all()?.map(since) } else { None },
            last_write: self.ledger.last_write(rest.requests.clone()).map(since),
            quiet: rest.quiet,
            requests: Requests::of(&self.ledger.audit(rest.requests)),
            settled,
            memory_idle,
            memory,
            cpu: cpu.collect(),
            restart: None,
            clients: None,
        })
    }

    /// Stops the controller, starts it again, and waits until it has nothing left to do.
    pub(super) async fn restart(&mut self, subject: &Subject, limit: Duration) -> Result<Restart> {
        if let Some(controller) = self.controller.take() {
            tokio::task::spawn_blocking(|| controller.stop()).await??;
        }
        self.ledger.update()?;
        let begin = self.ledger.len();
        let started = now();
        self.controller = Some(subject.start(&self.plane, "controller-1").await?);
        let rest = self.rest(begin, limit, |_| Ok(true)).await?;
        let last_write = self.ledger.last_write(rest.requests.clone());
        Ok(Restart {
            requests: Requests::of(&self.ledger.audit(rest.requests)),
            last_write: last_write.map(|time| seconds(time - started)),
            quiet: rest.quiet,
            memory: usage::memory(self.process()?)?,
        })
    }

    /// The controller's requests from `begin` on, until it has nothing left to do.
    pub(super) async fn requests_until_quiet(&mut self, begin: usize, limit: Duration) -> Result<Requests> {
        let rest = self.rest(begin, limit, |_| Ok(true)).await?;
        Ok(Requests::of(&self.ledger.audit(rest.requests)))
    }

    /// How many requests of the controller there are by now.
    pub(super) fn mark(&mut self) -> Result<usize> {
        self.ledger.update()?;
        Ok(self.ledger.len())
    }

    /// The controller's process.
    pub(super) fn process(&self) -> Result<u32> {
        let controller = self.controller.as_ref().context("the controller does not run")?;
        Ok(controller.id())
    }

    /// The version of Kubernetes.
    pub(super) async fn version(&self) -> Result<String> {
        Ok(self.admin.client().apiserver_version().await?.git_version)
    }

    /// Waits until `done` holds and no write came for a while, or the limit has passed.
    async fn rest(&mut self, begin: usize, limit: Duration, done: impl Fn(&Ledger) -> Result<bool>) -> Result<Rest> {
        let start = Instant::now();
        let mut last = start;
        let mut cpu = self.cpu()?;
        let quiet = loop {
            let writes = self.ledger.update()?;
            if writes > 0 {
                last = Instant::now();
                cpu = self.cpu()?;
            }
            if last.elapsed() >= QUIET && done(&self.ledger)? {
                break true;
            }
            if start.elapsed() >= limit {
                break false;
            }
            if let Some(controller) = self.controller.as_mut() {
                controller.check()?;
            }
            tokio::time::sleep(LOOK).await;
        };
        let requests = begin..self.ledger.len();
        Ok(Rest { quiet, requests, cpu })
    }

    async fn window(&mut self, window: Duration) -> Result<Requests> {
        let begin = self.mark()?;
        tokio::time::sleep(window).await;
        let end = self.mark()?;
        Ok(Requests::of(&self.ledger.audit(begin..end)))
    }

    /// Processor seconds so far of the controller, as `controller`, and of the programs of the control plane.
    fn cpu(&self) -> Result<BTreeMap<String, f64>> {
        let mut all = BTreeMap::from([("controller".to_owned(), usage::cpu(self.process()?)?)]);
        for program in Program::ALL {
            let id = self.plane.id(program);
            let id = id.with_context(|| format!("{} does not run", program.name()))?;
            all.insert(program.name().to_owned(), usage::cpu(id)?);
        }
        Ok(all)
    }
}

fn seconds(microseconds: i64) -> f64 {
    microseconds as f64 / 1_000_000.0
}
