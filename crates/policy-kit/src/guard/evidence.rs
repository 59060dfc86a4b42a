//! What a wired Pod holds, and what is missing from one that only says so.
//!
//! Other webhooks run before and after the policies, and change between releases: they put containers in front, rewrite
//! images to mirrors, add variables and mounts, limit volumes. None of that may make an honest Pod a forged one. So every
//! question here is about presence, of things that nobody but the policies or the user puts there.

use super::claims::{Claims, stale};
use super::staged::{unseen, unstaged};
use super::verdict::Finding;
use super::{line, shared_memory};
use crate::keys::{PAYLOAD_STAGED, PD_ROLE};
use crate::pod::connection::names_connector;
use crate::pod::ipc::{SHM_PATH, SHM_VOLUME};
use crate::pod::{EngineReference, SkipReason, System};
use crate::text::quoted;
use lmcache_api::PdRole;
use pod_edit::args::{ENABLE_CHUNKED_PREFILL, FlagUse, KV_TRANSFER_CONFIG, PIPELINE_PARALLEL_SIZE};
use pod_edit::env::{self, EnvState};
use pod_edit::{container, metadata, pod as pods, volume};
use serde_json::Value;

/// Key of the server's address in a connection.
const HOST: &str = "lmcache.mp.host";

/// The wiring that is looked for.
pub(super) struct Wanted<'a> {
    pub system: &'static System,
    pub engine: &'a EngineReference,
    /// The Pod says that the connection is the user's own.
    pub own_connection: bool,
    /// The Pod says that it is a decoder.
    decoder: bool,
    /// The container that the Pod names as the one to wire.
    container: Option<String>,
}

/// What is known about where connections should lead.
#[derive(Clone, Copy)]
pub(super) enum Known<'a> {
    /// Nobody asked.
    Nothing,
    /// The engine is gone: any connection may have been its own.
    Gone,
    /// The engine's connection.
    Live(&'a Value),
}

/// A container that carries the connector.
pub(super) struct Carrier<'a> {
    /// Its place in `spec.containers`.
    pub index: usize,
    pub container: &'a Value,
    /// Its connection.
    pub config: Value,
    /// It only takes KV over from other Pods, and has no other wiring.
    pub takes_over: bool,
    /// The connection is the user's own and uses another connector.
    pub foreign: bool,
}

/// How good a carrier is, the better the greater: it has all that is claimed; the Pod names it; its connection is exactly
/// the engine's; it uses the system's connector.
type Rank = [bool; 4];

/// What was found of the wiring that a Pod claims.
pub(super) struct Judgement<'a> {
    /// The container that is wired, if one is.
    pub carrier: Option<Carrier<'a>>,
    /// Others that could as well be the one.
    rivals: Vec<Carrier<'a>>,
    /// What is missing.
    pub findings: Vec<Finding>,
    /// What does not hold and is no fault.
    pub warnings: Vec<String>,
    /// A stamp does not hold, and the Pod says so itself.
    pub stale: bool,
}

impl Judgement<'_> {
    /// The volume over `/dev/shm` of a container that may be the wired one.
    pub fn shadow(&self, pod: &Value) -> Option<String> {
        let mut carriers = self.carrier.iter().chain(&self.rivals);
        carriers.find_map(|carrier| shared_memory::shadow(pod, carrier).map(str::to_owned))
    }

    /// Notes what a stamp lacks: a fault, unless the Pod itself says that the stamp does not hold.
    fn add(&mut self, stamp: &'static str, missing: Vec<String>, reason: Option<&'static str>) {
        match reason {
            _ if missing.is_empty() => {}
            Some(reason) => {
                self.warnings.push(stale(stamp, reason));
                self.stale = true;
            }
            None => {
                let untrue = |what| Finding::annotation(stamp, format!("is \"true\", but {what}"));
                self.findings.extend(missing.into_iter().map(untrue));
            }
        }
    }
}

impl<'a> Wanted<'a> {
    pub fn of(pod: &Value, system: &'static System, engine: &'a EngineReference) -> Self {
        let trimmed = |key: &str| metadata::annotation(pod, key).map(str::trim);
        Self {
            system,
            engine,
            own_connection: trimmed(system.keys.skip_reason) == Some(SkipReason::KvTransferConfigPresent.as_str()),
            decoder: trimmed(PD_ROLE) == Some("decoder"),
            container: trimmed(system.keys.container).map(str::to_owned),
        }
    }

