//! All objects through all releases.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::Result;
use lmcache_api::Release;
use lmcache_server::table::{COORDINATOR_COMMAND, RELEASES, SERVER_COMMAND, newest};

use crate::input::{Input, Source};
use crate::parser::RealParser;
use crate::python::Python;
use crate::report::{Counts, RowReport};
use crate::verdict::{Disagreement, Row, judge};
use crate::{controls, exceptions, generate, input, rules, tokens};

/// All that is judged.
pub struct Objects {
    /// The samples, which have a column each.
    pub samples: Vec<Input>,
    /// Fixtures, recordings, generated objects and rules: each with the position of its counts.
    others: Vec<(usize, Input)>,
}

impl Objects {
    /// Reads and makes them.
    pub fn read() -> Result<Self> {
        let made = generate::all().into_iter().chain(rules::all());
        let (samples, others): (Vec<_>, Vec<_>) = input::all()?
            .into_iter()
            .chain(made)
            .partition(|input| input.source == Source::Sample);
        let position = |input: &Input| match input.source {
            Source::Sample | Source::Fixture => 0,
            Source::Recording => 1,
            Source::Generated => 2,
            Source::Rule => 3,
        };
        Ok(Objects {
            samples,
            others: others.into_iter().map(|input| (position(&input), input)).collect(),
        })
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.samples.len() + self.others.len()
    }
}

/// The reports of all rows, in their order. `folders` are those of the releases.
pub fn all(python: &Python, folders: &[PathBuf], objects: &Objects) -> Vec<RowReport> {
    let reports = in_parallel(rows(folders), |(rows, folder)| reports(rows, &folder, python, objects));
    reports.into_iter().flatten().collect()
}

/// For each known release its row; for the newest one also that of an image which does not tell its release. The rows of
/// one release share its process.
fn rows(folders: &[PathBuf]) -> Vec<(Vec<Row>, PathBuf)> {
    let rows = |parser: Release| {
        let stated = std::iter::once(Some(parser)).chain((parser == newest()).then_some(None));
        stated.map(|stated| Row { stated, parser }).collect()
    };
    RELEASES
        .iter()
        .zip(folders)
        .map(|(release, folder)| (rows(*release), folder.clone()))
        .collect()
}

fn reports(rows: Vec<Row>, folder: &Path, python: &Python, objects: &Objects) -> Vec<RowReport> {
    let mut parser = RealParser::start(python, folder);
    let report = |row| {
        let mut report = RowReport::new(row);
        match &mut parser {
            Ok(parser) => {
                let (asked, spent) = (parser.asked, parser.spent);
                fill(&mut report, parser, objects);
                report.lines = parser.asked - asked;
                report.spent = parser.spent - spent;
            }
            Err(error) => report.disagreements.push(bed_failed("loading", format!("{error:#}"))),
        }
        report
    };
    rows.into_iter().map(report).collect()
}

fn fill(report: &mut RowReport, parser: &mut RealParser, objects: &Objects) {
    let row = report.row;
    controls(report, parser);
    for sample in &objects.samples {
        let verdict = judge(row, sample, parser);
        let letter = verdict.as_ref().map_or('!', |verdict| verdict.letter());
        report.samples.push(letter);
        report
            .disagreements
            .extend(verdict.err().map(|why| (named(sample), why)));
    }
    for (position, input) in &objects.others {
        match (judge(row, input, parser), report.groups.get_mut(*position)) {
            (Ok(verdict), Some(counts)) => counts.add(&verdict),
            (Err(why), _) => report.disagreements.push((named(input), why)),
            (Ok(_), None) => {}
        }
    }
    // An image that does not tell its release has the newest one's parser, which has a row of its own.
    let commands = [("server", SERVER_COMMAND), ("coordinator", COORDINATOR_COMMAND)];
    for (command, span) in commands.into_iter().filter(|_| row.stated.is_some()) {
        if span.holds(position(row.parser)) {
            let agreement = tokens::compare(row, command, parser, &mut report.disagreements);
            report.agreement.add(agreement);
        }
    }
    controls(report, parser);
}

fn controls(report: &mut RowReport, parser: &mut RealParser) {
    match controls::run(report.row.parser, parser) {
        Ok(shown) => report.controls = shown,
        Err(text) => report.disagreements.push(bed_failed("controls", text)),
    }
}

fn position(release: Release) -> usize {
    RELEASES.iter().position(|known| *known == release).unwrap_or_default()
}

fn named(input: &Input) -> String {
    format!("{} {}", input.source.as_str(), input.name)
}

fn bed_failed(about: &str, detail: String) -> (String, Disagreement) {
    let headline = "the test bed failed";
    (about.to_owned(), Disagreement { headline, detail })
}

/// What a run must have shown to mean anything.
pub fn unproven(reports: &[RowReport]) -> Vec<String> {
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
                texts.push(format!(
                    "{}: {command}: in the table {has}, seen to check {shown}",
                    report.row
                ));
            }
        }
    }
    for exception in exceptions::EXCEPTIONS {
        if !all.exceptions.contains_key(exception.name) {
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
                    results
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parallel_work_keeps_its_order() {
        let squares = in_parallel((0..100).collect(), |number: i32| number * number);
        assert_eq!(squares, (0..100).map(|number| number * number).collect::<Vec<_>>());
    }

    #[test]
    fn every_release_has_a_row_and_so_has_an_image_that_does_not_tell() {
        let folders: Vec<PathBuf> = RELEASES
            .iter()
            .map(|release| PathBuf::from(release.to_string()))
            .collect();
        let jobs = rows(&folders);
        assert_eq!(jobs.len(), RELEASES.len());
        assert!(
            jobs.iter()
                .all(|(rows, folder)| rows.iter().all(|row| folder.ends_with(row.parser.to_string())))
        );
        let rows: Vec<_> = jobs
            .into_iter()
            .flat_map(|(rows, _)| rows)
            .map(|row| row.to_string())
            .collect();
        assert_eq!(rows.len(), RELEASES.len() + 1);
        assert_eq!(rows.last().map(String::as_str), Some("latest"));
    }
}
