//! The reconcilers against an API server in memory: which requests they make, in which order, and what is stored then.
//!
//! `api` is the API server (`api_server` holds it to recordings of a real one), `world` the cluster around it: watches, people,
//! and in `nodes` Kubernetes' own controllers. Each other module is about one kind of situation; `weaknesses` holds those of
//! the Go operator that show here and are none, by their number.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod api;
mod api_server;
mod children;
mod coordinator;
mod create;
mod failures;
mod foreign;
mod invalid;
mod login;
mod meanwhile;
mod metrics;
mod monitors;
mod names;
mod nodes;
mod objects;
mod recorded;
mod secrecy;
mod settled;
mod takeover;
mod takeover_disturbed;
mod weaknesses;
mod world;
