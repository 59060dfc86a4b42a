//! `--l2-adapter`: the second tier as the server wants it told.

use lmcache_api::fault::{echo, push_key, quote};
use lmcache_api::{AesGcmSpec, KeyProvider, L2BackendSpec, Release, RespSpec};
use serde_json::{Map, Value, json};

use crate::release::Running;
use crate::table::{ADAPTERS, Adapter, EVICTIONS, NEEDS, SERDES, When, Word, at, first_of};

/// File that holds the master key of an encrypted second tier, in the server's container.
const MASTER_KEY_PATH: &str = "/etc/lmcache/keys/master";

/// The JSON of a second tier; `None` if neither `resp` nor `raw` is set.
pub(crate) fn config(l2: &L2BackendSpec) -> Option<Value> {
    let mut config = match (&l2.resp, &l2.raw) {
        (Some(resp), _) => resp_config(resp),
        (None, Some(raw)) => {
            let mut config = Map::new();
            config.insert("type".to_owned(), json!(raw.type_));
            let entries = raw.config.iter().flatten();
            config.extend(entries.map(|(key, value)| (key.clone(), value.clone())));
            config
        }
        (None, None) => return None,
    };
    if let Some(aesgcm) = aesgcm(l2) {
        config.insert("serde".to_owned(), serde_config(aesgcm));
    }
    Some(Value::Object(config))
}

fn resp_config(resp: &RespSpec) -> Map<String, Value> {
    let mut config = Map::new();
    config.insert("type".to_owned(), json!("resp"));
    config.insert("host".to_owned(), json!(resp.host.as_deref().unwrap_or_default()));
    config.insert("port".to_owned(), json!(resp.port.unwrap_or_default()));
    config.insert("num_workers".to_owned(), json!(resp.num_workers.unwrap_or(8)));
    if let Some(capacity) = resp.max_capacity_gb.filter(|capacity| *capacity > 0.0) {
        config.insert("max_capacity_gb".to_owned(), json!(capacity));
    }
    config
}

pub(crate) fn aesgcm(l2: &L2BackendSpec) -> Option<&AesGcmSpec> {
    l2.serde.as_ref()?.aesgcm.as_ref()
}

fn serde_config(aesgcm: &AesGcmSpec) -> Value {
    json!({
        "type": "aesgcm",
        "aes_bits": aesgcm.aes_bits.unwrap_or(128),
        "key_provider": aesgcm.key_provider.unwrap_or(KeyProvider::Hkdf).as_str(),
        "master_key_path": MASTER_KEY_PATH,
    })
}

/// What the server would say about an adapter's configuration.
pub(crate) struct Objection {
    /// Path below the configuration: `.port`, `.eviction.eviction_policy`; empty for its type.
    pub path: String,
    /// What stands there.
    pub found: Found,
    /// What is wrong and what to do.
    pub text: String,
}

/// What stands where the server objects.
pub(crate) enum Found {
    /// Nothing.
    Missing,
    /// This value, which no release takes.
    Value(String),
    /// A value that another release takes.
    OtherRelease(String),
    /// A value that no release takes, but an image with more than LMCache in it may.
    Unknown(String),
}

/// An adapter's configuration, and the environment that some adapters read beside it.
pub(crate) struct Config<'a> {
    /// The word in `type`.
    pub type_: &'a str,
    /// A member by its key.
    pub member: &'a dyn Fn(&str) -> Option<&'a Value>,
    /// Whether the server gets the text as it stands. What is rendered has lost `null`s and the `.0` of whole numbers.
    pub verbatim: bool,
    /// Whether the server's environment has a variable.
    pub has_variable: &'a dyn Fn(&str) -> bool,
}

