//! Finding the occurrences of one flag on a line.

use std::borrow::Cow;

use super::flag::{COMPILATION_CONFIG, Flag, FlagKind};
use super::line::CommandLine;

/// The short name that was `--compilation-config` and is now `--optimization-level`.
const OPTIMIZE: &str = "-O";

/// One place where a flag stands on the command line, in any spelling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Occurrence<'a> {
    /// Index of its name, counted through `command` and `args`.
    pub at: usize,
    /// Index of its value where that is a word of its own. Not always the next one: vLLM takes dotted flags out of the line
    /// before it looks for values, so they may stand between a flag and its value.
    pub value_at: Option<usize>,
    /// Its name as it is written, without `=` and what follows, but with dotted keys.
    pub spelling: &'a str,
    /// How it carries its value.
    pub form: Form<'a>,
}

/// How an occurrence carries its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form<'a> {
    /// `--flag value`
    Pair(&'a str),
    /// `--flag=value`
    Joined(&'a str),
    /// `--flag` without the value that it needs: vLLM exits.
    Bare,
    /// `--flag.a.b value` or `--flag.a.b=value`. Without a value only at the end of the line, where vLLM exits.
    Dotted {
        /// What follows the first dot: `a.b`.
        keys: &'a str,
        /// The value as written.
        value: Option<&'a str>,
    },
    /// A switch, on.
    On,
    /// A switch, off.
    Off,
    /// A switch with a value, `--enforce-eager=False`: vLLM exits.
    Refused(&'a str),
}

/// Whether a word is an option rather than a value or a positional argument.
pub(super) fn is_option(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    word.starts_with('-') && word != "-" && !name.contains(' ') && !is_negative_number(word)
}

/// Whether a value can be a word of its own behind its flag.
pub(super) fn stands_alone(value: &str) -> bool {
    !value.starts_with('-') || is_negative_integer(value)
}

fn is_negative_integer(word: &str) -> bool {
    word.strip_prefix('-')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// `-1`, `-.5`, `-0.5`, as argparse sees them.
fn is_negative_number(word: &str) -> bool {
    is_negative_integer(word)
        || word
            .strip_prefix('-')
            .and_then(|digits| digits.split_once('.'))
            .is_some_and(|(whole, part)| {
                !part.is_empty() && whole.bytes().chain(part.bytes()).all(|byte| byte.is_ascii_digit())
            })
}

/// The name of an option before any dot, long ones with dashes only.
pub(super) fn dashed(head: &str) -> Cow<'_, str> {
    if head.starts_with("--") && head.contains('_') {
        Cow::Owned(head.replace('_', "-"))
    } else {
        Cow::Borrowed(head)
    }
}

/// A word as vLLM rewrites it before it looks for dotted flags, whether it is a flag or not.
pub(super) fn rewritten(word: &str) -> Cow<'_, str> {
    let name = word.split(['=', '.']).next().unwrap_or(word);
    match dashed(name) {
        Cow::Owned(dashed) => Cow::Owned(dashed + word.get(name.len()..).unwrap_or_default()),
        Cow::Borrowed(_) => Cow::Borrowed(word),
    }
}

/// One option, whichever flag it is.
struct Word<'a> {
    name: &'a str,
    head: Cow<'a, str>,
    keys: Option<&'a str>,
    joined: Option<&'a str>,
}

impl<'a> Word<'a> {
    fn of(word: &'a str) -> Self {
        let (name, joined) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        // `-O3`, `-O{...}`: rewritten before dots are looked at.
        let glued = name.len() > OPTIMIZE.len() && name.starts_with(OPTIMIZE) && !name.starts_with("-O.");
        let (head, keys) = match name.split_once('.') {
            Some((head, keys)) if !glued => (head, Some(keys)),
            _ => (name, None),
        };
        Self {
            name,
            head: dashed(head),
            keys,
            joined,
        }
    }

    /// Whether it is this flag, and for a switch, which state it stands for.
    fn matches(&self, flag: &Flag) -> Option<bool> {
        if flag.long_name().matches(&self.head) || flag.aliases.contains(&&*self.head) {
            return Some(true);
        }
        flag.opposites
            .iter()
            .any(|opposite| opposite.matches(&self.head))
            .then_some(false)
    }
}

