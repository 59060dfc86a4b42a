//! Everything that decides whether a Pod is wired, in the order in which the answers count.
//!
//! All policies that change Pods ask all of these questions, also about the parts that they do not wire themselves: so
//! they come to one decision, in whatever order they run.

use super::outcome::Skip;
use super::reasons::SkipReason;
use super::reference::EngineReference;
use super::settings::{Settings, Strictness};
use super::system::System;
use super::user_config::{self, UserConfig};
use super::{arguments, command, compatibility, connection, ipc, nixl, staging, target};
use crate::cluster::{Cluster, Query};
use crate::keys::{PAYLOAD_SKIP_REASON, PAYLOAD_STAGED, POD_SECURITY_ENFORCE};
use lmcache_api::{EngineSpec, EngineView};
use pod_edit::args::CommandLine;
use pod_edit::{Edit, container, metadata};
use serde_json::Value;

/// What is asked about.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    pub system: &'static System,
    pub pod: &'a Value,
    /// Namespace of the Pod.
    pub namespace: &'a str,
    /// The engine that it names.
    pub name: &'a EngineReference,
    pub settings: &'a Settings,
}

/// A Pod that nothing keeps from being wired, and what is known about it.
pub(super) struct Examined<'a> {
    pub subject: Subject<'a>,
    pub stored: connection::Dereferenced<'a>,
    pub connection: connection::Connection,
    pub target: &'a Value,
    pub index: usize,
    pub user_config: UserConfig,
    /// What CacheBlend sets on the command line.
    pub arguments: Option<arguments::Planned>,
    /// The edits that stage the payload; `None` where the engine has none.
    pub staging: Option<Vec<Edit>>,
    pub ipc: ipc::Wiring,
}

/// Is there nothing to do for a policy that only stages? The engine has no payload, and no earlier run left a stamp or a
/// reason that may have to go.
pub(super) fn stages_nothing(engine: Option<&EngineView>, pod: &Value) -> bool {
    engine.is_none_or(|engine| engine.payload_image().is_none())
        && [PAYLOAD_SKIP_REASON, PAYLOAD_STAGED]
            .iter()
            .all(|key| !metadata::has_annotation(pod, key))
}

/// Asks every question, the cheap ones as soon as their facts are there. The order is that of the Go operator as far as
/// it asks: engine and ConfigMap, role, container, command, the user's own connector; then payload, releases and Pod
/// Security.
pub(super) fn examine<'a>(
    subject: Subject<'a>,
    engine: Option<EngineView>,
    cluster: &dyn Cluster,
    warnings: &mut Vec<String>,
) -> Result<Examined<'a>, Skip> {
    let Subject {
        system,
        pod,
        namespace,
        name,
        settings,
    } = subject;
    let stored = connection::dereference(cluster, name, system, engine)?;
    stored.check()?;
    let spec = stored.spec();
    let role = nixl::role(pod, spec)?;
    let defaults = connection::Defaults {
        ipc_mode: settings.ipc_default,
        cluster_domain: &settings.cluster_domain,
    };
    let connection = stored.connection(role, &defaults, warnings)?;

    let asked_for = target::AskedFor {
        annotation: metadata::annotation(pod, system.keys.container),
        annotation_key: system.keys.container,
        engine: spec.and_then(EngineSpec::target_container),
    };
    let traces = target::Traces {
        connection_json: &connection.json,
        connector: system.connector(role),
        staging: &system.staging,
    };
    let index = target::find(pod, &asked_for, &traces, warnings)?;
    let target = container::containers(pod).get(index).unwrap_or(&Value::Null);
    let line = CommandLine::of(target);
    command::check(target, &line, settings.command_override)?;
    let user_config = user_config::judge(&line, &connection.json, system.connector(role))?;
    let takes_over = system.only_takes_over(role);
    let staging = match spec {
        Some(engine) if !takes_over && (system.blends() || engine.payload_image().is_some()) => {
            Some(staging::plan(engine, pod, index, system, warnings)?)
        }
        _ => None,
    };
    let mut arguments = None;
    let releases = compatibility::Releases::read(pod, target, spec, system, warnings);
    if !system.blends() {
        let pair = compatibility::Pair {
            releases,
            ipc_mode: connection.ipc_mode,
            line: &line,
            engine: spec,
        };
        pair.check(settings.compatibility, warnings)?;
    } else if !takes_over {
        compatibility::check_blocks(&line, settings, spec, warnings)?;
        let wanted = arguments::Arguments {
            index,
            list: settings.cacheblend_arguments,
            releases,
            cudagraph: spec.and_then(EngineSpec::cudagraph),
            target,
            line: &line,
        };
        arguments = Some(wanted.plan(pod, warnings)?);
    }
    let mut ipc = if takes_over {
        ipc::Wiring::default()
    } else {
        let no_isolation = "set hostIPC: false on the engine";
        ipc::plan(connection.ipc_mode, pod, index).map_err(|skip| skip.without_isolation(system, no_isolation))?
    };
    if ipc.touches_host {
        pod_security(namespace, settings.pod_security, cluster, warnings)
            .map_err(|skip| skip.without_isolation(system, "use another namespace, or run it without CacheBlend"))?;
    }
    warnings.append(&mut ipc.warnings);
    Ok(Examined {
        subject,
        stored,
        connection,
        target,
        index,
        user_config,
        arguments,
        staging,
        ipc,
    })
}

impl Examined<'_> {
    /// The part that is left to the user, as a reason.
    pub fn left_to_user(&self) -> Option<SkipReason> {
        (self.user_config == UserConfig::OwnConnection).then_some(SkipReason::KvTransferConfigPresent)
    }
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