impl Config<'_> {
    /// Judges it as the release does.
    pub fn objections(&self, running: &Running) -> Vec<Objection> {
        let mut found = Vec::new();
        let rows = || ADAPTERS.iter().filter(|adapter| adapter.name == self.type_);
        let row = rows().find(|adapter| adapter.span.holds(running.position));
        if row.is_none() {
            let release = running.assumed();
            let (value, text) = (quote(self.type_), format!("LMCache {release} has no such adapter; "));
            let (found_, text) = match rows().next() {
                Some(other) => {
                    let text = format!("{text}the first release that has it is {}", other.span.since());
                    (Found::OtherRelease(value), text)
                }
                None => (
                    Found::Unknown(value),
                    format!("{text}it has {}", adapters(running.position)),
                ),
            };
            found.push(Objection {
                path: String::new(),
                found: found_,
                text,
            });
        }
        // Of an adapter that came later, the members that it will want are said at once.
        if let Some(row) = row.or_else(|| rows().next()) {
            self.needs(row, running, &mut found);
        }
        if self.type_ == "resp" {
            self.resp(&mut found);
        }
        self.word("eviction", "eviction_policy", &EVICTIONS, running, &mut found);
        self.word("serde", "type", &SERDES, running, &mut found);
        found
    }

    fn needs(&self, row: &Adapter, running: &Running, found: &mut Vec<Objection>) {
        let position = running.position.max(usize::from(row.span.first));
        let conditional = NEEDS
            .iter()
            .filter(|need| need.adapter == row.name && need.span.holds(position));
        let conditional = conditional.filter(|need| match need.when {
            When::Always => true,
            // An empty list of devices is none, unless devices may come later.
            When::Without(member) => match (self.member)(member) {
                Some(Value::Array(items)) if items.is_empty() => {
                    (self.member)("hotplug_enabled").is_none_or(|enabled| enabled != &Value::Bool(true))
                }
                other => other.is_none(),
            },
            When::Unset(variable) => !(self.has_variable)(variable),
            When::Backend(names) => (self.member)("backend")
                .and_then(Value::as_str)
                .is_some_and(|name| names.contains(&name)),
        });
        for member in row.required.iter().copied().chain(conditional.map(|need| need.member)) {
            let value = match member.split_once('.') {
                Some((outer, inner)) => (self.member)(outer).and_then(|outer| outer.get(inner)),
                None => (self.member)(member),
            };
            // No adapter takes an empty text where it wants something.
            let objection = match value {
                None | Some(Value::Null) => Some((
                    Found::Missing,
                    format!("the adapter {} does not start without it", self.type_),
                )),
                Some(value) if value == "" => Some((
                    Found::Missing,
                    format!("the adapter {} does not start without it", self.type_),
                )),
                Some(value) => wrong(member, value).map(|expected| (Found::Value(said(value)), expected.to_owned())),
            };
            if let Some((found_, text)) = objection {
                found.push(Objection {
                    path: below(member),
                    found: found_,
                    text,
                });
            }
        }
    }

    fn resp(&self, found: &mut Vec<Objection>) {
        let mut expect = |key: &str, fits: fn(&Value) -> bool, expected: &str| {
            let value = (self.member)(key).filter(|value| self.verbatim || !value.is_null());
            if let Some(value) = value.filter(|value| !fits(value)) {
                found.push(Objection {
                    path: below(key),
                    found: Found::Value(said(value)),
                    text: expected.to_owned(),
                });
            }
        };
        // 8.0 is rendered as 8, as the Go operator does.
        let positive: fn(&Value) -> bool = if self.verbatim {
            |value| value.as_u64().is_some_and(|number| number > 0)
        } else {
            |value| {
                value
                    .as_f64()
                    .is_some_and(|number| number >= 1.0 && number.fract() == 0.0)
            }
        };
        expect("host", Value::is_string, "must be a host name");
        expect("port", positive, "must be a positive integer");
        expect("num_workers", positive, "must be a positive integer");
        expect(
            "max_capacity_gb",
            |value| value.as_f64().is_some_and(|number| number >= 0.0),
            "must be a number, 0 or more",
        );
    }

    /// A member that is an object with a word in it.
    fn word(&self, key: &str, word_key: &str, words: &'static [Word], running: &Running, found: &mut Vec<Objection>) {
        let Some(value) = (self.member)(key).filter(|value| !value.is_null()) else {
            return;
        };
        let release = running.assumed();
        let first = first_of(words);
        let mut object = |path, found_, text| {
            found.push(Objection {
                path,
                found: found_,
                text,
            });
        };
        if running.is_before(first) {
            let plain = if key == "serde" {
                ", so data is stored as it is"
            } else {
                ""
            };
            let text = format!(
                "LMCache {release} ignores {key} without a word{plain}; the first release that heeds it is {first}"
            );
            return object(below(key), Found::OtherRelease(said(value)), text);
        }
        let known = known_words(words, running.position);
        let word_path = format!(".{key}.{word_key}");
        match value.get(word_key) {
            None | Some(Value::Null) if value.is_object() => {
                object(word_path, Found::Missing, format!("one of {known}"));
            }
            Some(Value::String(text)) => {
                let mut rows = words.iter().filter(|word| word.text == text);
                if rows.clone().any(|word| word.span.holds(running.position)) {
                    return;
                }
                let other = rows.next().map(|word| word.span.since());
                let since = other.map(|since| format!("; the first release that does is {since}"));
                let text_ = format!(
                    "LMCache {release} does not know it{}; it knows {known}",
                    since.unwrap_or_default()
                );
                let value = quote(text);
                let found_ = if other.is_some() {
                    Found::OtherRelease(value)
                } else {
                    Found::Unknown(value)
                };
                object(word_path, found_, text_);
            }
            _ => object(
                below(key),
                Found::Value(said(value)),
                format!("must be an object with a text {word_key}"),
            ),
        }
    }
}

