//! What a release does not know: not yet, or no more.

use std::collections::BTreeMap;

use lmcache_api::Release;
use lmcache_server::table::{ADAPTERS, EVICTIONS, RESP_ENVIRONMENT, RESP_MAX_CAPACITY, SERDES, Span, at, first_of};

use super::Program;

/// What later releases can, with the first that does: flags, values of flags, adapters and what they understand.
pub(super) fn not_yet(program: Program, position: usize) -> Vec<(String, Release)> {
    let mut rows = Vec::new();
    if program == Program::Server {
        for (what, first) in [
            (
                "--l2-adapter: resp with a login from the environment",
                RESP_ENVIRONMENT.since(),
            ),
            ("--l2-adapter: resp with max_capacity_gb", RESP_MAX_CAPACITY.since()),
            ("--l2-adapter: eviction", first_of(&EVICTIONS)),
            (
                "--l2-adapter: serde (ignored, data is stored as it is)",
                first_of(&SERDES),
            ),
        ] {
            if at(position) < first {
                rows.push((what.to_owned(), first));
            }
        }
    }
    rows.extend(missing(program, position).into_iter().filter_map(|(what, spans)| {
        let later = spans
            .iter()
            .map(|span| usize::from(span.first))
            .filter(|first| *first > position);
        Some((what, at(later.min()?)))
    }));
    rows
}

/// What earlier releases could, with the last that did, and no later one can again.
pub(super) fn no_more(program: Program, position: usize) -> Vec<(String, Release)> {
    let missing = missing(program, position).into_iter();
    missing
        .filter_map(|(what, spans)| {
            let last = spans.iter().map(|span| usize::from(span.last)).max()?;
            (last < position).then(|| (what, at(last)))
        })
        .collect()
}

/// The names that the release does not know, each with the releases that do. Where the flag itself is not known, it
/// stands for its values.
fn missing(program: Program, position: usize) -> BTreeMap<String, Vec<Span>> {
    let mut names: BTreeMap<String, Vec<Span>> = BTreeMap::new();
    for (name, span) in entries(program) {
        names.entry(name).or_default().push(span);
    }
    let knows = |spans: &Vec<Span>| spans.iter().any(|span| span.holds(position));
    let unknown_flags: Vec<String> = program
        .flags()
        .iter()
        .filter(|flag| names.get(flag.name).is_some_and(|spans| !knows(spans)))
        .map(|flag| format!("{} ", flag.name))
        .collect();
    names.retain(|name, spans| !knows(spans) && !unknown_flags.iter().any(|flag| name.starts_with(flag)));
    names
}

/// Everything that the table knows of a command, by name.
fn entries(program: Program) -> Vec<(String, Span)> {
    let mut entries = Vec::new();
    for flag in program.flags() {
        entries.push((flag.name.to_owned(), flag.span));
        let values = flag.words.iter();
        entries.extend(values.map(|word| (format!("{} {}", flag.name, word.text), word.span)));
    }
    if program == Program::Server {
        let adapters = ADAPTERS.iter();
        entries.extend(adapters.map(|adapter| (format!("--l2-adapter: type {}", adapter.name), adapter.span)));
        for (member, words) in [("serde", &SERDES[..]), ("eviction", &EVICTIONS[..])] {
            let words = words.iter();
            entries.extend(words.map(|word| (format!("--l2-adapter: {member} {}", word.text), word.span)));
        }
    }
    entries
}
