//! Every flag, and the releases that know it.

use lmcache_server::table::{RELEASES, Span, at, newest};
use serde_json::{Map, Value, json};

use super::columns::columns;
use super::words::{flag_json, span, span_json, takes, with_remarks, word, words_json};
use super::{Program, adapters};

/// All releases that have the command.
fn all(program: Program) -> Span {
    let first = program.flags().iter().map(|flag| flag.span.first).min();
    let last = program.flags().iter().map(|flag| flag.span.last).max();
    Span {
        first: first.unwrap_or_default(),
        last: last.unwrap_or_default(),
    }
}

pub(super) fn text(programs: &[Program]) -> String {
    let mut text = String::new();
    for program in programs {
        let whole = all(*program);
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&format!(
            "lmcache {}, {} to {}",
            program.name(),
            whole.since(),
            newest()
        ));
        if whole.since() < program.since() {
            text.push_str(&format!(" (the command exists from {} on)", program.since()));
        }
        text.push_str("\n\n");
        let mut rows = vec![["FLAG", "RELEASES", "VALUE", "CHOICES, REMARKS"].map(str::to_owned)];
        for flag in program.flags() {
            let choices: Vec<String> = flag.words.iter().map(|choice| word(choice, flag.span)).collect();
            rows.push([
                flag.name.to_owned(),
                span(flag.span, whole).unwrap_or_else(|| "all".to_owned()),
                takes(flag.takes).to_owned(),
                with_remarks(choices.join(", "), flag),
            ]);
        }
        text.push_str(&columns(&rows, 2));
        if *program == Program::Server {
            text.push_str(&second_tier(whole));
        }
    }
    text
}

/// What the JSON of `--l2-adapter` may say.
fn second_tier(whole: Span) -> String {
    let mut rows = vec![["ADAPTER", "RELEASES", "REQUIRED MEMBERS"].map(str::to_owned)];
    rows.extend(adapters::all_rows(whole));
    format!(
        "\n  --l2-adapter\n\n{}\n{}",
        columns(&rows, 4),
        columns(&adapters::all_words(whole), 4)
    )
}

pub(super) fn json(programs: &[Program]) -> Value {
    let mut object = Map::new();
    let known: Vec<String> = (0..RELEASES.len()).map(|position| at(position).to_string()).collect();
    object.insert("releases".to_owned(), json!(known));
    for program in programs {
        let flags: Vec<Value> = program
            .flags()
            .iter()
            .map(|flag| {
                let mut row = flag_json(flag);
                row.extend(span_json(flag.span));
                row.insert("choices".to_owned(), json!(words_json(flag.words)));
                Value::Object(row)
            })
            .collect();
        object.insert(
            program.name().to_owned(),
            json!({"since": program.since().to_string(), "flags": flags}),
        );
    }
    if programs.contains(&Program::Server) {
        object.insert("l2Adapter".to_owned(), adapters::all_json());
    }
    Value::Object(object)
}
