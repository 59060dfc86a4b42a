//! What a policy is for, which decides what it may do.

/// The job of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Judges custom resources.
    Engines,
    /// Changes Pods.
    Mutator(Owned),
    /// Accepts or refuses Pods.
    Guard,
    /// Warns about workloads.
    Preflight,
    /// Nothing is known of it but that it is a policy.
    Unknown,
}

/// The parts of a Pod that a policy may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owned {
    /// The connection of LMCache: connector, shared memory, hash seed, NIXL.
    pub connection: bool,
    /// The payload of LMCache.
    pub staging: bool,
    /// All of CacheBlend.
    pub cacheblend: bool,
}

impl Role {
    /// The job of a policy, by the name of its folder.
    pub fn of(policy: &str) -> Self {
        let owned = |connection, staging, cacheblend| {
            Self::Mutator(Owned {
                connection,
                staging,
                cacheblend,
            })
        };
        match policy {
            "engine-validation" => Self::Engines,
            "connection-injection" => owned(true, false, false),
            "payload-staging" => owned(false, true, false),
            "cacheblend-injection" => owned(false, false, true),
            "pod-injection" => owned(true, true, true),
            "injection-guard" => Self::Guard,
            "workload-preflight" => Self::Preflight,
            _ => Self::Unknown,
        }
    }
}

impl Role {
    /// The most look-ups for one request.
    pub fn lookups(self) -> usize {
        match self {
            // Engine, ConfigMap and Namespace.
            Self::Engines | Self::Mutator(_) | Self::Unknown => 3,
            // Engine and ConfigMap of each system whose stamp is on the Pod.
            Self::Guard => 4,
            // Engine and ConfigMap of each template of a LeaderWorkerSet, and their Namespace.
            Self::Preflight => 5,
        }
    }
}

impl Owned {
    /// The opt-in label and engine annotation of each system that the policy serves.
    pub fn systems(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let lmcache =
            (self.connection || self.staging).then_some(("lmcache.ai/lmcache-inject", "lmcache.ai/lmcache-engine"));
        let blend = self
            .cacheblend
            .then_some(("lmcache.ai/cacheblend-inject", "lmcache.ai/cacheblend-engine"));
        lmcache.into_iter().chain(blend)
    }
}
