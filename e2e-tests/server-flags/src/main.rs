//! Gives every command line that lmcache-server renders to the real argument parsers and checks of the released lmcache.
//!
//! For each release, every custom resource of this repository (samples, fixtures, recordings), generated ones, and one
//! for each rule is rendered. What admission accepts, the released code must accept; what admission refuses because of
//! the release, the released code must refuse; where admission warns that a process will not start, it must not. There
//! is no third kind, but for the exceptions in `exceptions.rs`.
//!
//! `cargo run -p server-flags` prints a table and ends with 1 where something disagrees. Without Python or without the
//! wheels (a first run fetches about 200 MB from the package index) it says so in one line and ends with 0, or with 1 if
//! `REQUIRE_PYTHON=1`. `PYTHON` names the interpreter.

mod adapters;
mod controls;
mod exceptions;
mod generate;
mod input;
mod line;
mod parser;
mod python;
mod reason;
mod report;
mod rules;
mod run;
mod tokens;
mod verdict;

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use lmcache_server::table::RELEASES;

use crate::python::Python;

/// Disagreements that are printed with their detail; of the others there is a line each.
const DETAILED: usize = 20;

fn main() -> Result<ExitCode> {
    let start = Instant::now();
    let mut out = std::io::stdout().lock();
    let prepared = Python::find().and_then(|python| {
        let folders = python.unpack(&RELEASES)?;
        Ok((python, folders))
    });
    let (python, folders) = match prepared {
        Ok(prepared) => prepared,
        Err(reason) => {
            let required = std::env::var("REQUIRE_PYTHON").is_ok_and(|value| value == "1");
            let word = if required { "failed" } else { "skipped" };
            writeln!(out, "server-flags: {word}: {reason}")?;
            return Ok(if required { ExitCode::FAILURE } else { ExitCode::SUCCESS });
        }
    };
    let objects = run::Objects::read()?;
    writeln!(
        out,
        "{} objects through {} releases ...",
        objects.count(),
        RELEASES.len()
    )?;
    out.flush()?;
    let reports = run::all(&python, &folders, &objects);

    let names: Vec<String> = objects.samples.iter().map(|sample| sample.name.clone()).collect();
    writeln!(out, "Python {}\n\n{}", python.version, report::text(&reports, &names))?;
    let mut disagreements = report::disagreements(&reports);
    disagreements.extend(run::unproven(&reports));
    for (index, text) in disagreements.iter().enumerate() {
        let headline = text.split('\n').next().unwrap_or_default();
        writeln!(out, "{}", if index < DETAILED { text } else { headline })?;
    }
    writeln!(
        out,
        "{} disagreements, {:.0} s.",
        disagreements.len(),
        start.elapsed().as_secs_f64()
    )?;
    Ok(if disagreements.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
