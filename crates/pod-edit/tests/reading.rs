//! Reading never fails: what is absent, `null` or of the wrong type reads as absent.

#[cfg(not(target_arch = "wasm32"))]
use core::prelude::v1 as test_runner;
use pod_edit::env::{self, EnvState};
use pod_edit::{container, metadata, pod, volume};
use rstest::rstest;
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
mod test_runner {
    pub use wasm_bindgen_test::wasm_bindgen_test as test;
}

#[rstest]
#[case::limit(json!({"limits": {"nvidia.com/gpu": "1"}}), true)]
#[case::number(json!({"limits": {"nvidia.com/gpu": 2}}), true)]
#[case::request(json!({"limits": {}, "requests": {"amd.com/gpu": "1"}}), true)]
#[case::shared(json!({"limits": {"nvidia.com/gpu.shared": 1}}), true)]
#[case::slice(json!({"limits": {"nvidia.com/mig-1g.5gb": 1}}), true)]
#[case::intel(json!({"limits": {"gpu.intel.com/xe": 1}}), true)]
#[case::claims(json!({"claims": [{"name": "gpu"}]}), true)]
#[case::no_claims(json!({"claims": []}), false)]
#[case::zero(json!({"limits": {"nvidia.com/gpu": "0"}}), false)]
#[case::zero_number(json!({"limits": {"nvidia.com/gpu": 0}}), false)]
#[case::zero_with_exponent(json!({"limits": {"nvidia.com/gpu": "0e3"}}), false)]
#[case::zero_limit_but_request(json!({"limits": {"nvidia.com/gpu": 0}, "requests": {"nvidia.com/gpu": 1}}), true)]
#[case::cpu_only(json!({"limits": {"cpu": "4", "memory": "1Gi"}}), false)]
#[case::other_nvidia(json!({"limits": {"nvidia.com/gpumem": "1"}}), false)]
#[case::no_quantity(json!({"limits": {"nvidia.com/gpu": [1]}}), false)]
#[case::wrong_types(json!({"limits": ["nvidia.com/gpu"], "requests": 1, "claims": {}}), false)]
#[case::null(json!(null), false)]
#[test_runner::test]
fn accelerators(#[case] resources: Value, #[case] expected: bool) {
    assert_eq!(
        container::wants_accelerator(&json!({"name": "vllm", "resources": resources})),
        expected
    );
}

#[rstest]
#[case::istio("istio-proxy", true)]
#[case::linkerd("linkerd-proxy", true)]
#[case::envoy("envoy", true)]
#[case::envoy_sidecar("envoy-sidecar", true)]
#[case::consul("consul-dataplane", true)]
#[case::kuma("kuma-sidecar", true)]
#[case::vault("vault-agent", true)]
#[case::cloud_sql("cloudsql-proxy", true)]
#[case::oauth("oauth2-proxy", true)]
#[case::rbac("kube-rbac-proxy", true)]
#[case::knative("queue-proxy", true)]
#[case::dapr("daprd", true)]
#[case::engine("vllm", false)]
#[case::named_after_one("proxy-vllm", false)]
#[case::no_dash("vllmproxy", false)]
#[test_runner::test]
fn proxies(#[case] name: &str, #[case] expected: bool) {
    assert_eq!(container::is_known_proxy(&json!({"name": name})), expected);
}

#[test_runner::test]
fn nameless_containers_are_no_proxies() {
    assert!(!container::is_known_proxy(&json!({})));
    assert!(!container::is_known_proxy(&json!({"name": ["envoy"]})));
}

#[rstest]
#[case::absent(json!({}), EnvState::Absent, 0)]
#[case::wrong_types(json!({"env": {"A": "1"}, "envFrom": "A"}), EnvState::Absent, 0)]
#[case::literal(json!({"env": [{"name": "A", "value": "1"}]}), EnvState::Literal("1"), 1)]
#[case::no_value(json!({"env": [{"name": "A"}]}), EnvState::Literal(""), 1)]
#[case::value_from(json!({"env": [{"name": "A", "valueFrom": {"fieldRef": {}}}]}), EnvState::ValueFrom, 1)]
#[case::last_wins(json!({"env": [{"name": "A", "valueFrom": {}}, {"name": "B"}, {"name": "A", "value": "2"}]}), EnvState::Literal("2"), 2)]
#[case::env_from(json!({"envFrom": [{"configMapRef": {"name": "c"}}]}), EnvState::MaybeEnvFrom, 0)]
#[case::env_from_prefix(json!({"envFrom": [{"prefix": "B", "configMapRef": {"name": "c"}}]}), EnvState::Absent, 0)]
#[case::own_entry_first(json!({"env": [{"name": "A", "value": "1"}], "envFrom": [{}]}), EnvState::Literal("1"), 1)]
#[case::case_matters(json!({"env": [{"name": "a", "value": "1"}]}), EnvState::Absent, 0)]
#[test_runner::test]
fn environment(#[case] container: Value, #[case] state: EnvState<'_>, #[case] count: usize) {
    assert_eq!(env::state(&container, "A"), state);
    assert_eq!(env::count(&container, "A"), count);
}

