//! Everything that decides whether a Pod is wired, in the order in which the answers count.

use super::outcome::{Skip, SkipReason};
use super::reference::EngineReference;
use super::settings::{Settings, Strictness};
use super::target::named;
use super::user_config::{self, UserConfig};
use super::{command, compatibility, connection, ipc, nixl, payload, service_links, target};
use crate::cluster::{Cluster, Query};
use crate::keys::{LMCACHE, POD_SECURITY_ENFORCE};
use lmcache_api::{EngineSpec, EngineView, Kind};
use pod_edit::args::{CommandLine, KV_TRANSFER_CONFIG};
use pod_edit::env::{self, EnvState};
use pod_edit::{Edit, container, metadata};
use serde_json::{Value, json};

/// Environment variable that makes Python's string hashes equal in all processes, which chunk keys are built on.
const HASH_SEED: &str = "PYTHONHASHSEED";

/// A Pod that nothing keeps from being wired, and what is known about it.
pub(super) struct Examined<'a> {
    pod: &'a Value,
    namespace: &'a str,
    name: &'a EngineReference,
    engine: Option<EngineView>,
    connection: connection::Connection,
    target: &'a Value,
    index: usize,
    user_config: UserConfig,
    ipc: ipc::Wiring,
}

/// Asks every question, the cheap ones as soon as their facts are there. The order is that of the Go operator as far as
/// it asks: engine and ConfigMap, role, container, command, the user's own connector; then payload, releases and Pod
/// Security.
pub(super) fn examine<'a>(
    pod: &'a Value,
    namespace: &'a str,
    name: &'a EngineReference,
    settings: &Settings,
    cluster: &dyn Cluster,
    warnings: &mut Vec<String>,
) -> Result<Examined<'a>, Skip> {
    let stored = connection::dereference(cluster, name, Kind::LMCacheEngine)?;
    let engine = stored.engine(Kind::LMCacheEngine);
    stored.check(engine.as_ref(), name, Kind::LMCacheEngine)?;
    let spec = as_spec(engine.as_ref());
    let role = nixl::role(pod, spec)?;
    let defaults = connection::Defaults {
        ipc_mode: settings.ipc_default,
        cluster_domain: &settings.cluster_domain,
    };
    let connection = stored.connection(engine.as_ref(), name, role, &defaults, warnings)?;

    let asked_for = target::AskedFor {
        annotation: metadata::annotation(pod, LMCACHE.container),
        annotation_key: LMCACHE.container,
        engine: spec.and_then(EngineSpec::target_container),
    };
    let index = target::find(pod, &asked_for, &connection.json, warnings)?;
    let target = container::containers(pod).get(index).unwrap_or(&Value::Null);
    let line = CommandLine::of(target);
    command::check(target, &line, settings.command_override)?;
    let user_config = user_config::judge(&line, &connection.json)?;
    if let Some(payload) = spec.and_then(EngineSpec::payload_image) {
        payload::check(payload, pod, index, &payload::LMCACHE)?;
    }
    let releases = compatibility::Releases::read(pod, target, spec, warnings);
    let pair = compatibility::Pair {
        releases,
        ipc_mode: connection.ipc_mode,
        line: &line,
        engine: spec,
    };
    pair.check(settings.compatibility, warnings)?;
    let mut ipc = ipc::plan(connection.ipc_mode, pod, index)?;
    if ipc.touches_host {
        pod_security(namespace, settings.pod_security, cluster, warnings)?;
    }
    warnings.append(&mut ipc.warnings);
    Ok(Examined {
        pod,
        namespace,
        name,
        engine,
        connection,
        target,
        index,
        user_config,
        ipc,
    })
}

impl Examined<'_> {
    /// The part that is left to the user, as a reason.
    pub fn left_to_user(&self) -> Option<SkipReason> {
        (self.user_config == UserConfig::OwnConnection).then_some(SkipReason::KvTransferConfigPresent)
    }

    /// The edits that wire the Pod. What is there already is no edit, or one that changes nothing.
    pub fn edits(self, warnings: &mut Vec<String>) -> Vec<Edit> {
        let reason = self.left_to_user();
        let mut edits = self.ipc.edits;
        if self.user_config == UserConfig::Absent {
            warnings.extend(user_config::of_file(self.target));
            edits.push(Edit::AppendArgs {
                container: self.index,
                tokens: vec![KV_TRANSFER_CONFIG.name.to_owned(), self.connection.json],
            });
        }
        edits.extend(hash_seed(self.target, self.index, warnings));
        edits.extend(nixl::environment(
            self.target,
            self.index,
            as_spec(self.engine.as_ref()),
        ));
        edits.extend(service_links::edit(self.pod, self.namespace, self.name, warnings));
        edits.push(Edit::SetAnnotation {
            key: LMCACHE.injected.into(),
            value: "true".into(),
        });
        let key = LMCACHE.skip_reason.into();
        edits.push(match reason {
            Some(reason) => Edit::SetAnnotation {
                key,
                value: reason.as_str().into(),
            },
            None => Edit::RemoveAnnotation { key },
        });
        edits
    }
}

fn as_spec(engine: Option<&EngineView>) -> Option<&dyn EngineSpec> {
    engine.map(|engine| engine as &dyn EngineSpec)
}

/// Adds the hash seed unless the container has one of its own, wherever that comes from.
fn hash_seed(target: &Value, index: usize, warnings: &mut Vec<String>) -> Option<Edit> {
    match env::state(target, HASH_SEED) {
        EnvState::Literal(_) | EnvState::ValueFrom => return None,
        EnvState::Absent => {}
        EnvState::MaybeEnvFrom => warnings.push(format!(
            "{HASH_SEED}=0 was added to container {}; it wins over one that its envFrom may bring",
            named(target)
        )),
    }
    Some(Edit::AppendEnv {
        container: index,
        entry: json!({"name": HASH_SEED, "value": "0"}),
    })
}

/// Asks the Namespace whether a Pod that shares host memory would be let in. The last of at most three look-ups, and only
/// where host memory is shared.
fn pod_security(
    namespace: &str,
    setting: Strictness,
    cluster: &dyn Cluster,
    warnings: &mut Vec<String>,
) -> Result<(), Skip> {
    if setting == Strictness::Off {
        return Ok(());
    }
    let query = Query {
        api_version: "v1",
        kind: "Namespace",
        namespace: None,
        name: namespace,
        cached: true,
        member: None,
    };
    let Some(object) = connection::optional(cluster, &query)? else {
        return Ok(());
    };
    let level = metadata::label(&object, POD_SECURITY_ENFORCE).unwrap_or_default();
    if !ipc::forbids_host(level) {
        return Ok(());
    }
    let skip = ipc::forbidden(namespace, level);
    if setting == Strictness::Skip {
        return Err(skip);
    }
    warnings.push(format!(
        "namespace {namespace} enforces Pod Security {level}, which refuses Pods with host IPC: wired all the same (setting podSecurity: Warn)"
    ));
    Ok(())
}
