//! What the server container asks the node for.

use lmcache_api::LMCacheEngineSpec;
use serde_json::{Value, json};

/// CPUs that are requested; there is no limit.
const CPUS: &str = "4";
/// GiB beside the first tier for the process itself.
const OVERHEAD_GIB: f64 = 5.0;
/// How far memory may grow above its request.
const LIMIT_RATIO: f64 = 1.5;

/// `spec.resourceOverrides` as it stands, an empty one too (no resources at all). Otherwise the Go operator's: 4 CPUs, the
/// size of the first tier plus 5 Gi, and half as much again as limit, rounded up to whole Gi. (GB are taken for GiB,
/// which errs on the safe side by 7 per cent.) Never a GPU: the server uses those that its clients have.
pub(super) fn build(spec: &LMCacheEngineSpec) -> Value {
    if let Some(overrides) = &spec.resource_overrides {
        let is_empty = overrides.as_object().is_some_and(|members| members.is_empty());
        return if is_empty { Value::Null } else { overrides.clone() };
    }
    let size = spec.l1.as_ref().and_then(|l1| l1.size_gb).unwrap_or_default();
    let request = (size + OVERHEAD_GIB).ceil();
    let limit = (request * LIMIT_RATIO).ceil();
    // `as` saturates: a size that no node has stays one.
    json!({
        "requests": {"cpu": CPUS, "memory": format!("{}Gi", request as i64)},
        "limits": {"memory": format!("{}Gi", limit as i64)},
    })
}
