//! Environments.

use serde_json::Value;

/// Variables, each name once. Of several the last one counts, as for the kubelet; server-side apply takes no list that
/// has a name twice.
pub(super) fn last_of_each(variables: Vec<Value>) -> Vec<Value> {
    let name = |variable: &Value| variable.get("name").and_then(Value::as_str).map(str::to_owned);
    let names: Vec<Option<String>> = variables.iter().map(name).collect();
    let is_last = |index: usize| {
        let later = names.get(index + 1..).unwrap_or_default();
        names
            .get(index)
            .is_some_and(|name| name.is_none() || !later.contains(name))
    };
    let kept = variables.into_iter().enumerate().filter(|(index, _)| is_last(*index));
    kept.map(|(_, variable)| variable).collect()
}
