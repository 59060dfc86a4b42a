//! From a custom resource to the command line that its containers run.

use std::collections::BTreeMap;

use lmcache_api::{AnyObject, IpcMode, Kind, Release, decode};
use lmcache_server::{Place, process};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// What a container runs: a subcommand of `lmcache`, its arguments, and the environment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Line {
    /// `server` or `coordinator`.
    pub command: &'static str,
    /// The arguments.
    pub args: Vec<String>,
    /// The environment, references resolved to something of the right form.
    pub env: BTreeMap<String, String>,
}

impl Line {
    /// A line that no custom resource asked for.
    pub fn new(command: &'static str, args: &[&str]) -> Self {
        Line {
            command,
            args: args.iter().map(ToString::to_string).collect(),
            env: BTreeMap::new(),
        }
    }

    /// The line of an object, faulty or not.
    pub fn of(kind: Kind, object: &Value, ipc_default: IpcMode) -> Self {
        let mut object = decode(kind, object).object;
        object.set_defaults();
        let url = coordinator_url(&object);
        let place = Place {
            ipc_default,
            coordinator_url: url.as_deref(),
        };
        let process = process(&object, &place);
        Line {
            command: process.command[1],
            args: process.args,
            env: process.env.iter().filter_map(variable).collect(),
        }
    }

    /// As one would type it: for messages.
    pub fn text(&self) -> String {
        let quoted = self
            .args
            .iter()
            .map(|arg| match arg.contains([' ', '"', '{']) || arg.is_empty() {
                true => format!("'{arg}'"),
                false => arg.clone(),
            });
        format!("lmcache {} {}", self.command, quoted.collect::<Vec<_>>().join(" "))
    }
}

/// The object with its release stated. What has no place for it (a `spec` that is no object) stays as it is.
pub fn with_release(kind: Kind, object: &Value, release: Release) -> Value {
    let mut object = object.clone();
    let spec = object.as_object_mut().and_then(|object| object.get_mut("spec"));
    let holder = match kind {
        Kind::LMCacheCoordinator => spec,
        _ => spec
            .and_then(Value::as_object_mut)
            .map(|spec| spec.entry("server").or_insert(Value::Null)),
    };
    match holder {
        Some(Value::Object(holder)) => {
            holder.insert("release".to_owned(), json!(release.to_string()));
        }
        // An explicit null is no value.
        Some(holder @ Value::Null) => {
            *holder = Value::Object(Map::from_iter([("release".to_owned(), json!(release.to_string()))]));
        }
        _ => {}
    }
    object
}

fn coordinator_url(object: &AnyObject) -> Option<String> {
    let connection = object.engine()?.coordinator()?;
    if let Some(url) = connection.url() {
        return Some(url.to_owned());
    }
    let namespace = object.metadata().namespace.as_deref().unwrap_or("default");
    connection
        .ref_name()
        .map(|name| format!("http://{name}.{namespace}.svc:9300"))
}

/// An `EnvVar` as the process sees it. Entries that no process can have are left out.
fn variable(entry: &Value) -> Option<(String, String)> {
    let name = entry.get("name")?.as_str()?;
    let is_possible = |text: &str| !text.contains('\0');
    if name.is_empty() || name.contains('=') || !is_possible(name) {
        return None;
    }
    let value = match (entry.get("value"), entry.get("valueFrom")) {
        (Some(value), _) => value.as_str()?,
        (None, Some(source)) if source.get("fieldRef").is_some() => "10.20.30.40",
        (None, Some(_)) => "from-a-secret",
        (None, None) => "",
    };
    is_possible(value).then(|| (name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: Release = Release {
        major: 0,
        minor: 4,
        patch: 7,
    };

    #[test]
    fn the_release_is_stated_whatever_the_object_says() {
        let stated = |kind, spec: Value| with_release(kind, &json!({"spec": spec}), OLD);
        assert_eq!(
            stated(
                Kind::LMCacheEngine,
                json!({"server": {"port": 6000, "release": "0.5.6"}})
            ),
            json!({"spec": {"server": {"port": 6000, "release": "0.4.7"}}})
        );
        let added = json!({"spec": {"server": {"release": "0.4.7"}}});
        assert_eq!(stated(Kind::LMCacheEngine, json!({})), added);
        assert_eq!(stated(Kind::CacheBlendEngine, json!({"server": null})), added);
        assert_eq!(
            stated(Kind::LMCacheCoordinator, json!({})),
            json!({"spec": {"release": "0.4.7"}})
        );
        assert_eq!(stated(Kind::LMCacheEngine, json!("text")), json!({"spec": "text"}));
        assert_eq!(
            stated(Kind::LMCacheEngine, json!({"server": "text"})),
            json!({"spec": {"server": "text"}})
        );
    }

    #[test]
    fn references_in_the_environment_become_values() {
        let engine = json!({
            "metadata": {"name": "kv", "namespace": "serving"},
            "spec": {
                "l1": {"sizeGB": 60},
                "l2Backend": {"resp": {"host": "redis", "port": 6379, "authSecretRef": {"name": "s"}}},
                "coordinator": {"ref": {"name": "fleet"}},
                "env": [{"name": "MINE", "value": "x"}, {"name": ""}, "text"],
            },
        });
        let line = Line::of(Kind::LMCacheEngine, &engine, IpcMode::HostIPC);
        assert_eq!(line.command, "server");
        assert!(
            line.text().contains("--coordinator-url http://fleet.serving.svc:9300"),
            "{}",
            line.text()
        );
        assert_eq!(line.env["LMCACHE_RESP_PASSWORD"], "from-a-secret");
        assert_eq!(line.env["LMCACHE_COORDINATOR_ADVERTISE_IP"], "10.20.30.40");
        assert_eq!(line.env["MINE"], "x");
    }
}
