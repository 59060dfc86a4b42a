//! What a policy may change of a Pod, and that nothing of the user's is lost.
//!
//! The Pod before and the Pod after are compared part by part, not the operations of the patch: a patch names the places of
//! lists by number, so an entry that is put in front of another looks like a change of both.

use super::super::role::Owned;
use serde_json::{Map, Value};

/// Names of the volumes, init containers and variables that the policies add.
const DEV_SHM: &str = "lmcache-dev-shm";
const PAYLOAD: &str = "lmcache-payload";
const PLUGIN: &str = "cb-plugin";
const STAGE: [&str; 2] = ["lmcache-payload-stage", "cb-plugin-stage"];
const HASH_SEED: &str = "PYTHONHASHSEED";
const PYTHON_PATH: &str = "PYTHONPATH";
const NIXL: [&str; 2] = ["VLLM_NIXL_SIDE_CHANNEL_HOST", "VLLM_NIXL_SIDE_CHANNEL_PORT"];
const CONNECTOR_FLAG: &str = "--kv-transfer-config";
/// Every policy of ours at work. One may put in order what another one added, so that their order does not matter.
const ALL: Owned = Owned {
    connection: true,
    staging: true,
    cacheblend: true,
};

/// What was changed that may not be, and how.
type Trespass = Result<(), String>;

impl Owned {
    fn annotations(self) -> Vec<&'static str> {
        let mut keys = Vec::new();
        if self.connection {
            keys.extend(["lmcache.ai/lmcache-injected", "lmcache.ai/lmcache-skip-reason"]);
        }
        if self.staging {
            keys.extend([
                "lmcache.ai/lmcache-payload-staged",
                "lmcache.ai/lmcache-payload-skip-reason",
            ]);
        }
        if self.cacheblend {
            keys.extend(["lmcache.ai/cacheblend-injected", "lmcache.ai/cacheblend-skip-reason"]);
        }
        keys
    }

    fn stages(self) -> bool {
        self.staging || self.cacheblend
    }

    fn connects(self) -> bool {
        self.connection || self.cacheblend
    }

    fn volumes(self) -> Vec<&'static str> {
        let names = [
            (DEV_SHM, self.connects()),
            (PAYLOAD, self.staging),
            (PLUGIN, self.cacheblend),
        ];
        names
            .into_iter()
            .filter(|(_, owned)| *owned)
            .map(|(name, _)| name)
            .collect()
    }

    fn init_containers(self) -> Vec<&'static str> {
        let owned = [self.staging, self.cacheblend];
        STAGE
            .into_iter()
            .zip(owned)
            .filter(|(_, owned)| *owned)
            .map(|(name, _)| name)
            .collect()
    }

    fn variables(self) -> Vec<&'static str> {
        let mut names = Vec::new();
        if self.connection {
            names.push(HASH_SEED);
        }
        if self.stages() {
            names.push(PYTHON_PATH);
        }
        if self.connects() {
            names.extend(NIXL);
        }
        names
    }
}

/// Compares a Pod before and after.
///
/// # Errors
/// The first change that the policy had no right to.
pub fn check(before: &Value, after: &Value, owned: Owned) -> Trespass {
    members(before, after, "", |name, before, after| match name {
        "metadata" => metadata(before, after, owned),
        "spec" => spec(before, after, owned),
        _ => Err("changed".to_owned()),
    })
}

/// Whether a Pod differs in its annotations alone.
pub fn only_annotations(before: &Value, after: &Value) -> bool {
    let ignore = |_: &str, _: &Value, _: &Value| Ok(());
    members(before, after, "", |name, before, after| match name {
        "metadata" => members(before, after, "", |name, before, after| match name {
            "annotations" => ignore(name, before, after),
            _ => Err(String::new()),
        }),
        _ => Err(String::new()),
    })
    .is_ok()
}

