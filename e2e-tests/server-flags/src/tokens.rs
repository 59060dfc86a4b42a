//! Our reading of `extraArgs` against `argparse` itself: made-up tokens, the predicted complaint, the real one.

use std::collections::BTreeSet;

use lmcache_server::argparse::{Complaint, Problem, Reading, number, read};
use lmcache_server::table::{COORDINATOR, Flag, RELEASES, SERVER, Takes};
use serde_json::{Value, json};

use crate::controls::REQUIRED;
use crate::generate::random::Random;
use crate::line::Line;
use crate::parser::{Answer, Outcome, RealParser};
use crate::verdict::{Disagreement, Row};

/// Lists made for each command of each release.
pub const COUNT: usize = 150;

/// How often reading and parser agreed, and on what.
#[derive(Clone, Copy, Debug, Default)]
pub struct Agreement {
    /// Lists that both take.
    pub taken: usize,
    /// Lists that both refuse, for a reason of the same sort.
    pub refused: usize,
    /// Values that both read alike.
    pub values: usize,
}

impl Agreement {
    /// Adds that of another command.
    pub fn add(&mut self, other: Agreement) {
        self.taken += other.taken;
        self.refused += other.refused;
        self.values += other.values;
    }
}

/// Compares made-up lists for one command of a release. What disagrees is added to `disagreements`.
pub fn compare(
    row: Row,
    command: &'static str,
    parser: &mut RealParser,
    disagreements: &mut Vec<(String, Disagreement)>,
) -> Agreement {
    let position = RELEASES
        .iter()
        .position(|release| *release == row.parser)
        .unwrap_or_default();
    let (flags, before): (&'static [Flag], &[&str]) = match command {
        "server" => (&SERVER, REQUIRED),
        _ => (&COORDINATOR, &[]),
    };
    let known: Vec<&'static Flag> = flags.iter().filter(|flag| flag.span.holds(position)).collect();
    let mut random = Random::new(0xA46_9A25E + position as u64);
    let mut agreement = Agreement::default();
    for _ in 0..COUNT {
        let tokens = tokens(&mut random, &known, position);
        let mut line = Line::new(command, before);
        line.args.extend(tokens.iter().cloned());
        let reading = read(flags, position, &tokens);
        let mut disagree = |detail| {
            let headline = "read otherwise by argparse";
            disagreements.push((
                format!("lmcache {command} {tokens:?}"),
                Disagreement { headline, detail },
            ));
        };
        match parser.ask_again(&line, true) {
            Err(error) => disagree(format!("{error:#}")),
            Ok(answer) => {
                if let Err(text) = judge(&reading, &answer, &mut agreement) {
                    disagree(text);
                }
            }
        }
    }
    agreement
}

/// The sorts of complaint, as `argparse` words them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sort {
    Unknown,
    Ambiguous,
    NoValue,
    UnwantedValue,
    NoNumber,
    NoWord,
}

impl Sort {
    fn predicted(problem: &Problem) -> Self {
        match problem {
            Problem::Unknown => Sort::Unknown,
            Problem::Ambiguous(..) => Sort::Ambiguous,
            Problem::NoValue(_) => Sort::NoValue,
            Problem::UnwantedValue(_) => Sort::UnwantedValue,
            Problem::NoNumber(_) => Sort::NoNumber,
            Problem::NoWord(_) => Sort::NoWord,
        }
    }

    fn real(message: &str) -> Option<Self> {
        [
            ("unrecognized arguments", Sort::Unknown),
            ("ambiguous option", Sort::Ambiguous),
            ("expected one argument", Sort::NoValue),
            ("expected at least one argument", Sort::NoValue),
            ("ignored explicit argument", Sort::UnwantedValue),
            ("invalid choice", Sort::NoWord),
            ("invalid int value", Sort::NoNumber),
            ("invalid float value", Sort::NoNumber),
        ]
        .into_iter()
        .find_map(|(text, sort)| message.contains(text).then_some(sort))
    }
}

