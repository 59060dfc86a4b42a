//! `lmcache coordinator`.

use lmcache_api::LMCacheCoordinatorSpec;

use super::{Argument, spelling};
use crate::number::shortest;
use crate::table::{COORDINATOR, find};

/// Since 0.5.4; before, a coordinator has no metrics.
const DISABLE_METRICS: &str = "--disable-metrics";

/// The arguments of a coordinator for the release at `position`, without `extraArgs`.
pub(crate) fn coordinator(spec: &LMCacheCoordinatorSpec, position: usize) -> Vec<Argument> {
    let host = spec
        .host
        .as_deref()
        .filter(|host| !host.is_empty())
        .unwrap_or("0.0.0.0");
    let seconds = |value: Option<f64>, default: f64| shortest(value.unwrap_or(default));
    let mut arguments = vec![
        Argument::new("--host", host, "spec.host"),
        Argument::new("--port", spec.port.unwrap_or(9300), "spec.port"),
        Argument::new(
            "--instance-timeout",
            seconds(spec.instance_timeout, 30.0),
            "spec.instanceTimeout",
        ),
        Argument::new(
            "--health-check-interval",
            seconds(spec.health_check_interval, 10.0),
            "spec.healthCheckInterval",
        ),
        Argument::new(
            "--eviction-check-interval",
            seconds(spec.eviction_check_interval, 5.0),
            "spec.evictionCheckInterval",
        ),
        Argument::new(
            "--eviction-ratio",
            seconds(spec.eviction_ratio, 0.2),
            "spec.evictionRatio",
        ),
        Argument::new(
            "--trigger-watermark",
            seconds(spec.trigger_watermark, 1.0),
            "spec.triggerWatermark",
        ),
    ];
    let metrics = spec.prometheus.as_ref().and_then(|prometheus| prometheus.enabled);
    if metrics == Some(false) && find(&COORDINATOR, DISABLE_METRICS, position).is_some() {
        arguments.push(Argument::switch(DISABLE_METRICS, "spec.prometheus.enabled"));
    }
    // The flag changed its name in 0.5.2.
    if let Some(tokens) = spec.blend_chunk_size {
        let flag = spelling(&COORDINATOR, position, ["--chunk-size", "--blend-chunk-size"]);
        arguments.push(Argument::new(flag, tokens, "spec.blendChunkSize"));
    }
    if let Some(tokens) = spec.blend_probe_stride {
        arguments.push(Argument::new("--blend-probe-stride", tokens, "spec.blendProbeStride"));
    }
    // Since 0.5.4 there is no index, which both settings are about, unless it is asked for.
    const INDEX: &str = "--enable-blend-lookup";
    let indexes = spec.blend_chunk_size.is_some() || spec.blend_probe_stride.is_some();
    if indexes && find(&COORDINATOR, INDEX, position).is_some() {
        arguments.push(Argument::switch(INDEX, "spec"));
    }
    arguments
}
