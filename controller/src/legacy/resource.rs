//! A custom resource as the Go operator holds it, with every default, and what its builders ask of it.

use lmcache_api::{FieldError, Kind};
use serde_json::{Map, Value, json};

use super::schema::{Shape, Stored, store};
use super::{State, fields};

/// The fields of a kind.
pub(super) fn shape(kind: Kind) -> &'static Shape {
    match kind {
        Kind::LMCacheEngine => &fields::ENGINE,
        Kind::CacheBlendEngine => &fields::CACHEBLEND,
        Kind::LMCacheCoordinator => &fields::COORDINATOR,
    }
}

/// A custom resource after the API server's defaults and the operator's own.
pub(super) struct Resource {
    pub state: State,
    pub kind: Kind,
    pub name: String,
    pub namespace: String,
    spec: Value,
    /// Whether the operator can read it at all.
    pub readable: bool,
    /// Where the coordinator is; empty without one.
    pub coordinator_url: String,
}

impl Resource {
    /// Reads an object as the API server of `state` would store it; with what that would refuse.
    pub fn read(state: State, kind: Kind, object: &Value) -> (Self, Vec<FieldError>) {
        let Stored { spec, faults, readable } = store(state, shape(kind), object);
        let metadata = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let namespace = metadata("/metadata/namespace");
        let resource = Resource {
            state,
            kind,
            name: metadata("/metadata/name").to_owned(),
            namespace: if namespace.is_empty() { "default" } else { namespace }.to_owned(),
            spec,
            readable,
            coordinator_url: String::new(),
        };
        (resource, faults)
    }

    /// The object with the spec that is stored, as `lmcache_api` reads objects.
    pub fn object(&self) -> Value {
        json!({"metadata": {"name": self.name, "namespace": self.namespace}, "spec": self.spec})
    }

    /// The value at a JSON pointer into the spec.
    pub fn at(&self, pointer: &str) -> Option<&Value> {
        self.spec.pointer(pointer)
    }

    pub fn text<'a>(&'a self, pointer: &str, default: &'a str) -> &'a str {
        self.at(pointer).and_then(Value::as_str).unwrap_or(default)
    }

    pub fn integer(&self, pointer: &str, default: i64) -> i64 {
        self.at(pointer).and_then(Value::as_i64).unwrap_or(default)
    }

    pub fn number(&self, pointer: &str, default: f64) -> f64 {
        self.at(pointer).and_then(Value::as_f64).unwrap_or(default)
    }

    pub fn flag(&self, pointer: &str, default: bool) -> bool {
        self.at(pointer).and_then(Value::as_bool).unwrap_or(default)
    }

    /// The strings of a list.
    pub fn texts(&self, pointer: &str) -> Vec<String> {
        let items = self.at(pointer).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// A map of strings; empty when it is absent.
    pub fn entries(&self, pointer: &str) -> Map<String, Value> {
        self.at(pointer).and_then(Value::as_object).cloned().unwrap_or_default()
    }

    pub fn runs_on_nvidia(&self) -> bool {
        self.text("/gpuVendor", "nvidia") == "nvidia"
    }

    /// What `isolatedIPC` is resolved to, which is there since 0.5.5; a CacheBlendEngine is never isolated.
    pub fn is_isolated(&self) -> bool {
        let possible = self.state >= State::V0_5_5 && self.kind == Kind::LMCacheEngine;
        possible && self.flag("/isolatedIPC", self.runs_on_nvidia())
    }

    /// The nodes: those with an NVIDIA GPU where the vendor is that and no selector is given. An empty one is given.
    pub fn node_selector(&self) -> Map<String, Value> {
        let defaulted = self.kind != Kind::LMCacheCoordinator && self.runs_on_nvidia();
        if self.at("/nodeSelector").is_none() && defaulted {
            return Map::from_iter([("nvidia.com/gpu.present".to_owned(), json!("true"))]);
        }
        self.entries("/nodeSelector")
    }

    pub fn server_port(&self) -> i64 {
        self.integer("/server/port", 5555)
    }

    pub fn http_port(&self) -> i64 {
        self.integer("/server/httpPort", 8080)
    }

    pub fn coordinator_port(&self) -> i64 {
        self.integer("/port", 9300)
    }

    pub fn metrics_port(&self) -> i64 {
        self.integer("/prometheus/port", 9090)
    }

    /// Whether the container has a metrics port: unless switched off, but for a coordinator only when switched on.
    pub fn serves_metrics(&self) -> bool {
        self.flag("/prometheus/enabled", self.kind != Kind::LMCacheCoordinator)
    }

    pub fn has_service_monitor(&self) -> bool {
        self.flag("/prometheus/serviceMonitor/enabled", false)
    }

    /// The Secret with the login of the Redis server: namespace and name.
    pub fn resp_source(&self) -> Option<(&str, &str)> {
        let name = self.at("/l2Backend/resp/authSecretRef/name")?.as_str()?;
        let namespace = self.text("/l2Backend/resp/authSecretRef/namespace", "");
        let namespace = if namespace.is_empty() {
            &self.namespace
        } else {
            namespace
        };
        Some((namespace, name))
    }

    pub fn resp_secret_name(&self) -> String {
        format!("{}-resp-auth", self.name)
    }

    /// The labels by which children are selected.
    pub fn selector_labels(&self) -> Map<String, Value> {
        let name = match self.kind {
            Kind::LMCacheCoordinator => "lmcache-coordinator",
            Kind::LMCacheEngine | Kind::CacheBlendEngine => "lmcache",
        };
        Map::from_iter([
            ("app.kubernetes.io/name".to_owned(), json!(name)),
            ("app.kubernetes.io/instance".to_owned(), json!(self.name)),
            ("app.kubernetes.io/managed-by".to_owned(), json!("lmcache-operator")),
        ])
    }

    /// The labels of every child.
    pub fn labels(&self) -> Map<String, Value> {
        let component = match self.kind {
            Kind::LMCacheCoordinator => "coordinator",
            Kind::LMCacheEngine | Kind::CacheBlendEngine => "cache-engine",
        };
        let mut labels = self.selector_labels();
        labels.insert("app.kubernetes.io/component".to_owned(), json!(component));
        labels
    }

    /// A child: the name is that of the custom resource and `suffix`, `content` the one member beside the metadata.
    pub fn child(
        &self,
        api_version: &str,
        kind: &str,
        suffix: &str,
        labels: Map<String, Value>,
        content: (&str, Value),
    ) -> Value {
        let metadata = json!({
            "name": format!("{}{suffix}", self.name),
            "namespace": self.namespace,
            "labels": labels,
        });
        let (member, content) = content;
        json!({"apiVersion": api_version, "kind": kind, "metadata": metadata, member: content})
    }
}
