//! `extraArgs`: what repeats a field, and what the process would not take.

use lmcache_api::fault::{quote, without_login};
use lmcache_api::{EvictionPolicy, FaultKind, FieldError, Kind};
use serde_json::Value;

use super::{Subject, hints, tier};
use crate::adapter::{Config, Found, aesgcm, known_words};
use crate::argparse::{Complaint, Problem, Reading, number, read};
use crate::table::{Flag, Span, Takes, newest};

/// Flags of the server that fields stand for.
const SERVER_FIELDS: [(&str, &str); 24] = [
    ("--port", "spec.server.port"),
    ("--http-port", "spec.server.httpPort"),
    ("--l1-size-gb", "spec.l1.sizeGB"),
    ("--chunk-size", "spec.server.chunkSize"),
    ("--max-workers", "spec.server.maxWorkers"),
    ("--hash-algorithm", "spec.server.hashAlgorithm"),
    (EVICTION_POLICY, "spec.eviction.policy"),
    ("--eviction-trigger-watermark", "spec.eviction.triggerWatermark"),
    ("--eviction-ratio", "spec.eviction.evictionRatio"),
    ("--prometheus-port", "spec.prometheus.port"),
    ("--disable-metrics", "spec.prometheus.enabled"),
    ("--disable-prometheus", "spec.prometheus.enabled"),
    ("--l2-store-policy", "spec.l2Backend.storePolicy"),
    ("--l2-prefetch-policy", "spec.l2Backend.prefetchPolicy"),
    ("--l2-prefetch-max-in-flight", "spec.l2Backend.prefetchMaxInFlight"),
    ("--coordinator-url", "spec.coordinator.url"),
    ("--coordinator-advertise-ip", "spec.coordinator.advertiseIP"),
    ("--coordinator-heartbeat-interval", "spec.coordinator.heartbeatInterval"),
    ("--coordinator-event-reporting", "spec.coordinator.l2EventReporting"),
    ("--coordinator-l2-event-reporting", "spec.coordinator.l2EventReporting"),
    (
        "--coordinator-event-flush-interval",
        "spec.coordinator.l2EventFlushInterval",
    ),
    (
        "--coordinator-l2-event-flush-interval",
        "spec.coordinator.l2EventFlushInterval",
    ),
    ("--isolated-ipc", "spec.isolatedIPC"),
    (ENGINE_TYPE, "the kind CacheBlendEngine"),
];

/// Flags of the coordinator that fields stand for.
const COORDINATOR_FIELDS: [(&str, &str); 11] = [
    ("--disable-metrics", "spec.prometheus.enabled"),
    ("--host", "spec.host"),
    ("--port", "spec.port"),
    ("--instance-timeout", "spec.instanceTimeout"),
    ("--health-check-interval", "spec.healthCheckInterval"),
    ("--eviction-check-interval", "spec.evictionCheckInterval"),
    ("--eviction-ratio", "spec.evictionRatio"),
    ("--trigger-watermark", "spec.triggerWatermark"),
    ("--chunk-size", "spec.blendChunkSize"),
    ("--blend-chunk-size", "spec.blendChunkSize"),
    ("--blend-probe-stride", "spec.blendProbeStride"),
];

const EVICTION_POLICY: &str = "--eviction-policy";
const ENGINE_TYPE: &str = "--engine-type";
const ALIGN_BYTES: &str = "--l1-align-bytes";
const ADAPTER: &str = "--l2-adapter";

/// The field that a flag stands for.
fn field_of(kind: Kind, flag: &str) -> Option<&'static str> {
    let fields = match kind {
        Kind::LMCacheCoordinator => COORDINATOR_FIELDS.as_slice(),
        _ => SERVER_FIELDS.as_slice(),
    };
    let (_, field) = fields.iter().find(|(name, _)| *name == flag)?;
    // A CacheBlendEngine has no isolated IPC.
    match (flag, kind) {
        (ENGINE_TYPE, Kind::LMCacheEngine) => None,
        ("--isolated-ipc", Kind::CacheBlendEngine) => Some("spec.hostIPC"),
        _ => Some(field),
    }
}

/// Whether the field can say this too. Other eviction policies, and the older way to blend, can be had in no other way.
fn is_field_word(flag: &str, value: Option<&str>) -> bool {
    let Some(value) = value else { return true };
    match flag {
        EVICTION_POLICY => EvictionPolicy::VALUES.contains(&value),
        ENGINE_TYPE => !value.starts_with("blend"),
        _ => true,
    }
}

