//! Does what stands on a container's command line reach vLLM?

use super::outcome::{Skip, SkipReason};
use super::settings::CommandOverride;
use super::target::named;
use crate::text::quoted;
use pod_edit::args::{CommandLine, Launcher};

use serde_json::Value;

/// Refuses a container whose command line would swallow or misread appended arguments.
pub(super) fn check(target: &Value, line: &CommandLine<'_>, setting: CommandOverride) -> Result<(), Skip> {
    let name = named(target);
    let overridden = |what: &str| {
        Err(Skip::new(
            SkipReason::CommandOverride,
            format!("container {name} {what}, so what is appended to its args would not reach vLLM"),
            "give vLLM's arguments in args, without a shell or wrapper",
        ))
    };
    match line.launcher() {
        Launcher::SglangLaunchServer => return Err(sglang(&name)),
        Launcher::Shell => return overridden("starts a shell"),
        Launcher::Other(word) => return overridden(&format!("runs {}", quoted(&word))),
        Launcher::Entrypoint if is_sglang_image(target) => return Err(sglang(&name)),
        Launcher::Entrypoint | Launcher::VllmServe | Launcher::VllmModule => {}
    }
    if setting == CommandOverride::Skip
        && target
            .get("command")
            .and_then(Value::as_array)
            .is_some_and(|words| !words.is_empty())
    {
        return overridden("overrides the image's command (setting commandOverride: Skip)");
    }
    if !line.can_append() {
        return overridden("ends in -- inside command, or in a dotted flag without its value");
    }
    Ok(())
}

/// SGLang knows no `--kv-transfer-config`: given one, it does not start.
fn sglang(name: &str) -> Skip {
    Skip::new(
        SkipReason::EngineTypeUnsupported,
        format!("container {name} runs SGLang, which knows no --kv-transfer-config"),
        "give it its LMCache settings by hand and remove the opt-in",
    )
}

fn is_sglang_image(target: &Value) -> bool {
    let image = target.get("image").and_then(Value::as_str).unwrap_or_default();
    lmcache_api::image_parts(image)
        .0
        .rsplit('/')
        .next()
        .is_some_and(|base| base.contains("sglang"))
}
