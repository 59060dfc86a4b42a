//! Nodes and engines.

use std::fmt;

use anyhow::Result;
use futures::stream::{self, Stream, TryStreamExt};
use serde_json::{Value, json};

use crate::Cluster;

/// Where all engines are.
pub(super) const NAMESPACE: &str = "scale";
/// The label of a node that says which pool it is in.
pub(super) const POOL: &str = "e2e.lmcache.ai/pool";
/// Nodes of a pool, which is where the servers of an engine run.
pub(super) const POOL_SIZE: usize = 4;
/// How many clients create at a time.
const CLIENTS: usize = 6;
const IMAGE: &str = "v0.5.6";

/// How much there is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Load {
    pub engines: usize,
    pub nodes: usize,
    /// Whether a pool of nodes matches each engine; else none does.
    pub with_pods: bool,
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pods = if self.with_pods { "with Pods" } else { "no Pods" };
        write!(f, "{} engines on {} nodes, {pods}", self.engines, self.nodes)
    }
}

impl Load {
    fn pools(self) -> usize {
        (self.nodes / POOL_SIZE).max(1)
    }

    /// The pool of an engine: all pools have equally many, or one more.
    pub(super) fn pool(self, engine: usize) -> String {
        if self.with_pods {
            format!("pool-{}", engine % self.pools())
        } else {
            "none".to_owned()
        }
    }

    /// Servers that an engine has when all run.
    pub(super) fn servers(self) -> usize {
        if self.with_pods { POOL_SIZE } else { 0 }
    }

    /// Makes the nodes. Those that make no whole pool are in none.
    pub(super) async fn make_nodes(self, admin: &Cluster) -> Result<()> {
        let pools = self.pools();
        let node = async |number: usize| {
            let pool = format!("pool-{}", number / POOL_SIZE);
            let labels = [(POOL, pool.as_str())];
            let labels: &[_] = if number / POOL_SIZE < pools { &labels } else { &[] };
            admin.gpu_node(&format!("gpu-{number}"), labels).await
        };
        numbers(self.nodes).try_for_each_concurrent(CLIENTS, node).await
    }

    /// Makes the engines.
    pub(super) async fn make_engines(self, admin: &Cluster) -> Result<()> {
        let engine = async |number| admin.create(&self.engine(number), "kubectl-create").await.map(drop);
        numbers(self.engines).try_for_each_concurrent(CLIENTS, engine).await
    }

    fn engine(self, number: usize) -> Value {
        json!({
            "apiVersion": "lmcache.lmcache.ai/v1alpha1", "kind": "LMCacheEngine",
            "metadata": {"namespace": NAMESPACE, "name": name(number)},
            "spec": {
                "image": {"repository": "lmcache/vllm-openai", "tag": IMAGE},
                "l1": {"sizeGB": 10},
                "nodeSelector": {(POOL): self.pool(number)},
            },
        })
    }

    /// A vLLM Pod on the nodes of an engine. `opted_in` or not, it is the same but for the label.
    pub(super) fn client(self, engine: usize, pod: &str, opted_in: bool) -> Value {
        let labels = if opted_in {
            json!({"lmcache.ai/lmcache-inject": "true"})
        } else {
            json!({})
        };
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "namespace": NAMESPACE, "name": pod, "labels": labels,
                "annotations": {"lmcache.ai/lmcache-engine": name(engine)},
            },
            "spec": {
                "nodeSelector": {(POOL): self.pool(engine)},
                "containers": [{
                    "name": "vllm", "image": format!("lmcache/vllm-openai:{IMAGE}"),
                    "args": ["--model", "Qwen/Qwen3-8B", "--gpu-memory-utilization", "0.85"],
                    "ports": [{"name": "http", "containerPort": 8000}],
                }],
            },
        })
    }
}

/// The numbers below a count.
fn numbers(count: usize) -> impl Stream<Item = Result<usize>> {
    stream::iter((0..count).map(Ok))
}

fn name(engine: usize) -> String {
    format!("kv-{engine}")
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "tests")]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn engines_are_spread_evenly_over_the_pools() {
        let load = Load {
            engines: 1000,
            nodes: 200,
            with_pods: true,
        };
        let mut engines = BTreeMap::new();
        for engine in 0..load.engines {
            *engines.entry(load.pool(engine)).or_insert(0) += 1;
        }
        assert_eq!(engines.len(), 50);
        assert!(engines.values().all(|count| *count == 20), "{engines:?}");
        let none = Load {
            with_pods: false,
            ..load
        };
        assert_eq!((none.pool(7).as_str(), none.servers()), ("none", 0));
    }

    #[test]
    fn clients_differ_in_the_label_alone() {
        let load = Load {
            engines: 1,
            nodes: 4,
            with_pods: true,
        };
        let (mut opted_in, plain) = (load.client(0, "a", true), load.client(0, "a", false));
        assert_ne!(opted_in, plain);
        opted_in["metadata"]["labels"] = json!({});
        assert_eq!(opted_in, plain);
    }
}
