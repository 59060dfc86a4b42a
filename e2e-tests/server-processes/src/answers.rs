//! Reading what the processes answer.

use anyhow::{Context, Result};
use serde_json::Value;

/// An engine as the coordinator lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Random per engine process.
    pub id: String,
    /// The address at which the coordinator calls the engine.
    pub ip: String,
    /// The engine's HTTP port.
    pub http_port: u16,
}

/// The answer of the coordinator to `GET /instances`.
///
/// # Errors
/// It is not what coordinators answer.
pub fn instances(body: &str) -> Result<Vec<Instance>> {
    let answer: Value = serde_json::from_str(body).with_context(|| format!("/instances answered {body:?}"))?;
    let list = answer.get("instances").and_then(Value::as_array);
    list.and_then(|list| list.iter().map(instance).collect())
        .with_context(|| format!("/instances answered {body:?}"))
}

fn instance(entry: &Value) -> Option<Instance> {
    let text = |name: &str| Some(entry.get(name)?.as_str()?.to_owned());
    Some(Instance {
        id: text("instance_id")?,
        ip: text("ip")?,
        http_port: entry.get("http_port")?.as_u64()?.try_into().ok()?,
    })
}

/// The names of the metrics in Prometheus' text format. Names without a sample count too: a counter that was never
/// raised has only its `# TYPE` line.
pub fn metric_names(text: &str) -> Vec<&str> {
    let names = text.lines().filter_map(|line| {
        let name = match line.strip_prefix("# TYPE ") {
            Some(rest) => rest.split(' ').next()?,
            None if line.starts_with('#') => return None,
            None => line.split(['{', ' ']).next()?,
        };
        (!name.is_empty()).then_some(name)
    });
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Connections of others in the answer of Redis to `CLIENT LIST`, each with the name of its ACL user.
pub fn redis_users(clients: &str) -> Vec<&str> {
    let member = |line, name| members(line).find_map(|(key, value)| (key == name).then_some(value));
    clients
        .lines()
        .filter(|line| line.starts_with("id="))
        .filter(|line| member(line, "cmd").is_none_or(|cmd| !cmd.starts_with("client")))
        .filter_map(|line| member(line, "user"))
        .collect()
}

fn members(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.split_ascii_whitespace().filter_map(|word| word.split_once('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_list_of_instances() {
        let body =
            r#"{"instances":[{"instance_id":"a","ip":"10.0.0.1","http_port":8080,"metadata":{},"mq_port":5555}]}"#;
        let expected = Instance {
            id: "a".into(),
            ip: "10.0.0.1".into(),
            http_port: 8080,
        };
        assert_eq!(instances(body).unwrap(), [expected]);
        assert_eq!(instances(r#"{"instances":[]}"#).unwrap(), []);
    }

    #[test]
    fn anything_else_is_an_error_that_quotes_it() {
        for body in [
            "",
            "[]",
            r#"{"instances":[{"instance_id":"a","ip":"b","http_port":70000}]}"#,
        ] {
            let error = instances(body).unwrap_err();
            assert!(error.to_string().contains(&format!("{body:?}")), "{error}");
        }
    }

    #[test]
    fn reads_names_of_metrics() {
        let text = "# HELP a_total About a.\n# TYPE a_total counter\na_total{x=\"1 2\"} 3.0\n# TYPE b gauge\nc 1\n\n";
        assert_eq!(metric_names(text), ["a_total", "b", "c"]);
        assert!(metric_names("").is_empty());
    }

    #[test]
    fn reads_the_users_of_redis_connections_but_our_own() {
        let list = "+OK\r\n$300\r\nid=3 addr=127.0.0.1:1 cmd=auth user=cache lib-name=\r\nid=4 cmd=NULL user=default\r\nid=5 cmd=client|list user=default\r\n+OK\r\n";
        assert_eq!(redis_users(list), ["cache", "default"]);
    }
}
