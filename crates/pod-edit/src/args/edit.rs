//! Edits of the command line. Only `args` is ever written.

use serde_json::Value;

use super::flag::{Flag, FlagKind};
use super::line::CommandLine;
use super::scan::{Form, Occurrence, ends_open, is_truth_value, stands_alone, visible};
use crate::json::{checked_list, list_member_mut};
use crate::{EditError, container, error};

/// What a flag shall come to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wanted<'a> {
    /// This value.
    Value(&'a str),
    /// On or off.
    Switch(bool),
}

/// Words of the line, `len` from `at` on, that give way to others.
struct Splice {
    at: usize,
    len: usize,
    words: Vec<String>,
}

/// Why a flag cannot be set; the member (`command` or `args`) is part of the path.
struct Refusal {
    member: &'static str,
    found: String,
    expected: &'static str,
}

/// Appends words to the end of `args`, or before a `--` in it.
pub(crate) fn append(pod: &mut Value, index: usize, tokens: &[String]) -> Result<bool, EditError> {
    let target = checked(pod, index)?;
    let line = CommandLine::of(target);
    let stands_at = |at: usize| {
        tokens
            .iter()
            .enumerate()
            .all(|(i, token)| line.word(at + i) == Some(token))
    };
    let last = line.end.checked_sub(tokens.len());
    if tokens.is_empty() || last.is_some_and(|last| (line.start..=last).any(stands_at)) {
        return Ok(false);
    }
    let splice = appended(&line, tokens.to_vec()).map_err(|refusal| refusal.at(index))?;
    let command = line.command.len();
    write(pod, index, command, vec![splice])
}

/// Leaves one occurrence of the flag that says what is wanted.
pub(crate) fn set(pod: &mut Value, index: usize, flag: &Flag, wanted: Wanted<'_>) -> Result<bool, EditError> {
    let target = checked(pod, index)?;
    let line = CommandLine::of(target);
    let splices = splices(&line, flag, wanted).map_err(|refusal| refusal.at(index))?;
    let command = line.command.len();
    write(pod, index, command, splices)
}

/// The occurrences that [`set`] would take out of force, as they are written.
pub(crate) fn replaced_by(container: &Value, flag: &Flag, wanted: Wanted<'_>) -> Vec<String> {
    let line = CommandLine::of(container);
    match splices(&line, flag, wanted) {
        Ok(splices) if !splices.is_empty() => line
            .occurrences(flag)
            .iter()
            .filter(|occurrence| !says(occurrence, flag, wanted))
            .map(|occurrence| line.text(occurrence))
            .collect(),
        _ => Vec::new(),
    }
}

/// The container, once both members are known to be lists.
fn checked(pod: &Value, index: usize) -> Result<&Value, EditError> {
    let target = container::at(pod, index)?;
    let path = container::path(index);
    checked_list(target, "command", &path)?;
    checked_list(target, "args", &path)?;
    Ok(target)
}

/// What has to change on the line, in order; nothing when the flag says what is wanted.
fn splices(line: &CommandLine<'_>, flag: &Flag, wanted: Wanted<'_>) -> Result<Vec<Splice>, Refusal> {
    let canonical = canonical(flag, wanted)?;
    let found = line.occurrences(flag);
    // An occurrence that begins in `command` may have its value in `args`; it counts as one of `command`.
    let (fixed, own): (Vec<_>, Vec<_>) = found.iter().partition(|occurrence| occurrence.at < line.command.len());
    if let Some(broken) = fixed.iter().find(|occurrence| !yields(occurrence)) {
        return Err(Refusal {
            member: "command",
            found: error::quote(&line.text(broken)),
            expected: "a command without it: what is appended to args cannot override it",
        });
    }
    match (own.as_slice(), fixed.last()) {
        ([], Some(last)) | ([last], _) if yields(last) && says(last, flag, wanted) => Ok(Vec::new()),
        ([], Some(last)) if last.value_at.is_some_and(|at| at >= line.command.len()) => {
            value_in_place(last, wanted, true)
        }
        ([], _) => appended(line, canonical).map(|splice| vec![splice]),
        ([only], _) => match only.form {
            Form::Pair(_) | Form::Joined(_) if only.spelling != "-O" => value_in_place(only, wanted, false),
            Form::On | Form::Off | Form::Refused(_) if !truth_behind(line, only.value_at.unwrap_or(only.at)) => {
                let mut splices = removal(only);
                if let Some(first) = splices.first_mut() {
                    first.words = canonical;
                }
                Ok(splices)
            }
            _ => rewritten(line, &own, canonical),
        },
        _ => rewritten(line, &own, canonical),
    }
}

