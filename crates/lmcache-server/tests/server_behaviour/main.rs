//! What was seen of the released servers and matters to a Pod that we render, row by row: the line is written for it, or
//! the object is refused, or somebody is told.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]
#![cfg(not(target_arch = "wasm32"))]

#[path = "../support/mod.rs"]
mod support;

mod command;
mod coordinator;
mod second_tier;
mod values;

use lmcache_api::Kind;
use lmcache_server::table::{RELEASES, SERVER, find};
use lmcache_server::{CoordinatorOffers, Metrics, Offers, Segment};
use serde_json::{Value, json};
use support::{args, coordinator, doubts, engine, faults, fine, object, one_fault, only, read, run, value};

pub(crate) fn offers(release: &str) -> Offers {
    let object = read(Kind::LMCacheEngine, &engine(release, json!({})));
    Offers::of_engine(object.engine().unwrap())
}

pub(crate) fn coordinator_offers(release: &str) -> CoordinatorOffers {
    match read(Kind::LMCacheCoordinator, &coordinator(release, json!({}))) {
        lmcache_api::AnyObject::LMCacheCoordinator(coordinator) => CoordinatorOffers::of(&coordinator.spec),
        _ => panic!("no coordinator"),
    }
}

pub(crate) fn warned(object: &Value, says: &str) -> bool {
    doubts(Kind::LMCacheEngine, object)
        .iter()
        .any(|text| text.contains(says))
}

pub(crate) const RELEASES_WITH_COMMAND: [&str; 12] = [
    "0.4.3", "0.4.4", "0.4.5", "0.4.6", "0.4.7", "0.5.0", "0.5.1", "0.5.2", "0.5.3", "0.5.4", "0.5.5", "0.5.6",
];