    /// Containers with a connection of the right kind, wherever it leads; or of any kind, where the Pod says that it is the
    /// user's own: the Go operator leaves every one and wires the rest.
    fn candidates<'p>(&self, pod: &'p Value) -> Vec<Carrier<'p>> {
        let carrier = |(index, container)| {
            let used = line::effective(container, &KV_TRANSFER_CONFIG)?;
            let config = config_of(used).or(self.own_connection.then_some(Value::Null))?;
            let full = names_connector(&config, self.system.connector(None));
            // Whether the engine disaggregates may have changed since: the Pod's own role counts.
            let decodes = self.system.blends() && self.decoder && !full;
            let hands_over = decodes && names_connector(&config, self.system.connector(Some(PdRole::Decoder)));
            (full || hands_over || self.own_connection).then_some(Carrier {
                index,
                container,
                config,
                takes_over: decodes,
                foreign: !full && !hands_over,
            })
        };
        container::containers(pod)
            .iter()
            .enumerate()
            .filter_map(carrier)
            .collect()
    }

    /// Is this a connection to the engine? It is where it equals the engine's; where it names the engine's Service, since
    /// ports and settings may have changed; and where the Pod says that it is the user's own, wherever that leads.
    fn is_connected(&self, carrier: &Carrier<'_>, known: Known<'_>) -> bool {
        if self.own_connection || is_gone(known) || is_live(known, &carrier.config) {
            return true;
        }
        if carrier.takes_over {
            // It names no engine. What is inside a MultiConnector is the user's or LMCache's.
            let class = carrier.config.get("kv_connector").and_then(Value::as_str);
            return class == Some(self.system.connector(Some(PdRole::Decoder)));
        }
        self.leads_to_engine(&carrier.config)
    }

    /// Does the connector, alone or inside a `MultiConnector`, name the engine's Service, in whatever cluster domain?
    fn leads_to_engine(&self, config: &Value) -> bool {
        let extra = config.get("kv_connector_extra_config");
        let class = config.get("kv_connector").and_then(Value::as_str);
        if class == Some(self.system.connector(None)) {
            let host = extra.and_then(|extra| extra.get(HOST)).and_then(Value::as_str);
            return host.is_some_and(|host| is_service(host, self.engine));
        }
        let children = extra
            .and_then(|extra| extra.get("connectors"))
            .and_then(Value::as_array);
        children.is_some_and(|children| children.iter().any(|child| self.leads_to_engine(child)))
    }

    /// Looks for what the stamps claim, all of it in one container.
    ///
    /// A Pod may hold several containers with a connection, of the user's own beside the one that was wired. A container
    /// that has everything proves the stamps, whatever the others lack; of several such the Pod's word and the engine's
    /// connection tell which was meant.
    pub fn judge<'p>(&self, pod: &'p Value, claims: &Claims, known: Known<'_>) -> Judgement<'p> {
        let mut ranked: Vec<(Rank, Carrier<'p>, Vec<String>, Vec<String>)> = Vec::new();
        for carrier in self.candidates(pod) {
            if !self.is_connected(&carrier, known) {
                continue;
            }
            let missing = if claims.injected {
                self.missing(pod, &carrier)
            } else {
                Vec::new()
            };
            let unseen = if claims.staged {
                unseen(carrier.container, &self.system.staging)
            } else {
                Vec::new()
            };
            let rank = [
                missing.is_empty() && unseen.is_empty(),
                self.container.as_deref() == container::name(carrier.container),
                is_live(known, &carrier.config),
                !carrier.foreign,
            ];
            ranked.push((rank, carrier, missing, unseen));
        }
        // The sort is stable: among equals the first container comes first.
        ranked.sort_by(|(a, ..), (b, ..)| b.cmp(a));
        let mut ranked = ranked.into_iter();
        let (carrier, missing, unseen) = match ranked.next() {
            // A policy that only stages does not connect: then any container may be the one.
            Some(([false, ..], ..)) if !claims.injected && self.unseen_anywhere(pod).is_empty() => {
                (None, Vec::new(), Vec::new())
            }
            Some((_, carrier, missing, unseen)) => (Some(carrier), missing, unseen),
            None if claims.staged => (None, vec![self.no_carrier()], self.unseen_anywhere(pod)),
            None => (None, vec![self.no_carrier()], Vec::new()),
        };
        let rivals = ranked
            .filter(|([complete, ..], ..)| *complete)
            .map(|(_, carrier, ..)| carrier);
        let mut judgement = Judgement {
            carrier,
            rivals: rivals.collect(),
            findings: Vec::new(),
            warnings: Vec::new(),
            stale: false,
        };
        if claims.injected {
            judgement.add(self.system.keys.injected, missing, claims.not_injected);
        }
        if claims.staged {
            let mut missing = unstaged(pod, &self.system.staging);
            missing.extend(unseen);
            judgement.add(PAYLOAD_STAGED, missing, claims.not_staged);
        }
        judgement
            .warnings
            .extend(judgement.carrier.as_ref().and_then(|carrier| self.unused(carrier)));
        judgement
    }

    /// What the container lacks that comes nearest to seeing the payload, where none carries the connector.
    fn unseen_anywhere(&self, pod: &Value) -> Vec<String> {
        let names = &self.system.staging;
        let containers = container::containers(pod).iter().map(|target| unseen(target, names));
        containers
            .min_by_key(Vec::len)
            .unwrap_or_else(|| unseen(&Value::Null, names))
    }

    /// The warning for a Pod that was wired but for the connection, and has another one.
    fn unused(&self, carrier: &Carrier<'_>) -> Option<String> {
        carrier.foreign.then(|| {
            format!(
                "container {} has its own --kv-transfer-config, which does not name {}: it does not use engine {}",
                named(carrier.container),
                self.system.connector(None),
                self.engine
            )
        })
    }

    fn no_carrier(&self) -> String {
        let role = Some(PdRole::Decoder).filter(|_| self.decoder);
        let mut connector = self.system.connector(None).to_owned();
        if self.system.connector(role) != connector {
            connector.push_str(" or ");
            connector.push_str(self.system.connector(role));
        }
        format!("no container carries {connector} for engine {}", self.engine)
    }

    /// What a carrier lacks of a whole wiring.
    fn missing(&self, pod: &Value, carrier: &Carrier<'_>) -> Vec<String> {
        let target = carrier.container;
        let mut missing = Vec::new();
        if carrier.takes_over {
            return missing;
        }
        let shares_memory = pods::host_ipc(pod)
            || volume::mount_at(target, SHM_PATH).is_some()
            || volume::volume_by_name(pod, SHM_VOLUME).is_some();
        if !shares_memory {
            missing.push(format!(
                "container {} has no memory to share: neither host IPC nor a volume at {SHM_PATH}",
                named(target)
            ));
        }
        if !self.system.blends() {
            if env::state(target, "PYTHONHASHSEED") == EnvState::Absent {
                missing.push(format!("container {} has no PYTHONHASHSEED", named(target)));
            }
            return missing;
        }
        missing.extend(unstaged(pod, &self.system.staging));
        missing.extend(unseen(target, &self.system.staging));
        if line::effective(target, &ENABLE_CHUNKED_PREFILL) != Some(FlagUse::Off) {
            missing.push(format!(
                "container {} runs without --no-enable-chunked-prefill",
                named(target)
            ));
        }
        let stages = line::effective(target, &PIPELINE_PARALLEL_SIZE);
        if !matches!(stages, Some(FlagUse::Text(stages)) if stages.trim() == "1") {
            missing.push(format!(
                "container {} runs without --pipeline-parallel-size 1",
                named(target)
            ));
        }
        missing
    }
}

