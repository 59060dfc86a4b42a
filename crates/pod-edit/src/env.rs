//! Environment variables of a container.
//!
//! The list is ordered (`$(NAME)` refers to earlier entries) and may hold a name twice, the last one winning. Nothing here
//! reorders or removes entries.

use serde_json::{Map, Value, json};

use crate::json::{checked_list, list, list_member_mut, member, text};
use crate::pod::own_name;
use crate::{EditError, container, error};

/// Where a container gets a variable from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnvState<'a> {
    /// Nowhere in the Pod; the image may still set it.
    Absent,
    /// From this text. An entry without a value sets the empty text.
    Literal(&'a str),
    /// From a field, ConfigMap or Secret: unknown here.
    ValueFrom,
    /// No entry of its own, but `envFrom` takes a whole ConfigMap or Secret that may hold the name: unknown here.
    MaybeEnvFrom,
}

/// What a container's `env` and `envFrom` say about a variable. Of several entries the last one counts, as for the kubelet.
pub fn state<'a>(container: &'a Value, name: &str) -> EnvState<'a> {
    match entries(container, name).last() {
        Some(entry) if member(entry, "valueFrom").is_some() => EnvState::ValueFrom,
        Some(entry) => EnvState::Literal(text(entry, "value").unwrap_or_default()),
        None if list(container, "envFrom").iter().any(|source| may_hold(source, name)) => EnvState::MaybeEnvFrom,
        None => EnvState::Absent,
    }
}

/// How many entries of `env` have that name.
pub fn count(container: &Value, name: &str) -> usize {
    entries(container, name).count()
}

fn entries<'a>(container: &'a Value, name: &str) -> impl DoubleEndedIterator<Item = &'a Value> {
    list(container, "env")
        .iter()
        .filter(move |entry| text(entry, "name") == Some(name))
}

/// Every name that an `envFrom` source yields starts with its prefix.
fn may_hold(source: &Value, name: &str) -> bool {
    name.starts_with(text(source, "prefix").unwrap_or_default())
}

/// Appends an entry. The same entry there already is left as it is; one of the same name that says something else would
/// be overridden by an appended one, so that is an error.
pub(crate) fn append(pod: &mut Value, index: usize, entry: &Value) -> Result<bool, EditError> {
    let path = container::path(index);
    let name = own_name(entry, &format!("{path}.env[].name"))?;
    let target = container::at(pod, index)?;
    checked_list(target, "env", &path)?;
    match entries(target, name).last() {
        Some(existing) if existing == entry => Ok(false),
        Some(_) => Err(EditError::new(
            format!("{path}.env"),
            format!("another entry {}", error::quote(name)),
            "no other value of that variable",
        )),
        None => {
            list_member_mut(container::at_mut(pod, index)?, "env", &path)?.push(entry.clone());
            Ok(true)
        }
    }
}

/// Puts an entry in front of a colon-separated search path such as `PYTHONPATH`, in the place where the variable stands.
/// Nothing is done when the path holds the entry already.
///
/// Of several entries of one name the kubelet takes the last; each is extended, so that the result does not hang on that.
/// A value that `envFrom` may bring is referred to as `$(PYTHONPATH)`: the kubelet reads `envFrom` first, and leaves a
/// reference to nothing as it stands, which is a search path entry that does not exist. A `valueFrom` cannot be extended:
/// an error.
pub(crate) fn prepend_path(pod: &mut Value, index: usize, name: &str, entry: &str) -> Result<bool, EditError> {
    let path = container::path(index);
    let target = container::at(pod, index)?;
    let env = checked_list(target, "env", &path)?;
    checked_list(target, "envFrom", &path)?;
    let mut extended: Vec<(usize, String)> = Vec::new();
    let mut found = false;
    for (position, variable) in env.iter().enumerate() {
        if text(variable, "name") != Some(name) {
            continue;
        }
        found = true;
        if variable.get("valueFrom").is_some_and(|source| !source.is_null()) {
            return Err(EditError::new(
                format!("{path}.env[{position}]"),
                format!("{} set by valueFrom", error::quote(name)),
                "a variable that is unset or has a literal value",
            ));
        }
        match variable.get("value") {
            None | Some(Value::Null) => extended.push((position, entry.to_owned())),
            Some(Value::String(value)) if value.is_empty() => extended.push((position, entry.to_owned())),
            Some(Value::String(value)) if holds(value, entry) => {}
            Some(Value::String(value)) => extended.push((position, format!("{entry}:{value}"))),
            Some(other) => {
                return Err(EditError::unexpected(
                    format!("{path}.env[{position}].value"),
                    other,
                    "a string",
                ));
            }
        }
    }
    if !found {
        let value = match state(target, name) {
            EnvState::MaybeEnvFrom => format!("{entry}:$({name})"),
            _ => entry.to_owned(),
        };
        let variable = json!({ "name": name, "value": value });
        list_member_mut(container::at_mut(pod, index)?, "env", &path)?.push(variable);
        return Ok(true);
    }
    if extended.is_empty() {
        return Ok(false);
    }
    let env = list_member_mut(container::at_mut(pod, index)?, "env", &path)?;
    for (position, value) in extended {
        if let Some(variable) = env.get_mut(position).and_then(Value::as_object_mut) {
            set(variable, "value", value);
        }
    }
    Ok(true)
}

/// Whether a search path has an entry.
fn holds(path: &str, entry: &str) -> bool {
    path.split(':')
        .any(|part| part.trim_end_matches('/') == entry.trim_end_matches('/'))
}

fn set(variable: &mut Map<String, Value>, key: &str, value: String) {
    variable.insert(key.to_owned(), Value::String(value));
}
