//! The API group and its kinds.

use std::fmt;
use std::str::FromStr;

/// The API group. `lmcache.ai/` is only the prefix of Pod labels and annotations.
pub const GROUP: &str = "lmcache.lmcache.ai";
/// The only version.
pub const VERSION: &str = "v1alpha1";
/// Group and version, as `apiVersion` writes them.
pub const API_VERSION: &str = "lmcache.lmcache.ai/v1alpha1";

/// A kind of the group. All of them are namespaced and have a `status` subresource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A node-local cache server (DaemonSet) with plain prefix caching.
    LMCacheEngine,
    /// A node-local cache server that can blend chunks at any position.
    CacheBlendEngine,
    /// The coordinator of a fleet of engines (Deployment).
    LMCacheCoordinator,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 3] = [Kind::LMCacheEngine, Kind::CacheBlendEngine, Kind::LMCacheCoordinator];

    /// The name in `kind`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::LMCacheEngine => "LMCacheEngine",
            Kind::CacheBlendEngine => "CacheBlendEngine",
            Kind::LMCacheCoordinator => "LMCacheCoordinator",
        }
    }

    /// The name in URLs, RBAC rules and webhook rules.
    pub const fn plural(self) -> &'static str {
        match self {
            Kind::LMCacheEngine => "lmcacheengines",
            Kind::CacheBlendEngine => "cacheblendengines",
            Kind::LMCacheCoordinator => "lmcachecoordinators",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Kind {
    type Err = String;

    /// Reads the name in `kind`, which is case-sensitive.
    fn from_str(text: &str) -> Result<Self, String> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| {
            format!("unknown kind {text:?}, expected LMCacheEngine, CacheBlendEngine or LMCacheCoordinator")
        })
    }
}
