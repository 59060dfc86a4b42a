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
mod report;
mod rules;
mod tokens;
mod verdict;

use std::collections::VecDeque;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use anyhow::Result;
use lmcache_api::Release;
use lmcache_server::table::{COORDINATOR_COMMAND, RELEASES, SERVER_COMMAND, newest};

use crate::input::{Input, Source};
use crate::parser::RealParser;
use crate::python::Python;
use crate::report::{Counts, RowReport};
use crate::verdict::{Row, judge, judge_rule};

/// Disagreements printed for each row; the rest is counted.
const SHOWN: usize = 12;

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
    let objects = Objects::read()?;
    let rows: Vec<(Row, PathBuf)> = rows(&folders);
    let reports = in_parallel(rows, |(row, folder)| report(row, &folder, &python, &objects));

    let names: Vec<String> = objects.samples.iter().map(|sample| sample.name.clone()).collect();
    writeln!(out, "Python {}\n\n{}", python.version, report::text(&reports, &names))?;
    let mut disagreements = 0;
    for report in &reports {
        disagreements += report.disagreements.len();
        for text in report.disagreements.iter().take(SHOWN) {
            writeln!(out, "{}: {text}", report.row)?;
        }
        if report.disagreements.len() > SHOWN {
            writeln!(out, "{}: ... and {} more", report.row, report.disagreements.len() - SHOWN)?;
        }
    }
    for text in unproven(&reports) {
        disagreements += 1;
        writeln!(out, "{text}")?;
    }
    writeln!(out, "{disagreements} disagreements, {:.0} s.", start.elapsed().as_secs_f64())?;
    Ok(if disagreements == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// All that is judged.
struct Objects {
    samples: Vec<Input>,
    /// Fixtures, recordings, generated objects: each with the position of its counts.
    others: Vec<(usize, Input)>,
    rules: Vec<Input>,
}

impl Objects {
    fn read() -> Result<Self> {
        let (samples, others): (Vec<_>, Vec<_>) =
            input::all()?.into_iter().chain(generate::all()).partition(|input| input.source == Source::Sample);
        let position = |input: &Input| match input.source {
            Source::Sample | Source::Fixture => 0,
            Source::Recording => 1,
            Source::Generated => 2,
        };
        Ok(Objects {
            samples,
            others: others.into_iter().map(|input| (position(&input), input)).collect(),
            rules: rules::all(),
        })
    }
}

/// Every known release, and an image that does not tell its release.
fn rows(folders: &[PathBuf]) -> Vec<(Row, PathBuf)> {
    let known = RELEASES.iter().zip(folders);
    let mut rows: Vec<_> = known
        .map(|(release, folder)| {
            let row = Row {
                stated: Some(*release),
                parser: *release,
            };
            (row, folder.clone())
        })
        .collect();
    if let Some(folder) = folders.last() {
        let row = Row {
            stated: None,
            parser: newest(),
        };
        rows.push((row, folder.clone()));
    }
    rows
}

fn report(row: Row, folder: &Path, python: &Python, objects: &Objects) -> RowReport {
    let mut report = RowReport {
        row,
        samples: Vec::new(),
        groups: Default::default(),
        controls: Default::default(),
        agreement: Default::default(),
        lines: 0,
        spent: Default::default(),
        disagreements: Vec::new(),
    };
    match RealParser::start(python, folder) {
        Ok(mut parser) => {
            fill(&mut report, &mut parser, objects);
            report.lines = parser.asked;
            report.spent = parser.spent;
        }
        Err(error) => report.disagreements.push(format!("{error:#}")),
    }
    report
}

fn fill(report: &mut RowReport, parser: &mut RealParser, objects: &Objects) {
    let row = report.row;
    controls(report, parser);
    for sample in &objects.samples {
        let verdict = judge(row, sample, parser);
        report.samples.push(verdict.as_ref().map_or('!', |verdict| verdict.letter()));
        report.disagreements.extend(verdict.err().map(|text| named(sample, &text)));
    }
    let others = objects.others.iter().map(|(position, input)| (*position, input, judge as Judge));
    let rules = objects.rules.iter().map(|input| (3, input, judge_rule as Judge));
    for (position, input, judge) in others.chain(rules) {
        match (judge(row, input, parser), report.groups.get_mut(position)) {
            (Ok(verdict), Some(counts)) => counts.add(&verdict),
            (Err(text), _) => report.disagreements.push(named(input, &text)),
            (Ok(_), None) => {}
        }
    }
    // An image that does not tell its release has the newest one's parser, which has a row of its own.
    let commands = [("server", SERVER_COMMAND), ("coordinator", COORDINATOR_COMMAND)];
    for (command, span) in commands.into_iter().filter(|_| row.stated.is_some()) {
        if span.holds(position(row.parser)) {
            match tokens::compare(row, command, parser) {
                Ok(agreement) => report.agreement.add(agreement),
                Err(texts) => report.disagreements.extend(texts),
            }
        }
    }
    controls(report, parser);
}

type Judge = fn(Row, &Input, &mut RealParser) -> Result<verdict::Verdict, String>;

fn controls(report: &mut RowReport, parser: &mut RealParser) {
    match controls::run(report.row.parser, parser) {
        Ok(shown) => report.controls = shown,
        Err(text) => report.disagreements.push(format!("control: {text}")),
    }
}

fn position(release: Release) -> usize {
    RELEASES.iter().position(|known| *known == release).unwrap_or_default()
}

fn named(input: &Input, text: &str) -> String {
    format!("{} {}: {text}", input.source.as_str(), input.name)
}

/// What a run must have shown to mean anything.
fn unproven(reports: &[RowReport]) -> Vec<String> {
    let mut texts = Vec::new();
    let mut all = Counts::default();
    for report in reports {
        report.groups.iter().for_each(|counts| all.add_all(counts));
        for (span, shown, command) in [
            (SERVER_COMMAND, report.controls.server, "server"),
            (COORDINATOR_COMMAND, report.controls.coordinator, "coordinator"),
        ] {
            let has = span.holds(position(report.row.parser));
            if has != shown {
                texts.push(format!("{}: {command}: in the table {has}, seen to check {shown}", report.row));
            }
        }
    }
    for exception in exceptions::EXCEPTIONS.iter().filter(|exception| exception.is_of_faults()) {
        if !all.for_behaviour.contains_key(exception.name) {
            texts.push(format!("exception {:?} excuses nothing: remove it", exception.name));
        }
    }
    texts
}

/// Results in the order of the items, worked on by as many threads as there are cores.
fn in_parallel<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let queue = Mutex::new(items.into_iter().enumerate().collect::<VecDeque<_>>());
    let results = Mutex::new(Vec::new());
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some((index, item)) = next else { break };
                    let result = work(item);
                    results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn parallel_work_keeps_its_order() {
        let squares = in_parallel((0..100).collect(), |number: i32| number * number);
        assert_eq!(squares, (0..100).map(|number| number * number).collect::<Vec<_>>());
    }

    #[test]
    fn every_release_has_a_row_and_so_has_an_image_that_does_not_tell() {
        let folders: Vec<PathBuf> = RELEASES.iter().map(|release| PathBuf::from(release.to_string())).collect();
        let rows = rows(&folders);
        assert_eq!(rows.len(), RELEASES.len() + 1);
        assert!(rows.iter().all(|(row, folder)| folder.ends_with(row.parser.to_string())));
    }
}
