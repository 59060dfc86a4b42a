//! The watches against an API server that does what real ones do.

mod api;

use std::time::Duration;

use futures::{FutureExt, StreamExt};
use serde_json::{Value, json};

use self::api::Api as Server;
use super::*;
use crate::index::Index;
use crate::live::{Key, NamespacedName};
use crate::plan::{Inputs, Monitors, Sought};
use crate::rbac::{Call, allows};
use crate::run::stop::{self, Trigger};

const ENGINES: &str = "/apis/lmcache.lmcache.ai/v1alpha1/lmcacheengines";
const DAEMON_SETS: &str = "/apis/apps/v1/daemonsets";
const MONITORS: &str = "/apis/monitoring.coreos.com/v1/servicemonitors";
const LOGIN: &str = "/api/v1/namespaces/ns/secrets?login";

fn engine(name: &str, version: u64, spec: Value) -> Value {
    json!({
        "apiVersion": "lmcache.lmcache.ai/v1alpha1", "kind": "LMCacheEngine",
        "metadata": {"namespace": "ns", "name": name, "uid": name, "resourceVersion": version.to_string()},
        "spec": spec,
    })
}

fn wants_monitor() -> Value {
    json!({"prometheus": {"serviceMonitor": {"enabled": true}}})
}

fn names_login() -> Value {
    json!({"l2Backend": {"resp": {"authSecretRef": {"name": "login"}}}})
}

struct Running {
    server: Server,
    shared: Arc<Shared>,
    watching: Watching,
    trigger: Trigger,
}

/// Starts every watch against what `prepare` sets up.
fn run(prepare: impl FnOnce(&Server)) -> Running {
    let (server, client) = Server::start();
    prepare(&server);
    let (trigger, stop) = stop::channel();
    let shared = Arc::new(Shared::new());
    let watching = start(&client, &shared, &stop);
    Running {
        server,
        shared,
        watching,
        trigger,
    }
}

impl Running {
    fn look<T>(&self, look: impl FnOnce(&Index) -> T) -> T {
        self.shared.with(|index| look(index))
    }

    fn names(&self) -> Vec<String> {
        self.look(|index| index.keys().map(|key| key.name).collect())
    }

    fn inputs(&self, name: &str) -> Inputs {
        self.look(|index| index.inputs(&Key::new(Kind::LMCacheEngine, "ns", name)).unwrap())
    }
}

/// Waits for what watches have to bring about, an hour at most. The clock is a test's: nobody waits that long.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..36_000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("in vain: {what}");
}

