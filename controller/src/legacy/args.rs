//! The command line of `lmcache server`.

use lmcache_api::{Kind, go_json};
use serde_json::{Map, Value, json};

use super::State;
use super::resource::Resource;

/// The switch of isolated IPC, which the releases have in one place.
pub(super) const ISOLATED_IPC: &str = "--isolated-ipc";

/// A line in the making.
#[derive(Default)]
pub(super) struct Line(Vec<String>);

impl Line {
    pub fn switch(&mut self, flag: &str) {
        self.0.push(flag.to_owned());
    }

    pub fn pair(&mut self, flag: &str, value: impl ToString) {
        self.0.push(flag.to_owned());
        self.0.push(value.to_string());
    }

    /// Closes the line with the user's own arguments, which are last so that they win.
    pub fn end(mut self, extra: Vec<String>) -> Vec<String> {
        self.0.extend(extra);
        self.0
    }
}

/// The arguments of an engine's server.
pub(super) fn server(engine: &Resource) -> Vec<String> {
    let mut line = Line::default();
    line.pair("--host", "0.0.0.0");
    line.pair("--port", engine.server_port());
    line.pair("--http-port", engine.http_port());
    line.pair("--l1-size-gb", format!("{:.1}", engine.number("/l1/sizeGB", 0.0)));
    line.pair("--chunk-size", engine.integer("/server/chunkSize", 256));
    line.pair("--max-workers", engine.integer("/server/maxWorkers", 1));
    line.pair("--hash-algorithm", engine.text("/server/hashAlgorithm", "blake3"));
    if engine.is_isolated() {
        line.switch(ISOLATED_IPC);
    }
    line.pair("--eviction-policy", engine.text("/eviction/policy", "LRU"));
    let share = |pointer, default| format!("{:.2}", engine.number(pointer, default));
    line.pair("--eviction-trigger-watermark", share("/eviction/triggerWatermark", 0.8));
    line.pair("--eviction-ratio", share("/eviction/evictionRatio", 0.2));
    if engine.serves_metrics() {
        line.pair("--prometheus-port", engine.metrics_port());
    } else {
        line.switch("--disable-prometheus");
    }
    second_tier(engine, &mut line);
    coordinator(engine, &mut line);
    if engine.kind == Kind::CacheBlendEngine {
        line.pair("--engine-type", "blend");
        line.pair("--l1-align-bytes", 16_777_216);
    }
    line.end(engine.texts("/extraArgs"))
}

fn second_tier(engine: &Resource, line: &mut Line) {
    if engine.at("/l2Backend").is_none() {
        return;
    }
    if let Some(adapter) = adapter(engine) {
        line.pair("--l2-adapter", go_json::to_string(&adapter));
    }
    line.pair("--l2-store-policy", engine.text("/l2Backend/storePolicy", "default"));
    line.pair(
        "--l2-prefetch-policy",
        engine.text("/l2Backend/prefetchPolicy", "default"),
    );
    line.pair(
        "--l2-prefetch-max-in-flight",
        engine.integer("/l2Backend/prefetchMaxInFlight", 8),
    );
}

/// The adapter's JSON. A `type` in the raw configuration wins over the field; numbers go through float64.
fn adapter(engine: &Resource) -> Option<Value> {
    let mut adapter = if engine.at("/l2Backend/resp").is_some() {
        let mut resp = Map::new();
        resp.insert("type".to_owned(), json!("resp"));
        resp.insert("host".to_owned(), json!(engine.text("/l2Backend/resp/host", "")));
        resp.insert("port".to_owned(), json!(engine.integer("/l2Backend/resp/port", 0)));
        resp.insert(
            "num_workers".to_owned(),
            json!(engine.integer("/l2Backend/resp/numWorkers", 8)),
        );
        let capacity = engine.number("/l2Backend/resp/maxCapacityGB", 0.0);
        if capacity > 0.0 {
            resp.insert("max_capacity_gb".to_owned(), json!(capacity));
        }
        resp
    } else {
        engine.at("/l2Backend/raw")?;
        let mut raw = Map::new();
        raw.insert("type".to_owned(), json!(engine.text("/l2Backend/raw/type", "")));
        for (key, value) in engine.entries("/l2Backend/raw/config") {
            raw.insert(key, go_json::through_float64(&value));
        }
        raw
    };
    if engine.at("/l2Backend/serde/aesgcm").is_some() {
        let serde = json!({
            "type": "aesgcm",
            "master_key_path": "/etc/lmcache/keys/master",
            "key_provider": engine.text("/l2Backend/serde/aesgcm/keyProvider", "hkdf"),
            "aes_bits": engine.integer("/l2Backend/serde/aesgcm/aesBits", 128),
        });
        adapter.insert("serde".to_owned(), serde);
    }
    Some(Value::Object(adapter))
}

fn coordinator(engine: &Resource, line: &mut Line) {
    if engine.coordinator_url.is_empty() {
        return;
    }
    line.pair("--coordinator-url", &engine.coordinator_url);
    let address = engine.text("/coordinator/advertiseIP", "");
    if !address.is_empty() {
        line.pair("--coordinator-advertise-ip", address);
    }
    let number = |pointer, default| go_json::decimal_text(engine.number(pointer, default));
    line.pair(
        "--coordinator-heartbeat-interval",
        number("/coordinator/heartbeatInterval", 5.0),
    );
    let (reporting, interval) = if engine.state < State::V0_5_3 {
        (
            "--coordinator-l2-event-reporting",
            "--coordinator-l2-event-flush-interval",
        )
    } else {
        ("--coordinator-event-reporting", "--coordinator-event-flush-interval")
    };
    if engine.flag("/coordinator/l2EventReporting", false) {
        line.switch(reporting);
    }
    line.pair(interval, number("/coordinator/l2EventFlushInterval", 1.0));
}

#[cfg(test)]
mod tests {
    /// The one place where Rust's formatter decides bytes that a Go program wrote.
    #[test]
    fn decimals_are_rounded_as_go_rounds_them() {
        let one = [
            (0.25, "0.2"),
            (0.35, "0.3"),
            (0.05, "0.1"),
            (0.04, "0.0"),
            (60.25, "60.2"),
            (59.95, "60.0"),
        ];
        for (number, text) in one {
            assert_eq!(format!("{number:.1}"), text);
        }
        let two = [
            (0.995, "0.99"),
            (0.125, "0.12"),
            (0.005, "0.01"),
            (0.999, "1.00"),
            (0.001, "0.00"),
        ];
        for (number, text) in two {
            assert_eq!(format!("{number:.2}"), text);
        }
    }
}
