//! The first status of a custom resource.

use crate::plan::{Inputs, Report, Verdict};

/// Whether the status may wait until somebody has looked at the workload: a new custom resource then gets one status and
/// not two within a moment, of which the first says no more than that the workload is not taken up yet.
///
/// Only a first one waits, and only as long as there is nothing wrong to tell.
pub fn may_wait(inputs: &Inputs, report: &Report) -> bool {
    let is_unseen = (report.workload.as_ref())
        .is_some_and(|workload| workload.status.observed_generation < workload.status.generation);
    is_unseen && report.verdict == Verdict::Valid && report.problems.is_empty() && !inputs.custom.facts.has_status
}
