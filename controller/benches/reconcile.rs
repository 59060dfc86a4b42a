//! A pass over an engine that is as it should be: how many requests it makes, how many of them write, and how long it takes.
//!
//! The API server is the one of the tests in `tests/reconcile`: it is in memory, so the time is the controller's own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    dead_code,
    unused_imports,
    reason = "measures, and needs a part of what the tests need"
)]

#[path = "../tests/reconcile/api/mod.rs"]
mod api;
#[path = "../tests/reconcile/nodes.rs"]
mod nodes;
#[path = "../tests/reconcile/objects.rs"]
mod objects;
#[path = "../tests/reconcile/world.rs"]
mod world;

use std::time::Instant;

use serde_json::json;

use objects::{engine, kv};
use world::World;

/// `cargo test --benches` wants to know that it runs, no more.
const PASSES: u32 = if cfg!(debug_assertions) { 10 } else { 1_000 };

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut world = World::new();
    world.create(&engine(json!({"prometheus": {"serviceMonitor": {"enabled": true}}})));
    let created = world.settle_calls().await;
    let nodes: Vec<String> = (0..20).map(|number| format!("node-{number:02}")).collect();
    let ready: Vec<(&str, bool)> = nodes.iter().map(|node| (node.as_str(), true)).collect();
    world.run_servers("kv", &ready);
    world.settle().await;

    let (mut calls, mut writes) = (0, 0);
    let begun = Instant::now();
    for _ in 0..PASSES {
        let (_, made) = world.pass(&kv()).await;
        calls += made.len();
        writes += made.iter().filter(|call| call.is_write()).count();
    }
    let each = begun.elapsed() / PASSES;
    println!(
        "engine with 20 servers and a ServiceMonitor: created with {} API calls",
        created.len()
    );
    println!("settled pass, {PASSES} times: {calls} API calls, {writes} writes, {each:?} each");
    assert_eq!((calls, writes), (0, 0), "a settled pass makes no request");
}
