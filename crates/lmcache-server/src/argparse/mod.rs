//! Reads a command line as the server's own parser does.
//!
//! LMCache uses Python's `argparse`: any unambiguous beginning of a long flag is that flag, `--flag=value` equals
//! `--flag value`, a flag with an off switch has a `--no-` form, of several uses the last one wins but every one is
//! checked, and what begins with a dash is never the value of another flag (numbers and texts with a blank apart).

pub mod number;

use crate::table::{Flag, Takes};

/// One use of a flag.
#[derive(Clone, Debug, PartialEq)]
pub struct Use<'a> {
    /// Position of its token.
    pub index: usize,
    /// The flag that is meant, whatever was written.
    pub flag: &'static Flag,
    /// Whether it was written with `--no-`.
    pub negated: bool,
    /// Its values, each with the position of its token.
    pub values: Vec<(usize, &'a str)>,
}

impl<'a> Use<'a> {
    /// The value of a flag that takes one.
    pub fn value(&self) -> Option<&'a str> {
        self.values.first().map(|(_, value)| *value)
    }
}

/// What the parser would end with. It stops at the first; here are all.
#[derive(Clone, Debug, PartialEq)]
pub struct Complaint<'a> {
    /// Position of the token that it is about.
    pub index: usize,
    /// The token.
    pub token: &'a str,
    /// Position of the flag that the token belongs to: the same, unless the token is a value.
    pub flag_index: usize,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a token.
