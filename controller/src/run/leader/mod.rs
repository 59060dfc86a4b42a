//! Leader election by a Lease, as client-go does it: of several replicas one works.
//!
//! [`mod@decide`] says what to do, [`record`] what to write, [`Elector`] does it. Only `get`, `create` and `update` are used.
//! Every update carries the `resourceVersion` that was read, so of two replicas that see a free Lease one fails.
//!
//! Why our own: `kube-leader-election` 0.44 patches without a `resourceVersion`, so that two replicas can both succeed, and
//! compares the foreign `renewTime` with the local clock. `kube-lease-manager` 0.13 needs kube 5, `kubert` 0.25 kube 1,
//! while this workspace has kube 4.2; both patch, which takes a right more than `update`.

pub mod decide;
pub mod record;

#[cfg(test)]
mod tests;

use std::future::Future;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::PostParams;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

use self::decide::{Action, Lost, Role, Seen, Timing, decide};
use super::health::{Health, Phase};
use super::stop::Stop;

/// A request about the Lease that failed.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The API answered with an error, or could not be reached.
    #[error("{0}")]
    Api(#[from] kube::Error),
    /// The API did not answer in time.
    #[error("no answer within {} s", .0.as_secs())]
    Slow(std::time::Duration),
}

impl Fault {
    /// Somebody else wrote first.
    fn is_conflict(&self) -> bool {
        matches!(self, Fault::Api(kube::Error::Api(status)) if status.code == 409)
    }

    fn is_forbidden(&self) -> bool {
        matches!(self, Fault::Api(kube::Error::Api(status)) if status.code == 403)
    }
}

/// What an attempt came to.
#[derive(Debug)]
enum Step {
    /// The Lease is ours, as of the moment when the request was sent off.
    Ours(Instant),
    /// It is somebody else's.
    Theirs,
    /// It was ours.
    Lost(Lost),
}

/// A replica that takes part in the election.
#[derive(Debug)]
pub struct Elector {
    api: Api<Lease>,
    name: &'static str,
    namespace: String,
    me: String,
    timing: Timing,
    seen: Option<Seen>,
    /// Whether `seen` may be out of date, so that the Lease has to be read before it is written.
    doubt: bool,
    renewed: Option<Instant>,
}

impl Elector {
    /// A candidate for the Lease `name` in `namespace`. `me` must be the name of no other process.
    pub fn new(client: kube::Client, namespace: &str, name: &'static str, me: &str, timing: Timing) -> Self {
        Elector {
            api: Api::namespaced(client, namespace),
            name,
            namespace: namespace.to_owned(),
            me: me.to_owned(),
            timing,
            seen: None,
            doubt: true,
            renewed: None,
        }
    }

    /// Waits until this process is the leader (true), or the end is asked for (false). Reports [`Phase::Standby`] once it
    /// has seen that somebody else leads. Goes on trying whatever fails.
    pub async fn acquire(&mut self, stop: &Stop, health: &Health) -> bool {
        let mut told = String::new();
        while !stop.is_requested() {
            // A request that was begun is waited for: it may have made us the leader, which has to be given back.
            match self.step(Role::Candidate).await {
                Ok(Step::Ours(renewed)) => {
                    tracing::info!(
                        lease = self.name,
                        namespace = self.namespace,
                        identity = self.me,
                        "leads"
                    );
                    self.renewed = Some(renewed);
                    return true;
                }
                Ok(_) => {
                    health.set(Phase::Standby);
                    let holder = self.seen.as_ref().and_then(Seen::holder).unwrap_or_default();
                    tell_once(&mut told, holder, |holder| {
                        tracing::info!(lease = self.name, namespace = self.namespace, holder, "stands by");
                    });
                }
                Err(fault) => tell_once(&mut told, &fault.to_string(), |error| {
                    let advice = self.advice(&fault);
                    tracing::warn!(
                        lease = self.name,
                        namespace = self.namespace,
                        error,
                        advice,
                        "cannot lead"
                    );
                }),
            }
            tokio::select! {
                () = sleep(self.timing.retry) => {}
                () = stop.requested() => {}
            }
        }
        false
    }

