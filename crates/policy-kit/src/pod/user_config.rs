//! The user's own `--kv-transfer-config`.

use super::connection::names_connector;
use super::outcome::Skip;
use super::reasons::SkipReason;
use crate::text::quoted;
use pod_edit::args::{CommandLine, FlagUse, KV_TRANSFER_CONFIG};
use serde_json::Value;

/// What a command line already says about the connector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UserConfig {
    /// Nothing.
    Absent,
    /// Exactly what would be injected: the Pod is wired already.
    Ours,
    /// The user's own use of our connector: it stays, everything else is wired.
    OwnConnection,
}

/// Reads what stands on the command line. A connector of another kind, or a value that cannot be read, is the user's
/// decision: the Pod is left alone.
pub(crate) fn judge(line: &CommandLine<'_>, connection_json: &str, connector: &str) -> Result<UserConfig, Skip> {
    let foreign = |found: &str| foreign(found, connector);
    let config = match line.effective(&KV_TRANSFER_CONFIG) {
        None => return Ok(UserConfig::Absent),
        Some(FlagUse::Text(text)) if text == connection_json => return Ok(UserConfig::Ours),
        Some(used) if used.is_unset() => return Err(foreign("it is empty, which vLLM takes for no connector")),
        Some(FlagUse::Text(text)) => match serde_json::from_str::<Value>(&text) {
            Ok(config) => config,
            Err(_) => return Err(foreign(&format!("{} is no JSON", quoted(&text)))),
        },
        Some(FlagUse::Dotted(config)) => config,
        Some(_) => return Err(foreign("it has no value")),
    };
    if serde_json::from_str::<Value>(connection_json).is_ok_and(|ours| ours == config) {
        return Ok(UserConfig::Ours);
    }
    if names_connector(&config, connector) {
        return Ok(UserConfig::OwnConnection);
    }
    let named = config.get("kv_connector").and_then(Value::as_str);
    Err(foreign(&match named {
        Some(name) => format!("it names {}", quoted(name)),
        None => "it names no connector".to_owned(),
    }))
}

/// The warning where vLLM reads a file of settings, which may name a connector: nobody can see it here, and the flag wins.
pub(super) fn of_file(target: &Value) -> Option<String> {
    let file = CommandLine::of(target).config_file()?.to_owned();
    Some(format!(
        "vLLM reads --config {}: the injected --kv-transfer-config wins over one in that file; give a connector of your own in args",
        quoted(&file)
    ))
}

fn foreign(found: &str, connector: &str) -> Skip {
    Skip::new(
        SkipReason::KvTransferConfigPresent,
        format!("the container has its own --kv-transfer-config ({found})"),
        format!("remove it to use the engine's {connector}"),
    )
}
