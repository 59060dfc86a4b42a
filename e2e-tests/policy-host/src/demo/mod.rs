//! A readable report over a folder of demonstration steps.

mod diff;
mod paint;
mod report;
mod steps;

pub use diff::unified;
pub use paint::{ColorChoice, Paint};
pub(crate) use report::reasons;
pub use report::run;
pub use steps::{Demo, Expect, FORMAT, Step};
