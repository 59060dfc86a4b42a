//! The four policies that change Pods.

use super::settings::{Settings, Steps};
use super::system::{CACHEBLEND, LMCACHE, System};
use super::wiring::Part;

/// A part of the wiring of one system.
#[derive(Debug, Clone, Copy)]
pub struct Side {
    /// The system.
    pub system: &'static System,
    /// The part.
    pub part: Part,
}

/// A policy that changes Pods.
#[derive(Debug, Clone, Copy)]
pub struct Mutator {
    /// Its name.
    pub name: &'static str,
    /// Reads its settings.
    pub settings: fn(&str) -> Result<Settings, String>,
    /// What it does, LMCache first. Of a Pod that asks for both systems, LMCache's side notes that it stands back.
    pub sides: fn(&Settings) -> [Option<Side>; 2],
}

const fn lmcache(part: Part) -> [Option<Side>; 2] {
    let system = &LMCACHE;
    [Some(Side { system, part }), None]
}

const BLENDING: Side = Side {
    system: &CACHEBLEND,
    part: Part::Whole,
};

/// Wires Pods to LMCacheEngines, but for the payload.
pub const CONNECTION_INJECTION: Mutator = Mutator {
    name: "connection-injection",
    settings: Settings::read,
    sides: |_| lmcache(Part::Connection),
};

/// Stages the payload of LMCacheEngines.
pub const PAYLOAD_STAGING: Mutator = Mutator {
    name: "payload-staging",
    settings: Settings::read,
    sides: |_| lmcache(Part::Staging),
};

/// Wires Pods to CacheBlendEngines, payload included.
pub const CACHEBLEND_INJECTION: Mutator = Mutator {
    name: "cacheblend-injection",
    settings: Settings::read_cacheblend,
    sides: |_| [None, Some(BLENDING)],
};

/// All three in one.
pub const POD_INJECTION: Mutator = Mutator {
    name: "pod-injection",
    settings: Settings::read_all,
    sides: chosen,
};

fn chosen(settings: &Settings) -> [Option<Side>; 2] {
    let Steps {
        connection,
        staging,
        cacheblend,
    } = settings.steps;
    let part = match (connection, staging) {
        (true, true) => Some(Part::Whole),
        (true, false) => Some(Part::Connection),
        (false, true) => Some(Part::Staging),
        (false, false) => None,
    };
    let system = &LMCACHE;
    [part.map(|part| Side { system, part }), cacheblend.then_some(BLENDING)]
}
