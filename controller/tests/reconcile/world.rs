//! A cluster: the API server, the index that its watches fill, the controller, and people who change things.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kube::runtime::watcher::Event;
use lmcache_api::{IpcMode, Kind};
use lmcache_controller::index::{ClientWatch, Shared};
use lmcache_controller::live::{Cached, ChildKind, Facts, Key, NamespacedName};
use lmcache_controller::plan::{Monitors, Settings};
use lmcache_controller::reconcile::{Api, Pass, Reconciler};
use lmcache_controller::run::metrics::{Metrics, Outcome};
use serde_json::Value;
use tokio::time::sleep;

use crate::api::{ApiServer, Call, Change, Id};
use crate::objects::{custom_id, id_of};

/// Who changes custom resources and, now and then, what is not theirs.
pub const USER: &str = "kubectl-edit";

/// How long a first status is put off, at most.
pub const FIRST_STATUS: Duration = Duration::from_secs(2);

pub struct World {
    pub server: ApiServer,
    pub shared: Arc<Shared>,
    pub metrics: Metrics,
    reconciler: Reconciler,
    /// Who was woken and is not reconciled yet.
    due: BTreeSet<Key>,
    /// Whose first status is put off.
    put_off: BTreeSet<Key>,
    /// Objects that the watches have told of.
    told: BTreeSet<Id>,
    /// Secrets that are watched.
    secrets: BTreeSet<NamespacedName>,
    /// Secrets that the controller may not read.
    pub forbidden: BTreeSet<NamespacedName>,
    monitors: Monitors,
    /// What the last pass of each asked for.
    pub next: BTreeMap<Key, Option<Duration>>,
}

impl World {
    /// Nothing is there, and everything was listed. ServiceMonitors are served.
    pub fn new() -> Self {
        Self::with(IpcMode::HostIPC)
    }

    pub fn with(ipc_default: IpcMode) -> Self {
        let server = ApiServer::default();
        let shared = Arc::new(Shared::new());
        let (metrics, reconciler) = controller(&server, &shared, ipc_default);
        let mut world = World {
            server,
            shared,
            metrics,
            reconciler,
            due: BTreeSet::new(),
            put_off: BTreeSet::new(),
            told: BTreeSet::new(),
            secrets: BTreeSet::new(),
            forbidden: BTreeSet::new(),
            monitors: Monitors::Unknown,
            next: BTreeMap::new(),
        };
        world.list_everything();
        world.monitors(Monitors::Served);
        world
    }

    /// The controller starts anew: it knows what it lists, and nothing else.
    pub fn restart(&mut self) {
        self.shared = Arc::new(Shared::new());
        (self.metrics, self.reconciler) = controller(&self.server, &self.shared, IpcMode::HostIPC);
        self.due.clear();
        self.put_off.clear();
        self.told.clear();
        self.secrets.clear();
        self.server.state().store.changes.clear();
        let monitors = std::mem::take(&mut self.monitors);
        self.list_everything();
        self.monitors(monitors);
    }

    /// Every watch lists again, as after it was closed. What happened since the last event is in the list alone.
    pub fn list_everything(&mut self) {
        self.server.state().store.changes.clear();
        let all: Vec<Value> = self.server.state().store.all().cloned().collect();
        self.told = all.iter().map(id_of).collect();
        let shared = Arc::clone(&self.shared);
        let due = &mut self.due;
        for kind in Kind::ALL {
            relist(of_kind(&all, kind.as_str()), |event| {
                due.extend(shared.with(|index| index.custom(kind, event)));
            });
        }
        for kind in ChildKind::ALL {
            if kind != ChildKind::ServiceMonitor || self.monitors == Monitors::Served {
                let managed = of_kind(&all, kind.as_str()).filter(|object| is_managed(object));
                relist(managed, |event| {
                    due.extend(shared.with(|index| index.child(kind, event)))
                });
            }
        }
        let servers = of_kind(&all, "Pod").filter(|pod| is_server(pod));
        relist(servers, |event| {
            due.extend(shared.with(|index| index.server_pod(event)))
        });
        for watch in ClientWatch::ALL {
            let clients = of_kind(&all, "Pod").filter(|pod| is_client(watch, pod));
            relist(clients, |event| {
                due.extend(shared.with(|index| index.client_pod(watch, event)))
            });
        }
        self.watch_secrets();
    }

