//! What the parser takes, and single flags.

use super::*;

#[test]
fn what_no_server_checks_is_checked() {
    for (spec, path) in [
        (json!({"server": {"chunkSize": 0}}), "spec.server.chunkSize"),
        (json!({"server": {"chunkSize": -1}}), "spec.server.chunkSize"),
        (json!({"server": {"maxWorkers": 0}}), "spec.server.maxWorkers"),
        (
            json!({"server": {"hashAlgorithm": "sha1"}}),
            "spec.server.hashAlgorithm",
        ),
        (json!({"l1": {"sizeGB": -1}}), "spec.l1.sizeGB"),
        (json!({"l1": {"sizeGB": 1e-9}}), "spec.l1.sizeGB"),
        (
            json!({"eviction": {"triggerWatermark": 1.5}}),
            "spec.eviction.triggerWatermark",
        ),
        (
            json!({"eviction": {"triggerWatermark": 0}}),
            "spec.eviction.triggerWatermark",
        ),
        (json!({"eviction": {"evictionRatio": 2}}), "spec.eviction.evictionRatio"),
        (json!({"server": {"port": 8080}}), "spec.server.httpPort"),
        (json!({"extraArgs": ["--l1-align-bytes", "3000"]}), "spec.extraArgs[0]"),
        (json!({"extraArgs": ["--l1-align-bytes=0"]}), "spec.extraArgs[0]"),
    ] {
        one_fault(&engine("0.5.6", spec), path, &[]);
    }
}

#[test]
fn small_sizes_and_shares_are_not_rounded_away() {
    let spec = json!({"l1": {"sizeGB": 0.04}, "eviction": {"triggerWatermark": 0.999, "evictionRatio": 0.001}});
    let args = args(&engine("0.5.6", spec));
    assert_eq!(value(&args, "--l1-size-gb"), Some("0.04"));
    assert_eq!(value(&args, "--eviction-trigger-watermark"), Some("0.999"));
    assert_eq!(value(&args, "--eviction-ratio"), Some("0.001"));
}

#[test]
fn eviction_policies_came_over_time() {
    let other = |policy: &str| json!({"extraArgs": ["--eviction-policy", policy]});
    // The field cannot say these, so they may be given; the release has to know them.
    assert!(warned(&engine("0.5.5", other("ARC")), "0.5.6"));
    assert!(!warned(&engine("0.5.6", other("ARC")), "ARC"));
    fine(&engine("0.5.6", other("ARC")));
    // This one it can say.
    one_fault(
        &engine("0.5.6", other("LRU")),
        "spec.extraArgs[0]",
        &["spec.eviction.policy"],
    );
    let noop = json!({"eviction": {"policy": "noop"}, "l2Backend": {"storePolicy": "skip_l1",
        "raw": {"type": "fs", "config": {"base_path": "/kv"}}}});
    fine(&engine("0.4.3", noop));
}

#[test]
fn unknown_flags_are_told() {
    let found = doubts(
        Kind::LMCacheEngine,
        &engine("0.5.6", json!({"extraArgs": ["--bogus", "5"]})),
    );
    let found: Vec<_> = found.iter().filter(|text| text.contains("extraArgs")).collect();
    assert!(
        found.len() == 1 && found[0].contains("--bogus") && found[0].contains("0.5.6"),
        "{found:?}"
    );
}

#[test]
fn a_flag_twice_is_judged_by_the_last() {
    let twice = json!({"extraArgs": ["--metrics-sample-rate", "7", "--metrics-sample-rate=0.5"]});
    assert!(!warned(&engine("0.5.6", twice), "sample-rate"));
    let twice = json!({"extraArgs": ["--metrics-sample-rate=0.5", "--metrics-sample-rate", "7"]});
    assert!(warned(&engine("0.5.6", twice), "--metrics-sample-rate"));
}

#[test]
fn isolation_exists_from_0_5_5() {
    let asked = json!({"isolatedIPC": true});
    one_fault(&engine("0.5.4", asked.clone()), "spec.isolatedIPC", &["0.5.4", "0.5.5"]);
    // What the CRD of the operator of 0.5.4 stores into every object, nobody asked for.
    let stored = json!({"hostIPC": false});
    let shared = engine("0.5.4", stored.clone());
    fine(&shared);
    assert!(!args(&shared).iter().any(|arg| arg == "--isolated-ipc"));
    for spec in [asked, stored] {
        let isolated = engine("0.5.5", spec);
        fine(&isolated);
        assert_eq!(value(&args(&isolated), "--isolated-ipc"), Some(""));
    }
}

#[test]
fn flags_came_over_time() {
    for (flag, first) in [
        ("--no-l1-use-lazy", "0.4.2"),
        ("--max-gpu-workers=1", "0.4.3"),
        ("--instance-id=a", "0.4.7"),
        ("--shm-name=a", "0.4.7"),
        ("--supported-transfer-mode=auto", "0.4.7"),
        ("--run-script-api-enabled", "0.5.6"),
    ] {
        for release in RELEASES_WITH_COMMAND {
            let unknown = warned(&engine(release, json!({"extraArgs": [flag]})), "is no flag");
            assert_eq!(unknown, release < first, "{release} {flag}");
        }
    }
}

#[test]
fn every_release_knows_what_is_always_rendered() {
    for (position, release) in RELEASES.iter().enumerate() {
        for flag in [
            "--host",
            "--port",
            "--http-host",
            "--http-port",
            "--l1-size-gb",
            "--chunk-size",
            "--max-workers",
            "--hash-algorithm",
            "--eviction-policy",
            "--eviction-trigger-watermark",
            "--eviction-ratio",
            "--prometheus-port",
            "--engine-type",
            "--l1-align-bytes",
        ] {
            assert!(find(&SERVER, flag, position).is_some(), "{release} {flag}");
        }
    }
}
