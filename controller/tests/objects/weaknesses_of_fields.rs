//! Weaknesses 20 to 30 of the Go operator: what becomes of the fields.

use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{
    cacheblend, child, children, container, coordinator, engine, faults, flag, options, pod, report, report_with,
};

#[rstest]
#[case::nothing_left(json!(0.04), "0.04", json!(0.001), "0.001")]
#[case::a_little_lost(json!(60.25), "60.25", json!(0.125), "0.125")]
#[case::nothing_to_lose(json!(60), "60.0", json!(0.8), "0.80")]
fn weakness_20_numbers_are_not_rounded_away(
    #[case] size: Value,
    #[case] size_text: &str,
    #[case] share: Value,
    #[case] share_text: &str,
) {
    let more = json!({"l1": {"sizeGB": size}, "eviction": {"evictionRatio": share, "triggerWatermark": share}});
    for object in [engine(more.clone()), cacheblend(more)] {
        let children = children(&object);
        assert_eq!(flag(&children, "--l1-size-gb").unwrap(), size_text);
        assert_eq!(flag(&children, "--eviction-ratio").unwrap(), share_text);
        assert_eq!(flag(&children, "--eviction-trigger-watermark").unwrap(), share_text);
    }
}

#[test]
fn weakness_21_a_raw_tier_is_what_was_written() {
    let raw = |config: Value| engine(json!({"l2Backend": {"raw": {"type": "fs", "config": config}}}));
    let children = children(&raw(json!({"base_path": "/<a>", "big": 9007199254740993_i64})));
    let adapter = flag(&children, "--l2-adapter").unwrap();
    assert_eq!(
        adapter,
        r#"{"base_path":"/\u003ca\u003e","big":9007199254740993,"type":"fs"}"#
    );
    let faults = faults(&raw(json!({"base_path": "/a", "type": "mock"})));
    assert!(
        faults.len() == 1 && faults[0].starts_with("spec.l2Backend.raw.config.type: "),
        "{faults:?}"
    );
}

#[rstest]
#[case(json!({"prometheus": {"port": 0}}), "spec.prometheus.port: ")]
#[case(json!({"server": {"chunkSize": 0}}), "spec.server.chunkSize: ")]
#[case(json!({"server": {"maxWorkers": -1}}), "spec.server.maxWorkers: ")]
#[case(json!({"server": {"port": 8080}}), "spec.server.httpPort: ")]
#[case(json!({"prometheus": {"serviceMonitor": {"interval": "often"}}}), "spec.prometheus.serviceMonitor.interval: ")]
#[case(json!({"image": {"repository": ""}}), "spec.image.repository: ")]
#[case(json!({"image": {"tag": ""}}), "spec.image.tag: ")]
#[case(json!({"server": {"port": 6000, "httpPort": 6000}}), "spec.server.httpPort: ")]
#[case(json!({"image": {"tag": "v0.4.4"}, "prometheus": {"port": 5555}}), "spec.prometheus.port: ")]
fn weakness_22_nothing_reaches_a_child_unchecked(#[case] more: Value, #[case] path: &str) {
    for object in [engine(more.clone()), cacheblend(more)] {
        let faults = faults(&object);
        assert!(faults.iter().any(|fault| fault.starts_with(path)), "{faults:?}");
        // A chunk size of 0 is none of CacheBlend's either.
        let expected = 1 + usize::from(path.contains("chunkSize") && object["kind"] == "CacheBlendEngine");
        assert!(faults.len() <= expected, "{faults:?}");
    }
}

#[rstest]
#[case(json!({"prometheus": {"port": 65536}}), "spec.prometheus.port: ")]
#[case(json!({"prometheus": {"serviceMonitor": {"interval": "30"}}}), "spec.prometheus.serviceMonitor.interval: ")]
#[case(json!({"image": {"tag": ""}}), "spec.image.tag: ")]
fn weakness_22_nor_a_child_of_a_coordinator(#[case] more: Value, #[case] path: &str) {
    let faults = faults(&coordinator(more));
    assert!(faults.len() == 1 && faults[0].starts_with(path), "{faults:?}");
}

#[test]
fn weakness_23_a_mere_buffer_can_be_configured() {
    let fs = json!({"raw": {"type": "fs", "config": {"base_path": "/a"}}, "storePolicy": "skip_l1"});
    let children = children(&engine(json!({"eviction": {"policy": "noop"}, "l2Backend": fs})));
    assert_eq!(flag(&children, "--eviction-policy").unwrap(), "noop");
    assert!(faults(&engine(json!({"eviction": {"policy": "noop"}})))[0].starts_with("spec.eviction.policy: "));
}

#[rstest]
#[case::dot("kv.east")]
#[case::digit_first("1kv")]
#[case::too_long_for_metrics(&"k".repeat(56))]
#[case::upper_case("KV")]
fn weakness_24_names_that_no_child_can_have(#[case] name: &str) {
    for mut object in [engine(json!({})), cacheblend(json!({})), coordinator(json!({}))] {
        object["metadata"]["name"] = json!(name);
        let faults = report(&[object]).faults;
        assert!(
            faults.len() == 1 && faults[0].contains(": metadata.name: Invalid value: "),
            "{faults:?}"
        );
    }
}

#[test]
fn weakness_24_the_longest_name_fits_its_services() {
    let monitored = json!({"prometheus": {"serviceMonitor": {"enabled": true}}});
    for mut object in [
        engine(monitored.clone()),
        cacheblend(monitored.clone()),
        coordinator(monitored.clone()),
    ] {
        object["metadata"]["name"] = json!("k".repeat(55));
        let report = report(&[object]);
        assert_eq!(report.faults, [""; 0]);
        let services = report.objects.iter().filter(|child| child["kind"] == "Service");
        let lengths: Vec<usize> = services
            .map(|service| service["metadata"]["name"].as_str().unwrap().len())
            .collect();
        assert_eq!(lengths, [55, 63]);
    }
}

