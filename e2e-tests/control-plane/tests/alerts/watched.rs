//! Prometheus, the controllers and servers that it scrapes, and what it says of them.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use axum::Router;
use axum::routing::get;
use control_plane::prometheus::Target;
use control_plane::{ControlPlane, Controller, Prometheus, wait_until};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::rules;
use crate::shared::LIMIT;

/// A Prometheus with the rules, and the alerts that it has been seen to fire.
pub struct Watched {
    pub prometheus: Prometheus,
    seen: Mutex<BTreeSet<String>>,
}

impl Watched {
    pub async fn start(plane: &ControlPlane) -> Result<Watched> {
        Ok(Watched {
            prometheus: Prometheus::start(plane.folder(), &rules::faster()?).await?,
            seen: Mutex::default(),
        })
    }

    /// Waits until a query has a result.
    pub async fn has(&self, query: &str) -> Result<()> {
        wait_until(query, LIMIT, async || {
            ensure!(!self.prometheus.query(query)?.is_empty(), "no result");
            Ok(())
        })
        .await
    }

    /// Waits until an alert with these labels fires; returns its annotations, which are whole.
    pub async fn fires(&self, alert: &str, labels: &[(&str, &str)]) -> Result<Value> {
        let found = wait_until(&format!("{alert} {labels:?} fires"), LIMIT, async || {
            let alerts = self.prometheus.alerts()?;
            let found = alerts.iter().find(|found| {
                found["state"] == "firing"
                    && found["labels"]["alertname"] == alert
                    && labels.iter().all(|(label, value)| found["labels"][label] == *value)
            });
            found.cloned().with_context(|| format!("{:?}", brief(&alerts)))
        })
        .await?;
        for (name, text) in found["annotations"].as_object().unwrap() {
            let text = text.as_str().unwrap();
            for bad in ["<no value>", "<error", "{{", "%!"] {
                ensure!(!text.contains(bad), "{alert}: {name}: {text}");
            }
        }
        self.seen.lock().unwrap().insert(alert.to_owned());
        Ok(found["annotations"].clone())
    }

    /// Waits until no alert of this name is pending or firing.
    pub async fn over(&self, alert: &str) -> Result<()> {
        wait_until(&format!("{alert} is over"), LIMIT, async || {
            let alerts = self.prometheus.alerts()?;
            ensure!(
                alerts.iter().all(|found| found["labels"]["alertname"] != alert),
                "{:?}",
                brief(&alerts)
            );
            Ok(())
        })
        .await
    }

    /// Waits until nothing is pending, and looks for so long whether that stays so.
    pub async fn silent(&self, for_so_long: Duration) -> Result<()> {
        wait_until("no alert is pending", LIMIT, async || {
            let alerts = self.prometheus.alerts()?;
            ensure!(alerts.is_empty(), "{:?}", brief(&alerts));
            Ok(())
        })
        .await?;
        let since = Instant::now();
        while since.elapsed() < for_so_long {
            let alerts = self.prometheus.alerts()?;
            ensure!(alerts.is_empty(), "at rest: {:?}", brief(&alerts));
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        Ok(())
    }

    /// Alerts that were not seen to fire.
    pub fn unseen(&self) -> Result<Vec<String>> {
        let seen = self.seen.lock().unwrap();
        let all = rules::names()?;
        Ok(all.into_iter().filter(|alert| !seen.contains(alert)).collect())
    }
}

fn brief(alerts: &[Value]) -> Vec<String> {
    let brief = |alert: &Value| format!("{} {}", alert["state"], alert["labels"]);
    alerts.iter().map(brief).collect()
}

/// A controller as a target, with the labels that it has under `deploy/monitoring/service-monitor.yaml`.
pub fn controller(controller: &Controller, pod: &str) -> Target {
    let service = "lmcache-controller-metrics";
    Target {
        port: controller.metrics_port(),
        labels: json!({
            "namespace": "lmcache-system", "job": service, "service": service, "endpoint": "metrics",
            "container": "controller", "pod": pod,
        }),
    }
}

/// Stands in for the metrics of servers, which kwok plays: it answers with one sample.
pub struct Servers {
    port: u16,
    task: JoinHandle<()>,
}

impl Servers {
    pub async fn start() -> Result<Servers> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let router = Router::new().route("/metrics", get(|| async { "lmcache_test 1\n" }));
        let task = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Ok(Servers { port, task })
    }

    /// The servers of an engine as targets, as a ServiceMonitor of the controller's has them.
    pub fn targets(&self, namespace: &str, engine: &str, pods: &[&str]) -> Vec<Target> {
        let service = format!("{engine}-metrics");
        let target = |pod: &&str| Target {
            port: self.port,
            labels: json!({
                "namespace": namespace, "job": service, "service": service, "endpoint": "metrics", "pod": pod,
                "instance": pod,
            }),
        };
        pods.iter().map(target).collect()
    }

    /// Nothing listens any more.
    pub async fn stop(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}