/// Compares two maps member by member and hands on what differs; a member that one of them lacks is null there. Null is
/// also what a map is compared with that is not there.
fn members(
    before: &Value,
    after: &Value,
    path: &str,
    mut differs: impl FnMut(&str, &Value, &Value) -> Trespass,
) -> Trespass {
    let none = Map::new();
    let (old, new) = match (before, after) {
        (Value::Object(old), Value::Object(new)) => (old, new),
        (Value::Null, Value::Object(new)) => (&none, new),
        _ if before == after => return Ok(()),
        _ => return Err(format!("{path}: was {}", shown(before))),
    };
    let added = new.keys().filter(|key| !old.contains_key(*key));
    for name in old.keys().chain(added) {
        let (old, new) = (old.get(name), new.get(name));
        if old == new {
            continue;
        }
        let (old, new) = (old.unwrap_or(&Value::Null), new.unwrap_or(&Value::Null));
        differs(name, old, new).map_err(|text| match text.strip_prefix('/') {
            Some(rest) => format!("/{name}/{rest}"),
            None => format!("/{name}: {text}"),
        })?;
    }
    Ok(())
}

fn metadata(before: &Value, after: &Value, owned: Owned) -> Trespass {
    members(before, after, "", |name, before, after| match name {
        "annotations" => members(before, after, "", |key, _, after| {
            let ours = owned.annotations().contains(&key);
            match after {
                _ if !ours => Err("is not the policy's".to_owned()),
                Value::Null | Value::String(_) => Ok(()),
                other => Err(format!("is {} now", shown(other))),
            }
        }),
        _ => Err("changed".to_owned()),
    })
}

fn spec(before: &Value, after: &Value, owned: Owned) -> Trespass {
    members(before, after, "", |name, before, after| match name {
        "hostIPC" if owned.connects() && *after == Value::Bool(true) => Ok(()),
        "enableServiceLinks" if owned.connects() && before.is_null() && *after == Value::Bool(false) => Ok(()),
        "volumes" => appended(before, after, |item, owned| named(item, &owned.volumes()), owned),
        "initContainers" if owned.stages() => appended(
            before,
            after,
            |item, owned| named(item, &owned.init_containers()),
            owned,
        ),
        "imagePullSecrets" if owned.stages() => appended(before, after, |item, _| is_name_alone(item), owned),
        "containers" => containers(before, after, owned),
        _ => Err(format!("was {}, is {}", shown(before), shown(after))),
    })
}

fn containers(before: &Value, after: &Value, owned: Owned) -> Trespass {
    let (Some(old), Some(new)) = (before.as_array(), after.as_array()) else {
        return Err("is another type now".to_owned());
    };
    if old.len() != new.len() {
        return Err(format!("{} before, {} now", old.len(), new.len()));
    }
    let changed: Vec<usize> = (0..old.len())
        .filter(|&index| old.get(index) != new.get(index))
        .collect();
    if changed.len() > 1 {
        return Err(format!("containers {changed:?} changed, there is one target"));
    }
    changed.first().map_or(Ok(()), |&index| {
        let (Some(old), Some(new)) = (old.get(index), new.get(index)) else {
            return Ok(());
        };
        container(old, new, owned)
    })
}

fn container(before: &Value, after: &Value, owned: Owned) -> Trespass {
    members(before, after, "", |name, before, after| match name {
        "volumeMounts" => appended(before, after, |item, owned| named(item, &owned.volumes()), owned),
        "env" => environment(before, after, owned),
        "args" if owned.cacheblend => texts(before, after),
        "args" if owned.connection => connector(before, after),
        _ => Err(format!("was {}, is {}", shown(before), shown(after))),
    })
}

/// A search path may get our entries in front; else variables are appended.
fn environment(before: &Value, after: &Value, owned: Owned) -> Trespass {
    let plain = |value: &Value| {
        let mut value = value.clone();
        for entry in value.as_array_mut().into_iter().flatten().filter(|_| owned.stages()) {
            without_our_entries(entry);
        }
        value
    };
    let ours = |item: &Value, owned: Owned| named(item, &owned.variables());
    appended(&plain(before), &plain(after), ours, owned)
}

