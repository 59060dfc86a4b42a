//! When all engines say that all their servers run: by one watch, which costs the API server least.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use futures::TryStreamExt;
use kube::api::{DynamicObject, WatchParams};
use kube::core::WatchEvent;
use tokio::task::JoinHandle;

use super::load::{Load, NAMESPACE};
use crate::Cluster;

/// Seconds that a watch may take; then it is renewed. The API server's own limit is not below five minutes.
const RENEWAL: u32 = 240;
const PAUSE: Duration = Duration::from_millis(200);

/// A watch of the engines. Ends when dropped.
pub(super) struct Running {
    seen: Arc<Mutex<Seen>>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Seen {
    running: BTreeSet<String>,
    /// Microseconds since 1970.
    all: Option<i64>,
    failure: Option<String>,
}

impl Running {
    /// Begins to watch. No engine is there yet.
    pub(super) fn watch(admin: &Cluster, load: Load) -> Running {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let (admin, into) = (admin.clone(), Arc::clone(&seen));
        let task = tokio::spawn(async move {
            if let Err(error) = follow(&admin, load, &into).await {
                lock(&into).failure = Some(format!("{error:#}"));
            }
        });
        Running { seen, task }
    }

    /// When all ran for the first time, in microseconds since 1970.
    pub(super) fn all(&self) -> Result<Option<i64>> {
        let seen = lock(&self.seen);
        match &seen.failure {
            Some(failure) => bail!("the watch of the engines ended: {failure}"),
            None => Ok(seen.all),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(seen: &Mutex<Seen>) -> std::sync::MutexGuard<'_, Seen> {
    // Whoever panicked did so between changes.
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn follow(admin: &Cluster, load: Load, seen: &Mutex<Seen>) -> Result<()> {
    let api = admin.api("LMCacheEngine", NAMESPACE)?;
    let mut version = "0".to_owned();
    loop {
        let params = WatchParams::default().timeout(RENEWAL).disable_bookmarks();
        let events = api.watch(&params, &version).await.context("cannot watch the engines")?;
        let mut events = std::pin::pin!(events);
        // An end is the end of the time, or of a connection: it goes on from what was seen.
        while let Some(event) = events.try_next().await.unwrap_or_default() {
            match event {
                WatchEvent::Added(engine) | WatchEvent::Modified(engine) => {
                    version = engine.metadata.resource_version.clone().unwrap_or(version);
                    note(&engine, load, seen);
                }
                WatchEvent::Deleted(_) | WatchEvent::Bookmark(_) => {}
                // What was seen last is too old to go on from.
                WatchEvent::Error(status) if status.code == 410 => version = "0".to_owned(),
                WatchEvent::Error(status) => bail!("{}", status.message),
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn note(engine: &DynamicObject, load: Load, seen: &Mutex<Seen>) {
    let name = engine.metadata.name.clone().unwrap_or_default();
    let mut seen = lock(seen);
    if runs(engine, load.servers()) {
        seen.running.insert(name);
    } else {
        seen.running.remove(&name);
    }
    if seen.running.len() == load.engines && seen.all.is_none() {
        seen.all = Some(now());
    }
}

fn runs(engine: &DynamicObject, servers: usize) -> bool {
    let status = |field: &str| engine.data.pointer(&format!("/status/{field}"));
    let count = |field| status(field).and_then(serde_json::Value::as_u64) == u64::try_from(servers).ok();
    status("phase").is_some_and(|phase| phase == "Running") && count("readyInstances") && count("desiredInstances")
}

/// Microseconds since 1970, by the clock that the audit log is written by.
pub(super) fn now() -> i64 {
    let elapsed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    elapsed
        .ok()
        .and_then(|elapsed| i64::try_from(elapsed.as_micros()).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn an_engine_runs_when_all_servers_do() -> Result<()> {
        let engine = |status: Value| -> Result<DynamicObject> {
            Ok(serde_json::from_value(
                json!({"metadata": {"name": "kv"}, "status": status}),
            )?)
        };
        let all = json!({"phase": "Running", "readyInstances": 4, "desiredInstances": 4});
        assert!(runs(&engine(all.clone())?, 4));
        assert!(!runs(&engine(all)?, 3));
        assert!(!runs(
            &engine(json!({"phase": "Running", "readyInstances": 3, "desiredInstances": 4}))?,
            4
        ));
        assert!(!runs(&engine(json!({}))?, 0));
        Ok(())
    }
}
