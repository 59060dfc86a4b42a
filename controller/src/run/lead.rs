//! The time as the leader: from the Lease to its return.

use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use tokio::task::JoinError;
use tokio::time::{sleep, timeout};

use super::Context;
use super::health::Phase;
use super::leader::Elector;
use super::leader::decide::Lost;
use super::stop::Stop;

/// How long what is running may take when the end was asked for. With the release of the Lease this stays below the 30 s
/// that Kubernetes gives a Pod.
const GRACE: Duration = Duration::from_secs(10);

/// How the time as the leader came to its end.
enum End {
    Lost(Lost),
    Finished(Result<Result<()>, JoinError>),
    Overdue,
}

/// Works while this process leads, until the end is asked for. Without an elector it leads from the start.
///
/// # Errors
/// The Lease was lost, or the work failed, panicked, or ended by itself.
pub(super) async fn lead<W, F>(context: Context, mut elector: Option<Elector>, stop: &Stop, work: W) -> Result<()>
where
    W: FnOnce(Context, Stop) -> F,
    F: Future<Output = Result<()>> + Send + 'static,
{
    let (health, metrics) = (context.health.clone(), context.metrics.clone());
    if let Some(elector) = &mut elector
        && !elector.acquire(stop, &health).await
    {
        health.set(Phase::Stopping);
        return Ok(());
    }
    health.set(Phase::Syncing);
    metrics.leader(true);
    let mut working = tokio::spawn(work(context, stop.clone()));
    let renewal = async {
        match &mut elector {
            Some(elector) => elector.renew().await,
            None => std::future::pending().await,
        }
    };
    let overdue = async {
        stop.requested().await;
        health.set(Phase::Stopping);
        sleep(GRACE).await;
    };
    // The Lease is renewed until the very end: what still runs still writes.
    let end = tokio::select! {
        lost = renewal => End::Lost(lost),
        result = &mut working => End::Finished(result),
        () = overdue => End::Overdue,
    };
    health.set(Phase::Stopping);
    metrics.leader(false);
    let result = match end {
        End::Lost(lost) => {
            working.abort();
            bail!("is no longer the leader: {lost}");
        }
        End::Finished(Ok(Ok(()))) if stop.is_requested() => Ok(()),
        End::Finished(Ok(Ok(()))) => Err(anyhow!("the work ended although nobody asked it to")),
        End::Finished(Ok(Err(error))) => Err(error),
        End::Finished(Err(error)) => Err(anyhow!(error).context("the work panicked")),
        End::Overdue => {
            tracing::warn!(seconds = GRACE.as_secs(), "what was running did not end in time");
            working.abort();
            let _ = timeout(Duration::from_secs(1), working).await;
            Ok(())
        }
    };
    if let Some(elector) = elector {
        match elector.release().await {
            Ok(()) => tracing::info!("gave the Lease back"),
            Err(error) => tracing::warn!(%error, "could not give the Lease back, it expires by itself"),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};
    use kube::Client;
    use kube::client::Body;
    use lmcache_api::IpcMode;
    use tokio::time::Instant;

    use super::*;
    use crate::run::health::Health;
    use crate::run::metrics::Metrics;
    use crate::run::{Settings, stop};

    fn context() -> Context {
        let (service, _) = tower_test::mock::pair::<Request<Body>, Response<Body>>();
        Context {
            client: Client::new(service, "default"),
            metrics: Metrics::new(),
            health: Health::new(),
            settings: Settings {
                ipc_default: IpcMode::HostIPC,
                cluster_domain: "cluster.local".to_owned(),
                concurrency: 1,
                identity: "me".to_owned(),
            },
        }
    }

    /// Leads with that work, is told to end after a second, and says what it came to and after how many seconds.
    async fn led<F>(work: impl FnOnce(Context, Stop) -> F) -> (Result<()>, u64)
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let start = Instant::now();
        let (trigger, stop) = stop::channel();
        tokio::spawn(async move {
            sleep(Duration::from_secs(1)).await;
            trigger.request();
        });
        let result = lead(context(), None, &stop, work).await;
        (result, start.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn what_runs_may_end_in_its_own_time() {
        let (result, took) = led(|context, stop| async move {
            assert_eq!(context.health.phase(), Phase::Syncing);
            stop.requested().await;
            sleep(Duration::from_secs(5)).await;
            assert_eq!(context.health.phase(), Phase::Stopping);
            Ok(())
        })
        .await;
        assert!(result.is_ok(), "{result:?}");
        assert_eq!(took, 6);
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_end_is_dropped_after_ten_seconds() {
        let (result, took) = led(|_, _| std::future::pending()).await;
        assert!(result.is_ok(), "{result:?}");
        assert_eq!(took, 11);
    }

    #[tokio::test(start_paused = true)]
    async fn work_that_ends_by_itself_is_an_error() {
        let (result, took) = led(|_, _| async { Ok(()) }).await;
        assert_eq!(
            result.unwrap_err().to_string(),
            "the work ended although nobody asked it to"
        );
        assert_eq!(took, 0);
        let (result, _) = led(|_, _| async { Err(anyhow!("no rights")) }).await;
        assert_eq!(result.unwrap_err().to_string(), "no rights");
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_is_an_error() {
        let (result, _) = led(|_, _| async { panic!("odd") }).await;
        let error = format!("{:#}", result.unwrap_err());
        assert!(error.contains("the work panicked") && error.contains("odd"), "{error}");
    }
}