    /// Whether ServiceMonitors are served, as their watch finds it.
    pub fn monitors(&mut self, monitors: Monitors) {
        self.monitors = monitors;
        self.server.state().store.not_served = match monitors {
            Monitors::NotServed => vec!["servicemonitors"],
            _ => Vec::new(),
        };
        if monitors == Monitors::Served {
            let all: Vec<Value> = self.server.state().store.all().cloned().collect();
            let managed = of_kind(&all, "ServiceMonitor").filter(|object| is_managed(object));
            let (shared, due) = (&self.shared, &mut self.due);
            relist(managed, |event| {
                due.extend(shared.with(|index| index.child(ChildKind::ServiceMonitor, event)));
            });
        }
        self.due.extend(self.shared.with(|index| index.monitors(monitors)));
    }

    /// The watches deliver what has happened.
    pub fn deliver(&mut self) {
        let changes = std::mem::take(&mut self.server.state().store.changes);
        for change in changes {
            match change {
                Change::Written(object) => self.tell(&object, true),
                Change::Deleted(object) => self.tell(&object, false),
            }
        }
        self.watch_secrets();
    }

    /// A watch delivers this state of an object, which may be an old one.
    pub fn tell(&mut self, object: &Value, exists: bool) {
        let shared = Arc::clone(&self.shared);
        let id = id_of(object);
        let kind = object["kind"].as_str().unwrap();
        if let Ok(kind) = kind.parse::<Kind>() {
            let event = event(exists, object);
            self.due.extend(shared.with(|index| index.custom(kind, event)));
        }
        if let Some(kind) = ChildKind::of(object) {
            // For a watch by label, what loses the label is gone.
            let shown = exists && is_managed(object);
            let is_watched = kind != ChildKind::ServiceMonitor || self.monitors == Monitors::Served;
            if is_watched && (shown || self.told.contains(&id)) {
                self.due
                    .extend(shared.with(|index| index.child(kind, event(shown, object))));
            }
            if shown {
                self.told.insert(id);
            } else {
                self.told.remove(&id);
            }
        }
        if kind == "Secret" {
            let name = NamespacedName::new(
                object["metadata"]["namespace"].as_str().unwrap(),
                object["metadata"]["name"].as_str().unwrap(),
            );
            if self.secrets.contains(&name) && !self.forbidden.contains(&name) {
                self.due
                    .extend(shared.with(|index| index.secret(&name, event(exists, object))));
            }
        }
        if kind == "Pod" && is_server(object) {
            self.due
                .extend(shared.with(|index| index.server_pod(event(exists, object))));
        }
        for watch in ClientWatch::ALL {
            if kind == "Pod" && is_client(watch, object) {
                self.due
                    .extend(shared.with(|index| index.client_pod(watch, event(exists, object))));
            }
        }
    }

    /// Starts and ends watches as Secrets are named.
    fn watch_secrets(&mut self) {
        let named = self.shared.with(|index| index.named_secrets());
        for name in self.secrets.difference(&named) {
            self.shared.with(|index| index.secret_unwatched(name));
        }
        for name in named.difference(&self.secrets) {
            if self.forbidden.contains(name) {
                self.due.extend(self.shared.with(|index| index.secret_forbidden(name)));
                continue;
            }
            let id = ("secrets".to_owned(), name.namespace.clone(), name.name.clone());
            let found = self.server.state().store.get(&id).ok().cloned();
            let (shared, due) = (&self.shared, &mut self.due);
            relist(found.iter(), |event| {
                due.extend(shared.with(|index| index.secret(name, event)))
            });
        }
        self.secrets = named;
    }

    /// One pass. The watches deliver nothing meanwhile.
    pub async fn pass(&mut self, key: &Key) -> (Pass, Vec<Call>) {
        self.due.remove(key);
        let pass = self.reconciler.reconcile(key).await;
        self.next.insert(key.clone(), pass.next);
        (pass, self.server.calls())
    }

    /// Passes until nobody is woken any more and no first status is put off, everything delivered after each. Returns the
    /// requests.
    pub async fn settle(&mut self) -> Vec<String> {
        let calls = self.settle_calls().await;
        calls.iter().map(ToString::to_string).collect()
    }

    pub async fn settle_calls(&mut self) -> Vec<Call> {
        let mut calls = Vec::new();
        self.deliver();
        for _ in 0..40 {
            let key = match (self.due.pop_first(), self.put_off.pop_first()) {
                (Some(key), put_off) => {
                    self.put_off.extend(put_off);
                    key
                }
                // The clock stands still but for this.
                (None, Some(key)) => {
                    sleep(self.next[&key].unwrap()).await;
                    key
                }
                (None, None) => return calls,
            };
            self.put_off.remove(&key);
            let (pass, made) = self.pass(&key).await;
            if pass.outcome != Outcome::Failed && pass.next.is_some_and(|next| next <= FIRST_STATUS) {
                self.put_off.insert(key);
            }
            calls.extend(made);
            self.deliver();
        }
        panic!("does not settle: {calls:#?}");
    }

