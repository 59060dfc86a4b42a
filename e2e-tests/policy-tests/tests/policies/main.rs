//! The compiled policies in the embedded host. One program, since each holds a whole wasmtime.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod chain;
mod demo;
mod deploy;
mod fixtures;
mod fuzz;
mod installed;
mod manifests;
mod match_conditions;
mod module;
mod odd_input;
mod page;
mod records;
mod samples;
mod sessions;
mod settings;
