//! The wish to end, told to everything that runs.

use std::future::Future;
use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Asks for the end. Dropping it asks as well: whoever could still ask is gone.
#[derive(Debug)]
pub struct Trigger(watch::Sender<bool>);

/// Says whether the end was asked for. Clones see the same.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

/// A pair of the two.
pub fn channel() -> (Trigger, Stop) {
    let (sender, receiver) = watch::channel(false);
    (Trigger(sender), Stop(receiver))
}

impl Trigger {
    /// Asks for the end. Asking twice changes nothing.
    pub fn request(&self) {
        self.0.send_replace(true);
    }
}

impl Stop {
    /// Whether the end was asked for.
    pub fn is_requested(&self) -> bool {
        // An error says that the trigger is gone.
        self.0.has_changed().is_err() || *self.0.borrow()
    }

    /// Waits until the end is asked for; returns at once where it already was. Can be dropped and called again.
    pub async fn requested(&self) {
        let _ = self.0.clone().wait_for(|requested| *requested).await;
    }
}

/// The name of the first SIGTERM (what a kubelet sends) or SIGINT (Ctrl-C) after this call.
///
/// # Errors
/// Where the handlers cannot be installed.
pub fn signals() -> io::Result<impl Future<Output = &'static str> + Send> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_clone_sees_the_request_early_or_late() {
        let (trigger, stop) = channel();
        let early = tokio::spawn({
            let stop = stop.clone();
            async move { stop.requested().await }
        });
        assert!(!stop.is_requested());
        trigger.request();
        trigger.request();
        early.await.unwrap();
        stop.clone().requested().await;
        assert!(stop.is_requested());
    }

    #[tokio::test]
    async fn a_lost_trigger_is_a_request() {
        let (trigger, stop) = channel();
        drop(trigger);
        stop.requested().await;
        assert!(stop.is_requested());
    }
}
