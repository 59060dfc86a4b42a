//! Shared memory and the second tier.

use super::*;

#[test]
fn a_tier_that_is_not_lazy_lies_in_a_segment_from_0_4_7() {
    let eager = json!({"extraArgs": ["--no-l1-use-lazy"]});
    let named = json!({"extraArgs": ["--no-l1-use-lazy", "--shm-name", "kv"]});
    for (release, segment) in [
        ("0.4.6", Segment::No),
        ("0.4.7", Segment::Always),
        ("0.5.3", Segment::Always),
        ("0.5.4", Segment::IfNamed),
        ("0.5.6", Segment::IfNamed),
    ] {
        assert_eq!(offers(release).segment, segment, "{release}");
        let shared = segment == Segment::Always;
        assert_eq!(
            warned(&engine(release, eager.clone()), "lmcache_l1_pool_1"),
            shared,
            "{release}"
        );
        assert!(!warned(&engine(release, named.clone()), "lmcache_l1_pool"), "{release}");
    }
}

#[test]
fn credentials_travel_in_the_environment_only() {
    let redis = json!({"l2Backend": {"resp": {"host": "redis", "port": 6379, "authSecretRef": {"name": "login"}}}});
    let process = run(Kind::LMCacheEngine, &engine("0.5.6", redis));
    let adapter = value(&process.args, "--l2-adapter").unwrap();
    assert_eq!(adapter, r#"{"host":"redis","num_workers":8,"port":6379,"type":"resp"}"#);
    for (name, key) in [
        ("LMCACHE_RESP_PASSWORD", "password"),
        ("LMCACHE_RESP_USERNAME", "username"),
    ] {
        let variable = process.env.iter().find(|variable| variable["name"] == name).unwrap();
        assert_eq!(variable["valueFrom"]["secretKeyRef"]["name"], "kv-resp-auth");
        assert_eq!(variable["valueFrom"]["secretKeyRef"]["key"], key);
    }
}

#[test]
fn what_0_4_2_and_before_do_with_redis() {
    let redis = json!({"l2Backend": {"resp": {"host": "redis", "port": 6379, "maxCapacityGB": 5,
        "authSecretRef": {"name": "login"}}}});
    let paths = |release: &str| -> Vec<String> {
        let found = faults(Kind::LMCacheEngine, &engine(release, redis.clone()));
        found
            .iter()
            .map(|fault| fault.split(':').next().unwrap().to_owned())
            .collect()
    };
    const RESP: &str = "spec.l2Backend.resp";
    let secret = format!("{RESP}.authSecretRef");
    let capacity = format!("{RESP}.maxCapacityGB");
    assert_eq!(paths("0.4.1"), ["spec.server.release", RESP, &secret, &capacity]);
    assert_eq!(paths("0.4.2"), ["spec.server.release", &secret, &capacity]);
    assert_eq!(paths("0.4.3"), [""; 0]);
}

#[test]
fn redis_takes_whole_numbers() {
    let raw = |key: &str, value: Value| {
        let mut config = json!({"host": "redis", "port": 6379});
        config[key] = value;
        engine(
            "0.5.6",
            json!({"l2Backend": {"raw": {"type": "resp", "config": config}}}),
        )
    };
    for (key, value) in [
        ("port", json!("6379")),
        ("port", json!(0)),
        ("num_workers", json!(0)),
        ("num_workers", json!(1.5)),
    ] {
        one_fault(
            &raw(key, value),
            &format!("spec.l2Backend.raw.config.{key}"),
            &["positive integer"],
        );
    }
    // Written as 8, as the Go operator does, and so it is an integer.
    let whole = raw("num_workers", json!(8.0));
    fine(&whole);
    assert!(
        value(&args(&whole), "--l2-adapter")
            .unwrap()
            .contains(r#""num_workers":8,"#)
    );
    fine(&raw("unheard_of", json!(1)));
}

#[test]
fn encryption_works_from_0_5_3() {
    let aesgcm = json!({"l2Backend": {"raw": {"type": "fs", "config": {"base_path": "/kv"}},
        "serde": {"aesgcm": {"masterKeySecretRef": {"name": "key"}}}}});
    const PATH: &str = "spec.l2Backend.serde.aesgcm";
    for release in ["0.4.3", "0.4.4"] {
        one_fault(
            &engine(release, aesgcm.clone()),
            PATH,
            &[release, "unencrypted", "0.5.3"],
        );
    }
    for release in ["0.4.5", "0.5.2"] {
        one_fault(
            &engine(release, aesgcm.clone()),
            PATH,
            &[release, "does not start", "0.5.3"],
        );
    }
    fine(&engine("0.5.3", aesgcm));
}

#[test]
fn adapters_want_their_members() {
    let raw = |type_: &str, config: Value| {
        engine(
            "0.5.6",
            json!({"l2Backend": {"raw": {"type": type_, "config": config}}}),
        )
    };
    one_fault(
        &raw("fs", json!({})),
        "spec.l2Backend.raw.config.base_path",
        &["Required"],
    );
    one_fault(
        &raw("mock", json!({"max_size_gb": 1})),
        "spec.l2Backend.raw.config.mock_bandwidth_gb",
        &["Required"],
    );
    one_fault(
        &raw("bogus", json!({})),
        "spec.l2Backend.raw.type",
        &["bogus", "0.5.6", "resp"],
    );
    fine(&raw("fs", json!({"base_path": "/kv"})));
    // What is not certain is not refused.
    let newest = object(json!({"l1": {"sizeGB": 1}, "l2Backend": {"raw": {"type": "bogus"}}}));
    fine(&newest);
    assert!(warned(&newest, "bogus"));
}

#[test]
fn policies_came_over_time() {
    let retain =
        json!({"l2Backend": {"raw": {"type": "fs", "config": {"base_path": "/kv"}}, "prefetchPolicy": "retain"}});
    one_fault(
        &engine("0.4.3", retain.clone()),
        "spec.l2Backend.prefetchPolicy",
        &["retain", "0.4.3", "0.4.4"],
    );
    fine(&engine("0.4.4", retain));
}