#[derive(Clone, Debug, PartialEq)]
pub enum Problem {
    /// No flag of this release, or a word that belongs to none.
    Unknown,
    /// The beginning of two flags, or of more.
    Ambiguous(&'static Flag, &'static Flag),
    /// A value is missing.
    NoValue(&'static Flag),
    /// A value is too many.
    UnwantedValue(&'static Flag),
    /// The value is no number of the right kind.
    NoNumber(&'static Flag),
    /// The value is none of the words.
    NoWord(&'static Flag),
}

/// What a command line says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading<'a> {
    /// Every use of a known flag, in order; those that the parser stops at are left out.
    pub uses: Vec<Use<'a>>,
    /// What the parser would end with, in order.
    pub complaints: Vec<Complaint<'a>>,
}

impl<'a> Reading<'a> {
    /// The use that counts: the last one.
    pub fn last(&self, name: &str) -> Option<&Use<'a>> {
        self.uses.iter().rev().find(|used| used.flag.name == name)
    }
}

/// Reads tokens with the flags that the release at `position` has.
pub fn read<'a>(flags: &'static [Flag], position: usize, tokens: &'a [String]) -> Reading<'a> {
    let parser = Parser { flags, position };
    let mut reading = Reading::default();
    let mut index = 0;
    while let Some(token) = tokens.get(index).map(String::as_str) {
        if token == "--" {
            // Nothing behind it is a flag any more, and the commands take no words.
            for (index, token) in tokens.iter().enumerate().skip(index) {
                reading.complain(index, token, Problem::Unknown);
            }
            break;
        }
        let next = index + 1;
        index = match parser.meaning(token) {
            Meaning::Word | Meaning::Unknown => {
                reading.complain(index, token, Problem::Unknown);
                next
            }
            Meaning::Ambiguous(one, other) => {
                reading.complain(index, token, Problem::Ambiguous(one, other));
                next
            }
            Meaning::Joined(first, rest) => {
                parser.take_joined(&mut reading, index, token, first, rest);
                next
            }
            Meaning::Flag(found) => {
                let end = parser.values_end(found.flag.takes, tokens, next);
                parser.take(&mut reading, index, token, found, tokens, end);
                if found.value.is_some() { next } else { end }
            }
        };
    }
    reading
}

impl<'a> Reading<'a> {
    fn complain(&mut self, index: usize, token: &'a str, problem: Problem) {
        self.complaints.push(Complaint {
            index,
            token,
            flag_index: index,
            problem,
        });
    }

    fn complain_of_value(&mut self, flag_index: usize, value: (usize, &'a str), problem: Problem) {
        self.complaints.push(Complaint {
            index: value.0,
            token: value.1,
            flag_index,
            problem,
        });
    }
}

struct Parser {
    flags: &'static [Flag],
    position: usize,
}

/// What a token is taken for.
enum Meaning<'a> {
    /// A value, or a word that nobody asked for.
    Word,
    Flag(Found<'a>),
    /// A short flag without a value, and the letters behind it.
    Joined(&'static Flag, &'a str),
    Unknown,
    Ambiguous(&'static Flag, &'static Flag),
}

#[derive(Clone, Copy)]
struct Found<'a> {
    flag: &'static Flag,
    negated: bool,
    /// What stands behind its `=`.
    value: Option<&'a str>,
}

impl Parser {
    fn meaning<'a>(&self, token: &'a str) -> Meaning<'a> {
        if !token.starts_with('-') || token.len() == 1 {
            return Meaning::Word;
        }
        let exact = |name: &str, value| {
            let mut found = self.spellings().filter(|(spelling, _)| spelling.equals(name));
            found.next().map(|(spelling, flag)| Found {
                flag,
                negated: spelling.negated,
                value,
            })
        };
        let (name, value) = match token.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (token, None),
        };
        if let Some(found) = exact(token, None).or_else(|| exact(name, value)) {
            return Meaning::Flag(found);
        }
        if let Some(rest) = token.strip_prefix("--") {
            let mut begun = self.spellings().filter(|(spelling, _)| spelling.begins_with(name));
            match (begun.next(), begun.next()) {
                (Some((_, one)), Some((_, other))) => return Meaning::Ambiguous(one, other),
                (Some((spelling, flag)), None) => {
                    return Meaning::Flag(Found {
                        flag,
                        negated: spelling.negated,
                        value,
                    });
                }
                (None, _) if rest.contains(' ') => return Meaning::Word,
                (None, _) => return Meaning::Unknown,
            }
        }
        // `-q` with something behind it in the same token: more such flags, or the value.
        if let Some((short, rest)) = token.split_at_checked(2)
            && let Some(found) = exact(short, Some(rest))
        {
            return match found.flag.takes {
                Takes::Nothing => Meaning::Joined(found.flag, rest),
                _ => Meaning::Flag(found),
            };
        }
        if number::is_negative(token) || token.contains(' ') {
            return Meaning::Word;
        }
        Meaning::Unknown
    }

    /// Every way to write a flag.
    fn spellings(&self) -> impl Iterator<Item = (Spelling, &'static Flag)> {
        let known = self.flags.iter().filter(|flag| flag.span.holds(self.position));
        known.flat_map(|flag| {
            let plain = Spelling {
                name: flag.name,
                negated: false,
            };
            let off = (flag.takes == Takes::OnOff).then_some(Spelling {
                name: flag.name,
                negated: true,
            });
            std::iter::once(plain).chain(off).map(move |spelling| (spelling, flag))
        })
    }

    /// Where the values of a flag end that begin at `start`.
    fn values_end(&self, takes: Takes, tokens: &[String], start: usize) -> usize {
        let most = match takes {
            Takes::Nothing | Takes::OnOff => 0,
            Takes::Int | Takes::Float | Takes::Text => 1,
            Takes::Texts | Takes::Many => usize::MAX,
        };
        let is_value = |token: &&String| *token != "--" && matches!(self.meaning(token), Meaning::Word);
        start + tokens.iter().skip(start).take(most).take_while(is_value).count()
    }

    /// `-qh` is `-q -h`.
    fn take_joined<'a>(
        &self,
        reading: &mut Reading<'a>,
        index: usize,
        token: &'a str,
        first: &'static Flag,
        rest: &str,
    ) {
        let mut letters = rest.chars();
        let mut flag = first;
        loop {
            reading.uses.push(Use {
                index,
                flag,
                negated: false,
                values: Vec::new(),
            });
            let Some(letter) = letters.next() else { return };
            let name = format!("-{letter}");
            let next = self.spellings().find(|(spelling, _)| spelling.equals(&name));
            match next {
                Some((_, next)) if next.takes == Takes::Nothing => flag = next,
                _ => return reading.complain(index, token, Problem::UnwantedValue(first)),
            }
        }
    }

    fn take<'a>(
        &self,
        reading: &mut Reading<'a>,
        index: usize,
        token: &'a str,
        found: Found<'a>,
        tokens: &'a [String],
        end: usize,
    ) {
        let flag = found.flag;
        let values: Vec<(usize, &str)> = match found.value {
            Some(_) if matches!(flag.takes, Takes::Nothing | Takes::OnOff) => {
                return reading.complain(index, token, Problem::UnwantedValue(flag));
            }
            Some(value) => vec![(index, value)],
            None => {
                let values = tokens.iter().enumerate().take(end).skip(index + 1);
                values.map(|(index, value)| (index, value.as_str())).collect()
            }
        };
        let needs_one = matches!(flag.takes, Takes::Int | Takes::Float | Takes::Text | Takes::Many);
        if needs_one && values.is_empty() {
            return reading.complain(index, token, Problem::NoValue(flag));
        }
        for (at, value) in &values {
            let is_number = match flag.takes {
                Takes::Int => number::is_integer(value),
                Takes::Float => number::is_float(value),
                _ => true,
            };
            let known = |text: &str| {
                let mut words = flag.words.iter().filter(|word| word.span.holds(self.position));
                words.any(|word| word.text == text)
            };
            if !is_number {
                return reading.complain_of_value(index, (*at, value), Problem::NoNumber(flag));
            }
            if !flag.words.is_empty() && !known(value) {
                return reading.complain_of_value(index, (*at, value), Problem::NoWord(flag));
            }
        }
        reading.uses.push(Use {
            index,
            flag,
            negated: found.negated,
            values,
        });
    }
}

/// A flag's name as it may be written: `--x`, or `--no-x`.
#[derive(Clone, Copy)]
struct Spelling {
    name: &'static str,
    negated: bool,
}

impl Spelling {
    fn equals(self, text: &str) -> bool {
        self.rest_behind(text).is_some_and(str::is_empty)
    }

    fn begins_with(self, text: &str) -> bool {
        self.rest_behind(text).is_some()
    }

    /// What is left of the spelling behind `text`, if it begins with that.
    fn rest_behind(self, text: &str) -> Option<&'static str> {
        if !self.negated {
            return self.name.strip_prefix(text);
        }
        let word = self.name.strip_prefix("--")?;
        match text.strip_prefix("--no-") {
            Some(text) => word.strip_prefix(text),
            None => "--no-".starts_with(text).then_some(word),
        }
    }
}

#[cfg(test)]
mod tests;
