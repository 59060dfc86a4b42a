//! What many engines cost: time, requests, memory; and what a Pod waits for the policies.
//!
//! Each run has a fresh control plane with simulated GPU nodes. Times are those of the API server's audit log. Figures are
//! reported and never judged: they depend on the machine and on what else it does.

mod engines;
mod figures;
mod pods;
mod subject;

pub use engines::{Engines, Run};
pub use figures::{Quantiles, Usage, quantiles};
pub use pods::{PODS_IN, Pods};
pub use subject::Subject;
