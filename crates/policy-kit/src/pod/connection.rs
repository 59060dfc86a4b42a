//! Where the connection JSON of an engine comes from.
//!
//! The ConfigMap that the engine controls says what its servers really run, so it comes first. An engine without one (the
//! controller has not come round yet, or there is none) is rendered by the same function that fills the ConfigMap, so
//! that a Pod applied together with its engine is wired. Without an engine, a ConfigMap that carries the Go operator's
//! labels is enough, as it was there.

use super::outcome::Skip;
use super::reasons::SkipReason;
use super::reference::EngineReference;
use super::system::System;
use crate::cluster::{Cluster, Lookup, Query, remedy};
use crate::keys::{INSTANCE_LABEL, IPC_MODE, OPERATOR_LABELS};
use lmcache_api::names::connection_config_map;
use lmcache_api::{
    API_VERSION, CACHEBLEND_CONNECTOR, EngineRef, EngineSpec, EngineView, GROUP, IpcMode, Kind, LMCACHE_CONNECTOR,
    PdRole, connection_config, connection_key, ipc_mode,
};
use serde_json::Value;
use std::str::FromStr;

const ISOLATED_IPC: &str = "lmcache.mp.isolated_ipc";

/// An engine and its connection ConfigMap as the cluster answered, not yet judged.
#[derive(Debug)]
pub(crate) struct Dereferenced<'a> {
    system: &'static System,
    name: &'a EngineReference,
    engine: Option<EngineView>,
    config_map: Option<Value>,
}

/// The connection of a Pod to its engine.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Value of `--kv-transfer-config`.
    pub json: String,
    /// How the servers share memory with their clients.
    pub ipc_mode: IpcMode,
}

/// Fetches an engine, past the host's cache. `None` where there is none.
pub(crate) fn engine(
    cluster: &dyn Cluster,
    name: &EngineReference,
    system: &System,
) -> Result<Option<EngineView>, Skip> {
    let query = Query {
        api_version: API_VERSION,
        kind: system.kind.as_str(),
        namespace: Some(&name.namespace),
        name: &name.name,
        cached: false,
        member: Some("spec"),
    };
    Ok(optional(cluster, &query)?.map(|object| EngineView::read(system.kind, &object)))
}

/// Fetches the ConfigMap that belongs to an engine, past the host's cache.
pub(crate) fn dereference<'a>(
    cluster: &dyn Cluster,
    name: &'a EngineReference,
    system: &'static System,
    engine: Option<EngineView>,
) -> Result<Dereferenced<'a>, Skip> {
    let config_map_name = connection_config_map(&name.name);
    let config_map = Query {
        api_version: "v1",
        kind: "ConfigMap",
        namespace: Some(&name.namespace),
        name: &config_map_name,
        cached: false,
        member: Some("data"),
    };
    Ok(Dereferenced {
        system,
        name,
        engine,
        config_map: optional(cluster, &config_map)?,
    })
}

/// The object, `None` where there is none; a look-up that failed is a reason to skip.
pub(super) fn optional(cluster: &dyn Cluster, query: &Query<'_>) -> Result<Option<Value>, Skip> {
    match cluster.get(query) {
        Lookup::Found(object) => Ok(Some(object)),
        Lookup::NotFound | Lookup::NotServed => Ok(None),
        Lookup::Unavailable(text) => Err(Skip::new(
            SkipReason::LookupUnavailable,
            format!("could not read {} {}", query.kind, query.name),
            format!("{}, then recreate the Pod", remedy(&text)),
        )
        .said_by_host(text)),
    }
}

