//! Pods that opted in to an engine.

use lmcache_api::Kind;
use pod_edit::args::{CommandLine, FlagUse, KV_TRANSFER_CONFIG};
use policy_kit::keys::{CACHEBLEND, LMCACHE, SystemKeys};
use serde_json::Value;

use super::json::{items, some_text, text};
use super::{Cached, Facts};

/// A Pod with an opt-in label.
pub type ClientPod = Cached<ClientPodFacts>;

/// What became of a Pod that opted in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// It carries the stamp of a Pod that was wired.
    Wired,
    /// It was skipped, for this reason (`engine-not-found`, ...).
    Skipped(String),
    /// It carries neither: no policy saw it.
    None,
}

/// Where a Pod was told to connect, read from `--kv-transfer-config`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WiredConnection {
    /// `lmcache.mp.host`, with its scheme.
    pub host: String,
    /// `lmcache.mp.port`, a number or a text of one.
    pub port: String,
    /// `lmcache.mp.isolated_ipc`.
    pub isolated: bool,
}

impl WiredConnection {
    /// Looks for a connector of ours in a connection JSON, also inside a MultiConnector.
    pub fn find(config: &Value) -> Option<Self> {
        let extra = config.get("kv_connector_extra_config")?;
        let member = |name: &str| extra.get(name);
        if let Some(host) = member("lmcache.mp.host").and_then(Value::as_str) {
            return Some(WiredConnection {
                host: host.to_owned(),
                port: match member("lmcache.mp.port") {
                    Some(Value::String(port)) => port.clone(),
                    Some(port) => port.to_string(),
                    None => String::new(),
                },
                isolated: member("lmcache.mp.isolated_ipc") == Some(&Value::Bool(true)),
            });
        }
        extra.get("connectors")?.as_array()?.iter().find_map(Self::find)
    }
}

/// What is kept of a client. Of its specification that is the node and the connection alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientPodFacts {
    /// The kind of engine that it opted in to. With both labels CacheBlend wins, as at admission.
    pub kind: Kind,
    /// The annotation that names the engine, as it stands there: `name` or `namespace/name`.
    pub engine: String,
    /// What became of it.
    pub stamp: Stamp,
    /// Where it connects; `None` where nothing says so.
    pub connection: Option<WiredConnection>,
    /// Its node; `None` while it waits for one.
    pub node: Option<String>,
    /// Whether its deletion was asked for, or it ended.
    pub is_ending: bool,
    /// When it was made, RFC 3339.
    pub created: String,
}

impl Facts for ClientPodFacts {
    type Type = ();

    fn resource((): &()) -> (&'static str, &'static str, &'static str, &'static str) {
        ("", "v1", "Pod", "pods")
    }

    fn read(object: Value) -> Self {
        let (kind, keys) = system(&object);
        let stamped = annotation(&object, keys.injected).is_some_and(|stamp| stamp == "true");
        // A wired Pod can have a reason too: for the part that was left to the user.
        let stamp = match annotation(&object, keys.skip_reason) {
            _ if stamped => Stamp::Wired,
            Some(reason) => Stamp::Skipped(reason.to_owned()),
            None => Stamp::None,
        };
        ClientPodFacts {
            kind,
            engine: annotation(&object, keys.engine).unwrap_or_default().trim().to_owned(),
            stamp,
            connection: items(&object, "/spec/containers").find_map(connection),
            node: some_text(&object, "/spec/nodeName"),
            is_ending: some_text(&object, "/metadata/deletionTimestamp").is_some()
                || matches!(text(&object, "/status/phase"), "Failed" | "Succeeded"),
            created: text(&object, "/metadata/creationTimestamp").to_owned(),
        }
    }
}

/// Whose keys count: CacheBlend wins where both are asked for in full, see the mutating policies.
fn system(pod: &Value) -> (Kind, &'static SystemKeys) {
    let asks = |keys: &SystemKeys| {
        let labels = pod.pointer("/metadata/labels");
        let label = labels.and_then(|labels| labels.get(keys.inject)?.as_str());
        label == Some("true") && annotation(pod, keys.engine).is_some()
    };
    if asks(&CACHEBLEND) || (!asks(&LMCACHE) && annotation(pod, CACHEBLEND.engine).is_some()) {
        (Kind::CacheBlendEngine, &CACHEBLEND)
    } else {
        (Kind::LMCacheEngine, &LMCACHE)
    }
}

fn annotation<'a>(pod: &'a Value, key: &str) -> Option<&'a str> {
    pod.pointer("/metadata/annotations")?.get(key)?.as_str()
}

fn connection(container: &Value) -> Option<WiredConnection> {
    let config = match CommandLine::of(container).effective(&KV_TRANSFER_CONFIG)? {
        FlagUse::Text(text) => serde_json::from_str(&text).ok()?,
        FlagUse::Dotted(config) => config,
        _ => return None,
    };
    WiredConnection::find(&config)
}
