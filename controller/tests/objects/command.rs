//! The compiled command: what goes where, and with which exit code.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::support::{
    child, children, container, coordinator, engine, flag, object, options, pod, report, report_with, with,
};

pub fn run(args: &[&str], stdin: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmcache-controller"))
        .arg("render")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = command.stdin.take().unwrap();
    // A command that refuses its options reads nothing.
    let _ = pipe.write_all(stdin.as_bytes());
    drop(pipe);
    command.wait_with_output().unwrap()
}

pub fn lines(bytes: &[u8]) -> Vec<String> {
    String::from_utf8(bytes.to_vec())
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

#[test]
fn objects_to_stdout_warnings_to_stderr() {
    let engine = engine(json!({"image": {"tag": "latest"}}));
    let output = run(&["-f", "-"], &engine.to_string());
    assert_eq!(output.status.code(), Some(0));
    assert!(
        output
            .stdout
            .starts_with(b"---\napiVersion: apps/v1\nkind: DaemonSet\n")
    );
    let warnings = lines(&output.stderr);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].starts_with("Warning: -: LMCacheEngine serving/kv: spec.image "),
        "{warnings:?}"
    );
}

#[test]
fn every_fault_of_every_object_and_no_object() {
    let broken = engine(json!({"l1": {"sizeGB": -1}, "server": {"port": 80}}));
    let text = format!("{broken}\n---\n{}\n---\n- 1\n", coordinator(json!({"port": 0})));
    let output = run(&["--filename", "-"], &text);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    let faults = lines(&output.stderr);
    let starts = [
        "Error: -: document 3: kind: Required value",
        "Error: -: LMCacheEngine serving/kv: spec.l1.sizeGB: Invalid value: -1",
        "Error: -: LMCacheEngine serving/kv: spec.server.port: Invalid value: 80",
        "Error: -: LMCacheCoordinator serving/kv: spec.port: Invalid value: 0",
        "Error: -: LMCacheCoordinator serving/kv: metadata.name: Duplicate value",
    ];
    assert_eq!(faults.len(), starts.len(), "{faults:?}");
    for (fault, start) in faults.iter().zip(starts) {
        assert!(fault.starts_with(start), "{fault}");
    }
}

#[test]
fn what_cannot_be_begun() {
    for (args, says) in [
        (&["-f", "/does/not/exist.yaml"][..], "cannot read /does/not/exist.yaml"),
        (&["-f", "-", "-f", "-"], "read once"),
        (&["-f", "-", "--namespace", "Team A"], "--namespace Team A"),
        (&["-f", "-"], "no LMCacheEngine, CacheBlendEngine or LMCacheCoordinator"),
    ] {
        let output = run(args, "apiVersion: v1\nkind: Secret\n");
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(output.stdout.is_empty());
        let stderr = lines(&output.stderr);
        assert!(stderr.len() == 1 && stderr[0].contains(says), "{stderr:?}");
    }
    for args in [&[][..], &["-f", "-", "--ipc-default", "Shared"]] {
        assert_eq!(run(args, "").status.code(), Some(2), "{args:?}");
    }
}

#[test]
fn options_stand_in_for_the_installation() {
    let mut engine = engine(json!({}));
    engine["metadata"].as_object_mut().unwrap().remove("namespace");
    let args = [
        "-f",
        "-",
        "-n",
        "team-a",
        "--ipc-default",
        "Isolated",
        "--cluster-domain",
        "corp.example",
    ];
    let text = String::from_utf8(run(&args, &engine.to_string()).stdout).unwrap();
    assert!(text.contains("tcp://kv.team-a.svc.corp.example"), "{text}");
    assert!(text.contains("lmcache.ai/ipc-mode: Isolated"), "{text}");
    assert!(text.contains("- --isolated-ipc\n"), "{text}");
}

