//! The init container that waits for Redis.
//!
//! A server connects to Redis once, when it starts, and never again: started too early, it runs without its second tier and
//! calls itself healthy. `spec.l2Backend.resp.waitSeconds` makes it wait, for a bounded time, and start all the same.

use lmcache_api::LMCacheEngineSpec;
use serde_json::{Map, Value, json};

use super::fields;

/// Runs the script, and ends well whatever happens, also in an image without this Python.
const SHELL: &str = r#"/opt/venv/bin/python3 -c "$0" "$@" || echo "starting the server without having seen Redis""#;

/// Tries to connect until it succeeds or the time is over.
const SCRIPT: &str = "\
import socket, sys, time
host, port, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
end = time.monotonic() + seconds
while True:
    try:
        socket.create_connection((host, port), timeout=2).close()
        print(f\"{host}:{port} accepts connections\")
        break
    except OSError as error:
        print(f\"{host}:{port}: {error}\", flush=True)
    if time.monotonic() >= end:
        sys.exit(f\"{host}:{port} accepted no connection in {seconds} s\")
    time.sleep(1)
";

/// The init containers of the server Pods: the user's, then the wait. It comes last because what the others prepare may be
/// what it needs, and the server starts right after it.
pub(super) fn init_containers(spec: &LMCacheEngineSpec) -> Value {
    let mut containers = spec.init_containers.clone().unwrap_or_default();
    containers.extend(wait(spec));
    fields::list(containers)
}

fn wait(spec: &LMCacheEngineSpec) -> Option<Value> {
    let resp = spec.l2_backend.as_ref()?.resp.as_ref()?;
    let seconds = resp.wait_seconds?;
    let port = resp.port.unwrap_or_default().to_string();
    Some(json!({
        "name": fields::free_name("lmcache-wait-for-l2", spec.init_containers.as_ref()),
        // The image that the node needs anyhow.
        "image": fields::image(spec.image.as_ref()),
        "imagePullPolicy": fields::pull_policy(spec.image.as_ref()),
        "command": ["/bin/sh", "-c", SHELL],
        "args": [SCRIPT, resp.host.as_deref().unwrap_or_default(), port, seconds.to_string()],
        // Requests equal to limits, so that a Pod of class Guaranteed stays in it.
        "resources": {
            "requests": {"cpu": "100m", "memory": "128Mi"},
            "limits": {"cpu": "100m", "memory": "128Mi"},
        },
        "securityContext": security_context(spec),
    }))
}

/// The server's user and profile, and none of its rights: this only opens a connection.
fn security_context(spec: &LMCacheEngineSpec) -> Value {
    let mut context: Map<String, Value> = fields::members(spec.container_security_context.as_ref());
    context.insert("privileged".to_owned(), json!(false));
    context.insert("allowPrivilegeEscalation".to_owned(), json!(false));
    context.insert("capabilities".to_owned(), json!({"drop": ["ALL"]}));
    Value::Object(context)
}
