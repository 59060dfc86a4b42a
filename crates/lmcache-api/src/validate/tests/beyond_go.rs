//! What the Go operator does not check: resources, intervals, URLs, names.

use super::test_runner;
use super::{faults, object, validate};
use crate::FaultKind::{self, Invalid, Required, TypeInvalid};
use crate::Kind;
use rstest::rstest;
use serde_json::{Value, json};

#[rstest]
#[case(json!({"limits": {"memory": "64GB"}}), "limits.memory", Invalid)]
#[case(json!({"limits": {"memory": "-1Gi"}}), "limits.memory", Invalid)]
#[case(json!({"limits": {"nvidia.com/gpu": "one"}}), "limits[nvidia.com/gpu]", Invalid)]
#[case(json!({"requests": {"cpu": 0.5}}), "requests.cpu", TypeInvalid)]
#[case(json!({"requests": {"cpu": true}}), "requests.cpu", TypeInvalid)]
#[case(json!({"requests": "4"}), "requests", TypeInvalid)]
#[case(json!({"requests": {"memory": "80Gi"}, "limits": {"memory": "70Gi"}}), "requests.memory", Invalid)]
#[case(json!({"requests": {"cpu": 5}, "limits": {"cpu": "4500m"}}), "requests.cpu", Invalid)]
#[test_runner::test]
fn resources_that_kubernetes_refuses(#[case] overrides: Value, #[case] path: &str, #[case] kind: FaultKind) {
    let expected = [(format!("spec.resourceOverrides.{path}"), kind)];
    assert_eq!(
        faults(Kind::LMCacheEngine, json!({"resourceOverrides": overrides})),
        expected
    );
}

#[rstest]
#[case(json!({"requests": {"memory": "80Gi"}}))]
#[case(json!({"requests": {"memory": "2048Mi", "cpu": 4}, "limits": {"memory": "2Gi", "cpu": 4.0}}))]
#[case(json!({"limits": null, "requests": {"cpu": null}, "claims": [{"name": "gpu"}]}))]
#[test_runner::test]
fn resources_that_kubernetes_takes(#[case] overrides: Value) {
    assert_eq!(faults(Kind::LMCacheEngine, json!({"resourceOverrides": overrides})), []);
}

#[rstest]
#[case("30s", true)]
#[case("1m30s", true)]
#[case("1h", true)]
#[case("1y2w3d4h5m6s7ms", true)]
#[case("0", true)]
#[case("0s", true)]
#[case::counts_as_unset("", true)]
#[case("30", false)]
#[case("30 s", false)]
#[case("1.5m", false)]
#[case("30s1m", false)]
#[case("1m1m", false)]
#[case("s", false)]
#[case("-30s", false)]
#[case("1ms30s", false)]
#[test_runner::test]
fn intervals(#[case] interval: &str, #[case] valid: bool) {
    let spec = json!({"prometheus": {"serviceMonitor": {"interval": interval}}});
    assert_eq!(faults(Kind::LMCacheEngine, spec).is_empty(), valid);
}

#[rstest]
#[case("http://fleet", true)]
#[case("HTTPS://fleet.example.com:9300/base?x=1", true)]
#[case("http://user@fleet:1", true)]
#[case("http://[fd00::1]", true)]
#[case("http://", false)]
#[case("http://:9300", false)]
#[case("http:///path", false)]
#[case("ftp://fleet", false)]
#[case("fleet", false)]
#[case("http://fleet:0", false)]
#[case("http://fleet:70000", false)]
#[case("http://fleet:x", false)]
#[case("http://fd00::1", false)]
#[case("http://fd00::1]", false)]
#[case("http://fl eet", false)]
#[test_runner::test]
fn coordinator_urls(#[case] url: &str, #[case] valid: bool) {
    assert_eq!(
        faults(Kind::LMCacheEngine, json!({"coordinator": {"url": url}})).is_empty(),
        valid,
        "{url}"
    );
}

#[rstest]
#[case(json!({"name": "cache-a"}), None)]
#[case(json!({"generateName": "cache-"}), None)]
#[case(json!({"name": "", "generateName": "cache-"}), None)]
#[case(json!({"name": "a".repeat(55)}), None)]
#[case(json!({"name": "a".repeat(56)}), Some("metadata.name"))]
#[case(json!({"name": "0-cache"}), Some("metadata.name"))]
#[case(json!({"name": "cache.a"}), Some("metadata.name"))]
#[case(json!({"name": "cache-"}), Some("metadata.name"))]
#[case(json!({"generateName": "a".repeat(50)}), None)]
#[case(json!({"generateName": "a".repeat(51)}), Some("metadata.generateName"))]
#[case(json!({"generateName": "0-"}), Some("metadata.generateName"))]
#[test_runner::test]
fn names(#[case] metadata: Value, #[case] path: Option<&str>) {
    for kind in Kind::ALL {
        let mut object = object(kind, json!({}));
        object["metadata"] = metadata.clone();
        let found: Vec<_> = validate(kind, &object)
            .into_iter()
            .map(|fault| (fault.path, fault.kind))
            .collect();
        let expected: Vec<_> = path.iter().map(|path| ((*path).to_owned(), Invalid)).collect();
        assert_eq!(found, expected, "{kind}");
    }
}

#[test_runner::test]
fn a_name_must_be_given() {
    let object = json!({"spec": {"l1": {"sizeGB": 1}}});
    let found = validate(Kind::LMCacheEngine, &object);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].path.as_str(), found[0].kind), ("metadata.name", Required));
}
