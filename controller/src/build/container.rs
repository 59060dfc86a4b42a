//! The server container and its volumes.

use lmcache_api::{IpcMode, LMCacheEngineSpec};
use lmcache_server::Offers;
use serde_json::{Map, Value, json};

use super::engine::Engine;
use super::{env, fields, resources};

/// Name of the server container. Annotations of container runtimes name it.
const NAME: &str = "lmcache";
/// The folder of shared memory.
const DEV_SHM: &str = "/dev/shm";
/// Folder of the master key of an encrypted second tier; `--l2-adapter` names the file in it.
const MASTER_KEY_FOLDER: &str = "/etc/lmcache/keys";
/// Name of the volume with that key.
const MASTER_KEY_VOLUME: &str = "l2-master-key";
/// Key of the Secret, and name of the file.
const MASTER_KEY: &str = "master";

/// The server container.
pub(super) fn build(engine: &Engine<'_>) -> Value {
    let spec = &*engine.server;
    json!({
        "name": NAME,
        "image": fields::image(spec.image.as_ref()),
        "imagePullPolicy": fields::pull_policy(spec.image.as_ref()),
        "command": engine.process.command,
        "args": engine.process.args,
        "env": env::last_of_each(engine.process.env.clone()),
        "ports": ports(&engine.offers),
        "resources": resources::build(spec),
        "securityContext": security_context(spec),
        "startupProbe": startup_probe(spec, &engine.offers),
        "livenessProbe": probe(&engine.offers, 10),
        "readinessProbe": probe(&engine.offers, 5),
        "volumeMounts": fields::list(extended(spec.volume_mounts.as_ref(), mounts(engine))),
    })
}

/// The volumes of the Pod: the user's, then ours.
pub(super) fn volumes(engine: &Engine<'_>) -> Value {
    let mut ours = Vec::new();
    if let Some(name) = shm_volume(engine) {
        // `Directory`: a node without it would otherwise get an empty one on its disk.
        ours.push(json!({"name": name, "hostPath": {"path": DEV_SHM, "type": "Directory"}}));
    }
    if let Some(secret) = master_key_secret(&engine.server) {
        ours.push(json!({
            "name": MASTER_KEY_VOLUME,
            "secret": {
                "secretName": secret,
                "items": [{"key": MASTER_KEY, "path": MASTER_KEY}],
                "defaultMode": 0o400,
            },
        }));
    }
    fields::list(extended(engine.server.volumes.as_ref(), ours))
}

fn mounts(engine: &Engine<'_>) -> Vec<Value> {
    let mut ours = Vec::new();
    if let Some(name) = shm_volume(engine) {
        ours.push(json!({"name": name, "mountPath": DEV_SHM}));
    }
    if master_key_secret(&engine.server).is_some() {
        ours.push(json!({"name": MASTER_KEY_VOLUME, "mountPath": MASTER_KEY_FOLDER, "readOnly": true}));
    }
    ours
}

fn extended(user: Option<&Vec<Value>>, ours: Vec<Value>) -> Vec<Value> {
    user.into_iter().flatten().cloned().chain(ours).collect()
}

/// The volume of the host's shared memory, where client and server meet there and the user mounts nothing in its place.
fn shm_volume(engine: &Engine<'_>) -> Option<String> {
    let spec = &*engine.server;
    let is_shm = |mount: &Value| {
        let path = mount.get("mountPath").and_then(Value::as_str);
        path.is_some_and(|path| path.trim_end_matches('/') == DEV_SHM)
    };
    let taken = spec.volume_mounts.iter().flatten().any(is_shm);
    (engine.ipc_mode == IpcMode::HostShm && !taken).then(|| fields::free_name("lmcache-dev-shm", spec.volumes.as_ref()))
}

fn master_key_secret(spec: &LMCacheEngineSpec) -> Option<&str> {
    let aesgcm = spec.l2_backend.as_ref()?.serde.as_ref()?.aesgcm.as_ref()?;
    aesgcm.master_key_secret_ref.as_ref()?.name()
}

/// The ports that the server opens. Metrics have one of their own up to 0.4.4 only; a number twice would be refused on the
/// host's network.
fn ports(offers: &Offers) -> Value {
    let mut ports: Vec<(&str, i32)> = vec![("server", offers.server_port), ("http", offers.http_port)];
    if let Some(metrics) = offers.metrics.filter(|metrics| metrics.port != offers.http_port) {
        ports.push(("metrics", metrics.port));
    }
    let ports = ports.into_iter();
    ports
        .map(|(name, port)| json!({"name": name, "containerPort": port, "protocol": "TCP"}))
        .collect()
}

/// `spec.containerSecurityContext`, with `privileged` always said: by `spec.privileged`, else by the context, else false.
fn security_context(spec: &LMCacheEngineSpec) -> Value {
    let mut context: Map<String, Value> = fields::members(spec.container_security_context.as_ref());
    let privileged = spec.privileged.map(Value::Bool);
    let given = context.get("privileged").filter(|given| !given.is_null()).cloned();
    let privileged = privileged.or(given).unwrap_or(Value::Bool(false));
    context.insert("privileged".to_owned(), privileged);
    Value::Object(context)
}

/// A probe of the port that clients connect to. An HTTP probe would look at another listener.
fn probe(offers: &Offers, period_seconds: u32) -> Value {
    json!({"tcpSocket": {"port": offers.server_port}, "periodSeconds": period_seconds})
}

/// Allocating and pinning the first tier takes time: five seconds for each 5 GB, and at least two and a half minutes.
fn startup_probe(spec: &LMCacheEngineSpec, offers: &Offers) -> Value {
    let size = spec.l1.as_ref().and_then(|l1| l1.size_gb).unwrap_or_default();
    // `as` drops the fraction and saturates; the field is an int32.
    let failures = ((size / 5.0) as i32).max(30);
    json!({
        "tcpSocket": {"port": offers.server_port},
        "initialDelaySeconds": 5,
        "periodSeconds": 5,
        "failureThreshold": failures,
    })
}