    /// Renews the Lease for as long as possible, and returns why it no longer is. After [`Elector::acquire`]. Can be
    /// dropped at any time, to [`Elector::release`] the Lease.
    pub async fn renew(&mut self) -> Lost {
        let Some(mut renewed) = self.renewed else {
            return Lost::NotRenewed;
        };
        let mut next = Instant::now() + self.timing.retry;
        let mut hurried = false;
        loop {
            let deadline = renewed + self.timing.deadline;
            sleep_until(next.min(deadline)).await;
            next = Instant::now() + self.timing.retry;
            match timeout_at(deadline, self.step(Role::Leader { renewed })).await {
                Ok(Ok(Step::Ours(at))) => {
                    hurried = false;
                    renewed = at;
                    self.renewed = Some(at);
                }
                Ok(Ok(Step::Lost(lost))) => return lost,
                Ok(Ok(Step::Theirs)) => return Lost::TakenBy(String::new()),
                Ok(Err(fault)) => {
                    if fault.is_conflict() && !hurried {
                        // Who wrote? If it is another leader there is no time to lose.
                        hurried = true;
                        next = Instant::now();
                    }
                    let left = deadline.saturating_duration_since(Instant::now()).as_secs_f64();
                    tracing::warn!(lease = self.name, error = %fault, seconds_left = left, "the Lease was not renewed");
                }
                Err(_) => return Lost::NotRenewed,
            }
        }
    }

    /// Gives the Lease back if it is ours, so that the next leader does not have to wait for it to expire.
    ///
    /// # Errors
    /// It could not be given back; others wait until it expires.
    pub async fn release(mut self) -> Result<(), Fault> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            if self.doubt {
                self.look().await?;
            }
            let Some(seen) = self.seen.clone().filter(|seen| seen.holder() == Some(&self.me)) else {
                return Ok(());
            };
            match self.replace(record::release(&seen.lease, Timestamp::now())).await {
                // A renewal that was dropped under way may have been done nevertheless.
                Err(fault) if fault.is_conflict() && attempts < 2 => {}
                result => return result.map(drop),
            }
        }
    }

    async fn step(&mut self, role: Role) -> Result<Step, Fault> {
        // A leader knows what it wrote last. A candidate has to look what the leader wrote.
        if self.doubt || self.seen.is_none() || role == Role::Candidate {
            self.look().await?;
        }
        let sent = Instant::now();
        let now = Timestamp::now();
        let action = decide(self.seen.as_ref(), &self.me, role, &self.timing, sent);
        match (action, &self.seen) {
            (Action::Lose(lost), _) => return Ok(Step::Lost(lost)),
            (Action::Take, Some(seen)) => {
                self.replace(record::take(&seen.lease, &self.me, &self.timing, now))
                    .await?;
            }
            (Action::Renew, Some(seen)) => self.replace(record::renew(&seen.lease, &self.timing, now)).await?,
            (Action::Create, _) => {
                let lease = record::create(self.name, &self.me, &self.timing, now);
                let api = self.api.clone();
                self.write(async move { api.create(&PostParams::default(), &lease).await })
                    .await?;
            }
            (Action::Wait | Action::Take | Action::Renew, _) => return Ok(Step::Theirs),
        }
        Ok(Step::Ours(sent))
    }

    async fn look(&mut self) -> Result<(), Fault> {
        let limit = self.timing.request();
        let found = timeout(limit, self.api.get_opt(self.name))
            .await
            .map_err(|_| Fault::Slow(limit))??;
        let before = self.seen.take();
        self.seen = found.map(|lease| Seen::next(before, lease, Instant::now()));
        self.doubt = false;
        Ok(())
    }

    async fn replace(&mut self, lease: Lease) -> Result<(), Fault> {
        let (api, name) = (self.api.clone(), self.name);
        self.write(async move { api.replace(name, &PostParams::default(), &lease).await })
            .await
    }

    async fn write(&mut self, request: impl Future<Output = kube::Result<Lease>>) -> Result<(), Fault> {
        let limit = self.timing.request();
        // Until there is an answer, nobody knows whether it was done.
        self.doubt = true;
        let written = timeout(limit, request).await.map_err(|_| Fault::Slow(limit))??;
        self.seen = Some(Seen::next(self.seen.take(), written, Instant::now()));
        self.doubt = false;
        Ok(())
    }

    fn advice(&self, fault: &Fault) -> String {
        if fault.is_forbidden() {
            format!(
                "grant get, create and update of leases in namespace {}, see lmcache-controller rbac",
                self.namespace
            )
        } else {
            "is tried again".to_owned()
        }
    }
}

/// Logs what differs from what was logged last: attempts come every few seconds.
fn tell_once(told: &mut String, text: &str, log: impl FnOnce(&str)) {
    if told != text {
        log(text);
        text.clone_into(told);
    }
}
