//! The Go operator's own validation, in its order and its words.

use lmcache_api::fault::{echo, quote};
use lmcache_api::{FaultKind, FieldError, Kind};
use serde_json::Value;

use super::State;
use super::resource::Resource;

/// Reading an object of Go's types, where what is required and absent has a zero value.
pub(super) fn validate(resource: &Resource) -> Vec<FieldError> {
    let mut check = Check {
        resource,
        faults: Vec::new(),
    };
    match resource.kind {
        Kind::LMCacheCoordinator => check.coordinator(),
        Kind::LMCacheEngine | Kind::CacheBlendEngine => check.engine(),
    }
    check.faults
}

struct Check<'a> {
    resource: &'a Resource,
    faults: Vec<FieldError>,
}

/// `spec.l1.sizeGB` of `/l1/sizeGB`.
fn path(pointer: &str) -> String {
    format!("spec{}", pointer.replace('/', "."))
}

impl Check<'_> {
    fn invalid(&mut self, pointer: &str, value: &Value, expected: &str) {
        self.faults
            .push(FieldError::invalid(path(pointer), echo(value), expected));
    }

    fn required(&mut self, pointer: &str, expected: &str) {
        self.faults.push(FieldError::required(path(pointer), expected));
    }

    /// A number that is set must hold.
    fn number(&mut self, pointer: &str, holds: impl Fn(f64) -> bool, expected: &str) {
        let value = self.resource.at(pointer);
        if let Some(value) = value.filter(|value| value.as_f64().is_some_and(|number| !holds(number))) {
            self.invalid(pointer, value, expected);
        }
    }

    /// A number that counts as 0 where it is absent.
    fn required_number(&mut self, pointer: &str, holds: impl Fn(f64) -> bool, expected: &str) {
        let zero = Value::from(0);
        let value = self.resource.at(pointer).unwrap_or(&zero);
        if !value.as_f64().is_some_and(holds) {
            self.invalid(pointer, value, expected);
        }
    }

    fn text(&mut self, pointer: &str, expected: &str) {
        if self.resource.text(pointer, "").is_empty() {
            self.required(pointer, expected);
        }
    }

    fn engine(&mut self) {
        let share = |number: f64| number > 0.0 && number <= 1.0;
        self.required_number("/l1/sizeGB", |size| size > 0.0, "must be greater than 0");
        let policy = self.resource.text("/eviction/policy", "LRU");
        if policy != "LRU" {
            let detail = format!("{}: supported values: \"LRU\"", quote(policy));
            let fault = FieldError::new(path("/eviction/policy"), FaultKind::NotSupported, detail);
            self.faults.push(fault);
        }
        self.number("/eviction/triggerWatermark", share, "must be in (0.0, 1.0]");
        self.number("/eviction/evictionRatio", share, "must be in (0.0, 1.0]");
        let port = |port: f64| (1024.0..=65535.0).contains(&port);
        self.number("/server/port", port, "must be in [1024, 65535]");
        if self.resource.kind == Kind::CacheBlendEngine {
            let expected = "must be 256 for CacheBlend (chunk_size == block_size 64 * 4)";
            self.number("/server/chunkSize", |size| size == 256.0, expected);
            self.number("/blend/checkLayer", |layer| layer >= 0.0, "must be >= 0");
            self.number("/blend/recompRatio", share, "must be in (0.0, 1.0]");
            self.number("/blend/partialBucket", |bucket| bucket >= 1.0, "must be >= 1");
            self.payload_image();
        }
        if self.resource.at("/l2Backend").is_some() {
            self.second_tier();
        }
        if self.resource.at("/coordinator").is_some() {
            self.connection();
        }
    }

    fn payload_image(&mut self) {
        if self.resource.at("/injection/payloadImage").is_some() {
            self.text("/injection/payloadImage/repository", "must be a non-empty string");
        } else if self.resource.state < State::Newest || self.resource.at("/pd").is_none() {
            self.required("/injection/payloadImage", "must be specified for CacheBlend injection");
        }
    }

    fn second_tier(&mut self) {
        let (resp, raw) = (self.resource.at("/l2Backend/resp"), self.resource.at("/l2Backend/raw"));
        match (resp, raw) {
            (None, None) => self.required("/l2Backend", "exactly one of resp or raw must be set"),
            (Some(_), Some(_)) => {
                let expected = "exactly one of resp or raw must be set, got multiple";
                self.invalid("/l2Backend", &Value::from(""), expected);
            }
            _ => {}
        }
        if resp.is_some() {
            self.text("/l2Backend/resp/host", "must be a non-empty string");
            let port = |port: f64| (1.0..=65535.0).contains(&port);
            self.required_number("/l2Backend/resp/port", port, "must be in [1, 65535]");
            if self.resource.at("/l2Backend/resp/authSecretRef").is_some() {
                self.text("/l2Backend/resp/authSecretRef/name", "must be non-empty");
            }
        }
        if raw.is_some() {
            self.text("/l2Backend/raw/type", "must be a non-empty string");
        }
        if self.resource.at("/l2Backend/serde").is_some() {
            self.serde();
        }
    }

    fn serde(&mut self) {
        if self.resource.at("/l2Backend/serde/aesgcm").is_none() {
            self.required("/l2Backend/serde", "exactly one serde type must be set");
        } else {
            self.text("/l2Backend/serde/aesgcm/masterKeySecretRef/name", "must be non-empty");
        }
        if self.resource.at("/l2Backend/raw/config/serde").is_some() {
            let expected = "cannot be combined with a raw adapter that sets a 'serde' config key";
            self.invalid("/l2Backend/serde", &Value::from(""), expected);
        }
    }

    fn connection(&mut self) {
        let has = |pointer| !self.resource.text(pointer, "").is_empty();
        match (has("/coordinator/ref/name"), has("/coordinator/url")) {
            (true, true) => {
                let expected = "exactly one of ref or url must be set, got both";
                self.invalid("/coordinator", &Value::from(""), expected);
            }
            (false, false) => self.required("/coordinator", "exactly one of ref or url must be set"),
            _ => {}
        }
        for pointer in ["/coordinator/heartbeatInterval", "/coordinator/l2EventFlushInterval"] {
            self.number(pointer, |seconds| seconds > 0.0, "must be greater than 0");
        }
    }

    fn coordinator(&mut self) {
        let not_negative = |number: f64| number >= 0.0;
        let port = |port: f64| (1.0..=65535.0).contains(&port);
        self.number("/port", port, "must be in [1, 65535]");
        self.number("/replicas", not_negative, "must be >= 0");
        self.number("/instanceTimeout", |seconds| seconds > 0.0, "must be greater than 0");
        self.number("/healthCheckInterval", not_negative, "must be >= 0");
        self.number("/evictionCheckInterval", not_negative, "must be >= 0");
        self.number(
            "/evictionRatio",
            |ratio| (0.0..=1.0).contains(&ratio),
            "must be in [0.0, 1.0]",
        );
        let share = |number: f64| number > 0.0 && number <= 1.0;
        self.number("/triggerWatermark", share, "must be in (0.0, 1.0]");
        self.number("/blendChunkSize", |size| size >= 1.0, "must be > 0");
        self.number("/blendProbeStride", |stride| stride >= 1.0, "must be > 0");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_address_beside_an_empty_reference_is_one() {
        let spec = json!({"l1": {"sizeGB": 1}, "coordinator": {"ref": {}, "url": "http://c:9300"}});
        let (engine, faults) = Resource::read(State::July, Kind::LMCacheEngine, &json!({"spec": spec}));
        assert_eq!((faults, validate(&engine)), (vec![], vec![]));
    }
}