fn is_gone(known: Known<'_>) -> bool {
    matches!(known, Known::Gone)
}

fn is_live(known: Known<'_>, config: &Value) -> bool {
    matches!(known, Known::Live(live) if live == config)
}

/// A connection, if vLLM could read it.
fn config_of(used: FlagUse) -> Option<Value> {
    match used {
        FlagUse::Text(text) => serde_json::from_str(&text).ok(),
        FlagUse::Dotted(config) => Some(config),
        _ => None,
    }
}

/// Is this the address of the engine's Service? What follows `svc` is the domain of the cluster, which nobody knows here.
fn is_service(host: &str, engine: &EngineReference) -> bool {
    let address = host.split_once("://").map_or(host, |(_, address)| address);
    let service = format!("{}.{}.svc", engine.name, engine.namespace);
    address
        .strip_prefix(service.as_str())
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ':']))
}

/// The name of a container for a message, in quotes.
pub(super) fn named(target: &Value) -> String {
    quoted(container::name(target).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    #[test]
    fn addresses_of_a_service() {
        let engine = EngineReference {
            namespace: "team-a".into(),
            name: "kv".into(),
        };
        for host in [
            "tcp://kv.team-a.svc.cluster.local",
            "tcp://kv.team-a.svc",
            "kv.team-a.svc.k8s.example",
            "tcp://kv.team-a.svc:5555",
        ] {
            assert!(is_service(host, &engine), "{host}");
        }
        for host in [
            "",
            "tcp://",
            "tcp://kv.team-a",
            "tcp://kv.team-a.svcs.cluster.local",
            "tcp://kv.team-b.svc.cluster.local",
            "tcp://my-kv.team-a.svc.cluster.local",
            "tcp://evil://kv.team-a.svc",
            "tcp://kv.team-a.svc@evil",
        ] {
            assert!(!is_service(host, &engine), "{host}");
        }
    }
}
