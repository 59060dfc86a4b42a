//! One pass over a custom resource.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kube::runtime::controller::Action;
use lmcache_api::Kind;

use super::api::Api;
use super::backoff::Backoff;
use super::fault::Fault;
use super::first_status::FirstStatus;
use super::{children, custom};
use crate::index::Shared;
use crate::live::{ChildKind, Key};
use crate::plan::{
    ChildName, Inputs, Judgement, Problem, Reason, Report, Retry, Settings, Verdict, Workload, desire, judge,
    without_legacy_finalizer,
};
use crate::run::metrics::{Metrics, Outcome, Step};
use crate::status;

/// How long after a pass that found a foreign object, which is not watched, the next one looks again.
const SLOWLY: Duration = Duration::from_secs(120);

/// How long after a pass that had more Events than it may publish the next one goes on.
const SOON: Duration = Duration::from_secs(10);

/// Makes passes.
pub struct Reconciler {
    api: Api,
    shared: Arc<Shared>,
    settings: Settings,
    metrics: Metrics,
    backoff: Backoff,
    first_status: FirstStatus,
    reported: Mutex<HashMap<Key, status::Reported>>,
    /// Failures that the log has.
    told: Mutex<HashMap<Key, Vec<String>>>,
}

/// What a pass came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pass {
    /// How it ended.
    pub outcome: Outcome,
    /// When the next one is due if nothing happens before; `None`: never.
    pub next: Option<Duration>,
}

impl Pass {
    /// The same, for kube's runtime.
    pub fn action(&self) -> Action {
        self.next.map_or_else(Action::await_change, Action::requeue)
    }
}

impl Reconciler {
    /// Passes that read from `shared` and write through `api`.
    pub fn new(api: Api, shared: Arc<Shared>, settings: Settings, metrics: Metrics) -> Self {
        Reconciler {
            api,
            shared,
            settings,
            metrics,
            backoff: Backoff::new(),
            first_status: FirstStatus::default(),
            reported: Mutex::default(),
            told: Mutex::default(),
        }
    }

    /// Brings a custom resource's children and status up to date. Never fails: what went wrong is in its status, in the
    /// metrics and the logs, and decides when the next pass is due.
    pub async fn reconcile(&self, key: &Key) -> Pass {
        let begun = Instant::now();
        let pass = match self.shared.with(|index| index.inputs(key)) {
            Some(inputs) => self.pass(key, inputs).await,
            None => {
                self.forget(key);
                SETTLED
            }
        };
        self.metrics.reconciled(key.kind, pass.outcome, begun.elapsed());
        pass
    }

    /// Drops what is remembered about a custom resource that is gone.
    pub fn forget(&self, key: &Key) {
        self.backoff.succeeded(key);
        self.first_status.forget(key);
        self.metrics.forget(key);
        self.reported().remove(key);
        self.told.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }

    async fn pass(&self, key: &Key, mut inputs: Inputs) -> Pass {
        let mut sum = Sum::default();
        if let Some(patch) = without_legacy_finalizer(&inputs) {
            match custom::patch(&self.api, &self.shared, key, &patch).await {
                // The rest of the pass needs its version.
                Ok(patched) if patched.facts.generation == inputs.custom.facts.generation => {
                    sum.has_written = true;
                    inputs.custom = Arc::new(patched);
                }
                Ok(_) => sum.has_written = true,
                Err(fault) => sum.step(Step::Finalizer, Err(fault)),
            }
        }
        let inputs = &inputs;
        let mut legacy_template = None;
        let mut is_held = false;
        let verdict = match judge(inputs, &self.settings) {
            Judgement::Ending => return self.end(key, sum),
            Judgement::Invalid(faults) => Verdict::Invalid(faults),
            Judgement::Rivalled(rival) => Verdict::Rivalled(rival),
            Judgement::Valid(subject) => {
                let desired = desire(&subject, inputs, &self.settings);
                let applied = children::apply(&self.api, &self.shared, key, inputs, &desired).await;
                sum.has_written |= applied.has_written;
                is_held = applied.is_held;
                sum.problems = applied.problems;
                legacy_template = desired.legacy_template;
                Verdict::Valid
            }
        };
        sum.is_invalid = verdict != Verdict::Valid;
        let report = Report {
            verdict,
            problems: sum.problems.clone(),
            legacy_template,
            is_held,
            workload: self.workload(key, inputs.custom.uid()),
        };
        // A pass with a fault comes back when that says, which may be late.
        sum.waits = (sum.faults.is_empty())
            .then(|| self.put_off(key, inputs, &report))
            .flatten();
        if sum.waits.is_none() {
            let (settings, metrics) = (&self.settings, &self.metrics);
            let status = custom::update_status(&self.api, &self.shared, key, inputs, &report, settings, metrics);
            sum.step(Step::Status, status.await);
        }
        if key.kind != Kind::LMCacheCoordinator {
            sum.has_more = self.tell_clients(key, inputs, &report).await;
        }
        self.end(key, sum)
    }

    /// How long the status is put off, if it is.
    fn put_off(&self, key: &Key, inputs: &Inputs, report: &Report) -> Option<Duration> {
        if status::may_wait(inputs, report) {
            return self.first_status.put_off(key, inputs.custom.uid());
        }
        self.first_status.forget(key);
        None
    }

