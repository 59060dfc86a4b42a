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
/// Nothing is done when the path holds the entry already. A value that is not in the Pod cannot be extended: an error.
pub(crate) fn prepend_path(pod: &mut Value, index: usize, name: &str, entry: &str) -> Result<bool, EditError> {
    let path = container::path(index);
    let expected = "a variable that is unset or has one literal value";
    let target = container::at(pod, index)?;
    let env = checked_list(target, "env", &path)?;
    checked_list(target, "envFrom", &path)?;
    let refuse = |found: &str| {
        Err(EditError::new(
            format!("{path}.env"),
            format!("{} {found}", error::quote(name)),
            expected,
        ))
    };
    match (count(target, name), state(target, name)) {
        (0, EnvState::MaybeEnvFrom) => return refuse("possibly set by envFrom"),
        (0, _) => {
            let entry = json!({ "name": name, "value": entry });
            list_member_mut(container::at_mut(pod, index)?, "env", &path)?.push(entry);
            return Ok(true);
        }
        (1, EnvState::ValueFrom) => return refuse("set by valueFrom"),
        (1, _) => {}
        _ => return refuse("set more than once"),
    }
    let Some(position) = env.iter().position(|variable| text(variable, "name") == Some(name)) else {
        return Ok(false);
    };
    let variable_path = format!("{path}.env[{position}]");
    let value = match env.get(position).and_then(|variable| variable.get("value")) {
        None | Some(Value::Null) => "",
        Some(Value::String(value)) => value,
        Some(other) => {
            return Err(EditError::unexpected(
                format!("{variable_path}.value"),
                other,
                "a string",
            ));
        }
    };
    if value
        .split(':')
        .any(|part| part.trim_end_matches('/') == entry.trim_end_matches('/'))
    {
        return Ok(false);
    }
    let extended = if value.is_empty() {
        entry.to_owned()
    } else {
        format!("{entry}:{value}")
    };
    let env = list_member_mut(container::at_mut(pod, index)?, "env", &path)?;
    if let Some(variable) = env.get_mut(position).and_then(Value::as_object_mut) {
        set(variable, "value", extended);
    }
    Ok(true)
}

fn set(variable: &mut Map<String, Value>, key: &str, value: String) {
    variable.insert(key.to_owned(), Value::String(value));
}