    /// Who was woken.
    pub fn due(&mut self) -> Vec<String> {
        self.deliver();
        self.due.iter().map(ToString::to_string).collect()
    }

    /// The timer of the last pass has run out.
    pub fn wake(&mut self, key: &Key) {
        self.due.insert(key.clone());
    }

    // What people do.

    /// Creates an object, as `kubectl create` does.
    pub fn create(&mut self, object: &Value) -> Value {
        let mut store = self.server.state();
        store
            .store
            .create(id_of(object), object.clone(), "kubectl-create")
            .unwrap()
    }

    /// Changes an object, as `kubectl edit` does.
    pub fn edit(&mut self, id: &Id, change: impl FnOnce(&mut Value)) -> Value {
        self.server.state().store.edit(id, USER, "", change).unwrap()
    }

    /// Changes the status of an object, as a controller does.
    pub fn edit_status(&mut self, id: &Id, manager: &str, change: impl FnOnce(&mut Value)) {
        let mut state = self.server.state();
        state.store.edit(id, manager, "status", change).unwrap();
    }

    pub fn delete(&mut self, id: &Id) {
        self.server.state().store.delete(id, None).unwrap();
    }

    /// The stored object.
    pub fn get(&self, id: &Id) -> Value {
        self.server.state().store.get(id).unwrap().clone()
    }

    pub fn exists(&self, id: &Id) -> bool {
        self.server.state().store.get(id).is_ok()
    }

    pub fn status(&self, key: &Key) -> Value {
        self.get(&custom_id(key))["status"].clone()
    }

    /// `status`, `reason` and `message` of a condition.
    pub fn condition(&self, key: &Key, name: &str) -> (String, String, String) {
        let status = self.status(key);
        let conditions = status["conditions"].as_array().into_iter().flatten();
        let mut found = conditions.filter(|condition| condition["type"] == name);
        let condition = found
            .next()
            .unwrap_or_else(|| panic!("no condition {name}: {status:#}"));
        let text = |name: &str| condition[name].as_str().unwrap().to_owned();
        (text("status"), text("reason"), text("message"))
    }

    /// `status` and `reason` of the condition `Reconciled`.
    pub fn reconciled(&self, key: &Key) -> (String, String) {
        let (status, reason, _) = self.condition(key, "Reconciled");
        (status, reason)
    }
}

fn controller(server: &ApiServer, shared: &Arc<Shared>, ipc_default: IpcMode) -> (Metrics, Reconciler) {
    let metrics = Metrics::new();
    let settings = Settings {
        ipc_default,
        cluster_domain: "cluster.local".to_owned(),
    };
    let api = Api::new(server.client(), "lmcache-controller-0", metrics.clone());
    (
        metrics.clone(),
        Reconciler::new(api, Arc::clone(shared), settings, metrics),
    )
}

fn event<F: Facts>(exists: bool, object: &Value) -> Event<Cached<F>> {
    let object = Cached::read(object.clone());
    if exists {
        Event::Apply(object)
    } else {
        Event::Delete(object)
    }
}

fn relist<'a, F: Facts>(objects: impl Iterator<Item = &'a Value>, mut tell: impl FnMut(Event<Cached<F>>)) {
    tell(Event::Init);
    for object in objects {
        tell(Event::InitApply(Cached::read(object.clone())));
    }
    tell(Event::InitDone);
}

fn of_kind<'a>(all: &'a [Value], kind: &str) -> impl Iterator<Item = &'a Value> {
    all.iter().filter(move |object| object["kind"] == kind)
}

fn label<'a>(object: &'a Value, name: &str) -> &'a str {
    object["metadata"]["labels"][name].as_str().unwrap_or_default()
}

fn is_managed(object: &Value) -> bool {
    label(object, "app.kubernetes.io/managed-by") == "lmcache-operator"
}

fn is_server(pod: &Value) -> bool {
    is_managed(pod) && matches!(label(pod, "app.kubernetes.io/name"), "lmcache" | "lmcache-coordinator")
}

fn is_client(watch: ClientWatch, pod: &Value) -> bool {
    let name = match watch {
        ClientWatch::LMCache => "lmcache.ai/lmcache-inject",
        ClientWatch::CacheBlend => "lmcache.ai/cacheblend-inject",
    };
    label(pod, name) == "true"
}
