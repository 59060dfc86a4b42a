//! The connection JSON: what vLLM gets as `--kv-transfer-config`.
//!
//! The same function fills the ConfigMap `<engine>-connection` and wires a Pod where that ConfigMap does not exist yet.
//! The text is the Go operator's, byte for byte (two spaces, sorted keys, Go's floats), so that a takeover changes
//! nothing.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::{BlendSpec, EngineRef, IpcMode, Kind, NixlLoadFailurePolicy, PdSpec, go_json};

/// Key of the plain connection in the ConfigMap.
pub const CONNECTION_KEY: &str = "kv-transfer-config.json";
/// Key of a prefiller's connection; there only with `spec.pd`.
pub const CONNECTION_KEY_PREFILLER: &str = "kv-transfer-config-prefiller.json";
/// Key of a decoder's connection; there only with `spec.pd`.
pub const CONNECTION_KEY_DECODER: &str = "kv-transfer-config-decoder.json";

/// Connector class of an LMCacheEngine.
pub const LMCACHE_CONNECTOR: &str = "LMCacheMPConnector";
/// Python module of [`LMCACHE_CONNECTOR`].
pub const LMCACHE_MODULE: &str = "lmcache.integration.vllm.lmcache_mp_connector";
/// Connector class of a CacheBlendEngine.
pub const CACHEBLEND_CONNECTOR: &str = "CBKVConnector";
/// Python module of [`CACHEBLEND_CONNECTOR`].
pub const CACHEBLEND_MODULE: &str = "lmcache_cacheblend.connector";

/// Keys of `kv_connector_extra_config` that [`connection_config`] sets; `spec.connection.extraConfig` may not.
pub(crate) const OWN_KEYS: [&str; 6] = [
    "cb.check_layer",
    "cb.partial_bucket",
    "cb.recomp_ratio",
    "lmcache.mp.host",
    "lmcache.mp.isolated_ipc",
    "lmcache.mp.port",
];

/// The part of a vLLM Pod in prefill/decode disaggregation, from its annotation `lmcache.ai/pd-role`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PdRole {
    /// Computes prompts and hands their KV on.
    Prefiller,
    /// Takes KV over and generates.
    Decoder,
}

/// The ConfigMap key of a role, or of Pods without one.
pub const fn connection_key(role: Option<PdRole>) -> &'static str {
    match role {
        None => CONNECTION_KEY,
        Some(PdRole::Prefiller) => CONNECTION_KEY_PREFILLER,
        Some(PdRole::Decoder) => CONNECTION_KEY_DECODER,
    }
}

/// The JSON texts of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionConfig {
    /// For Pods without a role.
    pub plain: String,
    /// For prefillers; only with `spec.pd`.
    pub prefiller: Option<String>,
    /// For decoders; only with `spec.pd`.
    pub decoder: Option<String>,
}

impl ConnectionConfig {
    /// The ConfigMap's `data`.
    pub fn data(&self) -> BTreeMap<&'static str, &str> {
        let mut data = BTreeMap::new();
        for role in [None, Some(PdRole::Prefiller), Some(PdRole::Decoder)] {
            if let Some(text) = self.for_role(role) {
                data.insert(connection_key(role), text);
            }
        }
        data
    }

    /// The text for a role; `None` for a role when the engine has no `spec.pd`.
    pub fn for_role(&self, role: Option<PdRole>) -> Option<&str> {
        match role {
            None => Some(&self.plain),
            Some(PdRole::Prefiller) => self.prefiller.as_deref(),
            Some(PdRole::Decoder) => self.decoder.as_deref(),
        }
    }
}

