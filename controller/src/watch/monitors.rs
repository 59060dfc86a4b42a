//! ServiceMonitors: not every cluster has them, and who has them may take them away.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kube::runtime::watcher::Event;
use kube::{Api, Client};

use super::follow::follow;
use super::listed::Listed;
use super::{managed, unlist};
use crate::index::{Demand, Shared};
use crate::live::ChildKind;
use crate::plan::Monitors;

const KIND: ChildKind = ChildKind::ServiceMonitor;
/// How long after it was not there the kind is looked for again, while somebody asks for a ServiceMonitor.
const ABSENT: Duration = Duration::from_secs(30);
/// Likewise, after the controller was not allowed to look. Rights change seldom.
const FORBIDDEN: Duration = Duration::from_secs(300);

/// Watches them where they are served. Looks once at the start, since some may be left from before, and then only while
/// somebody asks for one.
pub(super) async fn watch(client: Client, shared: Arc<Shared>) {
    loop {
        let pause = look(&client, &shared).await;
        tokio::time::sleep(pause).await;
        wanted(&shared).await;
    }
}

/// Watches until they are found not to be there; returns how long to leave it at that.
async fn look(client: &Client, shared: &Shared) -> Duration {
    let is_served = AtomicBool::new(false);
    let mut pause = ABSENT;
    let take = |event: Event<Listed<{ KIND as usize }>>| {
        let is_listed = matches!(event, Event::InitDone);
        shared.update(|index| {
            let mut wake = index.child(KIND, unlist(event));
            // In one step: where they are served, those that are there are known.
            if is_listed {
                is_served.store(true, Ordering::Relaxed);
                wake.extend(index.monitors(Monitors::Served));
            }
            wake
        });
    };
    let refused = |code| {
        let monitors = match code {
            404 => Monitors::NotServed,
            403 => Monitors::Forbidden,
            _ => return ControlFlow::Continue(()),
        };
        if monitors == Monitors::Forbidden {
            pause = FORBIDDEN;
        }
        shared.update(|index| index.monitors(monitors));
        ControlFlow::Break(())
    };
    let api = Api::all_with(client.clone(), &KIND);
    tokio::select! {
        () = follow(KIND.as_str(), api, managed(), take, refused) => {}
        () = doubted(shared, &is_served) => {}
    }
    pause
}

/// Waits until a pass finds the kind missing, though it was there.
async fn doubted(shared: &Shared, is_served: &AtomicBool) {
    loop {
        shared.notified(Demand::Monitors).await;
        let is_known = shared.with(|index| index.has_monitors()) == Monitors::Served;
        if is_served.load(Ordering::Relaxed) && !is_known {
            return;
        }
    }
}

async fn wanted(shared: &Shared) {
    while !shared.with(|index| index.wants_monitors()) {
        shared.notified(Demand::Monitors).await;
    }
}
