//! Running scenarios side by side and printing them in order.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::host::Host;
use crate::installed::Installed;
use crate::report::{Report, Verdict};
use crate::sandbox::Sandbox;
use crate::scenario::Scenario;

/// What came of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Scenarios.
    pub scenarios: usize,
    /// Started processes of LMCache.
    pub processes: usize,
    /// Checks that passed.
    pub passed: usize,
    /// Checks that failed.
    pub failed: usize,
    /// Checks that could be made if something were installed.
    pub skipped: usize,
    /// Checks that this host cannot make.
    pub left_out: usize,
    /// Titles of the scenarios with failed checks.
    pub failures: Vec<String>,
}

impl Totals {
    fn add(&mut self, title: String, report: &Report) {
        self.scenarios += 1;
        self.processes += report.processes();
        self.passed += report.count(Verdict::Passed);
        self.failed += report.count(Verdict::Failed);
        self.skipped += report.count(Verdict::Skipped);
        self.left_out += report.count(Verdict::LeftOut);
        if report.count(Verdict::Failed) > 0 {
            self.failures.push(title);
        }
    }
}

/// Runs the scenarios on `workers` threads; `print` gets the text of each, in the order of the list.
///
/// # Errors
/// A folder for logs cannot be made.
pub fn run(
    scenarios: &[Scenario],
    installed: &Installed,
    sandbox: Sandbox,
    logs: &Path,
    workers: usize,
    print: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<Totals> {
    let mut hosts = Vec::new();
    for scenario in scenarios {
        let folder = logs.join(scenario.release.to_string()).join(file_name(&scenario.name));
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let host = Host {
            installed,
            sandbox,
            folder,
        };
        hosts.push((scenario, host));
    }
    let next = AtomicUsize::new(0);
    let (sender, done) = mpsc::channel();
    let mut totals = Totals::default();
    thread::scope(|scope| {
        for _ in 0..workers {
            let (sender, next, hosts) = (sender.clone(), &next, &hosts);
            scope.spawn(move || {
                loop {
                    let position = next.fetch_add(1, Ordering::Relaxed);
                    let Some((scenario, host)) = hosts.get(position) else {
                        break;
                    };
                    // Where nobody receives, printing has failed and this is the last one.
                    let (report, text) = one(scenario, host);
                    let _ = sender.send((position, scenario.title(), report, text));
                }
            });
        }
        drop(sender);
        let mut waiting = BTreeMap::new();
        let mut printed = 0;
        for (position, title, report, text) in done {
            totals.add(title, &report);
            waiting.insert(position, text);
            while let Some(text) = waiting.remove(&printed) {
                if let Err(error) = print(&text) {
                    // Nobody reads the rest.
                    next.store(hosts.len(), Ordering::Relaxed);
                    return Err(error);
                }
                printed += 1;
            }
        }
        Ok(totals)
    })
}

fn one(scenario: &Scenario, host: &Host<'_>) -> (Report, String) {
    let begun = Instant::now();
    let mut report = Report::default();
    if let Err(error) = (scenario.run)(host, &mut report) {
        report.check("it runs to its end", false, format!("{error:#}"));
    }
    let mut text = format!(
        "{} ({:.1} s)\n{report}",
        scenario.title(),
        begun.elapsed().as_secs_f64()
    );
    if report.count(Verdict::Failed) > 0 {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  logs    {}", host.folder.display());
    }
    (report, text)
}

/// The name of a scenario as the name of a folder.
fn file_name(name: &str) -> String {
    let words = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_folders() {
        assert_eq!(file_name("--port = --http-port"), "port-http-port");
        assert_eq!(file_name("resp, Redis down"), "resp-Redis-down");
    }
}
