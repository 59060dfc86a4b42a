//! Every flag, and the releases that know it.

use lmcache_server::table::{ADAPTERS, EVICTIONS, RELEASES, SERDES, Span, Word, at, newest};
use serde_json::{Map, Value, json};

use super::Program;
use super::columns::columns;
use super::words::{flag_json, span, span_json, takes, with_remarks, word};

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
    let mut rows = vec![["ADAPTER", "RELEASES", "REQUIRED KEYS"].map(str::to_owned)];
    for adapter in &ADAPTERS {
        rows.push([
            adapter.name.to_owned(),
            span(adapter.span, whole).unwrap_or_else(|| "all".to_owned()),
            adapter.required.join(", "),
        ]);
    }
    let list = |words: &[Word]| {
        words
            .iter()
            .map(|entry| word(entry, whole))
            .collect::<Vec<_>>()
            .join(", ")
    };
    format!(
        "\n  --l2-adapter\n\n{}\n{}",
        columns(&rows, 4),
        columns(
            &[
                ["serde".to_owned(), list(&SERDES)],
                ["eviction".to_owned(), list(&EVICTIONS)]
            ],
            4
        )
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
                row.extend(spanned(flag.span));
                row.insert("choices".to_owned(), json!(words(flag.words)));
                Value::Object(row)
            })
            .collect();
        object.insert(
            program.name().to_owned(),
            json!({"since": program.since().to_string(), "flags": flags}),
        );
    }
    if programs.contains(&Program::Server) {
        let adapters: Vec<Value> = ADAPTERS
            .iter()
            .map(|adapter| {
                let mut row = Map::new();
                row.insert("type".to_owned(), json!(adapter.name));
                row.extend(spanned(adapter.span));
                row.insert("required".to_owned(), json!(adapter.required));
                Value::Object(row)
            })
            .collect();
        object.insert(
            "l2Adapter".to_owned(),
            json!({"types": adapters, "serdes": words(&SERDES), "evictions": words(&EVICTIONS)}),
        );
    }
    Value::Object(object)
}

fn spanned(span: Span) -> impl Iterator<Item = (String, Value)> {
    span_json(span).into_iter().map(|(key, value)| (key.to_owned(), value))
}

fn words(words: &[Word]) -> Vec<Value> {
    words
        .iter()
        .map(|word| {
            let mut row = Map::new();
            row.insert("value".to_owned(), json!(word.text));
            row.extend(spanned(word.span));
            Value::Object(row)
        })
        .collect()
}
