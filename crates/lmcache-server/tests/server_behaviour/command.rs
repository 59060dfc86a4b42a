//! Command, sockets, paths and defaults.

use super::*;

#[test]
fn the_server_command_exists_from_0_4_3() {
    for release in ["0.3.9", "0.4.1", "0.4.2"] {
        let found = faults(Kind::LMCacheEngine, &engine(release, json!({})));
        assert!(found[0].starts_with("spec.server.release: Forbidden: "), "{found:?}");
        assert!(
            found[0].contains("no command `lmcache server`") && found[0].contains("0.4.3"),
            "{found:?}"
        );
    }
    for release in RELEASES_WITH_COMMAND {
        fine(&engine(release, json!({})));
    }
}

#[test]
fn the_coordinator_command_exists_from_0_4_7() {
    let says = ["no command `lmcache coordinator`", "0.4.7"];
    only(
        Kind::LMCacheCoordinator,
        &coordinator("0.4.6", json!({})),
        "spec.release",
        &says,
    );
    assert_eq!(
        faults(Kind::LMCacheCoordinator, &coordinator("0.4.7", json!({}))),
        Vec::<String>::new()
    );
}

#[test]
fn a_read_only_root_needs_two_writable_places() {
    let read_only = json!({"containerSecurityContext": {"readOnlyRootFilesystem": true}});
    assert!(warned(&engine("0.5.6", read_only), "NUMBA_CACHE_DIR"));
}

#[test]
fn sockets_are_open_to_other_pods() {
    for release in RELEASES_WITH_COMMAND {
        let args = args(&engine(release, json!({})));
        assert_eq!(value(&args, "--host"), Some("0.0.0.0"));
        assert_eq!(value(&args, "--http-host"), Some("0.0.0.0"));
    }
}

#[test]
fn the_prometheus_port_listens_up_to_0_4_4_only() {
    let clash = json!({"server": {"port": 9090}});
    one_fault(
        &engine("0.4.4", clash.clone()),
        "spec.prometheus.port",
        &["9090", "spec.server.port"],
    );
    fine(&engine("0.4.5", clash.clone()));
    // Unknown: as the newest.
    fine(&object(json!({"l1": {"sizeGB": 1}, "server": {"port": 9090}})));
    let off = json!({"server": {"port": 9090}, "prometheus": {"enabled": false}});
    fine(&engine("0.4.4", off));
}

#[test]
fn metrics_are_where_the_release_serves_them() {
    let metrics = |port| Some(Metrics { port, path: "/metrics" });
    assert_eq!(offers("0.4.4").metrics, metrics(9090));
    assert_eq!(offers("0.4.5").metrics, metrics(8080));
    assert_eq!(offers("0.5.6").metrics, metrics(8080));
    let off = read(
        Kind::LMCacheEngine,
        &engine("0.5.6", json!({"prometheus": {"enabled": false}})),
    );
    assert_eq!(Offers::of_engine(off.engine().unwrap()).metrics, None);
}

#[test]
fn health_status_and_configuration_have_moved() {
    let paths = |release| {
        let offers = offers(release);
        (
            offers.health_path,
            offers.status_path,
            offers.config_path,
            offers.version_path,
        )
    };
    assert_eq!(paths("0.4.4"), ("/api/healthcheck", "/api/status", None, None));
    assert_eq!(
        paths("0.4.5"),
        ("/healthcheck", "/status", Some("/conf"), Some("/version"))
    );
    assert_eq!(
        paths("0.5.0"),
        ("/healthcheck", "/status", Some("/conf"), Some("/version"))
    );
    assert_eq!(
        paths("0.5.1"),
        ("/healthcheck", "/status", Some("/config"), Some("/version"))
    );
}

#[test]
fn scripts_are_run_for_anybody_from_0_4_6_to_0_5_5() {
    let runs: Vec<bool> = ["0.4.5", "0.4.6", "0.5.5", "0.5.6"]
        .map(|release| offers(release).runs_scripts)
        .into();
    assert_eq!(runs, [false, true, true, false]);
}

#[test]
fn the_environment_is_shown_from_0_4_5() {
    let redis = json!({"l2Backend": {"resp": {"host": "redis", "port": 6379, "authSecretRef": {"name": "login"}}}});
    for (release, shown) in [("0.4.4", false), ("0.4.5", true), ("0.5.6", true), ("0.9.0", true)] {
        assert_eq!(warned(&engine(release, redis.clone()), "/env"), shown, "{release}");
        assert_eq!(offers(release).environment_path.is_some(), shown, "{release}");
    }
}

#[test]
fn a_password_in_the_adapter_is_shown() {
    let raw =
        json!({"l2Backend": {"raw": {"type": "resp", "config": {"host": "redis", "port": 1, "password": "hush"}}}});
    let found = doubts(Kind::LMCacheEngine, &engine("0.5.6", raw));
    assert!(found.iter().any(|text| text.contains("/config")), "{found:?}");
    assert!(!found.iter().any(|text| text.contains("hush")), "{found:?}");
}

#[test]
fn metrics_are_switched_off_by_the_name_that_the_release_knows() {
    let off = json!({"prometheus": {"enabled": false}});
    for release in RELEASES_WITH_COMMAND {
        let args = args(&engine(release, off.clone()));
        assert_eq!(value(&args, "--disable-metrics"), Some(""));
        assert_eq!(
            (value(&args, "--disable-prometheus"), value(&args, "--prometheus-port")),
            (None, None)
        );
    }
}

#[test]
fn what_defaults_differ_in_is_always_on_the_line() {
    for release in RELEASES_WITH_COMMAND {
        let args = args(&engine(release, json!({})));
        for flag in [
            "--host",
            "--http-host",
            "--http-port",
            "--port",
            "--l1-size-gb",
            "--eviction-policy",
        ] {
            assert!(value(&args, flag).is_some(), "{release} {flag}");
        }
    }
}

#[test]
fn event_reporting_goes_by_the_name_of_the_release() {
    let coordinated = json!({"coordinator": {"url": "http://fleet:9300", "l2EventReporting": true}});
    for (release, reporting, interval) in [
        (
            "0.4.7",
            "--coordinator-l2-event-reporting",
            "--coordinator-l2-event-flush-interval",
        ),
        (
            "0.5.2",
            "--coordinator-l2-event-reporting",
            "--coordinator-l2-event-flush-interval",
        ),
        (
            "0.5.3",
            "--coordinator-event-reporting",
            "--coordinator-event-flush-interval",
        ),
        (
            "0.5.6",
            "--coordinator-event-reporting",
            "--coordinator-event-flush-interval",
        ),
        (
            "0.9.0",
            "--coordinator-event-reporting",
            "--coordinator-event-flush-interval",
        ),
    ] {
        let args = args(&engine(release, coordinated.clone()));
        assert_eq!(
            (value(&args, reporting), value(&args, interval)),
            (Some(""), Some("1")),
            "{release}"
        );
        assert_eq!(args.iter().filter(|arg| arg.contains("event")).count(), 2, "{release}");
    }
    one_fault(&engine("0.4.6", coordinated), "spec.coordinator", &["0.4.6", "0.4.7"]);
}
