//! Tests of decisions, on objects as the Go operator left them in a real cluster.

mod comparisons;
mod logins;
mod releases;
mod support;
mod takeover;
mod wanted;