fn judge(reading: &Reading<'_>, answer: &Answer, agreement: &mut Agreement) -> Result<(), String> {
    let predicted: BTreeSet<Sort> = reading
        .complaints
        .iter()
        .map(|complaint| Sort::predicted(&complaint.problem))
        .collect();
    let asks_for_help = reading
        .uses
        .iter()
        .any(|used| matches!(used.flag.name, "--help" | "-h"));
    let differs = || {
        Err(format!(
            "predicted {predicted:?}, got {:?} {:?}",
            answer.outcome, answer.message
        ))
    };
    match answer.outcome {
        // A check that comes after the parser.
        Outcome::Accepted | Outcome::Config if predicted.is_empty() && !asks_for_help => {
            agreement.taken += 1;
            agreement.values += same_values(reading, answer)?;
            Ok(())
        }
        // Unknown tokens are complained of at the very end, everything else at once; so help can come first.
        Outcome::Help if asks_for_help => Ok(()),
        Outcome::Usage => {
            let Some(real) = Sort::real(&answer.message) else {
                return Err(format!("a complaint of no known sort: {:?}", answer.message));
            };
            // It complains of what it does not know only if nothing else is wrong. (From Python 3.13 on it does not know
            // `-x` in `-qx`; before, that was a value that `-q` does not take.)
            let is_short = |complaint: &Complaint<'_>| !complaint.token.starts_with("--");
            let can_be_unknown = reading.complaints.iter().all(|complaint| match complaint.problem {
                Problem::Unknown => true,
                Problem::UnwantedValue(_) => is_short(complaint),
                _ => false,
            });
            let is_predicted = match real {
                Sort::Unknown => !predicted.is_empty() && can_be_unknown,
                _ => predicted.contains(&real),
            };
            if !is_predicted {
                return differs();
            }
            agreement.refused += 1;
            Ok(())
        }
        _ => differs(),
    }
}

/// How many flags have the value that we read.
fn same_values(reading: &Reading<'_>, answer: &Answer) -> Result<usize, String> {
    let names: BTreeSet<&str> = reading.uses.iter().map(|used| used.flag.name).collect();
    let mut same = 0;
    for name in names {
        let key = name.trim_start_matches('-').replace('-', "_");
        let (Some(used), Some(real)) = (reading.last(name), answer.parsed.get(&key)) else {
            continue;
        };
        let text = used.value().unwrap_or_default();
        let is_same = match used.flag.takes {
            Takes::Nothing => *real == json!(true),
            Takes::OnOff => *real == json!(!used.negated),
            Takes::Int | Takes::Float => match number::value(text) {
                Some(ours) => real.as_f64() == Some(ours),
                // Not finite: no number in JSON.
                None => real.is_string(),
            },
            Takes::Text if used.flag.repeats => {
                let all = reading
                    .uses
                    .iter()
                    .filter(|used| used.flag.name == name)
                    .filter_map(|used| used.value());
                *real == all.collect::<Value>()
            }
            Takes::Text => *real == json!(text),
            Takes::Texts | Takes::Many => *real == used.values.iter().map(|(_, value)| *value).collect::<Value>(),
        };
        if !is_same {
            return Err(format!("{name} is read as {:?}, the parser has {real}", used.values));
        }
        same += 1;
    }
    Ok(same)
}

/// Words that are no flag of anything, among them all that look like one to some eyes.
const WORDS: &[&str] = &[
    "word",
    "",
    " ",
    "-",
    "--",
    "---",
    "-5",
    "-0.5",
    "-1e3",
    "-.5",
    "-x",
    "-qx",
    "-q",
    "--bogus",
    "--bogus=1",
    "--b",
    "--bogus with blank",
    "-x with blank",
    "- 5",
    "--no-",
    "--no-bogus",
    "--=",
    "-=1",
    "--l",
    "--no",
    "-h",
    "--h=1",
    "{\"type\": \"fs\"}",
    "\u{e9}",
    "-\u{e9}",
    "-5x",
    "+5",
    "5",
    "/path",
];

/// Texts that Python takes for numbers, or nearly. (It also takes the digits of other scripts, which we do not.)
const NUMBERS: &[&str] = &[
    "5",
    "-5",
    "+5",
    "05",
    "1_000",
    "1__0",
    "_1",
    "5.0",
    ".5",
    "5.",
    "1e3",
    "1E-3",
    "nan",
    "inf",
    "-inf",
    "Infinity",
    " 5",
    "5 ",
    "",
    "0x10",
    "5,0",
    "1_0.5",
    "--5",
    "-1_0",
    "99999999999999999999",
];

