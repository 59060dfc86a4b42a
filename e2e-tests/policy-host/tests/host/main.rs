//! The library and the commands of policy-host, over policies that a test made.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod check;
mod common;
mod demo;
mod fixture;
mod host_calls;
mod metadata;
mod page;
mod run;
mod scaffold;
