//! What is to be reconciled.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures::Stream;
use futures::task::AtomicWaker;
use kube::runtime::controller::ReconcileRequest;
use kube::runtime::reflector::ObjectRef;
use lmcache_api::Kind;

use crate::live::{CustomName, Key};

/// The custom resources of one kind that were woken, each once however often that happened: a replica that waits to become
/// the leader takes nothing out, maybe for weeks. Clones share what is in it.
#[derive(Clone, Debug)]
pub struct Queue(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    kind: Kind,
    state: Mutex<State>,
    waker: AtomicWaker,
}

#[derive(Debug, Default)]
struct State {
    waiting: BTreeSet<Key>,
    has_ended: bool,
}

impl Queue {
    pub(super) fn new(kind: Kind) -> Self {
        Queue(Arc::new(Inner {
            kind,
            state: Mutex::default(),
            waker: AtomicWaker::new(),
        }))
    }

    /// How many are waiting.
    pub fn len(&self) -> usize {
        self.state().waiting.len()
    }

    /// Whether none is waiting.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn push(&self, key: Key) {
        self.state().waiting.insert(key);
        self.0.waker.wake();
    }

    /// Nothing more is taken out: the stream ends.
    pub(super) fn end(&self) {
        self.state().has_ended = true;
        self.0.waker.wake();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change to it is one call, so it is whole even where a thread panicked.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pop(&self) -> Poll<Option<Key>> {
        let mut state = self.state();
        if state.has_ended {
            return Poll::Ready(None);
        }
        state
            .waiting
            .pop_first()
            .map_or(Poll::Pending, |key| Poll::Ready(Some(key)))
    }
}

impl Stream for Queue {
    type Item = Result<ReconcileRequest<CustomName>, Infallible>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        // Before looking: what is pushed after that wakes.
        self.0.waker.register(cx.waker());
        self.pop().map(|key| {
            let key = key?;
            let object = ObjectRef::new_with(&key.name, self.0.kind).within(&key.namespace);
            Some(Ok(object.into()))
        })
    }
}
