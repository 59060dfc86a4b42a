//! Coordinators and how servers speak to them.

use super::*;

#[test]
fn the_coordinators_flags_follow_its_release() {
    let blends = json!({"blendChunkSize": 256, "blendProbeStride": 2});
    let line = |release: &str| {
        let args = run(Kind::LMCacheCoordinator, &coordinator(release, blends.clone())).args;
        args.split_off_behind("--trigger-watermark")
    };
    let stride = ["--blend-probe-stride", "2"];
    assert_eq!(line("0.5.1"), [["--blend-chunk-size", "256"], stride].concat());
    assert_eq!(line("0.5.2"), [["--chunk-size", "256"], stride].concat());
    let indexed = [["--chunk-size", "256"].as_slice(), &stride, &["--enable-blend-lookup"]].concat();
    assert_eq!(
        (line("0.5.4"), line("0.5.6")),
        (indexed.iter().map(|t| (*t).to_owned()).collect(), line("0.9.0"))
    );
    let found = faults(Kind::LMCacheCoordinator, &coordinator("0.4.7", blends.clone()));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found
            .iter()
            .all(|fault| fault.contains("0.4.7") && fault.contains("0.5.0")),
        "{found:?}"
    );
    // Nobody asked for an index.
    let plain = run(Kind::LMCacheCoordinator, &coordinator("0.5.6", json!({})));
    assert_eq!(plain.args.last().map(String::as_str), Some("1"));
}

trait Behind {
    fn split_off_behind(self, flag: &str) -> Vec<String>;
}

impl Behind for Vec<String> {
    /// What follows a flag and its value.
    fn split_off_behind(mut self, flag: &str) -> Vec<String> {
        let place = self.iter().position(|arg| arg == flag).unwrap();
        self.split_off(place + 2)
    }
}

#[test]
fn the_coordinator_serves_metrics_from_0_5_4() {
    assert_eq!(coordinator_offers("0.5.3").metrics, None);
    assert_eq!(
        coordinator_offers("0.5.4").metrics,
        Some(Metrics {
            port: 9300,
            path: "/metrics"
        })
    );
    let offers = coordinator_offers("0.4.7");
    assert_eq!((offers.health_path, offers.instances_path), ("/healthz", "/instances"));
}

#[test]
fn the_server_says_where_it_is_called_back() {
    let coordinated = |more: Value| {
        let mut coordinator = json!({"url": "http://fleet:9300"});
        coordinator
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        run(
            Kind::LMCacheEngine,
            &engine("0.5.6", json!({"coordinator": coordinator})),
        )
    };
    let variable = |process: &lmcache_server::Process| {
        process
            .env
            .iter()
            .any(|variable| variable["name"] == "LMCACHE_COORDINATOR_ADVERTISE_IP")
    };
    let pod = coordinated(json!({}));
    assert!(variable(&pod) && value(&pod.args, "--coordinator-advertise-ip").is_none());
    let given = coordinated(json!({"advertiseIP": "10.0.0.7"}));
    assert!(!variable(&given) && value(&given.args, "--coordinator-advertise-ip") == Some("10.0.0.7"));
}

#[test]
fn a_login_in_a_url_is_not_repeated() {
    let url = "http://user:hush@fleet:9300/x";
    let repeated = engine("0.5.6", json!({"extraArgs": ["--coordinator-url", url]}));
    one_fault(
        &repeated,
        "spec.extraArgs[0]",
        &["http://...@fleet:9300/x", "spec.coordinator.url"],
    );
    let broken = engine("0.5.6", json!({"coordinator": {"url": "ftp://user:hush@fleet"}}));
    one_fault(&broken, "spec.coordinator.url", &["ftp://...@fleet"]);
    for object in [repeated, broken] {
        assert!(!faults(Kind::LMCacheEngine, &object)[0].contains("hush"));
    }
}
