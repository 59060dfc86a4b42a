//! Secrets that are named: one watch each, so that no other Secret is ever read.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use kube::{Api, Client};
use tokio::task::JoinHandle;

use super::follow::follow;
use crate::index::{Demand, Shared};
use crate::live::{NamespacedName, SecretSource};

/// A watch of one Secret, ended when dropped.
struct Watch(JoinHandle<()>);

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Starts and ends watches as custom resources name Secrets.
pub(super) async fn watch(client: Client, shared: Arc<Shared>) {
    let mut running: BTreeMap<NamespacedName, Watch> = BTreeMap::new();
    loop {
        let named = shared.with(|index| index.named_secrets());
        let ended: Vec<NamespacedName> = running.keys().filter(|name| !named.contains(name)).cloned().collect();
        for name in ended {
            if let Some(mut watch) = running.remove(&name) {
                watch.0.abort();
                // Until it is over it might still deliver.
                let _ = (&mut watch.0).await;
                shared.with(|index| index.secret_unwatched(&name));
            }
        }
        for name in named {
            let task = || tokio::spawn(one(client.clone(), Arc::clone(&shared), name.clone()));
            running.entry(name.clone()).or_insert_with(|| Watch(task()));
        }
        shared.notified(Demand::Secrets).await;
    }
}

async fn one(client: Client, shared: Arc<Shared>, name: NamespacedName) {
    let api: Api<SecretSource> = Api::namespaced_with(client, &name.namespace, &());
    let config = super::all().fields(&format!("metadata.name={}", name.name));
    let take = |event| shared.update(|index| index.secret(&name, event));
    let refused = |code| {
        if code == 403 {
            shared.update(|index| index.secret_forbidden(&name));
        }
        ControlFlow::Continue(())
    };
    follow(&format!("Secret {name}"), api, config, take, refused).await;
}
