//! The command lines that the Go operator renders from the same objects, and ours.
//!
//! Two states of it were recorded (`fixtures/go-operator`). Ours is the same line with the changes that [`ours`] makes of
//! it, each of which has its reason there.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]
#![cfg(not(target_arch = "wasm32"))]

use lmcache_api::{AnyObject, IpcMode, Kind, Release, decode};
use lmcache_server::{Place, Running, process};
use serde_json::{Value, json};
use std::path::Path;
use std::str::FromStr;

const EVENTS_RENAMED: Release = Release {
    major: 0,
    minor: 5,
    patch: 3,
};

/// The value behind a flag.
fn value<'a>(args: &'a [String], flag: &str) -> Option<&'a str> {
    let place = args.iter().position(|arg| arg == flag)?;
    args.get(place + 1).map(String::as_str)
}

/// Flag and value, or a switch; what stands behind the rendered flags is `extraArgs` and stays as it is.
fn ours(object: &AnyObject, go: &[String]) -> Vec<String> {
    let release = Running::of(object).assumed();
    let extra = match object {
        AnyObject::LMCacheCoordinator(coordinator) => coordinator.spec.extra_args.as_deref(),
        engine => engine.engine().map(|spec| spec.extra_args()),
    };
    let asks_for_host_ipc = object
        .engine()
        .is_some_and(|spec| spec.host_ipc() == Some(true) && spec.isolated_ipc().is_none());
    let (rendered, extra) = go.split_at(go.len() - extra.unwrap_or_default().len());
    let mut line = Vec::new();
    for token in rendered {
        match token.as_str() {
            // From 0.5.6 on the HTTP port is bound to the loopback address unless this is given.
            "--http-port" => line.extend(["--http-host", "0.0.0.0", "--http-port"].map(str::to_owned)),
            // No release that has the command knows the old name.
            "--disable-prometheus" => line.push("--disable-metrics".to_owned()),
            "--coordinator-l2-event-reporting" | "--coordinator-l2-event-flush-interval"
                if release >= EVENTS_RENAMED =>
            {
                line.push(token.replace("-l2-", "-"));
            }
            "--coordinator-event-reporting" | "--coordinator-event-flush-interval" if release < EVENTS_RENAMED => {
                line.push(token.replace("-event-", "-l2-event-"));
            }
            // `hostIPC: true` means host IPC; the newest Go operator lets its automatic choice win.
            "--isolated-ipc" if asks_for_host_ipc => {}
            // Renamed in 0.5.2; the recorded ones all run later releases or `latest`.
            "--blend-chunk-size" => line.push("--chunk-size".to_owned()),
            _ => line.push(token.clone()),
        }
    }
    if let AnyObject::LMCacheCoordinator(coordinator) = object
        && coordinator
            .spec
            .prometheus
            .as_ref()
            .and_then(|prometheus| prometheus.enabled)
            == Some(false)
    {
        // The Go operator leaves the coordinator's metrics on.
        let place = line.iter().position(|token| token == "--trigger-watermark").unwrap() + 2;
        line.insert(place, "--disable-metrics".to_owned());
    }
    if let AnyObject::LMCacheCoordinator(coordinator) = object
        && (coordinator.spec.blend_chunk_size.is_some() || coordinator.spec.blend_probe_stride.is_some())
    {
        // Since 0.5.4 there is no index, which both are about, unless it is asked for.
        line.push("--enable-blend-lookup".to_owned());
    }
    line.extend_from_slice(extra);
    line
}

/// Equal, but for numbers that the Go operator rounds to one or two decimals and for integers that it reads as floats.
fn same(ours: &str, go: &str) -> bool {
    let rounds_to = |decimals: usize| {
        let number: Option<f64> = ours.parse().ok();
        number.is_some_and(|number| format!("{number:.decimals$}") == go)
    };
    let json = |text| serde_json::from_str::<Value>(text).ok().filter(Value::is_object);
    let as_floats = |value: &Value| lmcache_api::go_json::to_string(&lmcache_api::go_json::through_float64(value));
    ours == go
        || rounds_to(1)
        || rounds_to(2)
        || matches!((json(ours), json(go)), (Some(ours), Some(go)) if as_floats(&ours) == as_floats(&go))
}

#[test]
fn command_lines_are_the_go_operators_but_for_the_listed_changes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/go-operator");
    let mut compared = 0;
    let mut faults = String::new();
    for state in ["july", "newest"] {
        for entry in std::fs::read_dir(root.join(state).join("cr")).unwrap() {
            let path = entry.unwrap().path();
            let case: Value = yaml_serde::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            if case.get("process").is_none() {
                continue;
            }
            let name = format!("{state}/{}", path.file_stem().unwrap().to_string_lossy());
            let mut input = case["input"].clone();
            let kind = Kind::from_str(input["kind"].as_str().unwrap()).unwrap();
            if state == "newest" && kind != Kind::LMCacheCoordinator && input["spec"].is_object() {
                // Its CRD stores this where the user says nothing.
                let spec = input["spec"].as_object_mut().unwrap();
                if spec.get("hostIPC").is_none_or(Value::is_null) {
                    spec.insert("hostIPC".to_owned(), json!(false));
                }
            }
            let mut object = decode(kind, &input).object;
            object.set_defaults();
            let strings = |key: &str| -> Vec<String> {
                let items = case["process"][key].as_array().unwrap();
                items.iter().map(|item| item.as_str().unwrap().to_owned()).collect()
            };
            let go = strings("args");
            let place = Place {
                ipc_default: IpcMode::HostIPC,
                coordinator_url: value(&go, "--coordinator-url"),
            };
            let process = process(&object, &place);
            let expected = ours(&object, &go);
            let equal = process.args.len() == expected.len()
                && process.args.iter().zip(&expected).all(|(ours, go)| same(ours, go));
            if !equal {
                faults.push_str(&format!("\n{name}\n  ours {:?}\n  go   {expected:?}", process.args));
            }
            if process.command.as_slice() != strings("command") {
                faults.push_str(&format!("\n{name}: command {:?}", process.command));
            }
            if json!(process.env) != case["process"]["env"] {
                faults.push_str(&format!("\n{name}: env {}", json!(process.env)));
            }
            compared += 1;
        }
    }
    assert!(faults.is_empty(), "{faults}");
    assert!(compared > 180, "{compared} recordings");
}
