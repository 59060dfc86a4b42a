//! The tiers: what the release does with the second one, and whether the first one holds anything.

use lmcache_api::fault::echo;
use lmcache_api::{EngineSpec, FaultKind, FieldError, Kind, RawL2Spec, RespSpec};
use serde_json::{Value, json};

use super::Subject;
use crate::adapter::{Config, Found, Objection, aesgcm, first_with_aesgcm};
use crate::line::{CACHEBLEND_ALIGN_BYTES, DEFAULT_ALIGN_BYTES};
use crate::release::Running;
use crate::table::{ADAPTERS, RESP_ENVIRONMENT, RESP_MAX_CAPACITY, SERDES, first_of};

/// Bytes of what the server calls a gigabyte.
const GIB: f64 = 1_073_741_824.0;

pub(super) fn check(subject: &Subject<'_>, spec: &dyn EngineSpec, faults: &mut Vec<FieldError>) {
    let running = &subject.running;
    size(spec, faults);
    let Some(l2) = spec.l2_backend() else { return };
    if let Some(resp) = &l2.resp {
        redis(subject, resp, faults);
    }
    if aesgcm(l2).is_some() && running.is_before(first_with_aesgcm()) {
        let what = if running.is_before(first_of(&SERDES)) {
            "ignores this without a word and would store the data unencrypted"
        } else {
            "does not start with it"
        };
        let text = format!(
            "{what}; the first release that encrypts with AES-GCM is {}",
            first_with_aesgcm()
        );
        faults.push(subject.cannot("spec.l2Backend.serde.aesgcm", &text));
    }
    for objection in raw_objections(l2.raw.as_ref(), spec, running) {
        let path = raw_path(&objection);
        let text = objection.text;
        match objection.found {
            Found::OtherRelease(value) if running.is_known() => {
                faults.push(FieldError::new(path, FaultKind::Forbidden, format!("{value}: {text}")));
            }
            // Somebody's own image may have more in it.
            Found::Unknown(value) if running.is_known() && running.is_lmcache => {
                faults.push(FieldError::new(path, FaultKind::Forbidden, format!("{value}: {text}")));
            }
            Found::Missing if !running.is_newer() => faults.push(FieldError::required(path, text)),
            Found::Value(value) => faults.push(FieldError::invalid(path, value, text)),
            Found::OtherRelease(_) | Found::Unknown(_) | Found::Missing => {}
        }
    }
}

/// What came to the RESP adapter over time.
fn redis(subject: &Subject<'_>, resp: &RespSpec, faults: &mut Vec<FieldError>) {
    let row = ADAPTERS.iter().find(|adapter| adapter.name == "resp");
    for (asked, span, path, what) in [
        (
            true,
            row.map(|row| row.span),
            "spec.l2Backend.resp",
            "has no RESP adapter",
        ),
        (
            resp.auth_secret_ref.is_some(),
            Some(RESP_ENVIRONMENT),
            "spec.l2Backend.resp.authSecretRef",
            "does not read the password, so Redis would refuse it",
        ),
        (
            resp.max_capacity_gb.is_some_and(|capacity| capacity > 0.0),
            Some(RESP_MAX_CAPACITY),
            "spec.l2Backend.resp.maxCapacityGB",
            "ignores the capacity",
        ),
    ] {
        let first = span.map(|span| span.since());
        if let Some(first) = first.filter(|first| asked && subject.running.is_before(*first)) {
            let text = format!("{what}; the first release that does better is {first}");
            faults.push(subject.cannot(path, &text));
        }
    }
}

/// What may be wrong where the release is not known for certain.
pub(super) fn doubts(spec: &dyn EngineSpec, running: &Running, found: &mut Vec<String>) {
    let raw = spec.l2_backend().and_then(|l2| l2.raw.as_ref());
    for objection in raw_objections(raw, spec, running) {
        let path = raw_path(&objection);
        let text = objection.text;
        match objection.found {
            Found::OtherRelease(value) if !running.is_known() => found.push(format!("{path} {value}: {text}")),
            Found::Unknown(value) if !running.is_known() || !running.is_lmcache => {
                found.push(format!("{path} {value}: {text}"));
            }
            Found::Missing if running.is_newer() => found.push(format!("{path} is missing: {text}")),
            _ => {}
        }
    }
    let encrypts = spec.l2_backend().is_some_and(|l2| aesgcm(l2).is_some());
    if encrypts && running.stated.is_none() {
        found.push(format!(
            "spec.l2Backend.serde.aesgcm: which release runs is not known, and before {} LMCache stores the data unencrypted \
             without a word; pin a release from {} on",
            first_of(&SERDES),
            first_with_aesgcm()
        ));
    }
    let config = raw.and_then(|raw| raw.config.as_ref());
    let redis = raw.is_some_and(|raw| raw.type_.as_deref() == Some("resp"));
    for (key, _) in config
        .into_iter()
        .flatten()
        .filter(|(key, value)| is_secret(key, value))
    {
        let advice = if redis {
            "use resp with authSecretRef"
        } else {
            "give it by the environment if the adapter takes it from there"
        };
        found.push(format!(
            "spec.l2Backend.raw.config.{key} stands in the arguments of the server's Pods, and its HTTP port shows it to \
             anyone at /config; {advice}"
        ));
    }
}

/// A password, by whatever name the adapter calls it.
pub(super) fn is_secret(key: &str, value: &Value) -> bool {
    if let Value::Object(members) = value {
        return members.iter().any(|(key, value)| is_secret(key, value));
    }
    let key = key.to_ascii_lowercase();
    let words = ["password", "passwd", "secret", "token", "api_key"];
    // `token_env` names a variable.
    let named = !key.ends_with("_env") && words.iter().any(|word| key.contains(word));
    named && value.as_str().is_some_and(|text| !text.is_empty())
}

fn raw_objections(raw: Option<&RawL2Spec>, spec: &dyn EngineSpec, running: &Running) -> Vec<Objection> {
    let Some((raw, type_)) = raw.and_then(|raw| Some((raw, raw.type_.as_deref()?))) else {
        return Vec::new();
    };
    let config = Config {
        type_,
        member: &|key| raw.config.as_ref()?.get(key),
        verbatim: false,
        has_variable: &|name| has_variable(spec, name),
    };
    config.objections(running)
}

/// Whether the engine sets a variable of its servers.
pub(super) fn has_variable(spec: &dyn EngineSpec, name: &str) -> bool {
    let mut names = spec.env().iter().filter_map(|variable| variable.get("name"));
    names.any(|found| found == name)
}

fn raw_path(objection: &Objection) -> String {
    if objection.path.is_empty() {
        "spec.l2Backend.raw.type".to_owned()
    } else {
        format!("spec.l2Backend.raw.config{}", objection.path)
    }
}

/// A first tier below one allocation starts, is healthy, and holds nothing.
fn size(spec: &dyn EngineSpec, faults: &mut Vec<FieldError>) {
    let (smallest, unit) = match spec.kind() {
        Kind::CacheBlendEngine => (CACHEBLEND_ALIGN_BYTES, "16 MiB"),
        _ => (DEFAULT_ALIGN_BYTES, "4096 bytes"),
    };
    if let Some(size) = spec.l1().and_then(|l1| l1.size_gb)
        && size > 0.0
        && size * GIB < f64::from(smallest)
    {
        let expected =
            format!("must be at least {unit}, the smallest piece that the server allocates: it would hold nothing");
        faults.push(FieldError::invalid("spec.l1.sizeGB", echo(&json!(size)), expected));
    }
}
