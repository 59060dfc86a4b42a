//! What the probes of the Pod are told.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How far the process is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Has not reached the Kubernetes API yet.
    #[default]
    Starting,
    /// Waits for the Lease that another replica holds. Ready: the rollout of a new version must be able to go on, and the
    /// old replica gives up the Lease only when it is told to end.
    Standby,
    /// Works, but does not know the whole cluster yet.
    Syncing,
    /// Works and knows the cluster.
    Working,
    /// Is about to end.
    Stopping,
}

/// What the probes are told. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Health(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    phase: Phase,
    /// Parts that do not work, and why.
    failing: BTreeMap<&'static str, String>,
}

impl Health {
    /// Alive and [`Phase::Starting`].
    pub fn new() -> Self {
        Health::default()
    }

    /// Sets how far the process is.
    pub fn set(&self, phase: Phase) {
        self.state().phase = phase;
    }

    /// How far the process is.
    pub fn phase(&self) -> Phase {
        self.state().phase
    }

    /// Registers a part of the process that has to live as long as the process does. Its end, by a panic or otherwise, is a
    /// failure unless it says [`Part::done`].
    pub fn part(&self, name: &'static str) -> Part {
        Part {
            health: self.clone(),
            name,
            done: false,
        }
    }

    /// Whether the process should live on.
    ///
    /// # Errors
    /// One line for every part that fails: a restart is the only cure.
    pub fn alive(&self) -> Result<(), String> {
        let state = self.state();
        if state.failing.is_empty() {
            return Ok(());
        }
        let lines: Vec<String> = state
            .failing
            .iter()
            .map(|(name, why)| format!("{name}: {why}"))
            .collect();
        Err(lines.join("\n"))
    }

    /// Whether the process does what it is for, or stands by to do so.
    ///
    /// # Errors
    /// What it waits for.
    pub fn ready(&self) -> Result<(), String> {
        self.alive()?;
        match self.phase() {
            Phase::Standby | Phase::Working => Ok(()),
            Phase::Starting => Err("waits for the Kubernetes API".to_owned()),
            Phase::Syncing => Err("reads the cluster".to_owned()),
            Phase::Stopping => Err("ends".to_owned()),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing here panics while it holds the lock, and what it guards is valid at any time.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A part of the process, see [`Health::part`].
#[derive(Debug)]
pub struct Part {
    health: Health,
    name: &'static str,
    done: bool,
}

impl Part {
    /// It does not work.
    pub fn failing(&self, why: impl Into<String>) {
        self.health.state().failing.insert(self.name, why.into());
    }

    /// It works again.
    pub fn fine(&self) {
        self.health.state().failing.remove(self.name);
    }

    /// It ends because it was asked to.
    pub fn done(mut self) {
        self.fine();
        self.done = true;
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.done {
            self.failing("ended although nobody asked it to");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_are_those_that_work_and_those_that_stand_by() {
        let health = Health::new();
        assert_eq!(health.ready(), Err("waits for the Kubernetes API".to_owned()));
        for (phase, ready) in [
            (Phase::Standby, true),
            (Phase::Syncing, false),
            (Phase::Working, true),
            (Phase::Stopping, false),
        ] {
            health.set(phase);
            assert_eq!(health.ready().is_ok(), ready, "{phase:?}");
            assert_eq!(health.alive(), Ok(()), "{phase:?}");
        }
    }

    #[test]
    fn a_part_that_fails_takes_the_process_down_until_it_works_again() {
        let health = Health::new();
        health.set(Phase::Working);
        let (watches, queue) = (health.part("watches"), health.part("queue"));
        watches.failing("no event for an hour");
        queue.failing("stuck");
        assert_eq!(
            health.alive(),
            Err("queue: stuck\nwatches: no event for an hour".to_owned())
        );
        assert_eq!(health.ready(), health.alive());
        watches.fine();
        queue.fine();
        assert_eq!(health.ready(), Ok(()));
        queue.done();
        assert_eq!(health.alive(), Ok(()));
        drop(watches);
        assert_eq!(
            health.alive(),
            Err("watches: ended although nobody asked it to".to_owned())
        );
    }
}
