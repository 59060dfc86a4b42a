//! How a Pod is wired, read from the Pod itself, and in what two of them differ: in words, and without values.

use std::collections::BTreeMap;

use pod_edit::args::{
    ASYNC_SCHEDULING, ATTENTION_BACKEND, ATTENTION_CONFIG, BLOCK_SIZE, COMPILATION_CONFIG, CommandLine,
    ENABLE_CHUNKED_PREFILL, ENFORCE_EAGER, Flag, FlagUse, KV_TRANSFER_CONFIG, PIPELINE_PARALLEL_SIZE,
};
use pod_edit::{container, metadata, pod, volume};
use policy_kit::keys::{CACHEBLEND, LMCACHE, PAYLOAD_STAGED, SystemKeys};
use policy_kit::pod as policy;
use serde_json::Value;

/// The flags that the webhooks and the policies set.
const FLAGS: [&Flag; 9] = [
    &KV_TRANSFER_CONFIG,
    &ATTENTION_BACKEND,
    &ATTENTION_CONFIG,
    &ENABLE_CHUNKED_PREFILL,
    &BLOCK_SIZE,
    &PIPELINE_PARALLEL_SIZE,
    &ASYNC_SCHEDULING,
    &ENFORCE_EAGER,
    &COMPILATION_CONFIG,
];
/// The variables that they set.
const VARIABLES: [&str; 4] = [
    "PYTHONHASHSEED",
    "PYTHONPATH",
    "VLLM_NIXL_SIDE_CHANNEL_HOST",
    "VLLM_NIXL_SIDE_CHANNEL_PORT",
];
/// The host's or the Pod's own memory, as the newest Go operator and the policies call the volume.
const SHARED_MEMORY: &str = "lmcache-dev-shm";

/// What becomes of a Pod that was made by the Go operator's webhooks, `now`, when its workload makes it anew: `then`, as the
/// policies make it of the template. Sentences without a subject; empty where nothing changes that a process would notice.
pub(super) fn differences(now: &Value, then: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for keys in [&LMCACHE, &CACHEBLEND] {
        found.extend(stamp(keys, now, then));
    }
    found.extend(switch("hostIPC", pod::host_ipc(now), pod::host_ipc(then)));
    if pod::service_links(then) == Some(false) && pod::service_links(now) != Some(false) {
        found.push("service links are switched off (enableServiceLinks: false)".to_owned());
    }
    for target in container::containers(then) {
        let name = container::name(target).unwrap_or_default();
        let before = container::index_by_name(now, name).and_then(|index| container::containers(now).get(index));
        let Some(before) = before else { continue };
        let in_container = in_container(before, target);
        found.extend(in_container.into_iter().map(|what| format!("container {name}: {what}")));
    }
    found.extend(staging(now, then));
    let secrets: Vec<&str> = pod::pull_secrets(now).collect();
    let added = pod::pull_secrets(then).filter(|name| !secrets.contains(name));
    found.extend(added.map(|name| format!("pull secret {name} is added")));
    found
}

/// Whether a Pod is wired, and the reason if not.
fn mark<'a>(keys: &SystemKeys, pod: &'a Value) -> (bool, Option<&'a str>) {
    let is_wired = metadata::annotation(pod, keys.injected) == Some("true");
    (is_wired, metadata::annotation(pod, keys.skip_reason))
}

fn stamp(keys: &SystemKeys, now: &Value, then: &Value) -> Option<String> {
    let system = if keys.inject == CACHEBLEND.inject {
        "CacheBlend"
    } else {
        "LMCache"
    };
    let because = |reason: Option<&str>| reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
    match (mark(keys, now), mark(keys, then)) {
        ((true, _), (true, _)) => None,
        ((true, _), (false, reason)) => Some(format!("is not wired to {system} any more{}", because(reason))),
        ((false, reason), (true, _)) => Some(format!("is wired to {system}, which it is not now{}", because(reason))),
        ((false, before), (false, after)) if before != after => match (before, after) {
            (_, Some(after)) => Some(format!("is still not wired to {system}; the reason is {after}")),
            (Some(before), None) => Some(format!(
                "is still not wired to {system}, and {before} is not said any more"
            )),
            (None, None) => None,
        },
        _ => None,
    }
}

fn switch(what: &str, now: bool, then: bool) -> Option<String> {
    match (now, then) {
        (true, false) => Some(format!("{what} is not set any more")),
        (false, true) => Some(format!("{what} is set")),
        _ => None,
    }
}

fn in_container(now: &Value, then: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let (line_now, line_then) = (CommandLine::of(now), CommandLine::of(then));
    for flag in FLAGS {
        found.extend(change(
            flag.name,
            use_of(&line_now, flag).as_ref(),
            use_of(&line_then, flag).as_ref(),
        ));
    }
    let (env_now, env_then) = (variables(now), variables(then));
    for name in VARIABLES {
        found.extend(change(
            &format!("variable {name}"),
            env_now.get(name),
            env_then.get(name),
        ));
    }
    for name in [
        policy::LMCACHE.staging.volume,
        policy::CACHEBLEND.staging.volume,
        SHARED_MEMORY,
    ] {
        let mounts = |container: &Value| mounts(container, name);
        found.extend(change(
            &format!("mount of {name}"),
            mounts(now).as_ref(),
            mounts(then).as_ref(),
        ));
    }
    found
}

