//! Installing: the Helm chart with every switch, its life on a cluster, and the targets of the Makefile that change one.
//!
//! These tests always start a control plane of their own, since they install and remove the kinds.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

#[path = "chart/kinds.rs"]
mod kinds;
#[path = "chart/life.rs"]
mod life;
#[path = "chart/network.rs"]
mod network;
#[path = "chart/readme.rs"]
mod readme;
#[path = "chart/refusals.rs"]
mod refusals;
#[path = "chart/same.rs"]
mod same;
#[path = "chart/setup.rs"]
mod setup;
mod shared;
#[path = "chart/staged.rs"]
mod staged;
#[path = "chart/switches.rs"]
mod switches;
#[path = "chart/targets.rs"]
mod targets;
