//! What the process is for, between the moment when it may work and the moment when it has to end.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Result, bail};
use futures::future::{BoxFuture, join_all};
use futures::{FutureExt, Stream, StreamExt, stream};
use kube::runtime::applier;
use kube::runtime::controller::{Action, Config, Error, ReconcileRequest};
use kube::runtime::reflector::Store;
use lmcache_api::Kind;

use super::Context;
use super::health::Phase;
use super::metrics::Metrics;
use super::stop::Stop;
use crate::index::{Queue, Shared};
use crate::live::{CustomName, Key};
use crate::plan;
use crate::reconcile::{Api, Reconciler};
use crate::watch;

/// How long keys are gathered before their passes begin: twenty Pods that become ready together are one change of a status
/// and not twenty. Nobody sees the delay.
const GATHERED_FOR: Duration = Duration::from_millis(100);
/// When a pass that panicked is tried again.
const AFTER_PANIC: Duration = Duration::from_secs(300);

/// Works until the end is asked for. What it spawns has to end with it: its future is dropped where it takes too long, or
/// where another replica has become the leader.
///
/// # Errors
/// What makes it impossible to go on; the process ends and is started again.
pub async fn work(context: Context, stop: Stop) -> Result<()> {
    context.health.set(Phase::Syncing);
    // Dropped without a word, by a panic, it makes the liveness probe fail.
    let part = context.health.part("work");
    let end = work_on(&context, &stop).await;
    part.done();
    end
}

async fn work_on(context: &Context, stop: &Stop) -> Result<()> {
    let shared = Arc::new(Shared::new());
    let watching = watch::start(&context.client, &shared, stop);
    let mut broken = watching.broken;
    tokio::select! {
        () = watching.synced => {}
        () = stop.requested() => return Ok(()),
        watch = &mut broken => bail!("the watch of {watch} ended by a panic"),
    }
    context.health.set(Phase::Working);
    tracing::info!(
        objects = shared.with(|index| index.keys().count()),
        "knows the cluster, begins to work"
    );
    let settings = plan::Settings {
        ipc_default: context.settings.ipc_default,
        cluster_domain: context.settings.cluster_domain.clone(),
    };
    let api = Api::new(
        context.client.clone(),
        &context.settings.identity,
        context.metrics.clone(),
    );
    let reconciler = Arc::new(Reconciler::new(api, shared, settings, context.metrics.clone()));
    let kinds = watching.stores.into_iter().zip(watching.queues);
    let passes = kinds.map(|((kind, store), (_, queue))| passes(kind, store, queue, Arc::clone(&reconciler), context));
    tokio::select! {
        _ = join_all(passes) => Ok(()),
        watch = broken => bail!("the watch of {watch} ended by a panic"),
    }
}

/// Makes the passes of a kind until its queue ends, and those that run then to their end.
fn passes(
    kind: Kind,
    store: Store<CustomName>,
    queue: Queue,
    reconciler: Arc<Reconciler>,
    context: &Context,
) -> BoxFuture<'static, ()> {
    let waiting = Arc::new(Waiting::new(kind, context.metrics.clone()));
    let (started, gone) = (Arc::clone(&waiting), Arc::clone(&reconciler));
    let reconcile = move |custom: Arc<CustomName>, reconciler: Arc<Reconciler>| {
        let key = Key::new(kind, custom.namespace(), custom.name());
        started.remove(&key);
        async move { Ok::<_, Infallible>(guarded(&reconciler, &key).await) }.boxed()
    };
    let policy = |_: Arc<CustomName>, never: &Infallible, _: Arc<Reconciler>| match *never {};
    let config = Config::default().concurrency(context.settings.concurrency);
    let requests = gathered(queue, Arc::clone(&waiting));
    let ends = applier(reconcile, policy, reconciler, store, requests, config);
    ends.for_each(move |end| {
        if let Err(Error::ObjectNotFound(object)) = end {
            let key = Key::new(kind, object.namespace.unwrap_or_default(), object.name);
            waiting.remove(&key);
            gone.forget(&key);
        }
        std::future::ready(())
    })
    .boxed()
}

/// A pass that panics is told of and tried again much later: one object does not stop the others.
async fn guarded(reconciler: &Reconciler, key: &Key) -> Action {
    match AssertUnwindSafe(reconciler.reconcile(key)).catch_unwind().await {
        Ok(pass) => pass.action(),
        Err(_) => {
            tracing::error!(%key, "a pass panicked; please report this with the object");
            Action::requeue(AFTER_PANIC)
        }
    }
}

/// The requests of a queue, taken out some time after the first of them came in: what comes in between, however often, is
/// one request, and nothing that comes later holds it up.
fn gathered(
    queue: Queue,
    waiting: Arc<Waiting>,
) -> impl Stream<Item = Result<ReconcileRequest<CustomName>, Infallible>> + Send {
    let batches = stream::unfold(queue, |mut queue| async move {
        let mut batch = vec![queue.next().await?];
        tokio::time::sleep(GATHERED_FOR).await;
        while let Some(Some(request)) = queue.next().now_or_never() {
            batch.push(request);
        }
        Some((stream::iter(batch), queue))
    });
    batches.flatten().inspect(move |request| {
        let object = match request {
            Ok(request) => &request.obj_ref,
            Err(never) => match *never {},
        };
        let namespace = object.namespace.clone().unwrap_or_default();
        waiting.insert(Key::new(object.dyntype, namespace, object.name.as_str()));
    })
}

/// What was asked for and has not begun, for the metrics.
struct Waiting {
    kind: Kind,
    keys: Mutex<BTreeSet<Key>>,
    metrics: Metrics,
}

impl Waiting {
    fn new(kind: Kind, metrics: Metrics) -> Self {
        Waiting {
            kind,
            keys: Mutex::default(),
            metrics,
        }
    }

    fn insert(&self, key: Key) {
        let mut keys = self.keys();
        keys.insert(key);
        self.metrics.queue_depth(self.kind, keys.len());
    }

    fn remove(&self, key: &Key) {
        let mut keys = self.keys();
        keys.remove(key);
        self.metrics.queue_depth(self.kind, keys.len());
    }

    fn keys(&self) -> MutexGuard<'_, BTreeSet<Key>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
