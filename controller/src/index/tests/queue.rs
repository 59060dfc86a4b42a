//! What is queued, and when.

use std::sync::Arc;

use futures::{FutureExt, StreamExt};

use super::*;

fn sync(shared: &Shared) {
    for kind in Kind::ALL {
        shared.update(|index| index.custom(kind, Event::InitDone));
    }
    for kind in ChildKind::ALL {
        shared.update(|index| index.child(kind, Event::InitDone));
    }
    shared.update(|index| index.server_pod(Event::InitDone));
    for watch in ClientWatch::ALL {
        shared.update(|index| index.client_pod(watch, Event::InitDone));
    }
}

fn apply(shared: &Shared, name: &str, version: u64) {
    shared.update(|index| index.custom(Kind::LMCacheEngine, Event::Apply(engine(name, version))));
}

async fn take(queue: &mut Queue) -> String {
    queue.next().await.unwrap().unwrap().obj_ref.name
}

#[tokio::test]
async fn nobody_is_queued_before_everything_is_listed_and_then_everyone() {
    let shared = Shared::new();
    let mut queue = shared.queue(Kind::LMCacheEngine);
    apply(&shared, "a", 1);
    apply(&shared, "b", 2);
    assert!(shared.synced().now_or_never().is_none());
    assert!(queue.is_empty());
    sync(&shared);
    assert!(shared.synced().now_or_never().is_some());
    assert_eq!((queue.len(), shared.queue(Kind::CacheBlendEngine).len()), (2, 0));
    assert_eq!(
        (take(&mut queue).await.as_str(), take(&mut queue).await.as_str()),
        ("a", "b")
    );
}

#[tokio::test]
async fn whoever_waits_is_queued_once() {
    let shared = Shared::new();
    sync(&shared);
    let mut queue = shared.queue(Kind::LMCacheEngine);
    for version in 1..100 {
        apply(&shared, "a", version);
    }
    assert_eq!(queue.len(), 1);
    let request = queue.next().await.unwrap().unwrap();
    assert_eq!(request.obj_ref.namespace.as_deref(), Some(NS));
    assert_eq!(request.obj_ref.dyntype, Kind::LMCacheEngine);
    assert!(queue.next().now_or_never().is_none());
}

#[tokio::test]
async fn a_reader_that_waits_hears_of_the_next_and_of_the_end() {
    let shared = Arc::new(Shared::new());
    sync(&shared);
    let mut queue = shared.queue(Kind::LMCacheEngine);
    let reader = tokio::spawn(async move {
        let name = take(&mut queue).await;
        (name, queue.next().await.is_none())
    });
    tokio::task::yield_now().await;
    apply(&shared, "a", 1);
    tokio::task::yield_now().await;
    shared.end();
    assert_eq!(reader.await.unwrap(), ("a".to_owned(), true));
}

#[test]
fn a_panic_under_the_lock_does_not_stop_the_others() {
    let shared = Arc::new(Shared::new());
    let panics = Arc::clone(&shared);
    let end = std::thread::spawn(move || panics.with(|_| panic!("on purpose"))).join();
    assert!(end.is_err());
    apply(&shared, "a", 1);
    assert_eq!(shared.with(|index| index.keys().count()), 1);
}
