//! The process of the controller: options, probes, metrics, leader election, start and stop.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod adopt;
mod api;
mod binary;
mod docs;
mod election;
mod endpoints;
mod help;
mod metrics;
mod monitoring;
mod rivals;
