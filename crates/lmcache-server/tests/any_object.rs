//! Whatever is asked: no panic, no long or odd warning, no fault twice, and a line that ends with what the user added.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]
#![cfg(not(target_arch = "wasm32"))]

use lmcache_api::{IpcMode, Kind, decode};
use lmcache_server::argparse::read;
use lmcache_server::table::{COORDINATOR, RELEASES, SERVER};
use lmcache_server::{Place, process, validate, warnings};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

/// Tokens near those of a command line.
fn token() -> impl Strategy<Value = String> {
    let names: Vec<&str> = SERVER.iter().chain(&COORDINATOR).map(|flag| flag.name).collect();
    let name = select(names);
    prop_oneof![
        4 => name.clone().prop_map(str::to_owned),
        2 => (name.clone(), 1..20_usize).prop_map(|(name, end)| name.chars().take(end).collect()),
        2 => (name.clone(), any_value()).prop_map(|(name, value)| format!("{name}={value}")),
        1 => name.prop_map(|name| format!("--no-{}", name.trim_start_matches('-'))),
        3 => any_value(),
        1 => "\\PC{0,12}",
        1 => select(vec!["--", "-", "", "-h", "-q", "-5", "-x y"]).prop_map(str::to_owned),
    ]
}

fn any_value() -> impl Strategy<Value = String> {
    select(vec![
        "0",
        "1",
        "-1",
        "3000",
        "4096",
        "0.5",
        "nan",
        "inf",
        "1_0",
        "1e400",
        "LRU",
        "ARC",
        "blend",
        "gpu",
        "auto",
        "{}",
        "[]",
        "{\"type\":\"resp\"}",
        "{\"type\":5}",
        "{\"type\":\"fs\",\"serde\":[]}",
        "ü",
        "\u{1f980}",
    ])
    .prop_map(str::to_owned)
}

/// Values of every shape.
fn shape() -> impl Strategy<Value = Value> {
    select(vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1e300),
        json!(""),
        json!("x"),
        json!([]),
        json!({}),
        json!({"type": "resp"}),
        json!({"a": {"b": [1, null]}}),
        json!("ü\n"),
        json!(18_446_744_073_709_551_615_u64),
    ])
}

prop_compose! {
    fn spec()(
        args in prop::collection::vec(token(), 0..8),
        release in select(vec!["0.1.0", "0.4.1", "0.4.4", "0.4.7", "0.4.9", "0.5.2", "0.5.6", "7.0.0", "latest", ""]),
        size in select(vec![json!(60), json!(1e-12), json!(-1), json!("x"), json!(1e300)]),
        type_ in select(vec![json!("resp"), json!("fs"), json!("dax"), json!("bigtable"), json!("nope"), json!(5)]),
        member in select(vec!["host", "port", "serde", "eviction", "password", "base_path", "backend_params"]),
        value in shape(),
        other in select(vec!["l2Backend", "server", "coordinator", "env", "volumeMounts", "containerSecurityContext", "image"]),
        odd in shape(),
        replace in any::<bool>(),
    ) -> Value {
        let mut spec = json!({
            "l1": {"sizeGB": size}, "server": {"release": release}, "release": release, "extraArgs": args,
            "l2Backend": {"raw": {"type": type_, "config": {member: value}}},
        });
        if replace {
            spec[other] = odd;
        }
        spec
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn objects(spec in spec(), kind in select(vec![Kind::LMCacheEngine, Kind::CacheBlendEngine, Kind::LMCacheCoordinator])) {
        let object = json!({"metadata": {"name": "kv", "namespace": "n"}, "spec": spec});
        for mode in [IpcMode::HostIPC, IpcMode::Isolated] {
            let faults = validate(kind, &object, mode);
            for (index, fault) in faults.iter().enumerate() {
                let twice = faults.iter().skip(index + 1).any(|other| other.path == fault.path && other.kind == fault.kind);
                prop_assert!(!twice, "{fault} and another");
            }
            for warning in warnings(kind, &object, mode) {
                let plain = warning.bytes().all(|byte| (0x20..0x7f).contains(&byte));
                prop_assert!(plain && warning.len() <= 256 && !warning.is_empty(), "{warning:?}");
            }
            let place = Place { ipc_default: mode, coordinator_url: Some("http://fleet:9300") };
            let read = decode(kind, &object).object;
            let process = process(&read, &place);
            if let Some(args) = spec["extraArgs"].as_array() {
                let end: Vec<_> = process.args.iter().rev().take(args.len()).rev().map(|arg| json!(arg)).collect();
                prop_assert_eq!(&end, args);
            }
        }
    }

    /// Every token is accounted for: by a use, as its flag or value, or by a complaint.
    #[test]
    fn command_lines(tokens in prop::collection::vec(token(), 0..12), position in 0..RELEASES.len()) {
        for flags in [SERVER.as_slice(), COORDINATOR.as_slice()] {
            let reading = read(flags, position, &tokens);
            let mut seen = vec![false; tokens.len()];
            for used in &reading.uses {
                seen[used.index] = true;
                for (index, _) in &used.values {
                    seen[*index] = true;
                }
            }
            for complaint in &reading.complaints {
                seen[complaint.flag_index] = true;
                seen[complaint.index] = true;
            }
            // What a flag took before its complaint stays with it.
            let complete = reading.complaints.is_empty();
            prop_assert!(!complete || seen.iter().all(|seen| *seen), "{tokens:?}");
        }
    }
}
