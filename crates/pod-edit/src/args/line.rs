//! `command` and `args` of a container as one line.

use serde_json::Value;

use super::dotted;
use super::flag::Flag;
use super::launcher::{Launcher, detect};
use super::scan::{Form, Occurrence, ends_open, scan};
use crate::json::list;

/// The command line of a container. A member that is absent, `null`, empty or no list adds nothing to it.
#[derive(Debug, Clone)]
pub struct CommandLine<'a> {
    pub(super) command: &'a [Value],
    pub(super) args: &'a [Value],
    /// Where the arguments of the launched program begin.
    pub(super) start: usize,
    /// Where they end: at a lone `--`, or at the end of the line.
    pub(super) end: usize,
    launcher: Launcher,
}

/// What a flag comes to in the end.
#[derive(Debug, Clone, PartialEq)]
pub enum FlagUse {
    /// The value as it is written. Also for a switch that was given one, which vLLM refuses.
    Text(String),
    /// The JSON object that dotted flags add up to.
    Dotted(Value),
    /// The flag stands there without the value it needs: vLLM exits.
    NoValue,
    /// A switch that is on.
    On,
    /// A switch that is off.
    Off,
}

impl FlagUse {
    /// Whether vLLM treats a JSON flag with this value as not given at all.
    pub fn is_unset(&self) -> bool {
        matches!(self, Self::Text(text) if text.is_empty() || text == "None")
    }
}

impl<'a> CommandLine<'a> {
    /// Reads the line of a container.
    pub fn of(container: &'a Value) -> Self {
        let (command, args) = (list(container, "command"), list(container, "args"));
        let mut line = Self {
            command,
            args,
            start: 0,
            end: command.len() + args.len(),
            launcher: Launcher::Entrypoint,
        };
        (line.launcher, line.start) = detect(&line);
        if let Some(end) = (line.start..line.end).find(|&at| line.word(at) == Some("--")) {
            line.end = end;
        }
        line
    }

    /// What the line starts.
    pub fn launcher(&self) -> Launcher {
        self.launcher.clone()
    }

    /// What a flag comes to: the last occurrence, unless there are dotted ones, which win over all others.
    pub fn effective(&self, flag: &Flag) -> Option<FlagUse> {
        let occurrences = self.occurrences(flag);
        let last = occurrences.last()?;
        if occurrences
            .iter()
            .any(|occurrence| matches!(occurrence.form, Form::Dotted { .. }))
        {
            return Some(dotted::assemble(&occurrences).map_or(FlagUse::NoValue, FlagUse::Dotted));
        }
        Some(match last.form {
            Form::Pair(value) | Form::Joined(value) | Form::Refused(value) => FlagUse::Text(value.to_owned()),
            Form::Bare | Form::Dotted { .. } => FlagUse::NoValue,
            Form::On => FlagUse::On,
            Form::Off => FlagUse::Off,
        })
    }

    /// Every place where the flag stands, in order.
    pub fn occurrences(&self, flag: &Flag) -> Vec<Occurrence<'a>> {
        scan(self, flag)
    }

    /// An occurrence as it is written, its words with one space between.
    pub fn text(&self, occurrence: &Occurrence<'_>) -> String {
        let words = [Some(occurrence.at), occurrence.value_at];
        let words: Vec<&str> = words.into_iter().flatten().filter_map(|at| self.word(at)).collect();
        words.join(" ")
    }

    /// Whether a flag can be added by appending to `args`. It cannot when a `--` stands in `command`, behind which everything is
    /// positional, or when the line ends in a dotted flag without its value, which would swallow it.
    pub fn can_append(&self) -> bool {
        !self.closed_by_command() && !ends_open(self)
    }

    /// The file that vLLM reads further arguments from. They go before those of the line, so the line wins. Only
    /// `--config FILE` in two words is read; vLLM accepts `--config=FILE` and ignores it.
    pub fn config_file(&self) -> Option<&'a str> {
        (self.start..self.end)
            .find(|&at| self.word(at) == Some("--config"))
            .and_then(|at| self.word(at + 1))
    }

    pub(super) fn closed_by_command(&self) -> bool {
        self.command.iter().any(|word| word == "--")
    }

    /// A word by its index; `None` past the end and for what is no text, which is then an opaque positional argument.
    pub(super) fn word(&self, at: usize) -> Option<&'a str> {
        match self.command.get(at) {
            Some(word) => word.as_str(),
            None => self.args.get(at.checked_sub(self.command.len())?)?.as_str(),
        }
    }
}
