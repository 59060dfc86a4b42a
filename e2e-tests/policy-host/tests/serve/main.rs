//! `policy-host serve` and `policy-host webhooks`, over real sockets.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

#[path = "../host/common/mod.rs"]
mod common;

mod api_server;
mod https;
mod installed;
mod look_ups;
mod reviews;
mod server;
mod start;
mod time;
mod webhooks;
