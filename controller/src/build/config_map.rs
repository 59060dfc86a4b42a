//! The connection ConfigMap: what vLLM Pods get as `--kv-transfer-config`.

use lmcache_api::{EngineRef, connection_config};
use serde_json::{Value, json};

use super::engine::Engine;

/// Annotation of the connection ConfigMap: the IPC mode that the servers run with (`HostIPC`, `HostShm`, `Isolated`). The
/// admission policies wire Pods by it, since the mode may come from the installation's default, which they cannot see.
pub const IPC_MODE_ANNOTATION: &str = "lmcache.ai/ipc-mode";

/// The ConfigMap `<engine>-connection`.
pub(super) fn build(engine: &Engine<'_>, cluster_domain: &str) -> Value {
    let reference = EngineRef {
        name: engine.owner.name,
        namespace: engine.owner.namespace,
        spec: engine.spec,
    };
    let config = connection_config(&reference, engine.ipc_mode, cluster_domain);
    let mut metadata = engine.owner.metadata("-connection");
    if let Some(metadata) = metadata.as_object_mut() {
        let annotations = json!({IPC_MODE_ANNOTATION: engine.ipc_mode.as_str()});
        metadata.insert("annotations".to_owned(), annotations);
    }
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": config.data(),
    })
}
