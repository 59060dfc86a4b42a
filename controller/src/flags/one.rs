//! One release: what it takes, what its processes offer, what it cannot do.

use lmcache_api::Release;
use lmcache_server::table::{Flag, newest};
use serde_json::{Map, Value, json};

use super::columns::columns;
use super::gaps::{no_more, not_yet};
use super::words::{flag_json, held, takes, with_remarks};
use super::{Chosen, Program, adapters, offers};

pub(super) fn text(chosen: &Chosen, programs: &[Program]) -> String {
    let mut text = format!("LMCache {}\n", chosen.release());
    if chosen.is_newer() {
        text.push_str(&format!(
            "({} is newer than what is known here; {} is the newest release that was read, and taken for it)\n",
            chosen.asked,
            newest()
        ));
    }
    for program in programs {
        text.push_str(&format!("\nlmcache {}\n\n", program.name()));
        if chosen.release() < program.since() {
            text.push_str(&format!(
                "  There is no such command in {}; the first release that has it is {}.\n",
                chosen.release(),
                program.since()
            ));
            continue;
        }
        text.push_str(&flags_text(*program, chosen.position));
        for (heading, rows) in sections(*program, chosen) {
            if !rows.is_empty() {
                text.push_str(&format!("\n  {heading}\n\n{}", columns(&rows, 4)));
            }
        }
    }
    text
}

fn flags_text(program: Program, position: usize) -> String {
    let mut rows = vec![["FLAG", "VALUE", "CHOICES, REMARKS"].map(str::to_owned)];
    for flag in known(program, position) {
        let choices = held(flag.words, position).join(", ");
        rows.push([
            flag.name.to_owned(),
            takes(flag.takes).to_owned(),
            with_remarks(choices, flag),
        ]);
    }
    columns(&rows, 2)
}

type Rows = Vec<[String; 2]>;

/// What follows the flags, each under its heading.
fn sections(program: Program, chosen: &Chosen) -> Vec<(&'static str, Rows)> {
    let rows = |pairs: Vec<(String, Release)>| -> Rows {
        pairs
            .into_iter()
            .map(|(what, release)| [what, release.to_string()])
            .collect()
    };
    let mut sections = vec![(
        "offers, on the ports that are the defaults",
        offers::rows(program, chosen.position),
    )];
    if program == Program::Server {
        sections.push(("--l2-adapter takes", adapters::rows(chosen.position)));
    }
    sections.push((
        "cannot: the first release that can",
        rows(not_yet(program, chosen.position)),
    ));
    sections.push((
        "cannot any more: the last release that could",
        rows(no_more(program, chosen.position)),
    ));
    sections
}

pub(super) fn json(chosen: &Chosen, programs: &[Program]) -> Value {
    let mut object = Map::new();
    object.insert("release".to_owned(), json!(chosen.release().to_string()));
    object.insert("asked".to_owned(), json!(chosen.asked.to_string()));
    object.insert("newerThanKnown".to_owned(), json!(chosen.is_newer()));
    for program in programs {
        let exists = chosen.release() >= program.since();
        object.insert(
            program.name().to_owned(),
            if exists {
                program_json(*program, chosen)
            } else {
                Value::Null
            },
        );
    }
    Value::Object(object)
}

fn program_json(program: Program, chosen: &Chosen) -> Value {
    let position = chosen.position;
    let flags: Vec<Value> = known(program, position)
        .map(|flag| {
            let mut row = flag_json(flag);
            row.insert("choices".to_owned(), json!(held(flag.words, position)));
            Value::Object(row)
        })
        .collect();
    let mut object = Map::new();
    object.insert("flags".to_owned(), json!(flags));
    object.insert("offers".to_owned(), offers::json(program, position));
    if program == Program::Server {
        object.insert("l2Adapter".to_owned(), adapters::json(position));
    }
    let pairs = |key: &str, pairs: Vec<(String, Release)>| -> Vec<Value> {
        let row = |(what, release): (String, Release)| json!({"what": what, key: release.to_string()});
        pairs.into_iter().map(row).collect()
    };
    object.insert("cannot".to_owned(), json!(pairs("since", not_yet(program, position))));
    object.insert(
        "cannotAnyMore".to_owned(),
        json!(pairs("until", no_more(program, position))),
    );
    Value::Object(object)
}

/// The flags of the release.
fn known(program: Program, position: usize) -> impl Iterator<Item = &'static Flag> {
    program.flags().iter().filter(move |flag| flag.span.holds(position))
}