/// Takes our entries off the front of a search path; an empty one is no value.
fn without_our_entries(variable: &mut Value) {
    let Some(variable) = variable
        .as_object_mut()
        .filter(|variable| variable.get("name").and_then(Value::as_str) == Some(PYTHON_PATH))
    else {
        return;
    };
    let Some(Value::String(path)) = variable.get("value") else {
        if variable.get("value").is_some_and(Value::is_null) {
            variable.shift_remove("value");
        }
        return;
    };
    let mut rest = path.as_str();
    while let Some(shorter) = ["/lmcache-payload", "/cb-plugin"].into_iter().find_map(|ours| {
        let rest = rest.strip_prefix(ours)?;
        rest.strip_prefix(':').or_else(|| rest.is_empty().then_some(rest))
    }) {
        rest = shorter;
    }
    let rest = rest.to_owned();
    if rest.is_empty() {
        variable.shift_remove("value");
    } else {
        variable.insert("value".to_owned(), Value::String(rest));
    }
}

/// What a user wrote stays in front; behind it stand things of ours, in any order among themselves. `ours` says whether an
/// entry is one that the owner adds.
fn appended(before: &Value, after: &Value, ours: impl Fn(&Value, Owned) -> bool, owned: Owned) -> Trespass {
    let (old, new) = lists(before, after)?;
    let same = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let mut rest: Vec<&Value> = new.iter().skip(same).collect();
    for item in old.iter().skip(same) {
        let place = rest.iter().position(|other| *other == item);
        let Some(at) = place.filter(|_| ours(item, ALL)) else {
            return Err(format!("{} was moved or lost", shown(item)));
        };
        rest.remove(at);
    }
    match rest.into_iter().find(|item| !ours(item, owned)) {
        Some(foreign) => Err(format!("{} was added", shown(foreign))),
        None => Ok(()),
    }
}

/// The connector and its configuration may be put in one place, at the end or before a `--`.
fn connector(before: &Value, after: &Value) -> Trespass {
    let (old, new) = lists(before, after)?;
    let same = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    // Where the inserted words begin like what follows them, they can be found further in front.
    let fits = |at: usize| {
        let words = [new.get(at), new.get(at + 1)];
        let behind_old = old.get(at).is_none_or(|word| word == "--");
        new.len() == old.len() + 2
            && words
                .first()
                .copied()
                .flatten()
                .is_some_and(|word| word == CONNECTOR_FLAG)
            && words.last().copied().flatten().is_some_and(Value::is_string)
            && behind_old
            && new.get(at + 2..) == old.get(at..)
    };
    if (0..=same).any(fits) {
        return Ok(());
    }
    Err(format!("was {}, is {}", shown(before), shown(after)))
}

/// Flags of the user may give way to texts, but what is no text stays. Which flags is for the tests of the edits.
fn texts(before: &Value, after: &Value) -> Trespass {
    let (old, new) = lists(before, after)?;
    let odd = |items: &[Value]| -> Vec<Value> { items.iter().filter(|item| !item.is_string()).cloned().collect() };
    if odd(old) == odd(new) {
        return Ok(());
    }
    Err(format!("was {}, is {}", shown(before), shown(after)))
}

/// Two lists; what is not there or null counts as an empty one.
fn lists<'a>(before: &'a Value, after: &'a Value) -> Result<(&'a [Value], &'a [Value]), String> {
    let old = match before {
        Value::Null => &[],
        Value::Array(items) => items.as_slice(),
        other => return Err(format!("was {}", shown(other))),
    };
    match after {
        Value::Array(items) => Ok((old, items)),
        other => Err(format!("is {} now", shown(other))),
    }
}

fn named(item: &Value, names: &[&str]) -> bool {
    item.get("name")
        .and_then(Value::as_str)
        .is_some_and(|name| names.contains(&name))
}

fn is_name_alone(item: &Value) -> bool {
    item.as_object()
        .is_some_and(|members| members.len() == 1 && members.contains_key("name"))
}

/// A value for a message, cut.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(160) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

#[cfg(test)]
mod tests;
