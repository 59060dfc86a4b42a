//! Made-up valid custom resources that span every field which reaches a command line.

mod engine;
pub mod random;

use lmcache_api::{IpcMode, Kind};
use serde_json::{Map, Value, json};

use self::random::Random;
use crate::input::{Input, Source};

/// How many are made.
pub const COUNT: usize = 200;

/// The resources, always the same: half LMCacheEngines, a quarter CacheBlendEngines, a quarter LMCacheCoordinators.
pub fn all() -> Vec<Input> {
    let mut random = Random::new(0x1A4C_A0E5);
    (0..COUNT)
        .map(|number| {
            let kind = match random.below(100) {
                0..50 => Kind::LMCacheEngine,
                50..75 => Kind::CacheBlendEngine,
                _ => Kind::LMCacheCoordinator,
            };
            let spec = match kind {
                Kind::LMCacheCoordinator => coordinator(&mut random),
                _ => engine::spec(&mut random, kind),
            };
            let modes = [
                &IpcMode::HostIPC,
                &IpcMode::HostIPC,
                &IpcMode::HostShm,
                &IpcMode::Isolated,
            ];
            Input {
                source: Source::Generated,
                name: format!("{number:03}"),
                kind,
                object: json!({
                    "apiVersion": lmcache_api::API_VERSION,
                    "kind": kind.as_str(),
                    "metadata": {"name": format!("made-{number:03}"), "namespace": "serving"},
                    "spec": spec,
                }),
                ipc_default: *random.pick(&modes),
            }
        })
        .collect()
}

/// An object under construction: each field is set in about half of the cases.
struct Fields<'r> {
    random: &'r mut Random,
    fields: Map<String, Value>,
}

impl<'r> Fields<'r> {
    fn new(random: &'r mut Random) -> Self {
        Fields {
            random,
            fields: Map::new(),
        }
    }

    /// Sets the field to one of `values` in `share` of 100 cases.
    fn maybe(&mut self, share: usize, name: &str, values: &[Value]) {
        if self.random.percent(share) {
            let value = self.random.pick(&values.iter().collect::<Vec<_>>()).clone();
            self.set(name, value);
        }
    }

    fn set(&mut self, name: &str, value: Value) {
        self.fields.insert(name.to_owned(), value);
    }

    fn done(self) -> Value {
        Value::Object(self.fields)
    }
}

fn numbers(values: &[f64]) -> Vec<Value> {
    // As YAML has it: 60, not 60.0.
    let number = |value: &f64| {
        if value.fract() == 0.0 {
            json!(*value as i64)
        } else {
            json!(value)
        }
    };
    values.iter().map(number).collect()
}

fn texts(values: &[&str]) -> Vec<Value> {
    values.iter().map(|text| json!(text)).collect()
}

fn coordinator(random: &mut Random) -> Value {
    let mut spec = Fields::new(random);
    spec.maybe(30, "host", &texts(&["0.0.0.0", "::"]));
    spec.maybe(40, "port", &numbers(&[1.0, 9300.0, 9400.0, 65535.0]));
    spec.maybe(50, "instanceTimeout", &numbers(&[0.5, 30.0, 90.0, 1e-3, 1e6]));
    spec.maybe(50, "healthCheckInterval", &numbers(&[0.0, 0.25, 10.0, 3600.0]));
    spec.maybe(50, "evictionCheckInterval", &numbers(&[0.0, 0.1, 5.0]));
    spec.maybe(50, "evictionRatio", &numbers(&[0.0, 0.2, 0.333, 1.0]));
    spec.maybe(50, "triggerWatermark", &numbers(&[0.001, 0.85, 1.0]));
    spec.maybe(30, "blendChunkSize", &numbers(&[1.0, 256.0, 512.0]));
    spec.maybe(30, "blendProbeStride", &numbers(&[1.0, 4.0]));
    spec.maybe(30, "logLevel", &texts(&["DEBUG", "INFO", "WARNING", "ERROR"]));
    spec.maybe(
        20,
        "prometheus",
        &[json!({}), json!({"enabled": true}), json!({"enabled": false})],
    );
    spec.maybe(10, "env", &[json!([{"name": "PYTHONHASHSEED", "value": "0"}])]);
    spec.maybe(25, "extraArgs", &coordinator_extra_args());
    spec.done()
}

