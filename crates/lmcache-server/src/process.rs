//! The process of a container: command, arguments, environment.

use lmcache_api::{AnyObject, EngineSpec, GpuVendor, IpcMode, LMCacheCoordinatorSpec, LogLevel, ipc_mode};
use serde_json::{Value, json};

use crate::line;
use crate::release::Running;
use crate::table::{COORDINATOR, SERVER};

/// The program in the images.
const LMCACHE: &str = "/opt/venv/bin/lmcache";

/// What an object cannot say by itself.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The IPC mode of engines that say nothing about it.
    pub ipc_default: IpcMode,
    /// URL of the coordinator that the engine registers with: `spec.coordinator.url`, or that of the one referred to.
    pub coordinator_url: Option<&'a str>,
}

/// The process of a container.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// The container's `command`.
    pub command: [&'static str; 2],
    /// The container's `args`.
    pub args: Vec<String>,
    /// The container's `env` (`core/v1 EnvVar`). Secrets are only referred to.
    pub env: Vec<Value>,
}

/// The process that an object's containers run. An object with faults is rendered as it stands.
pub fn process(object: &AnyObject, place: &Place<'_>) -> Process {
    match object {
        AnyObject::LMCacheEngine(engine) => server(engine.metadata.name.as_deref(), &engine.spec, place),
        AnyObject::CacheBlendEngine(engine) => server(engine.metadata.name.as_deref(), &engine.spec, place),
        AnyObject::LMCacheCoordinator(coordinator) => self::coordinator(&coordinator.spec),
    }
}

fn server(name: Option<&str>, spec: &dyn EngineSpec, place: &Place<'_>) -> Process {
    let position = Running::of_engine(spec).position;
    let mode = ipc_mode(spec, place.ipc_default);
    let url = place.coordinator_url.filter(|url| !url.is_empty());
    Process {
        command: [LMCACHE, "server"],
        args: line::tokens(
            line::server(spec, position, mode, url),
            &SERVER,
            position,
            spec.extra_args(),
        ),
        env: server_env(name.unwrap_or_default(), spec, url.is_some()),
    }
}

/// In the Go operator's order; the user's own variables come last, so that they win.
fn server_env(name: &str, spec: &dyn EngineSpec, coordinated: bool) -> Vec<Value> {
    let mut env = vec![log_level(spec.log_level())];
    if spec.gpu_vendor() == GpuVendor::Nvidia {
        for name in ["NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES"] {
            env.push(json!({"name": name, "value": "all"}));
        }
    }
    let resp = spec.l2_backend().and_then(|l2| l2.resp.as_ref());
    if resp.is_some_and(|resp| resp.auth_secret_ref.is_some()) {
        let secret = format!("{name}-resp-auth");
        env.push(json!({
            "name": "LMCACHE_RESP_PASSWORD",
            "valueFrom": {"secretKeyRef": {"name": secret, "key": "password"}},
        }));
        env.push(json!({
            "name": "LMCACHE_RESP_USERNAME",
            "valueFrom": {"secretKeyRef": {"name": secret, "key": "username", "optional": true}},
        }));
    }
    let advertised = spec
        .coordinator()
        .and_then(|coordinator| coordinator.advertise_ip.as_deref());
    if coordinated && advertised.is_none_or(str::is_empty) {
        env.push(json!({
            "name": "LMCACHE_COORDINATOR_ADVERTISE_IP",
            "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}},
        }));
    }
    env.extend(spec.env().iter().cloned());
    env
}

fn coordinator(spec: &LMCacheCoordinatorSpec) -> Process {
    let position = Running::of_coordinator(spec).position;
    let extra_args = spec.extra_args.as_deref().unwrap_or_default();
    let mut env = vec![log_level(spec.log_level)];
    env.extend(spec.env.iter().flatten().cloned());
    Process {
        command: [LMCACHE, "coordinator"],
        args: line::tokens(line::coordinator(spec, position), &COORDINATOR, position, extra_args),
        env,
    }
}

fn log_level(level: Option<LogLevel>) -> Value {
    json!({"name": "LMCACHE_LOG_LEVEL", "value": level.unwrap_or(LogLevel::Info).as_str()})
}