pub(super) fn check(subject: &Subject<'_>, faults: &mut Vec<FieldError>) {
    let kind = subject.object.kind();
    let args = subject.extra_args();
    let reading = read(subject.flags, subject.running.position, args);
    let mut repeats: Vec<(usize, &'static str, String)> = Vec::new();
    for used in &reading.uses {
        if let Some(field) = field_of(kind, used.flag.name).filter(|_| is_field_word(used.flag.name, used.value())) {
            repeats.push((used.index, field, shown(args, used.index, used.values.first())));
        } else if matches!(used.flag.name, "--help" | "-h") {
            let shown = shown(args, used.index, None);
            let detail = format!("{shown}: prints the help and ends, so nothing would run");
            faults.push(FieldError::new(path(used.index), FaultKind::Forbidden, detail));
        }
    }
    if let Some(used) = reading.last(ALIGN_BYTES)
        && let Some(value) = used.value()
        && !is_power_of_two(value)
    {
        let shown = shown(args, used.index, used.values.first());
        let detail =
            format!("{shown}: must be a power of two, such as 4096 or 16777216: the server's memory is cut by it");
        faults.push(FieldError::new(path(used.index), FaultKind::Forbidden, detail));
    }
    for complaint in &reading.complaints {
        let flag = match complaint.problem {
            Problem::NoValue(flag) | Problem::UnwantedValue(flag) | Problem::NoNumber(flag) | Problem::NoWord(flag) => {
                flag.name
            }
            // Known to another release.
            Problem::Unknown => name_of(complaint.token),
            Problem::Ambiguous(..) => continue,
        };
        let value = matches!(complaint.problem, Problem::NoWord(_)).then_some(complaint.token);
        if let Some(field) = field_of(kind, flag)
            && (is_field_word(flag, value) || !is_word(subject, flag, value))
        {
            let value = (complaint.index, complaint.token);
            let shown = shown(args, complaint.flag_index, Some(&value));
            repeats.push((complaint.flag_index, field, shown));
        }
    }
    repeats.sort_unstable();
    for (index, field, shown) in repeats {
        let detail = if kind == Kind::CacheBlendEngine && field == "spec.hostIPC" {
            format!("{shown}: a CacheBlendEngine cannot be isolated; spec.hostIPC says how it shares memory")
        } else {
            format!("{shown}: repeats {field}, which it would overrule: set that instead")
        };
        faults.push(FieldError::new(path(index), FaultKind::Forbidden, detail));
    }
}

/// Whether some release knows this word for the flag.
fn is_word(subject: &Subject<'_>, flag: &str, value: Option<&str>) -> bool {
    let rows = subject.flags.iter().filter(|row| row.name == flag);
    rows.flat_map(|row| row.words).any(|word| Some(word.text) == value)
}

/// What the process would end with, and what it would do that was not meant.
pub(super) fn doubts(subject: &Subject<'_>, found: &mut Vec<String>) {
    let kind = subject.object.kind();
    let running = &subject.running;
    let args = subject.extra_args();
    let reading = read(subject.flags, running.position, args);
    // The value behind a flag that is not known is not worth a word of its own.
    let mut unknown_flag = None;
    for complaint in &reading.complaints {
        let is_flag = complaint.token.starts_with('-');
        let follows = unknown_flag.is_some_and(|index| index + 1 == complaint.index) && !is_flag;
        let unread = matches!(complaint.problem, Problem::Unknown | Problem::Ambiguous(..));
        unknown_flag = (unread && is_flag).then_some(complaint.index);
        if !follows {
            found.push(text(subject, complaint));
        }
    }
    for used in reading.uses.iter().filter(|used| used.flag.name == ADAPTER) {
        if let Some(value) = used.value() {
            adapter(subject, used.index, value, found);
        }
    }
    hints::extra_args(kind, running, &subject.arguments, &reading, found);
}

fn text(subject: &Subject<'_>, complaint: &Complaint<'_>) -> String {
    let running = &subject.running;
    let release = running.assumed();
    // Words that stand in the wrong place may be secrets: of a flag its name is shown, of a word nothing.
    let place = format!("{} {}", path(complaint.index), quote(name_of(complaint.token)));
    let command = match subject.object.kind() {
        Kind::LMCacheCoordinator => "coordinator",
        _ => "server",
    };
    match complaint.problem {
        Problem::Unknown if complaint.token == "--" || !complaint.token.starts_with('-') => {
            let place = path(complaint.index);
            format!("{place} is unrecognized, a word that belongs to no flag: the {command} does not start with it")
        }
        Problem::Unknown => {
            let name = name_of(complaint.token);
            let mut rows = subject.flags.iter().filter(|flag| flag.name == name);
            let known = match (rows.next(), rows.next_back()) {
                (Some(first), last) => spans(first.span, last.unwrap_or(first).span),
                (None, _) => format!("no release up to {} has it", newest()),
            };
            format!("{place} is no flag of LMCache {release}, which does not start with it; {known}")
        }
        Problem::Ambiguous(one, other) => format!(
            "{place} is the beginning of {}, {} and maybe more in LMCache {release}, which does not start with it; write \
             it out",
            one.name, other.name
        ),
        Problem::NoValue(flag) => format!("{place} lacks a value: {} takes {}", flag.name, takes(flag)),
        Problem::UnwantedValue(flag) => format!("{place} has a value, but {} takes none", flag.name),
        Problem::NoNumber(flag) => format!("{place} is not what {} takes: {}", flag.name, takes(flag)),
        Problem::NoWord(flag) => {
            let rows = subject.flags.iter().filter(|row| row.name == flag.name);
            let word = rows.flat_map(|row| row.words).find(|word| word.text == complaint.token);
            let known = word
                .map(|word| format!(" ({})", spans(word.span, word.span)))
                .unwrap_or_default();
            format!(
                "{place} is none of the words that {} takes in LMCache {release}: {}{known}",
                flag.name,
                known_words(flag.words, running.position)
            )
        }
    }
}

/// The name of a flag, without what is behind its `=`, or a blank that does not belong there.
fn name_of(token: &str) -> &str {
    token.split(['=', ' ']).next().unwrap_or_default()
}

/// Which releases know it.
fn spans(first: Span, last: Span) -> String {
    match last.until() {
        Some(until) if until == first.since() => format!("only {until} has it"),
        Some(until) => format!("{} to {until} have it", first.since()),
        None => format!("releases from {} on have it", first.since()),
    }
}

fn takes(flag: &Flag) -> &'static str {
    match flag.takes {
        Takes::Nothing | Takes::OnOff => "no value",
        Takes::Int => "an integer",
        Takes::Float => "a number",
        Takes::Text | Takes::Texts => "a text that does not begin with a dash",
        Takes::Many => "at least one text",
    }
}