/// As for servers: known to some releases, refused by some.
fn coordinator_extra_args() -> Vec<Value> {
    vec![
        json!(["--timeout-keep-alive", "5"]),
        json!(["--timeout-keep=0"]),
        json!(["--hash-algorithm", "blake3"]),
        json!(["--otlp-endpoint", "http://otel:4317"]),
        json!(["--checkpoint-interval", "-1"]),
        json!(["--enable-blend"]),
        json!(["--format", "json", "-q"]),
        json!(["--extra-config", "[]"]),
        json!(["--event-transport", "kafka"]),
        json!(["--event-transport", "kafka", "--kafka-bootstrap-servers", "kafka:9092"]),
    ]
}

/// Every list of `extraArgs` that may be chosen for this kind.
pub fn extra_args(kind: Kind) -> Vec<Value> {
    match kind {
        Kind::LMCacheCoordinator => coordinator_extra_args(),
        _ => engine::extra_args(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use lmcache_server::table::newest;
    use lmcache_server::validate;

    use super::*;
    use crate::line::with_release;

    #[test]
    fn the_newest_release_can_do_all_that_is_asked_for() {
        for input in all() {
            let object = with_release(input.kind, &input.object, newest());
            let faults = validate(input.kind, &object, input.ipc_default);
            assert!(faults.is_empty(), "{object:#}\n{faults:#?}");
        }
    }

    #[test]
    fn it_is_the_same_every_time() {
        let objects = || all().into_iter().map(|input| input.object).collect::<Vec<_>>();
        assert_eq!(objects(), objects());
    }

    /// Every field that becomes an argument, a variable, or decides about one.
    #[test]
    fn every_field_is_used_often_enough() {
        let mut counts = BTreeMap::new();
        for input in all() {
            count(&input.object["spec"], input.kind.as_str(), &mut counts);
        }
        for (kind, fields) in [
            (
                Kind::LMCacheEngine,
                "coordinator.advertiseIP coordinator.heartbeatInterval coordinator.l2EventFlushInterval \
                 coordinator.l2EventReporting coordinator.ref coordinator.url env eviction.evictionRatio eviction.policy \
                 eviction.triggerWatermark extraArgs gpuVendor hostIPC isolatedIPC l1.sizeGB l2Backend.prefetchMaxInFlight \
                 l2Backend.prefetchPolicy l2Backend.raw.config l2Backend.raw.type l2Backend.resp.authSecretRef \
                 l2Backend.resp.host l2Backend.resp.maxCapacityGB l2Backend.resp.numWorkers l2Backend.resp.port \
                 l2Backend.serde.aesgcm l2Backend.storePolicy logLevel prometheus.enabled prometheus.port server.chunkSize \
                 server.hashAlgorithm server.httpPort server.maxWorkers server.port",
            ),
            (
                Kind::CacheBlendEngine,
                "coordinator.url eviction.evictionRatio extraArgs hostIPC injection.payloadImage l1.sizeGB \
                 l2Backend.resp.host prometheus.enabled server.port",
            ),
            (
                Kind::LMCacheCoordinator,
                "blendChunkSize blendProbeStride env evictionCheckInterval evictionRatio extraArgs healthCheckInterval host \
                 instanceTimeout logLevel port prometheus triggerWatermark",
            ),
        ] {
            for field in fields.split_whitespace() {
                let name = format!("{kind}.{field}");
                let times: usize = counts
                    .iter()
                    .filter(|(path, _)| path.starts_with(&name))
                    .map(|(_, n)| n)
                    .sum();
                assert!(times >= 3, "{name}: {times} times");
            }
        }
    }

    fn count(value: &Value, path: &str, counts: &mut BTreeMap<String, usize>) {
        *counts.entry(path.to_owned()).or_default() += 1;
        for (key, value) in value.as_object().into_iter().flatten() {
            count(value, &format!("{path}.{key}"), counts);
        }
    }
}