/// Takes the words of an occurrence out.
fn removal(occurrence: &Occurrence<'_>) -> Vec<Splice> {
    let take = |at| Splice {
        at,
        len: 1,
        words: Vec::new(),
    };
    [Some(occurrence.at), occurrence.value_at]
        .into_iter()
        .flatten()
        .map(take)
        .collect()
}

/// The flag as it is written anew.
fn canonical(flag: &Flag, wanted: Wanted<'_>) -> Result<Vec<String>, Refusal> {
    let misuse = |expected| Refusal {
        member: "args",
        found: flag.name.to_owned(),
        expected,
    };
    match (wanted, flag.kind) {
        (Wanted::Value(value), FlagKind::Json | FlagKind::Value) if stands_alone(value) => {
            Ok(vec![flag.name.to_owned(), value.to_owned()])
        }
        (Wanted::Value(value), FlagKind::Json | FlagKind::Value) => Ok(vec![format!("{}={value}", flag.name)]),
        (Wanted::Value(_), FlagKind::Switch) => Err(misuse("a flag that takes a value")),
        (Wanted::Switch(on), _) => match flag.switch_word(on) {
            Some(word) => Ok(vec![word.to_owned()]),
            None => Err(misuse("an on/off flag")),
        },
    }
}

/// Whether a later occurrence overrides this one. vLLM exits over the others, and dotted ones win over everything.
fn yields(occurrence: &Occurrence<'_>) -> bool {
    matches!(occurrence.form, Form::Pair(_) | Form::Joined(_) | Form::On | Form::Off)
}

/// Whether an occurrence says what is wanted. JSON may be laid out differently.
fn says(occurrence: &Occurrence<'_>, flag: &Flag, wanted: Wanted<'_>) -> bool {
    match (occurrence.form, wanted) {
        (Form::Pair(value) | Form::Joined(value), Wanted::Value(wanted)) => {
            value == wanted || (flag.kind == FlagKind::Json && same_json(value, wanted))
        }
        (Form::On, Wanted::Switch(on)) => on,
        (Form::Off, Wanted::Switch(on)) => !on,
        _ => false,
    }
}

