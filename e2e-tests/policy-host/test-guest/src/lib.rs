//! A policy whose settings say what it does:
//!
//! - `do`: `accept` (default), `reject` (with `message`, `code`, `auditAnnotations`), `mutate` (sets the annotation `guest` to
//!   `annotation`), `raw-mutate` (sets `guest` in the whole request), `same` (the unchanged object as mutation), `forge` (a
//!   mutation out of nothing), `trap`, `error`, `garbled`, `loop` (never ends);
//! - `count`: how often this instance was asked becomes a warning;
//! - `calls`: a list of `{binding, namespace, operation, payload}`; each answer or error text becomes a warning;
//! - `log`: a list of log records, sent as they are;
//! - `print`: a line for stdout;
//! - `echo`: the whole payload becomes a warning;
//! - `settings`: what `validate_settings` does: a text refuses with it, `trap: true` and `error: true` fail.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};
use wapc_guest::{CallResult, host_call, register_function};

static ASKED: AtomicU32 = AtomicU32::new(0);

/// Registers the handlers.
#[unsafe(no_mangle)]
pub extern "C" fn wapc_init() {
    register_function("validate", validate);
    register_function("validate_settings", validate_settings);
    register_function("protocol_version", protocol_version);
}

fn protocol_version(_payload: &[u8]) -> CallResult {
    answer(json!("v1"))
}

fn validate_settings(payload: &[u8]) -> CallResult {
    let settings: Value = serde_json::from_slice(payload)?;
    match &settings["settings"] {
        Value::String(text) => answer(json!({"valid": false, "message": text})),
        refused if refused["trap"] == true => panic!("settings trap"),
        refused if refused["error"] == true => Err("settings error".into()),
        _ => answer(json!({"valid": true, "message": null})),
    }
}

fn validate(payload: &[u8]) -> CallResult {
    let input: Value = serde_json::from_slice(payload)?;
    let settings = &input["settings"];
    if let Some(line) = settings["print"].as_str() {
        println!("{line}");
    }
    for record in settings["log"].as_array().into_iter().flatten() {
        host_call("kubewarden", "tracing", "log", record.to_string().as_bytes())?;
    }
    let mut warnings = Vec::new();
    if settings["echo"] == true {
        warnings.push(String::from_utf8_lossy(payload).into_owned());
    }
    let asked = ASKED.fetch_add(1, Ordering::Relaxed) + 1;
    if settings["count"] == true {
        warnings.push(format!("asked {asked} times"));
    }
    for call in settings["calls"].as_array().into_iter().flatten() {
        let text = |key: &str, default: &str| call[key].as_str().unwrap_or(default).to_owned();
        let payload = match &call["payload"] {
            Value::String(raw) => raw.clone(),
            json => json.to_string(),
        };
        let answer = host_call(
            &text("binding", "kubewarden"),
            &text("namespace", "kubernetes"),
            &text("operation", "get_resource"),
            payload.as_bytes(),
        );
        warnings.push(match answer {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(e) => e.to_string(),
        });
    }
    let warnings = (!warnings.is_empty()).then_some(warnings);
    match settings["do"].as_str().unwrap_or("accept") {
        "accept" => answer(json!({"accepted": true, "warnings": warnings})),
        "reject" => answer(json!({
            "accepted": false,
            "message": settings["message"],
            "code": settings["code"],
            "audit_annotations": settings["auditAnnotations"],
            "warnings": warnings,
        })),
        "mutate" => {
            let mut object = input["request"]["object"].clone();
            object["metadata"]["annotations"]["guest"] =
                settings.get("annotation").cloned().unwrap_or(json!("was here"));
            answer(json!({"accepted": true, "mutated_object": object, "warnings": warnings}))
        }
        "raw-mutate" => {
            let mut request = input["request"].clone();
            request["guest"] = json!("was here");
            answer(json!({"accepted": true, "mutated_object": request}))
        }
        "same" => answer(json!({"accepted": true, "mutated_object": input["request"]["object"]})),
        "forge" => answer(json!({"accepted": true, "mutated_object": {"kind": "Pod"}})),
        "trap" => panic!("guest panic"),
        "loop" => loop {
            std::hint::spin_loop();
        },
        "error" => Err("guest error".into()),
        "garbled" => Ok(b"not json".to_vec()),
        other => Err(format!("unknown behaviour {other}").into()),
    }
}

fn answer(response: Value) -> CallResult {
    Ok(serde_json::to_vec(&response)?)
}