impl Dereferenced<'_> {
    /// The engine, if it exists.
    pub fn spec(&self) -> Option<&dyn EngineSpec> {
        self.engine.as_ref().map(|engine| engine as &dyn EngineSpec)
    }

    /// Refuses a ConfigMap that belongs to the other system, and a name behind which there is nothing. CacheBlend needs the
    /// engine itself: without it nobody knows the payload.
    pub fn check(&self) -> Result<(), Skip> {
        let (name, kind, engine) = (self.name, self.system.kind, self.engine.as_ref());
        let Some(config_map) = &self.config_map else {
            return match engine {
                Some(_) => Ok(()),
                None => Err(not_found(name, kind)),
            };
        };
        if let Some(found) = foreign(config_map, &name.name, engine, kind) {
            let problem = format!("{}-connection {found}: this is no {}", name.name, kind.as_str());
            let remedy = "use the opt-in keys of that kind, or another engine";
            return Err(Skip::new(SkipReason::EngineKindMismatch, problem, remedy));
        }
        if engine.is_none() && (self.system.blends() || !has_operator_labels(config_map, &name.name)) {
            return Err(not_found(name, kind));
        }
        Ok(())
    }

    /// The connection for a Pod of the given role. Warnings say where the ConfigMap had to be passed over.
    pub fn connection(
        &self,
        role: Option<PdRole>,
        defaults: &Defaults<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<Connection, Skip> {
        let (name, engine, spec) = (self.name, self.engine.as_ref(), self.spec());
        let stated = spec.map_or(defaults.ipc_mode, |spec| ipc_mode(spec, defaults.ipc_mode));
        let controlled = self.config_map.as_ref().filter(|config_map| match engine {
            Some(engine) => controller(config_map).is_some_and(|owner| owner.is(engine)),
            None => true,
        });
        if let Some(config_map) = controlled {
            match usable(config_map, connection_key(role), self.system.connector(role)) {
                Ok((text, json)) => {
                    let host_ipc = spec.and_then(|spec| spec.host_ipc());
                    let ipc_mode = match served_ipc_mode(config_map, &json, stated, host_ipc) {
                        // CacheBlend has no isolated mode, whatever somebody wrote on the ConfigMap.
                        IpcMode::Isolated if self.system.blends() => stated,
                        mode => mode,
                    };
                    return Ok(Connection {
                        json: text.to_owned(),
                        ipc_mode,
                    });
                }
                Err(fault) if spec.is_none() => {
                    return Err(Skip::new(
                        SkipReason::ConnectionConfigInvalid,
                        format!(
                            "ConfigMap {}-connection {fault}, and there is no engine {}",
                            name.name, name.name
                        ),
                        "create the engine, then recreate the Pod",
                    ));
                }
                Err(fault) => warnings.push(format!(
                    "ConfigMap {}-connection {fault}: the connection was rendered from the engine instead",
                    name.name
                )),
            }
        }
        let Some(spec) = spec else {
            return Err(not_found(name, self.system.kind));
        };
        let engine = EngineRef {
            name: &name.name,
            namespace: &name.namespace,
            spec,
        };
        let rendered = connection_config(&engine, stated, defaults.cluster_domain);
        let json = rendered.for_role(role).unwrap_or(&rendered.plain).to_owned();
        Ok(Connection { json, ipc_mode: stated })
    }
}

/// What holds for engines that do not say otherwise.
#[derive(Debug)]
pub(crate) struct Defaults<'a> {
    /// Setting `ipcDefault`.
    pub ipc_mode: IpcMode,
    /// Setting `clusterDomain`.
    pub cluster_domain: &'a str,
}

fn not_found(name: &EngineReference, kind: Kind) -> Skip {
    Skip::new(
        SkipReason::EngineNotFound,
        format!("{} {name} does not exist", kind.as_str()),
        "create it first, then recreate the Pod",
    )
}

/// The owner that controls an object.
struct Controller<'a> {
    api_version: &'a str,
    kind: &'a str,
    name: &'a str,
    uid: &'a str,
}

impl Controller<'_> {
    fn is(&self, engine: &EngineView) -> bool {
        self.kind == engine.kind().as_str() && engine.uid() == Some(self.uid)
    }
}

fn controller(object: &Value) -> Option<Controller<'_>> {
    let owners = object.pointer("/metadata/ownerReferences")?.as_array()?;
    owners
        .iter()
        .find(|owner| owner.get("controller").and_then(Value::as_bool) == Some(true))
        .map(|owner| Controller {
            api_version: member(owner, "apiVersion"),
            kind: member(owner, "kind"),
            name: member(owner, "name"),
            uid: member(owner, "uid"),
        })
}

