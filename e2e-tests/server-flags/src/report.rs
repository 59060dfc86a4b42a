//! What is printed.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use crate::controls::Shown;
use crate::exceptions::EXCEPTIONS;
use crate::tokens::Agreement;
use crate::verdict::{Disagreement, Row, Verdict};

/// How many verdicts of each sort.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Admitted and accepted.
    pub accepted: usize,
    /// Admitted with a warning, refused.
    pub foretold: usize,
    /// Refused at admission because of the release, and by the parser.
    pub for_release: usize,
    /// Refused at admission because of the release, for what only the started process shows.
    pub for_behaviour: usize,
    /// How often each exception was needed, by its name.
    pub exceptions: BTreeMap<&'static str, usize>,
    /// Refused at admission in any release, and by the parser.
    pub always_and_parser: usize,
    /// Refused at admission in any release; the parser would take it.
    pub always: usize,
}

impl Counts {
    /// Adds one.
    pub fn add(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Accepted => self.accepted += 1,
            Verdict::Foretold => self.foretold += 1,
            Verdict::RefusedForRelease => self.for_release += 1,
            Verdict::AcceptedWithWarning(exception) => {
                self.accepted += 1;
                *self.exceptions.entry(exception.name).or_default() += 1;
            }
            Verdict::RefusedForBehaviour(exception) => {
                self.for_behaviour += 1;
                *self.exceptions.entry(exception.name).or_default() += 1;
            }
            Verdict::RefusedAlways(true) => self.always_and_parser += 1,
            Verdict::RefusedAlways(false) => self.always += 1,
        }
    }

    /// Adds those of another row.
    pub fn add_all(&mut self, other: &Counts) {
        self.accepted += other.accepted;
        self.foretold += other.foretold;
        self.for_release += other.for_release;
        self.for_behaviour += other.for_behaviour;
        self.always_and_parser += other.always_and_parser;
        self.always += other.always;
        for (name, count) in &other.exceptions {
            *self.exceptions.entry(name).or_default() += count;
        }
    }

    fn refused(&self) -> usize {
        self.for_release + self.for_behaviour + self.always_and_parser + self.always
    }

    fn text(&self) -> String {
        format!("{:>3} {:>3} {:>3}", self.accepted, self.foretold, self.refused())
    }
}

/// All that one row showed.
pub struct RowReport {
    /// Which.
    pub row: Row,
    /// One letter for each sample, in their order.
    pub samples: Vec<char>,
    /// Counts of fixtures, recordings, generated objects, rules.
    pub groups: [Counts; 4],
    /// What the controls showed.
    pub controls: Shown,
    /// The comparison with `argparse`.
    pub agreement: Agreement,
    /// Lines that the real code read, and the time that took.
    pub lines: usize,
    /// See [`RowReport::lines`].
    pub spent: Duration,
    /// What does not agree, and about what.
    pub disagreements: Vec<(String, Disagreement)>,
}

impl RowReport {
    /// Of a row of which nothing is known yet.
    pub fn new(row: Row) -> Self {
        RowReport {
            row,
            samples: Vec::new(),
            groups: Default::default(),
            controls: Default::default(),
            agreement: Default::default(),
            lines: 0,
            spent: Default::default(),
            disagreements: Vec::new(),
        }
    }
}