#[rstest]
#[case::same("/dev/shm", "/dev/shm", true)]
#[case::trailing("/dev/shm/", "/dev/shm", true)]
#[case::repeated("//dev///shm", "/dev/shm", true)]
#[case::dot("/dev/./shm", "/dev/shm", true)]
#[case::root("/", "//", true)]
#[case::below("/dev/shm/x", "/dev/shm", false)]
#[case::above("/dev", "/dev/shm", false)]
#[case::relative("dev/shm", "/dev/shm", false)]
#[test_runner::test]
fn paths(#[case] a: &str, #[case] b: &str, #[case] expected: bool) {
    assert_eq!(volume::same_path(a, b), expected);
    assert_eq!(volume::same_path(b, a), expected);
    let container = json!({"volumeMounts": [{"name": "v"}, {"name": "v", "mountPath": a}]});
    assert_eq!(volume::mount_at(&container, b).is_some(), expected);
}

#[test_runner::test]
fn names_and_indices() {
    let pod = json!({
        "metadata": {"labels": {"l": "1"}, "annotations": {"a": "2", "n": 3}},
        "spec": {
            "containers": [{"name": "a"}, 7, {"name": "b"}, {"name": "b", "x": 1}],
            "initContainers": [{"name": "c"}],
            "volumes": [{"name": "v", "x": 1}, {"name": "v"}],
            "imagePullSecrets": [{"name": "s"}, {}, {"name": "s"}]
        }
    });
    assert_eq!(container::containers(&pod).len(), 4);
    assert_eq!(container::index_by_name(&pod, "b"), Some(2));
    assert_eq!(container::index_by_name(&pod, "c"), None);
    assert_eq!(container::name(&json!({"name": 1})), None);
    assert_eq!(container::init_containers(&pod).len(), 1);
    assert_eq!(pod::init_container_by_name(&pod, "c"), Some(&json!({"name": "c"})));
    assert_eq!(pod::pull_secrets(&pod).collect::<Vec<_>>(), ["s", "s"]);
    assert_eq!(volume::volume_by_name(&pod, "v"), Some(&json!({"name": "v", "x": 1})));
    assert_eq!(metadata::label(&pod, "l"), Some("1"));
    assert_eq!(metadata::annotation(&pod, "a"), Some("2"));
    assert_eq!(metadata::annotation(&pod, "n"), None);
    assert!(metadata::has_annotation(&pod, "n") && !metadata::has_annotation(&pod, "none"));
}

#[rstest]
#[case::null(json!(null))]
#[case::text(json!("pod"))]
#[case::empty(json!({}))]
#[case::nulls(json!({"metadata": null, "spec": null}))]
#[case::inner_nulls(json!({"metadata": {"labels": null, "annotations": null}, "spec": {"containers": null, "volumes": null}}))]
#[case::texts(json!({"metadata": {"labels": "x", "annotations": "x"}, "spec": {"containers": "x", "volumes": "x", "hostIPC": "x"}}))]
#[case::lists(json!({"metadata": [], "spec": []}))]
#[case::objects(json!({"spec": {"containers": {"0": {}}, "initContainers": {}, "volumes": {}, "imagePullSecrets": {}}}))]
#[test_runner::test]
fn odd_pods_read_as_empty(#[case] pod: Value) {
    assert!(container::containers(&pod).is_empty());
    assert!(container::init_containers(&pod).is_empty());
    assert_eq!(container::index_by_name(&pod, "x"), None);
    assert_eq!(volume::volume_by_name(&pod, "x"), None);
    assert_eq!(metadata::annotation(&pod, "x"), None);
    assert_eq!(metadata::label(&pod, "x"), None);
    assert_eq!(pod::pull_secrets(&pod).count(), 0);
    assert_eq!((pod::host_ipc(&pod), pod::service_links(&pod)), (false, None));
    assert!(volume::mount_at(&pod, "/x").is_none());
    assert_eq!(env::state(&pod, "x"), EnvState::Absent);
}