#[tokio::test(start_paused = true)]
async fn everything_is_listed_then_watched_and_the_roles_allow_it() {
    let running = run(|server| server.list(ENGINES, 5, vec![engine("a", 4, names_login())]));
    until("watch of the Secret", || running.server.is_watched(LOGIN)).await;
    let asked = running.server.asked();
    let managed = "labelSelector=app.kubernetes.io%2Fmanaged-by%3Dlmcache-operator";
    for (path, selector) in [
        (ENGINES, ""),
        ("/apis/lmcache.lmcache.ai/v1alpha1/cacheblendengines", ""),
        ("/apis/lmcache.lmcache.ai/v1alpha1/lmcachecoordinators", ""),
        (DAEMON_SETS, managed),
        ("/apis/apps/v1/deployments", managed),
        ("/api/v1/services", managed),
        ("/api/v1/configmaps", managed),
        ("/api/v1/secrets", managed),
        (MONITORS, managed),
        ("/api/v1/pods", "labelSelector=lmcache.ai%2Flmcache-inject%3Dtrue"),
        ("/api/v1/pods", "labelSelector=lmcache.ai%2Fcacheblend-inject%3Dtrue"),
        (
            "/api/v1/pods",
            "app.kubernetes.io%2Fname+in+%28lmcache%2Clmcache-coordinator%29",
        ),
        ("/api/v1/namespaces/ns/secrets", "fieldSelector=metadata.name%3Dlogin"),
    ] {
        let of_path = |target: &&String| target.split('?').next() == Some(path) && target.contains(selector);
        let requests: Vec<_> = asked.iter().filter(of_path).collect();
        assert!(
            requests.iter().any(|target| target.contains("limit=100")),
            "list of {path} {selector}: {asked:#?}"
        );
        assert!(
            requests.iter().any(|target| target.contains("watch=true")),
            "watch of {path} {selector}: {asked:#?}"
        );
    }
    for target in asked {
        let call = Call::read("GET", &target).unwrap();
        assert!(allows(&call, "lmcache-system"), "{call:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn once_everything_is_known_everyone_is_queued_and_in_the_store() {
    let mut running = run(|server| server.list(ENGINES, 5, vec![engine("a", 4, json!({}))]));
    (&mut running.watching.synced).await;
    let [(_, queue), _, _] = &mut running.watching.queues;
    let [(_, store), _, _] = &running.watching.stores;
    let request = queue.next().await.unwrap().unwrap();
    assert_eq!(store.get(&request.obj_ref).unwrap().name(), "a");
    running.server.event(ENGINES, "ADDED", &engine("b", 6, json!({})));
    let request = queue.next().await.unwrap().unwrap();
    assert_eq!(
        store.get(&request.obj_ref).unwrap().name(),
        "b",
        "it is in the store before it is in the queue"
    );
    running.server.event(ENGINES, "DELETED", &engine("a", 7, json!({})));
    until("deletion", || running.names() == ["b"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_goes_on_where_it_was() {
    let running = run(|server| server.list(ENGINES, 5, vec![engine("a", 4, json!({}))]));
    until("watch", || running.server.is_watched(ENGINES)).await;
    let bookmark = json!({
        "apiVersion": "lmcache.lmcache.ai/v1alpha1", "kind": "LMCacheEngine", "metadata": {"resourceVersion": "90"},
    });
    running.server.event(ENGINES, "BOOKMARK", &bookmark);
    running.server.close(ENGINES);
    until("new watch", || running.server.is_watched(ENGINES)).await;
    let asked = running.server.asked_of(ENGINES);
    assert_eq!(asked.len(), 3, "{asked:?}");
    assert!(asked[1].contains("resourceVersion=5"), "{asked:?}");
    assert!(
        asked[2].contains("watch=true") && asked[2].contains("resourceVersion=90"),
        "{asked:?}"
    );
    running.server.event(ENGINES, "ADDED", &engine("b", 91, json!({})));
    until("event of the new watch", || running.names() == ["a", "b"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_has_expired_lists_again() {
    let running = run(|server| {
        server.list(ENGINES, 5, vec![engine("a", 3, json!({})), engine("b", 4, json!({}))]);
    });
    until("watch", || running.server.is_watched(ENGINES)).await;
    running
        .server
        .list(ENGINES, 20, vec![engine("b", 4, json!({})), engine("c", 19, json!({}))]);
    let gone = json!({"kind": "Status", "status": "Failure", "message": "too old", "reason": "Expired", "code": 410});
    running.server.event(ENGINES, "ERROR", &gone);
    until("second list", || running.names() == ["b", "c"]).await;
}

#[tokio::test(start_paused = true)]
async fn who_may_not_list_asks_ever_less_and_is_not_ready() {
    let mut running = run(|server| server.refuse(DAEMON_SETS, 403));
    tokio::time::sleep(Duration::from_secs(120)).await;
    let asked = running.server.asked_of(DAEMON_SETS).len();
    assert!((4..12).contains(&asked), "{asked} requests in two minutes");
    assert!((&mut running.watching.synced).now_or_never().is_none());
    running.server.list(DAEMON_SETS, 1, Vec::new());
    (&mut running.watching.synced).await;
}

#[tokio::test(start_paused = true)]
async fn children_read_alike_from_lists_and_events() {
    let daemon_set = |version: u64, ready: u64| {
        json!({
            "metadata": {"namespace": "ns", "name": "a", "uid": "u", "resourceVersion": version.to_string()},
            "status": {"numberReady": ready},
        })
    };
    let mut running = run(|server| {
        server.list(ENGINES, 5, vec![engine("a", 4, json!({}))]);
        server.list(DAEMON_SETS, 5, vec![daemon_set(3, 1)]);
    });
    (&mut running.watching.synced).await;
    let ready = |running: &Running| {
        let child = running.inputs("a").children.into_values().next().unwrap();
        (
            child.value()["kind"].clone(),
            child.facts.workload.as_ref().unwrap().ready,
        )
    };
    assert_eq!(ready(&running), (json!("DaemonSet"), 1));
    until("watch", || running.server.is_watched(DAEMON_SETS)).await;
    let mut event = daemon_set(6, 2);
    event["kind"] = json!("DaemonSet");
    running.server.event(DAEMON_SETS, "MODIFIED", &event);
    until("event", || ready(&running).1 == 2).await;
}

#[tokio::test(start_paused = true)]
async fn monitors_that_are_not_served_are_looked_for_only_while_one_is_wanted() {
    let running = run(|server| {
        server.list(ENGINES, 5, vec![engine("a", 4, json!({}))]);
        server.refuse(MONITORS, 404);
    });
    until("answer", || running.look(Index::has_monitors) == Monitors::NotServed).await;
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(running.server.asked_of(MONITORS).len(), 1, "nobody wants one");
    running
        .server
        .event(ENGINES, "MODIFIED", &engine("a", 6, wants_monitor()));
    tokio::time::sleep(Duration::from_secs(95)).await;
    let asked = running.server.asked_of(MONITORS).len();
    assert!((4..=5).contains(&asked), "{asked}: at once, then every 30 seconds");
    let monitor = json!({"metadata": {"namespace": "ns", "name": "a", "uid": "m", "resourceVersion": "7"}});
    running.server.list(MONITORS, 8, vec![monitor]);
    until("monitors", || running.look(Index::has_monitors) == Monitors::Served).await;
    assert_eq!(running.inputs("a").children.len(), 1);
    // The kind is removed: its watch ends and cannot be taken up again.
    running.server.refuse(MONITORS, 404);
    running.server.close(MONITORS);
    until("end of monitors", || {
        running.look(Index::has_monitors) == Monitors::NotServed
    })
    .await;
    assert_eq!(running.inputs("a").children.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn monitors_that_may_not_be_listed_are_asked_for_seldom() {
    let running = run(|server| {
        server.list(ENGINES, 5, vec![engine("a", 4, wants_monitor())]);
        server.refuse(MONITORS, 403);
    });
    until("answer", || running.look(Index::has_monitors) == Monitors::Forbidden).await;
    tokio::time::sleep(Duration::from_secs(910)).await;
    assert_eq!(
        running.server.asked_of(MONITORS).len(),
        4,
        "at once, then every five minutes"
    );
}

#[tokio::test(start_paused = true)]
async fn monitors_that_a_pass_found_missing_are_listed_again() {
    let running = run(|server| server.list(ENGINES, 5, vec![engine("a", 4, wants_monitor())]));
    until("answer", || running.look(Index::has_monitors) == Monitors::Served).await;
    running.shared.update(|index| index.monitors(Monitors::NotServed));
    until("answer", || running.look(Index::has_monitors) == Monitors::Served).await;
}

#[tokio::test(start_paused = true)]
async fn a_secret_is_watched_as_long_as_it_is_named() {
    let secret = |version: u64| {
        json!({
            "kind": "Secret", "data": {"password": "cGFzcw=="},
            "metadata": {"namespace": "ns", "name": "login", "uid": "s", "resourceVersion": version.to_string()},
        })
    };
    let running = run(|server| server.list(ENGINES, 5, vec![engine("a", 4, json!({}))]));
    until("watch", || running.server.is_watched(ENGINES)).await;
    assert!(running.server.asked_of(LOGIN).is_empty());
    running
        .server
        .event(ENGINES, "MODIFIED", &engine("a", 6, names_login()));
    until("absence", || matches!(running.inputs("a").login, Sought::Missing)).await;
    until("watch", || running.server.is_watched(LOGIN)).await;
    running.server.event(LOGIN, "ADDED", &secret(7));
    until("Secret", || matches!(running.inputs("a").login, Sought::Found(_))).await;
    running.server.event(ENGINES, "MODIFIED", &engine("a", 8, json!({})));
    until("end of the watch", || !running.server.is_watched(LOGIN)).await;
    until("oblivion", || running.look(|index| index.counts().secrets) == 0).await;
    running.server.refuse(LOGIN, 403);
    running
        .server
        .event(ENGINES, "MODIFIED", &engine("a", 9, names_login()));
    until("refusal", || matches!(running.inputs("a").login, Sought::Forbidden)).await;
    running.server.list(LOGIN, 10, vec![secret(7)]);
    until("Secret", || matches!(running.inputs("a").login, Sought::Found(_))).await;
    assert_eq!(
        running.look(Index::named_secrets),
        [NamespacedName::new("ns", "login")].into()
    );
}

#[tokio::test(start_paused = true)]
async fn when_the_end_is_asked_for_queues_and_watches_end() {
    let mut running = run(|server| server.list(ENGINES, 5, vec![engine("a", 4, names_login())]));
    until("watch", || running.server.is_watched(LOGIN)).await;
    running.trigger.request();
    until("end of the watches", || {
        !running.server.is_watched(ENGINES) && !running.server.is_watched(LOGIN) && !running.server.is_watched(MONITORS)
    })
    .await;
    for (_, queue) in &mut running.watching.queues {
        assert!(queue.next().await.is_none());
    }
    let asked = running.server.asked().len();
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(running.server.asked().len(), asked);
    assert!(
        (&mut running.watching.broken).now_or_never().is_none(),
        "nothing has panicked"
    );
}

#[tokio::test(start_paused = true)]
async fn a_panic_in_a_watch_is_told() {
    let (_trigger, stop) = stop::channel();
    let (broken, mut is_broken) = mpsc::unbounded_channel();
    let tasks = Tasks { stop: &stop, broken };
    tasks.spawn("of nothing", async { panic!("on purpose") });
    assert_eq!(is_broken.recv().await.as_deref(), Some("of nothing"));
}
