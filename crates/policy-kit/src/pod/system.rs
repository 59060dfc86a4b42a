//! The two systems that a Pod can use, and in what they differ.

use super::staging::Staging;
use crate::keys::{self, SystemKeys};
use lmcache_api::{CACHEBLEND_CONNECTOR, Kind, LMCACHE_CONNECTOR, PdRole};

/// Connector of a Pod that only takes KV over from others.
const NIXL_CONNECTOR: &str = "NixlConnector";

/// One of the two systems.
#[derive(Debug)]
pub struct System {
    /// Kind of its engines.
    pub kind: Kind,
    /// Its labels and annotations.
    pub keys: &'static SystemKeys,
    /// Names and path of its payload.
    pub staging: Staging,
    /// Keys of the audit annotations: outcome, reason, engine.
    pub audit: [&'static str; 3],
}

/// Pods that use an LMCacheEngine.
pub static LMCACHE: System = System {
    kind: Kind::LMCacheEngine,
    keys: &keys::LMCACHE,
    staging: Staging {
        volume: "lmcache-payload",
        path: "/lmcache-payload",
        init_container: "lmcache-payload-stage",
    },
    audit: ["outcome", "reason", "engine"],
};

/// Pods that use a CacheBlendEngine.
pub static CACHEBLEND: System = System {
    kind: Kind::CacheBlendEngine,
    keys: &keys::CACHEBLEND,
    staging: Staging {
        volume: "cb-plugin",
        path: "/cb-plugin",
        init_container: "cb-plugin-stage",
    },
    audit: ["cacheblend-outcome", "cacheblend-reason", "cacheblend-engine"],
};

impl System {
    /// Is this CacheBlend?
    pub fn blends(&self) -> bool {
        self.kind == Kind::CacheBlendEngine
    }

    /// A CacheBlend decoder only takes KV over: it needs the connector for that and nothing else of the system.
    pub(crate) fn only_takes_over(&self, role: Option<PdRole>) -> bool {
        self.blends() && role == Some(PdRole::Decoder)
    }

    /// The connector class that wires a Pod of the given role.
    pub(crate) fn connector(&self, role: Option<PdRole>) -> &'static str {
        match self.kind {
            Kind::CacheBlendEngine if self.only_takes_over(role) => NIXL_CONNECTOR,
            Kind::CacheBlendEngine => CACHEBLEND_CONNECTOR,
            Kind::LMCacheEngine | Kind::LMCacheCoordinator => LMCACHE_CONNECTOR,
        }
    }
}