fn member<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// How a ConfigMap belongs to the other system, in words that follow its name, if it does.
///
/// A controller of our own group decides, and so does the connector in a ConfigMap that an operator made. A stranger's
/// ConfigMap of our name is no reason to keep a Pod from an engine that exists.
fn foreign(config_map: &Value, name: &str, engine: Option<&EngineView>, kind: Kind) -> Option<String> {
    let owner = controller(config_map);
    if let Some(owner) = &owner {
        let own_group = owner.api_version.split('/').next() == Some(GROUP);
        if owner.kind != kind.as_str() && (own_group || engine.is_none()) {
            return Some(format!("is controlled by {} {}", owner.kind, owner.name));
        }
    }
    let ours = engine.is_none_or(|engine| owner.is_some_and(|owner| owner.is(engine)));
    if !ours && !has_operator_labels(config_map, name) {
        return None;
    }
    let other = match kind {
        Kind::CacheBlendEngine => LMCACHE_CONNECTOR,
        Kind::LMCacheEngine | Kind::LMCacheCoordinator => CACHEBLEND_CONNECTOR,
    };
    let text = data(config_map, connection_key(None))?;
    let json: Value = serde_json::from_str(text).ok()?;
    names_connector(&json, other).then(|| format!("names the connector {other}"))
}

fn has_operator_labels(config_map: &Value, name: &str) -> bool {
    let label = |key: &str| {
        config_map
            .pointer("/metadata/labels")
            .and_then(|labels| labels.get(key))
            .and_then(Value::as_str)
    };
    OPERATOR_LABELS.iter().all(|(key, value)| label(key) == Some(value)) && label(INSTANCE_LABEL) == Some(name)
}

fn data<'a>(config_map: &'a Value, key: &str) -> Option<&'a str> {
    config_map.get("data")?.get(key)?.as_str()
}

/// The connection text of a ConfigMap, or in a few words what is wrong with it.
fn usable<'a>(config_map: &'a Value, key: &str, connector: &str) -> Result<(&'a str, Value), String> {
    let text = data(config_map, key).ok_or_else(|| format!("has no key {key}"))?;
    let json: Value = serde_json::from_str(text).map_err(|_| format!("holds no JSON under {key}"))?;
    if names_connector(&json, connector) {
        Ok((text, json))
    } else {
        Err(format!("names no {connector} under {key}"))
    }
}

/// Does a connection JSON use the connector `class`, alone or as a child of a `MultiConnector`?
pub(crate) fn names_connector(json: &Value, class: &str) -> bool {
    if json.get("kv_connector").and_then(Value::as_str) == Some(class) {
        return true;
    }
    json.pointer("/kv_connector_extra_config/connectors")
        .and_then(Value::as_array)
        .is_some_and(|children| children.iter().any(|child| names_connector(child, class)))
}

/// The mode that the servers behind a ConfigMap run with.
///
/// Whether it is the isolated one, the connection says: that is what the client does, and whoever reconciles the engine
/// writes it, while the annotation is only ours. (After a way back to the Go operator it stays, and says what was.) Which of
/// the other two it is, the annotation says. ConfigMaps of the Go operator have none: then it is what the engine states. Where
/// that would be isolated today, `host_ipc` tells the servers of the operator of 0.5.4, which knew it as a field and mounted
/// the host's `/dev/shm`, from those of older ones, which always shared host IPC.
fn served_ipc_mode(config_map: &Value, json: &Value, stated: IpcMode, host_ipc: Option<bool>) -> IpcMode {
    if isolated(json) {
        return IpcMode::Isolated;
    }
    let annotation = config_map
        .pointer("/metadata/annotations")
        .and_then(|annotations| annotations.get(IPC_MODE))
        .and_then(Value::as_str)
        .and_then(|word| IpcMode::from_str(word).ok());
    match annotation {
        Some(mode) if mode != IpcMode::Isolated => mode,
        _ if stated == IpcMode::Isolated && host_ipc == Some(false) => IpcMode::HostShm,
        _ if stated == IpcMode::Isolated => IpcMode::HostIPC,
        _ => stated,
    }
}

pub(crate) fn isolated(json: &Value) -> bool {
    let own = json.get("kv_connector_extra_config");
    own.and_then(|extra| extra.get(ISOLATED_IPC)).and_then(Value::as_bool) == Some(true)
        || own
            .and_then(|extra| extra.get("connectors"))
            .and_then(Value::as_array)
            .is_some_and(|children| children.iter().any(isolated))
}