fn tokens(random: &mut Random, flags: &[&'static Flag], position: usize) -> Vec<String> {
    let mut tokens = Vec::new();
    for _ in 0..=random.below(4) {
        if random.percent(20) || flags.is_empty() {
            tokens.push(random.pick(WORDS).to_owned());
            continue;
        }
        let flag = random.pick(flags);
        let name = spelling(random, flag);
        let values = values(random, flag, position);
        match values.as_slice() {
            // `--flag=--` is an empty list to the Python releases up to 3.12, and the text `--` to later ones.
            [value] if value != "--" && random.percent(30) => tokens.push(format!("{name}={value}")),
            _ => {
                tokens.push(name);
                tokens.extend(values);
            }
        }
    }
    tokens
}

/// The flag's name; at times only its beginning, or with `--no-`.
fn spelling(random: &mut Random, flag: &Flag) -> String {
    let bare = flag.name.trim_start_matches("--");
    let mut name = match flag.takes {
        Takes::OnOff if random.percent(50) => format!("--no-{bare}"),
        _ if random.percent(3) => format!("--no-{bare}"),
        _ => flag.name.to_owned(),
    };
    if random.percent(30) {
        name.truncate(3 + random.below(name.len()));
    }
    name
}

/// As many values as it takes, most of them right.
fn values(random: &mut Random, flag: &Flag, position: usize) -> Vec<String> {
    let count = match flag.takes {
        Takes::Nothing | Takes::OnOff => usize::from(random.percent(8)),
        Takes::Int | Takes::Float | Takes::Text => 1 + usize::from(random.percent(4)) - usize::from(random.percent(4)),
        Takes::Texts | Takes::Many => random.below(3),
    };
    let words: Vec<&str> = flag
        .words
        .iter()
        .filter(|word| word.span.holds(position))
        .map(|word| word.text)
        .collect();
    let mut value = || match flag.takes {
        _ if random.percent(10) => random.pick(WORDS),
        _ if !words.is_empty() => random.pick(&words),
        Takes::Int | Takes::Float if random.percent(70) => random.pick(&["5", "1", "300"]),
        Takes::Int | Takes::Float => random.pick(NUMBERS),
        _ => random.pick(&["/path", "text", "{}", "a b"]),
    };
    (0..count).map(|_| value().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sort_of_complaint_is_made() {
        let position = RELEASES.len() - 1;
        let known: Vec<&'static Flag> = SERVER.iter().filter(|flag| flag.span.holds(position)).collect();
        let mut random = Random::new(1);
        let mut seen = BTreeSet::new();
        let mut taken = 0;
        for _ in 0..COUNT {
            let tokens = tokens(&mut random, &known, position);
            let reading = read(&SERVER, position, &tokens);
            taken += usize::from(reading.complaints.is_empty());
            seen.extend(
                reading
                    .complaints
                    .iter()
                    .map(|complaint| Sort::predicted(&complaint.problem)),
            );
        }
        assert_eq!(seen.len(), 6, "{seen:?}");
        assert!(
            (COUNT / 10..COUNT * 9 / 10).contains(&taken),
            "{taken} of {COUNT} are right"
        );
    }

    #[test]
    fn the_real_complaint_must_be_a_predicted_one() {
        let answer = |outcome, message: &str| Answer {
            outcome,
            message: message.to_owned(),
            parsed: Default::default(),
        };
        let tokens = ["--port".to_owned(), "x".to_owned(), "--bogus".to_owned()];
        let reading = read(&SERVER, RELEASES.len() - 1, &tokens);
        let mut agreement = Agreement::default();
        let mut says = |outcome, message: &str| judge(&reading, &answer(outcome, message), &mut agreement).is_ok();
        assert!(says(Outcome::Usage, "argument --port: invalid int value: 'x'"));
        assert!(!says(Outcome::Usage, "unrecognized arguments: --bogus"));
        assert!(!says(Outcome::Usage, "ambiguous option"));
        assert!(!says(Outcome::Usage, "something new"));
        assert!(!says(Outcome::Accepted, ""));
        assert!(!says(Outcome::Help, ""));
        assert!(!says(Outcome::Harness, ""));
    }

    #[test]
    fn the_value_that_was_parsed_must_be_the_one_that_we_read() {
        let tokens = ["--port".to_owned(), "1".to_owned(), "--por=1_0".to_owned()];
        let reading = read(&SERVER, RELEASES.len() - 1, &tokens);
        let parsed = |port: i32| Answer {
            outcome: Outcome::Accepted,
            message: String::new(),
            parsed: [("port".to_owned(), json!(port))].into_iter().collect(),
        };
        assert_eq!(same_values(&reading, &parsed(10)), Ok(1));
        assert!(same_values(&reading, &parsed(1)).is_err());
    }
}
