//! Prefill/decode disaggregation: the role of a Pod and what NIXL needs in its environment.

use super::outcome::Skip;
use super::reasons::SkipReason;
use crate::keys::PD_ROLE;
use crate::text::quoted;
use lmcache_api::{EngineSpec, PdRole, PdSpec};
use pod_edit::env::{self, EnvState};
use pod_edit::{Edit, metadata};
use serde_json::{Value, json};

/// Port of NIXL's side channel where the engine does not say.
const DEFAULT_SIDE_CHANNEL_PORT: i32 = 5558;

/// The role that the Pod's annotation gives it. It is read only for engines that disaggregate; blank counts as none.
pub(crate) fn role(pod: &Value, engine: Option<&dyn EngineSpec>) -> Result<Option<PdRole>, Skip> {
    if engine.and_then(EngineSpec::pd).is_none() {
        return Ok(None);
    }
    match metadata::annotation(pod, PD_ROLE).map(str::trim).unwrap_or_default() {
        "" => Ok(None),
        "prefiller" => Ok(Some(PdRole::Prefiller)),
        "decoder" => Ok(Some(PdRole::Decoder)),
        other => Err(Skip::new(
            SkipReason::UnknownPdRole,
            format!("{PD_ROLE} is {}", quoted(other)),
            "it must be prefiller or decoder",
        )),
    }
}

/// NIXL's side channel, for every Pod of an engine that disaggregates. The user's own entries stay.
pub(super) fn environment(target: &Value, index: usize, engine: Option<&dyn EngineSpec>) -> Vec<Edit> {
    let Some(pd) = engine.and_then(EngineSpec::pd) else {
        return Vec::new();
    };
    let entries = variables(pd).into_iter();
    entries
        .filter(|entry| {
            let name = entry.get("name").and_then(Value::as_str).unwrap_or_default();
            matches!(env::state(target, name), EnvState::Absent | EnvState::MaybeEnvFrom)
        })
        .map(|entry| Edit::AppendEnv {
            container: index,
            entry,
        })
        .collect()
}

/// The variables, whether or not the container has its own.
pub(super) fn variables(pd: &PdSpec) -> [Value; 2] {
    let port = pd.nixl_side_channel_port.unwrap_or(DEFAULT_SIDE_CHANNEL_PORT);
    [
        json!({"name": "VLLM_NIXL_SIDE_CHANNEL_HOST", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}),
        json!({"name": "VLLM_NIXL_SIDE_CHANNEL_PORT", "value": port.to_string()}),
    ]
}
