//! What is started and asked, in pieces that can run side by side.

pub mod coordinator;
pub mod engine;
pub mod list;
pub mod options;
pub mod samples;
pub mod tier;

use anyhow::Result;
use lmcache_api::Release;

use crate::host::Host;
use crate::report::Report;

/// Starts processes and writes what came of it.
pub type Run = dyn Fn(&Host<'_>, &mut Report) -> Result<()> + Send + Sync;

/// Started processes and the checks on them.
pub struct Scenario {
    /// A few words; with the release the name of the folder of its logs.
    pub name: String,
    /// The release that runs.
    pub release: Release,
    /// Starts and checks. An error counts as a failed check.
    pub run: Box<Run>,
}

impl Scenario {
    /// A scenario.
    pub fn new(
        name: impl Into<String>,
        release: Release,
        run: impl Fn(&Host<'_>, &mut Report) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        Scenario {
            name: name.into(),
            release,
            run: Box::new(run),
        }
    }

    /// As the report calls it.
    pub fn title(&self) -> String {
        format!("lmcache {}: {}", self.release, self.name)
    }
}
