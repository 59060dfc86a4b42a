//! The watches that fill the [`crate::index`].
//!
//! | Watch | Which objects |
//! |---|---|
//! | custom resources, by kind | all |
//! | children, by kind | label `app.kubernetes.io/managed-by: lmcache-operator` |
//! | Pods of servers | the same, and `app.kubernetes.io/name` `lmcache` or `lmcache-coordinator` |
//! | Pods of clients, two watches | label `lmcache.ai/lmcache-inject: "true"`; `lmcache.ai/cacheblend-inject: "true"` |
//! | ServiceMonitors | as children, where they are installed |
//! | Secrets that are named | one watch each, while they are named |
//!
//! Each watch is a task: it reads an event, locks the index for as long as that takes to note, and puts the keys that the
//! index wakes into their kind's queue. Nothing else is done here. Lists come in small pages, and every object
//! is cut down while its page is read.

mod follow;
mod listed;
mod monitors;
mod secrets;

#[cfg(test)]
mod tests;

use std::future::Future;
use std::ops::ControlFlow;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube::runtime::reflector::Store;
use kube::runtime::reflector::store::Writer;
use kube::runtime::watcher::{Config, Event};
use kube::{Api, Client};
use lmcache_api::Kind;
use policy_kit::keys::{CACHEBLEND, LMCACHE};
use tokio::sync::mpsc;

use self::follow::follow;
use self::listed::Listed;
use crate::index::{ClientWatch, Demand, Queue, Shared};
use crate::live::{ChildKind, Custom, CustomName};
use crate::run::stop::Stop;

/// The label of everything that the controller makes; the Go operator's value, whose objects are taken over.
const MANAGED: &str = "app.kubernetes.io/managed-by=lmcache-operator";
/// The names in the labels of servers' Pods.
const SERVERS: &str = "app.kubernetes.io/name in (lmcache,lmcache-coordinator)";

/// What the watches give.
pub struct Watching {
    /// The custom resources of each kind, as `kube::runtime::applier` wants them.
    pub stores: [(Kind, Store<CustomName>); 3],
    /// What is to be reconciled, by kind. Each is for one reader. They end when the end is asked for.
    pub queues: [(Kind, Queue); 3],
    /// Ready when everything was listed once. Before that the queues are empty; then every custom resource is in them.
    pub synced: BoxFuture<'static, ()>,
    /// Ready, with its name, when a watch has ended by a panic: the index is out of date from then on, and the process
    /// should end.
    pub broken: BoxFuture<'static, String>,
}

/// Starts every watch as a task that ends when the end is asked for. Must be called within a Tokio runtime.
pub fn start(client: &Client, shared: &Arc<Shared>, stop: &Stop) -> Watching {
    let (broken, mut is_broken) = mpsc::unbounded_channel();
    let tasks = Tasks { stop, broken };
    let stores = Kind::ALL.map(|kind| {
        let writer = Writer::new(kind);
        let store = writer.as_reader();
        tasks.spawn(kind.as_str(), customs(client.clone(), Arc::clone(shared), kind, writer));
        (kind, store)
    });
    for kind in ChildKind::ALL {
        tasks.spawn(kind.as_str(), children(client.clone(), Arc::clone(shared), kind));
    }
    tasks.spawn("Pods of servers", servers(client.clone(), Arc::clone(shared)));
    for watch in ClientWatch::ALL {
        tasks.spawn("Pods of clients", clients(client.clone(), Arc::clone(shared), watch));
    }
    tasks.spawn("named Secrets", secrets::watch(client.clone(), Arc::clone(shared)));
    let (ending, stop) = (Arc::clone(shared), stop.clone());
    tokio::spawn(async move {
        stop.requested().await;
        ending.end();
    });
    let synced = Arc::clone(shared);
    Watching {
        stores,
        queues: Kind::ALL.map(|kind| (kind, shared.queue(kind))),
        synced: async move { synced.synced().await }.boxed(),
        broken: async move {
            match is_broken.recv().await {
                Some(name) => name,
                // All have ended as they should.
                None => std::future::pending().await,
            }
        }
        .boxed(),
    }
}

struct Tasks<'a> {
    stop: &'a Stop,
    broken: mpsc::UnboundedSender<String>,
}