#[test]
fn weakness_25_the_cluster_domain_is_the_clusters() {
    let mut options = options();
    for (domain, host) in [
        ("corp.example", "tcp://kv.serving.svc.corp.example"),
        ("", "tcp://kv.serving.svc.cluster.local"),
    ] {
        options.cluster_domain = domain.to_owned();
        let report = report_with(&[engine(json!({}))], &options);
        let data = &child(&report.objects, "ConfigMap", "-connection")["data"];
        let connection: Value = serde_json::from_str(data["kv-transfer-config.json"].as_str().unwrap()).unwrap();
        assert_eq!(connection["kv_connector_extra_config"]["lmcache.mp.host"], host);
    }
}

/// Chunk sizes and releases of an engine and its coordinator.
#[test]
fn weakness_26_engine_and_coordinator_are_compared() {
    let warnings = |engine: Value, mut coordinator: Value| {
        coordinator["metadata"]["name"] = json!("fleet");
        report(&[engine, coordinator]).warnings
    };
    let connected = json!({"coordinator": {"ref": {"name": "fleet"}}});
    assert_eq!(
        warnings(cacheblend(connected.clone()), coordinator(json!({}))),
        Vec::<String>::new()
    );
    assert_eq!(
        warnings(
            cacheblend(connected.clone()),
            coordinator(json!({"blendChunkSize": 256}))
        ),
        Vec::<String>::new()
    );
    let found = warnings(
        cacheblend(connected.clone()),
        coordinator(json!({"blendChunkSize": 512})),
    );
    assert!(
        found.len() == 1 && found[0].contains("spec.server.chunkSize 256 is not the spec.blendChunkSize of fleet, 512"),
        "{found:?}"
    );
    // An LMCacheEngine has no part in that index.
    let other = warnings(engine(connected.clone()), coordinator(json!({"blendChunkSize": 512})));
    assert_eq!(other, Vec::<String>::new());
    let found = warnings(engine(connected), coordinator(json!({"image": {"tag": "v0.5.5"}})));
    assert!(
        found.len() == 1 && found[0].contains("fleet runs LMCache 0.5.5 and the engine 0.5.6"),
        "{found:?}"
    );
}

/// As documented: computed sizes err on the safe side, and what the user gives is taken as it stands.
#[test]
fn weakness_27_resources_are_the_users_to_replace() {
    let resources =
        |overrides: Value| container(&children(&engine(json!({"resourceOverrides": overrides}))))["resources"].clone();
    assert_eq!(
        resources(json!(null)),
        json!({"requests": {"cpu": "4", "memory": "65Gi"}, "limits": {"memory": "98Gi"}})
    );
    assert_eq!(resources(json!({})), Value::Null);
    let own = json!({"requests": {"memory": "1.5Gi"}, "claims": [{"name": "gpu"}]});
    assert_eq!(resources(own.clone()), own);
}

#[test]
fn weakness_28_security_contexts_are_passed_through() {
    let contexts = json!({"podSecurityContext": {"fsGroup": 2000, "runAsNonRoot": true},
        "containerSecurityContext": {"runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}});
    for object in [
        engine(contexts.clone()),
        cacheblend(contexts.clone()),
        coordinator(contexts.clone()),
    ] {
        let children = children(&object);
        assert_eq!(pod(&children)["securityContext"], contexts["podSecurityContext"]);
        let context = &container(&children)["securityContext"];
        assert_eq!(context["runAsUser"], 1000);
        let privileged = (object["kind"] != "LMCacheCoordinator").then_some(&Value::Bool(false));
        assert_eq!(context.get("privileged"), privileged);
    }
    for (spec, privileged) in [
        (json!({}), false),
        (json!({"privileged": true}), true),
        (json!({"containerSecurityContext": {"privileged": true}}), true),
        (
            json!({"privileged": false, "containerSecurityContext": {"privileged": true}}),
            false,
        ),
    ] {
        assert_eq!(
            container(&children(&engine(spec)))["securityContext"],
            json!({"privileged": privileged})
        );
    }
}

#[test]
fn weakness_29_how_pods_are_replaced_and_stopped() {
    let more = json!({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "10%"}},
        "terminationGracePeriodSeconds": 0});
    for (object, field) in [
        (engine(more.clone()), "updateStrategy"),
        (cacheblend(more.clone()), "updateStrategy"),
        (coordinator(more.clone()), "strategy"),
    ] {
        let children = children(&object);
        assert_eq!(children[0]["spec"][field], more["updateStrategy"]);
        assert_eq!(pod(&children)["terminationGracePeriodSeconds"], 0);
    }
}

/// Probes ask the port that clients connect to, and leave a large first tier its time to start.
#[test]
fn weakness_30_probes_follow_the_port_and_the_size() {
    let engine = children(&engine(
        json!({"server": {"port": 6000, "httpPort": 6001}, "l1": {"sizeGB": 300}}),
    ));
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
        assert_eq!(container(&engine)[probe]["tcpSocket"], json!({"port": 6000}));
    }
    assert_eq!(container(&engine)["startupProbe"]["failureThreshold"], 60);
    let coordinator = children(&coordinator(json!({"port": 9400})));
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
        assert_eq!(
            container(&coordinator)[probe]["httpGet"],
            json!({"path": "/healthz", "port": 9400})
        );
    }
}
