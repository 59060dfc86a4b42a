//! The objects that engines and coordinators become: ours, and beside the Go operator's.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod command;
mod differences;
mod go_operator;
mod go_operator_command;
mod goldens;
mod numbers;
mod pods;
mod support;
mod weaknesses_of_fields;
mod weaknesses_of_reconcilers;