/// Every disagreement once, with the releases that have it and the detail of the last one.
pub fn disagreements(rows: &[RowReport]) -> Vec<String> {
    let mut found: Vec<(&String, &'static str, Vec<String>, &String)> = Vec::new();
    for report in rows {
        for (about, Disagreement { headline, detail }) in &report.disagreements {
            let row = report.row.to_string();
            match found.iter_mut().find(|other| other.0 == about && other.1 == *headline) {
                Some(other) => {
                    other.2.push(row);
                    other.3 = detail;
                }
                None => found.push((about, headline, vec![row], detail)),
            }
        }
    }
    let text = |(about, headline, rows, detail): (&String, &str, Vec<String>, &String)| {
        format!(
            "{about}: {headline} ({})\n    {}\n",
            rows.join(", "),
            detail.replace('\n', "\n    ")
        )
    };
    found.into_iter().map(text).collect()
}

/// The table, the legend, the totals.
pub fn text(rows: &[RowReport], samples: &[String]) -> String {
    let mut out = String::new();
    for (index, name) in samples.iter().enumerate() {
        let _ = writeln!(out, "  {:>2} {name}", index + 1);
    }
    out.push_str("\nA: accepted by the real parser   W: refused by it, as a warning at admission says   R: refused at admission\n\n");
    let _ = write!(out, "{:<8}", "release");
    for index in 1..=samples.len() {
        let _ = write!(out, "{index:>3}");
    }
    for group in ["fixtures", "recordings", "generated", "rules"] {
        let _ = write!(out, " | {group:<11}");
    }
    let _ = write!(out, "\n{:<8}{}", "", "   ".repeat(samples.len()));
    for _ in 0..4 {
        let _ = write!(out, " |   A   W   R");
    }
    out.push('\n');
    for report in rows {
        let _ = write!(out, "{:<8}", report.row);
        for letter in &report.samples {
            let _ = write!(out, "{letter:>3}");
        }
        for counts in &report.groups {
            let _ = write!(out, " | {}", counts.text());
        }
        out.push('\n');
    }
    totals(rows, &mut out);
    out
}

fn totals(rows: &[RowReport], out: &mut String) {
    let mut counts = Counts::default();
    for report in rows {
        report.groups.iter().for_each(|group| counts.add_all(group));
    }
    let _ = writeln!(out, "\nRefused at admission (without the samples):");
    let _ = writeln!(
        out,
        "  {:>5} because of the release, and refused by the real parser too",
        counts.for_release
    );
    let _ = writeln!(
        out,
        "  {:>5} because of the release, by an exception below",
        counts.for_behaviour
    );
    let _ = writeln!(
        out,
        "  {:>5} whatever the release, and refused by the real parser too",
        counts.always_and_parser
    );
    let _ = writeln!(
        out,
        "  {:>5} whatever the release, for what the parser does not look at (names, images, volumes, ranges)",
        counts.always
    );

    let _ = writeln!(
        out,
        "\nExceptions, where the parser sees less than the started process, and how often they were needed:"
    );
    for exception in EXCEPTIONS {
        let count = counts.exceptions.get(exception.name).copied().unwrap_or_default();
        let _ = writeln!(out, "  {count:>5} {}: {}", exception.name, exception.reason);
    }

    let stated = || rows.iter().filter(|report| report.row.stated.is_some());
    let lines: usize = rows.iter().map(|report| report.controls.lines).sum();
    let servers = stated().filter(|report| report.controls.server).count();
    let coordinators = stated().filter(|report| report.controls.coordinator).count();
    let _ = writeln!(
        out,
        "\nThe released checks ran in {servers} releases of the server and {coordinators} of the coordinator, as {lines} \
         lines with a known outcome show."
    );
    let sum = |what: fn(&Agreement) -> usize| rows.iter().map(|report| what(&report.agreement)).sum::<usize>();
    let _ = writeln!(
        out,
        "Made-up extraArgs, read by us and by argparse: {} taken by both with {} equal values, {} refused by both for the \
         same reason.",
        sum(|agreement| agreement.taken),
        sum(|agreement| agreement.values),
        sum(|agreement| agreement.refused)
    );
    let lines: usize = rows.iter().map(|report| report.lines).sum();
    let spent: Duration = rows.iter().map(|report| report.spent).sum();
    let each = spent.as_secs_f64() * 1000.0 / lines.max(1) as f64;
    let _ = writeln!(out, "{lines} lines through the real code, {each:.1} ms each.");
}
