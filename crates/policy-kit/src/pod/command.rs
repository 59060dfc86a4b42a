//! Does what stands on a container's command line reach vLLM?

use super::outcome::Skip;
use super::reasons::SkipReason;
use super::settings::CommandOverride;
use super::target::named;
use crate::text::quoted;
use pod_edit::EditError;
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

/// A Pod into which the edits do not fit: a member of it has a type that it has in no Pod, or its command line cannot be
/// brought to say what it must.
pub(super) fn unfit(error: &EditError) -> Skip {
    if error.malformed {
        return Skip::new(SkipReason::PodMalformed, error.to_string(), "give that member its type");
    }
    let remedy = if error.path.contains("].args") || error.path.contains("].command") {
        "give vLLM's arguments in args, each flag with its value"
    } else {
        "remove what is in the way"
    };
    Skip::new(
        SkipReason::CommandOverride,
        format!("the Pod cannot be wired: {error}"),
        remedy,
    )
}

/// Windows knows neither host IPC nor the rights that are taken from an init container: the API server refuses such a Pod.
pub(super) fn windows() -> Skip {
    Skip::new(
        SkipReason::EngineTypeUnsupported,
        "the Pod is for Windows (spec.os.name), where vLLM does not run",
        "remove the opt-in",
    )
}

/// SGLang knows no `--kv-transfer-config`: given one, it does not start.
fn sglang(name: &str) -> Skip {
    Skip::new(
        SkipReason::EngineTypeUnsupported,
        format!("container {name} runs SGLang, which knows no --kv-transfer-config"),
        "give it its LMCache settings by hand and remove the opt-in",
    )
}

/// Does a container look like vLLM, by what it starts or by its image?
pub(super) fn is_vllm(target: &Value) -> bool {
    match CommandLine::of(target).launcher() {
        Launcher::VllmServe | Launcher::VllmModule => true,
        Launcher::Entrypoint => image_name(target).contains("vllm"),
        Launcher::Shell | Launcher::SglangLaunchServer | Launcher::Other(_) => false,
    }
}

fn is_sglang_image(target: &Value) -> bool {
    image_name(target).contains("sglang")
}

/// The last part of the image's name.
fn image_name(target: &Value) -> &str {
    let image = target.get("image").and_then(Value::as_str).unwrap_or_default();
    lmcache_api::image_parts(image).0.rsplit('/').next().unwrap_or_default()
}