fn same_json(a: &str, b: &str) -> bool {
    match (serde_json::from_str::<Value>(a), serde_json::from_str::<Value>(b)) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

/// Gives an occurrence another value where it stands. `straddling`: only the value stands in `args`.
fn value_in_place(occurrence: &Occurrence<'_>, wanted: Wanted<'_>, straddling: bool) -> Result<Vec<Splice>, Refusal> {
    let Occurrence {
        at, value_at, spelling, ..
    } = occurrence;
    match (value_at, wanted) {
        (Some(value_at), Wanted::Value(value)) if stands_alone(value) => Ok(vec![Splice {
            at: *value_at,
            len: 1,
            words: vec![value.to_owned()],
        }]),
        (_, Wanted::Value(value)) if !straddling => {
            let mut splices = vec![Splice {
                at: *at,
                len: 1,
                words: vec![format!("{spelling}={value}")],
            }];
            splices.extend(value_at.map(|at| Splice {
                at,
                len: 1,
                words: Vec::new(),
            }));
            Ok(splices)
        }
        _ => Err(Refusal {
            member: "command",
            found: error::quote(spelling),
            expected: "a command that does not end in the name of that flag",
        }),
    }
}

/// Adds words behind the last argument.
fn appended(line: &CommandLine<'_>, words: Vec<String>) -> Result<Splice, Refusal> {
    if line.closed_by_command() {
        let expected = "a command without --: what is appended to args would be positional";
        return Err(Refusal {
            member: "command",
            found: "\"--\"".to_owned(),
            expected,
        });
    }
    if ends_open(line) {
        let last = line.end.checked_sub(1).and_then(|at| line.word(at)).unwrap_or_default();
        let expected = "a value behind the last flag, which would take the next word for it";
        return Err(Refusal {
            member: "args",
            found: error::quote(last),
            expected,
        });
    }
    Ok(Splice {
        at: line.end,
        len: 0,
        words,
    })
}

/// Removes all occurrences and writes the flag anew: at the end, unless a removal would bring a positional argument behind an
/// option that might take it for one more value (`--served-model-name a --enforce-eager org/model`). Then it is written there.
fn rewritten(line: &CommandLine<'_>, own: &[&Occurrence<'_>], words: Vec<String>) -> Result<Vec<Splice>, Refusal> {
    // In the order of the line, put in place one by one: a sort would be a lot of wasm for a handful.
    let mut splices: Vec<Splice> = Vec::new();
    for splice in own.iter().flat_map(|occurrence| removal(occurrence)) {
        let place = splices.partition_point(|other| other.at <= splice.at);
        splices.insert(place, splice);
    }
    let separators = separators(line, &splices);
    match separators.as_slice() {
        [] if splices.last().is_some_and(|splice| splice.at + 1 == line.end) => {
            // If the line ended in a dotted flag without its value, it was this one.
            splices.push(Splice {
                at: line.end,
                len: 0,
                words,
            });
        }
        [] => splices.push(appended(line, words)?),
        // Directly behind a switch, `True` or `False` would read as its value.
        [only] if words.len() > 1 || !truth_behind(line, *only) => {
            if let Some(splice) = splices.iter_mut().find(|splice| splice.at == *only) {
                splice.words = words;
            }
        }
        _ => {
            return Err(Refusal {
                member: "args",
                found: own
                    .iter()
                    .map(|occurrence| line.text(occurrence))
                    .collect::<Vec<_>>()
                    .join(", "),
                expected: "the flag once, and no positional argument behind its repetitions",
            });
        }
    }
    Ok(splices)
}

/// Whether the word behind this one, as argparse sees the line, is `True` or `False`.
fn truth_behind(line: &CommandLine<'_>, at: usize) -> bool {
    let behind = visible(line).into_iter().find(|(index, _)| *index > at);
    behind
        .and_then(|(index, _)| line.word(index))
        .is_some_and(is_truth_value)
}

/// The removed words that keep a positional argument apart from an option before them. `removed` is in order.
fn separators(line: &CommandLine<'_>, removed: &[Splice]) -> Vec<usize> {
    let mut removed = removed.iter().map(|splice| splice.at).peekable();
    let mut found = Vec::new();
    let (mut behind_option, mut gap) = (false, None);
    for (at, is_option) in visible(line) {
        // Dotted flags are removed as well but were never seen.
        while removed.next_if(|&other| other < at).is_some() {}
        if removed.next_if_eq(&at).is_some() {
            gap = Some(at);
            continue;
        }
        if !is_option && behind_option {
            found.extend(gap);
        }
        behind_option |= is_option;
        gap = None;
    }
    found
}

/// Makes the changes in one pass. Their indices count through `command`, which none of them touches.
fn write(pod: &mut Value, index: usize, command: usize, splices: Vec<Splice>) -> Result<bool, EditError> {
    if splices.is_empty() {
        return Ok(false);
    }
    let args = list_member_mut(container::at_mut(pod, index)?, "args", &container::path(index))?;
    let mut old = std::mem::take(args).into_iter();
    let mut at = command;
    for splice in splices {
        args.extend(old.by_ref().take(splice.at.saturating_sub(at)));
        old.by_ref().take(splice.len).for_each(drop);
        args.extend(splice.words.into_iter().map(Value::String));
        at = splice.at + splice.len;
    }
    args.extend(old);
    Ok(true)
}

impl Refusal {
    fn at(self, index: usize) -> EditError {
        EditError::new(
            format!("{}.{}", container::path(index), self.member),
            self.found,
            self.expected,
        )
    }
}
