//! The second tier.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::LocalObjectReference;
use crate::words::words;

words! {
    /// What is written to the second tier, and whether the first one keeps it.
    pub enum StorePolicy {
        /// Write through and keep in the first tier.
        Default = "default",
        /// The first tier is only a write buffer.
        SkipL1 = "skip_l1",
    }
}

words! {
    /// What happens in the first tier to data fetched from the second.
    pub enum PrefetchPolicy {
        /// Dropped after use.
        Default = "default",
        /// Kept.
        Retain = "retain",
    }
}

words! {
    /// How the data key is derived from the master key.
    pub enum KeyProvider {
        /// HKDF.
        Hkdf = "hkdf",
    }
}

/// The second tier: `resp` or `raw`, exactly one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::crd::table(&crate::schema::L2)))]
#[serde(rename_all = "camelCase", default)]
pub struct L2BackendSpec {
    /// A server that speaks the Redis protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resp: Option<RespSpec>,
    /// Any other adapter of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw: Option<RawL2Spec>,
    /// What is stored where: `default` writes through and keeps data in the first tier, with `skip_l1` that is only a
    /// write buffer. Default `default`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store_policy: Option<StorePolicy>,
    /// What becomes of fetched data in the first tier: `default` drops it after use, `retain` keeps it. Default
    /// `default`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefetch_policy: Option<PrefetchPolicy>,
    /// Fetches in flight at the same time, at least 1. Default 8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefetch_max_in_flight: Option<i32>,
    /// How values are transformed before they leave the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serde: Option<SerdeSpec>,
}

/// A server that speaks the Redis protocol.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::crd::table(&crate::schema::RESP)))]
#[serde(rename_all = "camelCase", default)]
pub struct RespSpec {
    /// Host name or address. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// TCP port, 1 to 65535. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<i32>,
    /// I/O threads, at least 1. Default 8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_workers: Option<i32>,
    /// Capacity in GB by which the server counts how full the second tier is; it evicts nothing by it. (An adapter
    /// evicts only with a member `eviction`, which `raw` can carry.) Default 0: not counted.
    #[serde(rename = "maxCapacityGB", skip_serializing_if = "Option::is_none")]
    pub max_capacity_gb: Option<f64>,
    /// Secret with `password` and, optionally, `username`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auth_secret_ref: Option<SecretReference>,
    /// Seconds, 1 to 3600, that an init container waits for the host to accept connections before the server starts,
    /// because the server never reconnects; it starts anyhow when the time is over. Unset: no wait. Not known to the Go
    /// operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_seconds: Option<i32>,
}

/// A Secret, possibly in another namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::crd::table(&crate::schema::SECRET_REF)))]
#[serde(rename_all = "camelCase", default)]
pub struct SecretReference {
    /// Name of the Secret. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Namespace of the Secret. Absent or empty: the engine's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// Any adapter of the server, as its own configuration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::crd::table(&crate::schema::RAW)))]
#[serde(rename_all = "camelCase", default)]
pub struct RawL2Spec {
    /// The adapter's `type`. Required.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    /// The adapter's other keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<BTreeMap<String, Value>>,
}

/// How values are transformed before they leave the node: exactly one member.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::crd::table(&crate::schema::SERDE)))]
#[serde(rename_all = "camelCase", default)]
pub struct SerdeSpec {
    /// Encryption with AES-GCM. Needs LMCache 0.5.3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aesgcm: Option<AesGcmSpec>,
}

/// Encryption with AES-GCM.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "crd", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "crd", schemars(transform = crate::crd::table(&crate::schema::AESGCM)))]
#[serde(rename_all = "camelCase", default)]
pub struct AesGcmSpec {
    /// Secret in the engine's namespace whose key `master` holds the master key. Required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub master_key_secret_ref: Option<LocalObjectReference>,
    /// How the data key is derived. Default `hkdf`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_provider: Option<KeyProvider>,
    /// Key length in bits, 128 or 256. Default 128.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aes_bits: Option<i32>,
}