/// The order of files and documents does not matter, nor does a second run over what the API server has stored.
#[test]
fn the_same_input_gives_the_same_bytes() {
    let other = |name: &str| {
        let mut engine = engine(json!({"coordinator": {"ref": {"name": "kv"}}}));
        engine["metadata"]["name"] = json!(name);
        engine
    };
    let objects = [other("b"), coordinator(json!({"port": 9400})), other("a")];
    let first = report(&objects);
    assert!(first.faults.is_empty(), "{:?}", first.faults);
    let reversed: Vec<Value> = objects.iter().rev().cloned().collect();
    assert_eq!(report(&reversed).yaml(), first.yaml());
    let owner = |object: &Value| object["metadata"]["labels"]["app.kubernetes.io/instance"].to_string();
    let names: Vec<String> = first.objects.iter().map(owner).collect();
    let mut sorted = names.clone();
    sorted.sort();
    assert_eq!(names, sorted);

    let mut stored = objects.clone();
    for object in &mut stored {
        object["metadata"]["uid"] = json!("0d8f");
        object["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        object["status"] = json!({"phase": "Running"});
        let defaults =
            json!({"logLevel": "INFO", "image": {"repository": "lmcache/vllm-openai", "pullPolicy": "IfNotPresent"}});
        *object = with(object.clone(), defaults);
    }
    assert_eq!(report(&stored).yaml(), first.yaml());
}

#[test]
fn a_coordinator_of_another_namespace_is_another_one() {
    let mut elsewhere = coordinator(json!({"port": 9400}));
    elsewhere["metadata"] = json!({"name": "fleet", "namespace": "other"});
    let engine = engine(json!({"coordinator": {"ref": {"name": "fleet"}}}));
    let report = report(&[engine.clone(), elsewhere.clone()]);
    assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
    assert!(
        report.warnings[0]
            .contains("spec.coordinator.ref.name: LMCacheCoordinator serving/fleet is not in the given files")
    );
    let of_engine: Vec<Value> = report
        .objects
        .iter()
        .filter(|child| child["metadata"]["namespace"] == "serving")
        .cloned()
        .collect();
    assert_eq!(
        flag(&of_engine, "--coordinator-url").unwrap(),
        "http://fleet.serving.svc:9300"
    );

    elsewhere["metadata"]["namespace"] = json!("serving");
    let report = self::report(&[engine, elsewhere]);
    assert_eq!(report.warnings, Vec::<String>::new());
    let daemon_set = report
        .objects
        .iter()
        .position(|child| child["kind"] == "DaemonSet")
        .unwrap();
    assert_eq!(
        flag(&report.objects[daemon_set..], "--coordinator-url").unwrap(),
        "http://fleet.serving.svc:9400"
    );
}

/// A URL of the engine's own decides; the API server's spelling of an absent reference is none.
#[test]
fn a_url_needs_no_coordinator() {
    for reference in [json!({}), json!({"name": ""})] {
        let engine = engine(json!({"coordinator": {"ref": reference, "url": "https://fleet.example.com"}}));
        let report = report(&[engine]);
        assert_eq!((report.warnings, report.faults), (vec![], vec![]));
        assert_eq!(
            flag(&report.objects, "--coordinator-url").unwrap(),
            "https://fleet.example.com"
        );
    }
}

#[test]
fn misspelt_fields_are_pointed_out() {
    let engine = engine(
        json!({"evictoin": {"policy": "LRU"}, "server": {"Port": 5555, "chunkSize": 256},
        "tolerations": [{"key": "a", "anything": {"goes": true}}], "logLevel": null,
        "l2Backend": {"raw": {"type": "fs", "config": {"base_path": "/x", "own": {"key": null}}}}}),
    );
    let report = report(&[engine]);
    let found = report.warnings;
    let unknown: Vec<&String> = found
        .iter()
        .filter(|warning| warning.contains("no such field"))
        .collect();
    let paths: Vec<&str> = unknown
        .iter()
        .map(|warning| warning.split(": ").nth(2).unwrap())
        .collect();
    assert_eq!(
        paths,
        ["spec.evictoin", "spec.server.Port", "spec.tolerations[0].anything"],
        "{found:?}"
    );
    // Nor is it sent.
    assert_eq!(pod(&report.objects)["tolerations"], json!([{"key": "a"}]));
}

#[test]
fn a_name_that_the_cluster_would_make() {
    let mut engine = engine(json!({}));
    engine["metadata"] = json!({"generateName": "kv-"});
    let faults = report(&[engine]).faults;
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(
        faults[0].contains("LMCacheEngine default/: metadata.name: Required value: "),
        "{faults:?}"
    );
}

/// Objects that no API server would have stored.
#[test]
fn any_object_gets_an_answer() {
    for spec in [
        json!(null),
        json!([]),
        json!("x"),
        json!({}),
        json!({"l1": {"sizeGB": "60"}, "env": {}}),
    ] {
        for kind in ["LMCacheEngine", "CacheBlendEngine", "LMCacheCoordinator"] {
            let report = report(&[object(kind, spec.clone())]);
            assert_eq!(report.faults.is_empty(), !report.objects.is_empty(), "{kind} {spec}");
        }
    }
    for metadata in [
        json!(null),
        json!("x"),
        json!({"name": 1, "namespace": ["a"]}),
        json!({"name": "a\u{7}"}),
    ] {
        let mut object = object("LMCacheEngine", json!({"l1": {"sizeGB": 1}}));
        object["metadata"] = metadata;
        let faults = report(&[object]).faults;
        assert!(!faults.is_empty());
        assert!(!faults.concat().contains(char::is_control), "{faults:?}");
    }
}

/// Nulls in what is passed through count as absent, as for the API server.
#[test]
fn explicit_nulls_are_not_sent() {
    let engine = engine(
        json!({"affinity": {"nodeAffinity": null}, "resourceOverrides": {"limits": null, "requests": {"cpu": 1}},
        "tolerations": [{"key": "a", "effect": null}], "nodeSelector": {}, "podAnnotations": {}, "volumes": [], "serviceAccountName": ""}),
    );
    let children = children(&engine);
    let text = child(&children, "DaemonSet", "").to_string();
    assert!(!text.contains("null"), "{text}");
    for absent in ["nodeSelector", "annotations", "volumes", "serviceAccountName"] {
        assert!(!text.contains(&format!("\"{absent}\"")), "{absent} in {text}");
    }
    assert_eq!(container(&children)["resources"], json!({"requests": {"cpu": 1}}));
}

#[test]
fn the_default_mode_decides_where_nothing_is_said() {
    let mut options = options();
    for (mode, host_ipc) in [("HostIPC", true), ("HostShm", false), ("Isolated", false)] {
        options.ipc_default = mode.parse().unwrap();
        let report = report_with(&[engine(json!({}))], &options);
        let config_map = child(&report.objects, "ConfigMap", "-connection");
        assert_eq!(
            config_map["metadata"]["annotations"],
            json!({"lmcache.ai/ipc-mode": mode})
        );
        let pod = &child(&report.objects, "DaemonSet", "")["spec"]["template"]["spec"];
        assert_eq!(pod.get("hostIPC").is_some(), host_ipc);
        assert_eq!(pod.get("volumes").is_some(), mode == "HostShm");
    }
}
