//! What `--l2-adapter` takes: types of adapters, the members that they need, and what else such JSON may name.

use lmcache_server::table::{ADAPTERS, Adapter, EVICTIONS, NEEDS, Need, SERDES, Span, When};
use serde_json::{Map, Value, json};

use super::words::{held, span, span_json, word, words_json};

/// One line for each adapter, `within` a run of releases: its type, its releases, the members that it needs.
pub(super) fn all_rows(within: Span) -> Vec<[String; 3]> {
    let row = |adapter: &Adapter| {
        [
            adapter.name.to_owned(),
            span(adapter.span, within).unwrap_or_else(|| "all".to_owned()),
            members(adapter, adapter.span),
        ]
    };
    ADAPTERS.iter().map(row).collect()
}

/// Which serdes and eviction policies such JSON may name, and since when.
pub(super) fn all_words(within: Span) -> Vec<[String; 2]> {
    [("serde", &SERDES[..]), ("eviction", &EVICTIONS[..])]
        .into_iter()
        .map(|(member, words)| {
            let words: Vec<String> = words.iter().map(|entry| word(entry, within)).collect();
            [member.to_owned(), words.join(", ")]
        })
        .collect()
}

/// The same of one release.
pub(super) fn rows(position: usize) -> Vec<[String; 2]> {
    let this = u8::try_from(position).unwrap_or(u8::MAX);
    let this = Span {
        first: this,
        last: this,
    };
    let adapters = ADAPTERS.iter().filter(|adapter| adapter.span.holds(position));
    let mut rows: Vec<[String; 2]> = adapters
        .map(|adapter| {
            let members = members(adapter, this);
            let needs = if members.is_empty() {
                members
            } else {
                format!("needs {members}")
            };
            [format!("type {}", adapter.name), needs]
        })
        .collect();
    for (member, words) in [("serde", &SERDES[..]), ("eviction", &EVICTIONS[..])] {
        let words = held(words, position);
        if !words.is_empty() {
            rows.push([member.to_owned(), words.join(", ")]);
        }
    }
    rows
}

/// The members that an adapter needs in some of the releases `within`.
fn members(adapter: &Adapter, within: Span) -> String {
    let always = adapter.required.iter().map(|member| (*member).to_owned());
    let needs = needs(adapter, within).map(|need| {
        let when = match need.when {
            When::Always => None,
            When::Without(member) => Some(format!("without {member}")),
            When::Unset(variable) => Some(format!("without ${variable}")),
            When::Backend(names) => Some(format!("backend {}", names.join("/"))),
        };
        let conditions: Vec<String> = when.into_iter().chain(span(need.span, within)).collect();
        if conditions.is_empty() {
            return need.member.to_owned();
        }
        format!("{} ({})", need.member, conditions.join(", "))
    });
    always.chain(needs).collect::<Vec<_>>().join(", ")
}

/// What an adapter needs under a condition, or below another member.
fn needs(adapter: &Adapter, within: Span) -> impl Iterator<Item = &'static Need> {
    NEEDS.iter().filter(move |need| {
        let overlaps = need.span.first <= within.last && within.first <= need.span.last;
        need.adapter == adapter.name && overlaps
    })
}

pub(super) fn all_json() -> Value {
    let adapters: Vec<Value> = ADAPTERS
        .iter()
        .map(|adapter| {
            let mut row = Map::new();
            row.insert("type".to_owned(), json!(adapter.name));
            row.extend(span_json(adapter.span));
            row.extend(needs_json(adapter, adapter.span));
            Value::Object(row)
        })
        .collect();
    json!({"types": adapters, "serdes": words_json(&SERDES), "evictions": words_json(&EVICTIONS)})
}

pub(super) fn json(position: usize) -> Value {
    let this = u8::try_from(position).unwrap_or(u8::MAX);
    let this = Span {
        first: this,
        last: this,
    };
    let adapters: Vec<Value> = ADAPTERS
        .iter()
        .filter(|adapter| adapter.span.holds(position))
        .map(|adapter| {
            let mut row = Map::new();
            row.insert("type".to_owned(), json!(adapter.name));
            row.extend(needs_json(adapter, this));
            Value::Object(row)
        })
        .collect();
    json!({"types": adapters, "serdes": held(&SERDES, position), "evictions": held(&EVICTIONS, position)})
}

fn needs_json(adapter: &Adapter, within: Span) -> Vec<(String, Value)> {
    let conditional: Vec<Value> = needs(adapter, within)
        .map(|need| {
            let mut row = Map::new();
            row.insert("member".to_owned(), json!(need.member));
            row.extend(span_json(need.span));
            let (key, value) = match need.when {
                When::Always => ("always", json!(true)),
                When::Without(member) => ("without", json!(member)),
                When::Unset(variable) => ("unset", json!(variable)),
                When::Backend(names) => ("backend", json!(names)),
            };
            row.insert(key.to_owned(), value);
            Value::Object(row)
        })
        .collect();
    vec![
        ("required".to_owned(), json!(adapter.required)),
        ("requiredWhen".to_owned(), json!(conditional)),
    ]
}
