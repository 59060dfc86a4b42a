//! The ConfigMap with the connection.

use lmcache_api::{EngineRef, IpcMode, connection_config, decode};
use serde_json::{Value, json};

use super::resource::Resource;

/// `None` for a coordinator.
pub(super) fn config_map(engine: &Resource) -> Option<Value> {
    let mut object = decode(engine.kind, &engine.object()).object;
    object.set_defaults();
    let connection = EngineRef {
        name: &engine.name,
        namespace: &engine.namespace,
        spec: object.engine()?,
    };
    let mode = if engine.is_isolated() {
        IpcMode::Isolated
    } else {
        IpcMode::HostIPC
    };
    let data = json!(connection_config(&connection, mode, "cluster.local").data());
    Some(engine.child("v1", "ConfigMap", "-connection", engine.labels(), ("data", data)))
}
