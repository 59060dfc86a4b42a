//! How long the first status of a custom resource is put off.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::live::Key;

/// How long the first status waits for that of the workload, at most. What looks after workloads mostly answers within
/// a tenth of it; where it does not run, people are still told what has been made.
const LONGEST: Duration = Duration::from_secs(2);

/// Until when the first status of each custom resource is put off, with its uid: one that is made anew under a name has its
/// own time. See [`crate::status::may_wait`].
#[derive(Debug, Default)]
pub(super) struct FirstStatus(Mutex<HashMap<Key, (String, Instant)>>);

impl FirstStatus {
    /// How much longer it may be put off; `None` when it is due.
    pub fn put_off(&self, key: &Key, uid: &str) -> Option<Duration> {
        let now = Instant::now();
        let mut times = self.lock();
        let time = times.get(key).filter(|(of, _)| of == uid);
        let due = time.map_or(now + LONGEST, |(_, due)| *due);
        if time.is_none() {
            times.insert(key.clone(), (uid.to_owned(), due));
        }
        due.checked_duration_since(now).filter(|rest| !rest.is_zero())
    }

    /// There is nothing to put off any more.
    pub fn forget(&self, key: &Key) {
        self.lock().remove(key);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, (String, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
