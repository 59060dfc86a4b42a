//! The index, for watches and passes at the same time.

use std::sync::{Mutex, MutexGuard, PoisonError};

use lmcache_api::Kind;
use tokio::sync::{Notify, watch};

use super::queue::Queue;
use super::{Index, Wake};

/// The index behind a lock, and the queues that it fills.
#[derive(Debug)]
pub struct Shared {
    index: Mutex<Index>,
    queues: [Queue; 3],
    is_synced: watch::Sender<bool>,
    /// What the index asks to be watched may have changed.
    demand: [Notify; 2],
}

/// Who looks after what the index asks to be watched.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Demand {
    /// Named Secrets.
    Secrets,
    /// ServiceMonitors.
    Monitors,
}

impl Default for Shared {
    fn default() -> Self {
        Self::new()
    }
}

impl Shared {
    /// Knows nothing yet.
    pub fn new() -> Self {
        Shared {
            index: Mutex::default(),
            queues: Kind::ALL.map(Queue::new),
            is_synced: watch::Sender::new(false),
            demand: Default::default(),
        }
    }

    /// Reads the index, or notes the answer to a write. Nobody else can meanwhile: no I/O in here.
    pub fn with<T>(&self, look: impl FnOnce(&mut Index) -> T) -> T {
        let mut index = self.lock();
        let before = index.has_monitors();
        let seen = look(&mut index);
        if index.has_monitors() != before {
            self.notify(Demand::Monitors);
        }
        seen
    }

    /// Changes the index, and queues those that have something new to see.
    ///
    /// As long as not everything was listed a pass would see half of it: nobody is queued, and then everyone.
    pub fn update(&self, change: impl FnOnce(&mut Index) -> Wake) {
        let (wake, is_synced) = self.with(|index| {
            let wake = change(index);
            let was_synced = *self.is_synced.borrow();
            let is_synced = was_synced || index.is_synced();
            let everyone = is_synced && !was_synced;
            let wake = if everyone { index.keys().collect() } else { wake };
            (wake, is_synced)
        });
        if is_synced {
            for key in wake {
                self.queue_of(key.kind).push(key);
            }
            // Afterwards: whoever waits for it finds the queues filled.
            self.is_synced.send_if_modified(|known| !std::mem::replace(known, true));
        }
    }

    /// Waits until everything was listed once.
    pub async fn synced(&self) {
        let _ = self.is_synced.subscribe().wait_for(|synced| *synced).await;
    }

    /// What is to be reconciled of a kind.
    pub fn queue(&self, kind: Kind) -> Queue {
        self.queue_of(kind).clone()
    }

    fn queue_of(&self, kind: Kind) -> &Queue {
        let [lmcache, cacheblend, coordinators] = &self.queues;
        match kind {
            Kind::LMCacheEngine => lmcache,
            Kind::CacheBlendEngine => cacheblend,
            Kind::LMCacheCoordinator => coordinators,
        }
    }

    /// Ends the queues.
    pub(crate) fn end(&self) {
        for queue in &self.queues {
            queue.end();
        }
    }

    /// What is to be watched may have changed.
    pub(crate) fn notify(&self, demand: Demand) {
        self.bell(demand).notify_one();
    }

    /// Waits until it may have changed since the last call.
    pub(crate) async fn notified(&self, demand: Demand) {
        self.bell(demand).notified().await;
    }

    fn bell(&self, demand: Demand) -> &Notify {
        let [secrets, monitors] = &self.demand;
        match demand {
            Demand::Secrets => secrets,
            Demand::Monitors => monitors,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Index> {
        // A thread that panicked has missed one event at worst; whoever goes on is better off than whoever stops.
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