impl Tasks<'_> {
    fn spawn(&self, name: &'static str, watch: impl Future<Output = ()> + Send + 'static) {
        let (stop, broken) = (self.stop.clone(), self.broken.clone());
        let task = tokio::spawn(async move {
            tokio::select! {
                () = stop.requested() => {}
                () = watch => {}
            }
        });
        tokio::spawn(async move {
            if task.await.is_err_and(|end| end.is_panic()) {
                tracing::error!(watch = name, "watch ended by a panic");
                let _ = broken.send(name.to_owned());
            }
        });
    }
}

/// How many objects a page of a list has. A page is read as a whole before its objects are cut down, and what that takes
/// for all kinds at once stays with the process.
const PAGE: u32 = 100;

/// All objects.
fn all() -> Config {
    Config::default().page_size(PAGE)
}

/// Objects with the operator's label.
fn managed() -> Config {
    all().labels(MANAGED)
}

/// Whatever the refusal, the watch is tried again.
fn go_on(_code: u16) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

async fn customs(client: Client, shared: Arc<Shared>, kind: Kind, mut store: Writer<CustomName>) {
    let take = |event: Event<Custom>| {
        // First the store: who is woken is looked up there.
        store.apply_watcher_event(&names(&event));
        let may_name_others = !matches!(event, Event::Init | Event::InitApply(_));
        shared.update(|index| index.custom(kind, event));
        if may_name_others {
            shared.notify(Demand::Secrets);
            shared.notify(Demand::Monitors);
        }
    };
    follow(kind.as_str(), Api::all_with(client, &kind), all(), take, go_on).await;
}

/// The same about names alone: the index has the rest.
fn names(event: &Event<Custom>) -> Event<CustomName> {
    match event {
        Event::Apply(custom) => Event::Apply(custom.to_name()),
        Event::Delete(custom) => Event::Delete(custom.to_name()),
        Event::InitApply(custom) => Event::InitApply(custom.to_name()),
        Event::Init => Event::Init,
        Event::InitDone => Event::InitDone,
    }
}

fn children(client: Client, shared: Arc<Shared>, kind: ChildKind) -> BoxFuture<'static, ()> {
    match kind {
        ChildKind::Secret => of_kind::<{ ChildKind::Secret as usize }>(client, shared, kind).boxed(),
        ChildKind::ConfigMap => of_kind::<{ ChildKind::ConfigMap as usize }>(client, shared, kind).boxed(),
        ChildKind::Service => of_kind::<{ ChildKind::Service as usize }>(client, shared, kind).boxed(),
        ChildKind::DaemonSet => of_kind::<{ ChildKind::DaemonSet as usize }>(client, shared, kind).boxed(),
        ChildKind::Deployment => of_kind::<{ ChildKind::Deployment as usize }>(client, shared, kind).boxed(),
        ChildKind::ServiceMonitor => monitors::watch(client, shared).boxed(),
    }
}

async fn of_kind<const KIND: usize>(client: Client, shared: Arc<Shared>, kind: ChildKind) {
    let take = |event: Event<Listed<KIND>>| shared.update(|index| index.child(kind, unlist(event)));
    follow(kind.as_str(), Api::all_with(client, &kind), managed(), take, go_on).await;
}

fn unlist<const KIND: usize>(event: Event<Listed<KIND>>) -> Event<crate::live::Child> {
    match event {
        Event::Apply(Listed(child)) => Event::Apply(child),
        Event::Delete(Listed(child)) => Event::Delete(child),
        Event::InitApply(Listed(child)) => Event::InitApply(child),
        Event::Init => Event::Init,
        Event::InitDone => Event::InitDone,
    }
}

async fn servers(client: Client, shared: Arc<Shared>) {
    let config = all().labels(&format!("{MANAGED},{SERVERS}"));
    let take = |event| shared.update(|index| index.server_pod(event));
    follow("Pods of servers", Api::all_with(client, &()), config, take, go_on).await;
}

async fn clients(client: Client, shared: Arc<Shared>, watch: ClientWatch) {
    let label = match watch {
        ClientWatch::LMCache => LMCACHE.inject,
        ClientWatch::CacheBlend => CACHEBLEND.inject,
    };
    let config = all().labels(&format!("{label}=true"));
    let take = |event| shared.update(|index| index.client_pod(watch, event));
    follow(
        &format!("Pods with {label}"),
        Api::all_with(client, &()),
        config,
        take,
        go_on,
    )
    .await;
}