    /// The workload as it is now: what the last apply answered, or what its watch delivered.
    fn workload(&self, key: &Key, uid: &str) -> Option<Workload> {
        let kind = match key.kind {
            Kind::LMCacheCoordinator => ChildKind::Deployment,
            Kind::LMCacheEngine | Kind::CacheBlendEngine => ChildKind::DaemonSet,
        };
        let name = ChildName::new(kind, key.name.as_str());
        let live = self.shared.with(|index| index.find_child(&name, &key.namespace))?;
        Some(Workload {
            status: live.facts.workload.clone().filter(|_| live.is_controlled_by(uid))?,
            uid: live.uid().to_owned(),
        })
    }

    /// Counts the clients and publishes what is new about them; whether there is more to publish.
    async fn tell_clients(&self, key: &Key, inputs: &Inputs, report: &Report) -> bool {
        let (counts, skipped) = status::clients(inputs, report, &self.settings);
        let count = |count: i32| u32::try_from(count).unwrap_or_default();
        let skipped = skipped
            .into_iter()
            .map(|(reason, clients)| (reason.to_owned(), count(clients)));
        self.metrics.clients(key, &counts, &skipped.collect());
        let before = self.reported().get(key).cloned().unwrap_or_default();
        let news = status::client_news(inputs, report, &self.settings, &before, &custom::now());
        if news.reported != before {
            self.reported().insert(key.clone(), news.reported);
        }
        custom::publish_clients(&self.api, &news.events).await;
        news.left > 0
    }

    /// Whether these are not the failures of the last pass: what goes on is told once.
    fn is_new(&self, key: &Key, failures: Vec<String>) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.is_empty() {
            if told.remove(key).is_some() {
                tracing::info!(%key, "every step works again");
            }
            return false;
        }
        told.insert(key.clone(), failures.clone()) != Some(failures)
    }

    fn reported(&self) -> MutexGuard<'_, HashMap<Key, status::Reported>> {
        self.reported.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Logs and counts what went wrong, and decides when to come back.
    fn end(&self, key: &Key, sum: Sum) -> Pass {
        let problems = sum.problems.iter().map(|problem| Failure {
            step: problem.child.kind.as_str(),
            child: problem.child.name.as_str(),
            reason: problem.reason,
            message: &problem.message,
            after: problem.after,
        });
        let faults = sum.faults.iter().map(|(step, fault)| Failure {
            step: step.as_str(),
            child: "",
            reason: fault.reason,
            message: &fault.message,
            after: fault.after,
        });
        let failures: Vec<Failure<'_>> = problems.chain(faults).collect();
        let texts = failures
            .iter()
            .map(|failure| format!("{} {} {}", failure.step, failure.child, failure.message));
        let texts: Vec<String> = texts.collect();
        let is_new = self.is_new(key, texts);
        for failure in &failures {
            let (step, reason) = (failure.step, failure.reason.as_str());
            self.metrics.error(key.kind, step, reason);
            if is_new {
                tracing::warn!(%key, step, child = failure.child, reason, fault = failure.message, "step failed");
            } else {
                tracing::debug!(%key, step, child = failure.child, reason, fault = failure.message, "step failed again");
            }
        }
        let backs_off = |failure: &Failure<'_>| failure.reason.retry() == Retry::Backoff;
        let next = if failures.iter().any(backs_off) {
            let asked = failures.iter().filter_map(|failure| failure.after).max();
            Some(self.backoff.failed(key, asked))
        } else {
            self.backoff.succeeded(key);
            let slowly = |failure: &Failure<'_>| failure.reason.retry() == Retry::Slowly;
            let soon = sum.waits.or(sum.has_more.then_some(SOON));
            soon.or_else(|| failures.iter().any(slowly).then_some(SLOWLY))
        };
        let outcome = if !failures.is_empty() {
            Outcome::Failed
        } else if sum.is_invalid {
            Outcome::Invalid
        } else if sum.has_written {
            Outcome::Written
        } else {
            Outcome::Settled
        };
        Pass { outcome, next }
    }
}

/// What a pass adds up to.
#[derive(Default)]
struct Sum {
    problems: Vec<Problem>,
    /// Failures to write to the custom resource itself.
    faults: Vec<(Step, Fault)>,
    has_written: bool,
    is_invalid: bool,
    /// There are Events that were not published yet.
    has_more: bool,
    /// How long the status is put off.
    waits: Option<Duration>,
}

impl Sum {
    /// Takes the end of a step down. That the object has changed or is gone is no failure: its event is on the way, and
    /// a pass with it.
    fn step(&mut self, step: Step, end: Result<bool, Fault>) {
        match end {
            Ok(has_written) => self.has_written |= has_written,
            Err(fault) if fault.reason == Reason::Conflict => {}
            Err(fault) => self.faults.push((step, fault)),
        }
    }
}

/// Something that went wrong.
struct Failure<'a> {
    step: &'static str,
    child: &'a str,
    reason: Reason,
    message: &'a str,
    after: Option<Duration>,
}

const SETTLED: Pass = Pass {
    outcome: Outcome::Settled,
    next: None,
};