/// The connection JSON of an engine. `cluster_domain` is the DNS suffix of Services, `cluster.local` if the cluster was
/// not set up otherwise; empty means that. Works on objects with and without defaults.
pub fn connection_config(engine: &EngineRef<'_>, ipc_mode: IpcMode, cluster_domain: &str) -> ConnectionConfig {
    let plain = connector(engine, ipc_mode, cluster_domain);
    let blends = engine.spec.kind() == Kind::CacheBlendEngine;
    let roles = engine.spec.pd().map(|pd| {
        let prefiller = multi_connector(pd, "kv_producer", plain.clone());
        // A CacheBlend decoder only takes KV over; it has nothing to blend.
        let decoder = if blends {
            nixl(pd, "kv_consumer")
        } else {
            multi_connector(pd, "kv_consumer", plain.clone())
        };
        (
            go_json::to_string_pretty(&prefiller),
            go_json::to_string_pretty(&decoder),
        )
    });
    let (prefiller, decoder) = roles.unzip();
    ConnectionConfig {
        plain: go_json::to_string_pretty(&plain),
        prefiller,
        decoder,
    }
}

/// The LMCache or CacheBlend connector alone.
fn connector(engine: &EngineRef<'_>, ipc_mode: IpcMode, cluster_domain: &str) -> Value {
    let (class, module) = match engine.spec.kind() {
        Kind::CacheBlendEngine => (CACHEBLEND_CONNECTOR, CACHEBLEND_MODULE),
        _ => (LMCACHE_CONNECTOR, LMCACHE_MODULE),
    };
    json!({
        "kv_connector": class,
        "kv_connector_extra_config": extra_config(engine, ipc_mode, cluster_domain),
        "kv_connector_module_path": module,
        "kv_role": "kv_both",
    })
}

fn extra_config(engine: &EngineRef<'_>, ipc_mode: IpcMode, cluster_domain: &str) -> Map<String, Value> {
    let EngineRef { name, namespace, spec } = engine;
    let domain = if cluster_domain.is_empty() {
        "cluster.local"
    } else {
        cluster_domain
    };
    let user = spec
        .connection()
        .and_then(|connection| connection.extra_config.as_ref());
    // The user's first: where validation was bypassed, our own keys still win.
    let mut config: Map<String, Value> = user
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    config.insert(
        "lmcache.mp.host".to_owned(),
        json!(format!("tcp://{name}.{namespace}.svc.{domain}")),
    );
    config.insert("lmcache.mp.port".to_owned(), json!(spec.server_port().to_string()));
    if spec.kind() == Kind::CacheBlendEngine {
        let unset = BlendSpec::default();
        let blend = spec.blend().unwrap_or(&unset);
        config.insert("cb.check_layer".to_owned(), json!(blend.check_layer.unwrap_or(1)));
        config.insert("cb.recomp_ratio".to_owned(), json!(blend.recomp_ratio.unwrap_or(0.15)));
        if let Some(bucket) = blend.partial_bucket {
            config.insert("cb.partial_bucket".to_owned(), json!(bucket));
        }
    } else if ipc_mode == IpcMode::Isolated {
        config.insert("lmcache.mp.isolated_ipc".to_owned(), json!(true));
    }
    config
}

/// NIXL for the transfer between Pods, then our connector for the cache.
fn multi_connector(pd: &PdSpec, role: &str, ours: Value) -> Value {
    json!({
        "kv_connector": "MultiConnector",
        "kv_connector_extra_config": {"connectors": [nixl(pd, role), ours]},
        "kv_role": role,
    })
}

fn nixl(pd: &PdSpec, role: &str) -> Value {
    let policy = pd.nixl_load_failure_policy.unwrap_or(NixlLoadFailurePolicy::Fail);
    let mut nixl = json!({
        "kv_connector": "NixlConnector",
        "kv_load_failure_policy": policy.as_str(),
        "kv_role": role,
    });
    if let (Some(enforce), Some(members)) = (pd.enforce_handshake_compat, nixl.as_object_mut()) {
        members.insert(
            "kv_connector_extra_config".to_owned(),
            json!({"enforce_handshake_compat": enforce}),
        );
    }
    nixl
}