/// Members that are whole numbers above 0, as far as some release requires them.
const WHOLE: [&str; 2] = ["pool_size", "slot_bytes"];
/// Members that are numbers above 0.
const NUMBERS: [&str; 3] = ["max_dax_size_gb", "max_size_gb", "mock_bandwidth_gb"];
/// Members that may be more than a text.
const OTHERS: [&str; 8] = [
    "backend_params.max_capacity_gb",
    "backend_params.use_direct_io",
    "host",
    "hosts",
    "inner",
    "port",
    "startup_nodes",
    "bigtable_table_name",
];

/// What a required member must be instead.
fn wrong(member: &str, value: &Value) -> Option<&'static str> {
    if WHOLE.contains(&member) {
        let whole = value
            .as_f64()
            .is_some_and(|number| number >= 1.0 && number.fract() == 0.0);
        return (!whole).then_some("must be a positive integer");
    }
    if NUMBERS.contains(&member) {
        return (!value.as_f64().is_some_and(|number| number > 0.0)).then_some("must be a number greater than 0");
    }
    (!OTHERS.contains(&member) && !value.is_string()).then_some("must be a text")
}

/// A value in a message. Not what is inside an object: there may be a key in it.
fn said(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        value => echo(value),
    }
}

/// Names of the adapters of a release.
fn adapters(position: usize) -> String {
    let known = ADAPTERS.iter().filter(|adapter| adapter.span.holds(position));
    known.map(|adapter| adapter.name).collect::<Vec<_>>().join(", ")
}

/// `.member`, or `.outer.inner`.
fn below(member: &str) -> String {
    let mut path = String::new();
    for key in member.split('.') {
        push_key(&mut path, key);
    }
    path
}

pub(crate) fn known_words(words: &[Word], position: usize) -> String {
    let known = words.iter().filter(|word| word.span.holds(position));
    known.map(|word| word.text).collect::<Vec<_>>().join(", ")
}

/// The first release whose server encrypts with AES-GCM.
pub(crate) fn first_with_aesgcm() -> Release {
    let row = SERDES.iter().find(|word| word.text == "aesgcm");
    row.map_or(at(usize::MAX), |word| word.span.since())
}
