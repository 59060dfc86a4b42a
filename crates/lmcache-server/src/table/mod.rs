//! What each release of LMCache knows.
//!
//! The rows are generated from the released packages (`tools/releases`); here is how they are read. A release is a
//! position in [`RELEASES`], and whatever a release knows carries the [`Span`] of releases that know it.

mod data;

use lmcache_api::Release;

pub use data::*;

/// A run of releases, as positions in [`RELEASES`], both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first release that knows it.
    pub first: u8,
    /// The last one; where that is the newest release, nothing is said about later ones.
    pub last: u8,
}

/// For the generated rows.
pub(crate) const fn span(first: u8, last: u8) -> Span {
    Span { first, last }
}

/// For the generated rows.
pub(crate) const fn r(major: u32, minor: u32, patch: u32) -> Release {
    Release { major, minor, patch }
}

impl Span {
    /// Whether the release at this position is in it.
    pub fn holds(self, position: usize) -> bool {
        (usize::from(self.first)..=usize::from(self.last)).contains(&position)
    }

    /// The release that it begins with.
    pub fn since(self) -> Release {
        at(usize::from(self.first))
    }

    /// The release that it ends with, unless that is the newest one.
    pub fn until(self) -> Option<Release> {
        let last = usize::from(self.last);
        (last + 1 < RELEASES.len()).then(|| at(last))
    }
}

/// The release at a position; the newest one where the position is none.
pub fn at(position: usize) -> Release {
    RELEASES.get(position).copied().unwrap_or(newest())
}

/// The newest release that was read.
pub fn newest() -> Release {
    RELEASES.last().copied().unwrap_or(r(0, 0, 0))
}

/// A word and the releases that know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// As it is written.
    pub text: &'static str,
    /// Who knows it.
    pub span: Span,
}

/// The word that the release at `position` uses, of several that follow one another.
pub fn word_at(words: &'static [Word], position: usize) -> Option<&'static str> {
    let word = words.iter().find(|word| word.span.holds(position));
    word.map(|word| word.text)
}

/// The first release that knows any of the words.
pub fn first_of(words: &[Word]) -> Release {
    let first = words.iter().map(|word| word.span.first).min();
    at(first.map_or(usize::MAX, usize::from))
}

/// What a flag takes from the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// No value: it switches on.
    Nothing,
    /// No value: it switches on, and with `--no-` before the name off.
    OnOff,
    /// An integer.
    Int,
    /// A number.
    Float,
    /// Anything.
    Text,
    /// Any number of values, also none.
    Texts,
    /// At least one value.
    Many,
}

/// A flag of a command, in one shape: where the shape changed between releases, there is a row for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag {
    /// With its dashes.
    pub name: &'static str,
    /// Who knows it in this shape.
    pub span: Span,
    /// Its values.
    pub takes: Takes,
    /// Whether the command refuses to go without it.
    pub required: bool,
    /// Whether every use counts; otherwise the last one wins.
    pub repeats: bool,
    /// Whether `--help` keeps it to itself: an old name that still works.
    pub hidden: bool,
    /// The values that it takes; empty: whatever has the right type.
    pub words: &'static [Word],
}

/// A type of adapter for the second tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adapter {
    /// The word in its member `type`.
    pub name: &'static str,
    /// Who knows it.
    pub span: Span,
    /// Members without which it is refused.
    pub required: &'static [&'static str],
}

/// A member that an adapter requires under a condition, or below another member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// The type of the adapter.
    pub adapter: &'static str,
    /// The member; `backend_params.file_path` is one of the object in `backend_params`.
    pub member: &'static str,
    /// Which releases require it.
    pub span: Span,
    /// When they do.
    pub when: When,
}

/// When a member is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Always.
    Always,
    /// Unless this member is there instead.
    Without(&'static str),
    /// Unless the environment has this variable.
    Unset(&'static str),
    /// When the member `backend` is one of these.
    Backend(&'static [&'static str]),
}

/// The flag of this exact name in the release at `position`.
pub fn find(flags: &'static [Flag], name: &str, position: usize) -> Option<&'static Flag> {
    flags.iter().find(|flag| flag.name == name && flag.span.holds(position))
}