/// A second tier beside the one of the fields.
fn adapter(subject: &Subject<'_>, index: usize, text: &str, found: &mut Vec<String>) {
    let place = format!("{} {ADAPTER}", path(index));
    let Ok(Value::Object(members)) = serde_json::from_str::<Value>(text) else {
        found.push(format!(
            "{place} takes a JSON object; the server does not start with what it gets"
        ));
        return;
    };
    let Some(type_) = members.get("type").and_then(Value::as_str) else {
        found.push(format!(
            "{place} lacks a text \"type\"; the server does not start with it"
        ));
        return;
    };
    let config = Config {
        type_,
        member: &|key| members.get(key),
        verbatim: true,
        has_variable: &|name| {
            subject
                .object
                .engine()
                .is_some_and(|spec| tier::has_variable(spec, name))
        },
    };
    for objection in config.objections(&subject.running) {
        let what = match objection.found {
            Found::Missing => "is missing".to_owned(),
            Found::Value(value) | Found::OtherRelease(value) | Found::Unknown(value) => value,
        };
        let member = if objection.path.is_empty() {
            ".type"
        } else {
            &objection.path
        };
        found.push(format!("{place} {member} {what}: {}", objection.text));
    }
    let l2 = subject.object.engine().and_then(|spec| spec.l2_backend());
    let encrypts = members
        .get("serde")
        .and_then(|serde| serde.get("type"))
        .is_some_and(|type_| type_ == "aesgcm");
    if l2.is_some_and(|l2| aesgcm(l2).is_some()) && !encrypts {
        found.push(format!(
            "{place} stores the data unencrypted: spec.l2Backend.serde is about the other tier only; give this one a serde too"
        ));
    }
    if members.iter().any(|(key, value)| tier::is_secret(key, value)) {
        found.push(format!(
            "{place} holds a password, which stands in the arguments of the server's Pods and shows at /config; use \
             spec.l2Backend.resp with authSecretRef"
        ));
    }
}

fn is_power_of_two(text: &str) -> bool {
    let plain = text.trim().replace('_', "");
    let digits = plain.strip_prefix('+').unwrap_or(&plain);
    digits.parse::<u64>().is_ok_and(u64::is_power_of_two)
}

/// The uses in a reading, for other rules.
pub(super) fn has(reading: &Reading<'_>, name: &str) -> bool {
    reading.last(name).is_some()
}

/// The number given to a flag and its place; infinite and `nan` are none.
pub(super) fn number_of(reading: &Reading<'_>, name: &str) -> Option<(usize, Option<f64>)> {
    let used = reading.last(name)?;
    Some((used.index, number::value(used.value()?)))
}

pub(super) fn path(index: usize) -> String {
    format!("spec.extraArgs[{index}]")
}

/// A flag and, where that is a token of its own, its value.
fn shown(args: &[String], index: usize, value: Option<&(usize, &str)>) -> String {
    let token = args.get(index).map(String::as_str).unwrap_or_default();
    let text = match value.filter(|(at, _)| *at != index) {
        Some((_, value)) => format!("{token} {value}"),
        None => token.to_owned(),
    };
    quote(&without_login(&text))
}
