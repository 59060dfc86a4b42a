//! A rendered container, and the command line and environment that it becomes on a node.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// `command`, `args` and `env` of a container, as a Pod has them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Container {
    /// The program and its first arguments.
    pub command: Vec<String>,
    /// The other arguments.
    pub args: Vec<String>,
    /// Entries with `name` and either `value` or `valueFrom`.
    pub env: Vec<Value>,
}

/// What the kubelet would find in the cluster.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    /// Secret name and key, with the value.
    pub secrets: BTreeMap<(String, String), String>,
    /// Paths of `fieldRef`, with the value: `status.podIP`.
    pub fields: BTreeMap<String, String>,
}

/// A process to be started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The whole environment.
    pub env: BTreeMap<String, String>,
}

impl Container {
    /// What the kubelet makes of it: values of Secrets and fields in place, `$(NAME)` expanded.
    ///
    /// # Errors
    /// An entry of `env` without a name, one that refers to what [`Cluster`] does not have and is not optional, or one
    /// whose kind of reference a rendered container never has.
    pub fn on(&self, cluster: &Cluster) -> Result<Line> {
        let mut env = BTreeMap::new();
        for entry in &self.env {
            let name = entry
                .get("name")
                .and_then(Value::as_str)
                .with_context(|| format!("an entry of env has no name: {entry}"))?;
            let value = match (entry.get("value").and_then(Value::as_str), entry.get("valueFrom")) {
                (Some(value), _) => Some(expand(value, &env)),
                (None, Some(source)) => cluster.value(source).with_context(|| format!("env {name}"))?,
                (None, None) => Some(String::new()),
            };
            if let Some(value) = value {
                env.insert(name.to_owned(), value);
            }
        }
        let argv = self
            .command
            .iter()
            .chain(&self.args)
            .map(|word| expand(word, &env))
            .collect();
        Ok(Line { argv, env })
    }
}

impl Cluster {
    /// What a `valueFrom` refers to; `None` for an optional key that is not there.
    fn value(&self, source: &Value) -> Result<Option<String>> {
        if let Some(path) = source.pointer("/fieldRef/fieldPath").and_then(Value::as_str) {
            return match self.fields.get(path) {
                Some(value) => Ok(Some(value.clone())),
                None => bail!("the test has no value for the field {path}"),
            };
        }
        let text = |path: &str| source.pointer(path).and_then(Value::as_str);
        let (Some(secret), Some(key)) = (text("/secretKeyRef/name"), text("/secretKeyRef/key")) else {
            bail!("a valueFrom that is neither a field nor a key of a Secret: {source}");
        };
        let optional = source.pointer("/secretKeyRef/optional") == Some(&Value::Bool(true));
        match self.secrets.get(&(secret.to_owned(), key.to_owned())) {
            Some(value) => Ok(Some(value.clone())),
            None if optional => Ok(None),
            None => bail!("the test has no Secret {secret} with the key {key}"),
        }
    }
}

/// `$(NAME)` with the value of a variable, `$$` as a dollar sign; a reference to what is not set stays as it is.
/// The kubelet does the same with `command`, `args` and the values of `env` (variables that were defined before).
fn expand(text: &str, env: &BTreeMap<String, String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        if let Some(escaped) = after.strip_prefix('$') {
            out.push('$');
            rest = escaped;
            continue;
        }
        let reference = after.strip_prefix('(').and_then(|inner| inner.split_once(')'));
        match reference {
            Some((name, tail)) => {
                match env.get(name) {
                    Some(value) => out.push_str(value),
                    None => out.push_str(&format!("$({name})")),
                }
                rest = tail;
            }
            None => {
                out.push('$');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    fn cluster() -> Cluster {
        Cluster {
            secrets: BTreeMap::from([(("auth".to_owned(), "password".to_owned()), "p$(X)".to_owned())]),
            fields: BTreeMap::from([("status.podIP".to_owned(), "127.0.0.1".to_owned())]),
        }
    }

    fn secret(key: &str, optional: bool) -> Value {
        json!({"name": "S", "valueFrom": {"secretKeyRef": {"name": "auth", "key": key, "optional": optional}}})
    }

    #[rstest]
    #[case("plain", "plain")]
    #[case("$(A)/$(B)", "1/$(B)")]
    #[case("$$(A)", "$(A)")]
    #[case("$", "$")]
    #[case("a$b$(A", "a$b$(A")]
    #[case("$()", "$()")]
    fn expands_as_the_kubelet_does(#[case] text: &str, #[case] expected: &str) {
        let env = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
        assert_eq!(expand(text, &env), expected);
    }

    #[test]
    fn fills_in_secrets_and_fields() {
        let container = Container {
            command: vec!["lmcache".into(), "server".into()],
            args: vec!["--ip".into(), "$(IP)".into()],
            env: vec![
                json!({"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}),
                json!({"name": "URL", "value": "http://$(IP)"}),
                secret("password", false),
                json!({"name": "EMPTY"}),
            ],
        };
        let line = container.on(&cluster()).unwrap();
        assert_eq!(line.argv, ["lmcache", "server", "--ip", "127.0.0.1"]);
        let env: Vec<_> = line.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(env, ["EMPTY=", "IP=127.0.0.1", "S=p$(X)", "URL=http://127.0.0.1"]);
    }

    #[test]
    fn an_absent_key_is_left_out_only_where_it_is_optional() {
        let with = |entry| Container {
            env: vec![entry],
            ..Container::default()
        };
        assert_eq!(with(secret("username", true)).on(&cluster()).unwrap(), Line::default());
        let error = with(secret("username", false)).on(&cluster()).unwrap_err();
        assert_eq!(
            format!("{error:#}"),
            "env S: the test has no Secret auth with the key username"
        );
        assert!(with(json!({"value": "x"})).on(&cluster()).is_err());
        assert!(
            with(json!({"name": "C", "valueFrom": {"configMapKeyRef": {}}}))
                .on(&cluster())
                .is_err()
        );
    }
}