/// A piece of the line that vLLM takes as one.
enum Unit<'a> {
    /// A value or a positional argument.
    Plain,
    /// An option; its value, if any, is a later unit.
    Option(Word<'a>),
    /// A dotted flag with its value, which is its next word unless it stands behind a `=`.
    Dotted(Word<'a>),
}

/// The pieces of the line from a word on, with the index of their first word.
fn units<'a>(line: &CommandLine<'a>, from: usize) -> impl Iterator<Item = (usize, Unit<'a>)> {
    let mut at = from;
    std::iter::from_fn(move || {
        if at >= line.end {
            return None;
        }
        let start = at;
        at += 1;
        let Some(text) = line.word(start).filter(|text| is_option(text)) else {
            return Some((start, Unit::Plain));
        };
        let word = Word::of(text);
        if word.keys.is_none() {
            return Some((start, Unit::Option(word)));
        }
        if word.joined.is_none() && line.word(at).is_some() {
            at += 1;
        }
        Some((start, Unit::Dotted(word)))
    })
}

/// All occurrences of a flag, in order.
pub(super) fn scan<'a>(line: &CommandLine<'a>, flag: &Flag) -> Vec<Occurrence<'a>> {
    let mut found = Vec::new();
    for (at, unit) in units(line, line.start) {
        let occurrence = match unit {
            Unit::Plain => None,
            Unit::Dotted(word) => word.matches(flag).map(|_| dotted(line, at, &word)),
            Unit::Option(word) => word.matches(flag).and_then(|on| plain(line, at, &word, flag, on)),
        };
        found.extend(occurrence);
    }
    found
}

/// The words that argparse gets to see, and whether each is an option: dotted flags are taken out before.
pub(super) fn visible(line: &CommandLine<'_>) -> Vec<(usize, bool)> {
    units(line, line.start)
        .filter_map(|(at, unit)| match unit {
            Unit::Plain => Some((at, false)),
            Unit::Option(_) => Some((at, true)),
            Unit::Dotted(_) => None,
        })
        .collect()
}

/// Whether the line ends in a dotted flag without its value: whatever is appended would become that value.
pub(super) fn ends_open(line: &CommandLine<'_>) -> bool {
    match units(line, line.start).last() {
        Some((at, Unit::Dotted(word))) => word.joined.is_none() && at + 1 >= line.end,
        _ => false,
    }
}

fn dotted<'a>(line: &CommandLine<'a>, at: usize, word: &Word<'a>) -> Occurrence<'a> {
    let keys = word.keys.unwrap_or_default();
    let next = if at + 1 < line.end { line.word(at + 1) } else { None };
    let (value, value_at) = match (word.joined, next) {
        (Some(value), _) => (Some(value), None),
        (None, Some(value)) => (Some(value), Some(at + 1)),
        (None, None) => (None, None),
    };
    Occurrence {
        at,
        value_at,
        spelling: word.name,
        form: Form::Dotted { keys, value },
    }
}

fn plain<'a>(line: &CommandLine<'a>, at: usize, word: &Word<'a>, flag: &Flag, on: bool) -> Option<Occurrence<'a>> {
    let next = units(line, at + 1).find(|(_, unit)| !matches!(unit, Unit::Dotted(_)));
    let next = match next {
        Some((at, Unit::Plain)) => line.word(at).map(|value| (at, value)),
        _ => None,
    };
    let (form, value_at) = match (flag.kind, word.joined, next) {
        (FlagKind::Switch, Some(value), _) => (Form::Refused(value), None),
        (FlagKind::Switch, None, Some((at, value))) if is_truth_value(value) => (Form::Refused(value), Some(at)),
        (FlagKind::Switch, None, _) => (if on { Form::On } else { Form::Off }, None),
        (_, Some(value), _) => (Form::Joined(value), None),
        (_, None, Some((at, value))) => (Form::Pair(value), Some(at)),
        (_, None, None) => (Form::Bare, None),
    };
    if word.head == OPTIMIZE && flag.name == COMPILATION_CONFIG.name {
        let (Form::Joined(value) | Form::Pair(value)) = form else {
            return None;
        };
        if !value.trim_start().starts_with('{') {
            return None;
        }
    }
    Some(Occurrence {
        at,
        value_at,
        spelling: word.name,
        form,
    })
}

/// What people write behind a switch that takes no value.
pub(super) fn is_truth_value(word: &str) -> bool {
    word.eq_ignore_ascii_case("true") || word.eq_ignore_ascii_case("false")
}
