//! What a pass over a custom resource has to do, decided on data.
//!
//! ```text
//! Inputs -> judge -> Judgement -> desire -> Desired -> step -> Step, one for each child
//! ```
//!
//! Everything here is a pure function; `reconcile` carries the steps out and `status` says how it went.

mod desire;
mod inputs;
mod judge;
mod legacy_template;
mod lists;
mod login;
mod managed;
mod problem;
mod rollout;
mod same;
mod settled;
mod step;

#[cfg(test)]
mod tests;

pub use desire::{Desired, Wanted, desire, fitted};
pub use inputs::{ChildName, Inputs, Monitors, Rival, Settings, Sought};
pub use judge::{Judgement, Subject, judge, without_legacy_finalizer};
pub use legacy_template::ROLLOUT_ANNOTATION;
pub use login::LOGIN_HASH_ANNOTATION;
pub use problem::{Problem, Reason, Report, Retry, Verdict, Workload};
pub use rollout::{Replaced, Rollout, rollout};
pub use step::{Owner, Step, foreign, step};