fn change(what: &str, now: Option<&Value>, then: Option<&Value>) -> Option<String> {
    match (now, then) {
        (None, Some(_)) => Some(format!("{what} is added")),
        (Some(_), None) => Some(format!("{what} goes")),
        (Some(now), Some(then)) if now != then => {
            let members = members(now, then);
            Some(if members.is_empty() {
                format!("{what} has another value")
            } else {
                format!("{what} differs in {}", members.join(", "))
            })
        }
        _ => None,
    }
}

/// What a flag comes to, JSON as such.
fn use_of(line: &CommandLine<'_>, flag: &Flag) -> Option<Value> {
    Some(match line.effective(flag)? {
        FlagUse::Text(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        FlagUse::Dotted(value) => value,
        FlagUse::NoValue => Value::Null,
        FlagUse::On => Value::Bool(true),
        FlagUse::Off => Value::Bool(false),
    })
}

/// Paths of members in which two JSON objects differ. Of what is no object there are none.
fn members(now: &Value, then: &Value) -> Vec<String> {
    let (Some(now), Some(then)) = (now.as_object(), then.as_object()) else {
        return Vec::new();
    };
    let mut paths = Vec::new();
    let keys = now.keys().chain(then.keys().filter(|key| !now.contains_key(*key)));
    for key in keys {
        let (now, then) = (now.get(key), then.get(key));
        if now == then {
            continue;
        }
        let below = now.zip(then).map(|(now, then)| members(now, then)).unwrap_or_default();
        if below.is_empty() {
            paths.push(key.clone());
        } else {
            paths.extend(below.into_iter().map(|path| format!("{key}.{path}")));
        }
    }
    paths
}

/// The entries of a container's environment that are looked at; of several with one name the last counts.
fn variables(container: &Value) -> BTreeMap<&str, Value> {
    let entries = container.get("env").and_then(Value::as_array).into_iter().flatten();
    let named = entries.filter_map(|entry| Some((entry.get("name")?.as_str()?, entry)));
    let known = named.filter(|(name, _)| VARIABLES.contains(name));
    let value = |entry: &Value| {
        let from = entry
            .get("valueFrom")
            .map(|from| from.pointer("/fieldRef/fieldPath").unwrap_or(from));
        from.or(entry.get("value")).cloned().unwrap_or_else(|| "".into())
    };
    known.map(|(name, entry)| (name, value(entry))).collect()
}

fn mounts(container: &Value, name: &str) -> Option<Value> {
    let mounts = container
        .get("volumeMounts")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let mut own = mounts.filter(|mount| mount.get("name").and_then(Value::as_str) == Some(name));
    own.next().and_then(|mount| mount.get("mountPath")).cloned()
}

/// Volumes and init containers.
fn staging(now: &Value, then: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for name in [
        policy::LMCACHE.staging.volume,
        policy::CACHEBLEND.staging.volume,
        SHARED_MEMORY,
    ] {
        let source = |pod: &Value| {
            let volume = volume::volume_by_name(pod, name)?.as_object()?;
            volume
                .keys()
                .find(|key| *key != "name")
                .map(|key| Value::from(key.as_str()))
        };
        found.extend(change(
            &format!("volume {name}"),
            source(now).as_ref(),
            source(then).as_ref(),
        ));
    }
    for name in [
        policy::LMCACHE.staging.init_container,
        policy::CACHEBLEND.staging.init_container,
    ] {
        let what = format!("init container {name}");
        let (before, after) = (
            pod::init_container_by_name(now, name),
            pod::init_container_by_name(then, name),
        );
        match (before, after) {
            (Some(before), Some(after)) => {
                let image = |container: &Value| container.get("image").cloned();
                found.extend(change(
                    &format!("{what}: image"),
                    image(before).as_ref(),
                    image(after).as_ref(),
                ));
                let has = |container: &Value, member: &str| {
                    let member = container.get(member).and_then(Value::as_object);
                    member.is_some_and(|member| !member.is_empty())
                };
                let gets = ["resources", "securityContext"];
                let gets: Vec<&str> = gets
                    .into_iter()
                    .filter(|member| has(after, member) && !has(before, member))
                    .collect();
                if !gets.is_empty() {
                    found.push(format!("{what}: gets {}", gets.join(" and ")));
                }
            }
            (None, Some(_)) => found.push(format!("{what} is added")),
            (Some(_), None) => found.push(format!("{what} goes")),
            (None, None) => {}
        }
    }
    if metadata::annotation(then, PAYLOAD_STAGED).is_some() && metadata::annotation(now, PAYLOAD_STAGED).is_none() {
        found.push(format!("annotation {PAYLOAD_STAGED} is added"));
    }
    found
}
