//! Every edit other than flags: what it does, that it does it once, and when it refuses.

// clippy.toml allows these in tests, but not in the functions that tests call.
#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

#[cfg(not(target_arch = "wasm32"))]
use core::prelude::v1 as test_runner;
use pod_edit::{Edit, EditError, Plan, pod};
use rstest::rstest;
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
mod test_runner {
    pub use wasm_bindgen_test::wasm_bindgen_test as test;
}

/// Applies twice; the second time must change nothing, and an error must leave the Pod alone.
fn apply(pod: &mut Value, edit: Edit) -> Result<bool, EditError> {
    let before = pod.clone();
    let plan = Plan::from(vec![edit]);
    let changed = plan.apply(pod).inspect_err(|_| assert_eq!(*pod, before))?;
    assert_eq!(changed, *pod != before);
    assert_eq!(plan.apply(pod), Ok(false));
    Ok(changed)
}

fn text(value: &Value) -> String {
    serde_json::to_string(value).unwrap()
}

#[rstest]
#[case::no_metadata(json!({}), json!({"metadata": {"annotations": {"a/b": "1"}}}))]
#[case::metadata_null(json!({"metadata": null}), json!({"metadata": {"annotations": {"a/b": "1"}}}))]
#[case::no_annotations(json!({"metadata": {"name": "p"}}), json!({"metadata": {"name": "p", "annotations": {"a/b": "1"}}}))]
#[case::annotations_null(json!({"metadata": {"annotations": null}}), json!({"metadata": {"annotations": {"a/b": "1"}}}))]
#[case::others_stay(
    json!({"metadata": {"annotations": {"z": "1", "y": null, "a/b": "0", "x": "2"}}}),
    json!({"metadata": {"annotations": {"z": "1", "y": null, "a/b": "1", "x": "2"}}})
)]
#[case::there(json!({"metadata": {"annotations": {"a/b": "1"}}}), json!({"metadata": {"annotations": {"a/b": "1"}}}))]
#[case::own_key_of_wrong_type(json!({"metadata": {"annotations": {"a/b": 1}}}), json!({"metadata": {"annotations": {"a/b": "1"}}}))]
#[test_runner::test]
fn set_annotation(#[case] mut pod: Value, #[case] expected: Value) {
    apply(
        &mut pod,
        Edit::SetAnnotation {
            key: "a/b".into(),
            value: "1".into(),
        },
    )
    .unwrap();
    assert_eq!(text(&pod), text(&expected));
}

#[rstest]
#[case::there(
    json!({"metadata": {"annotations": {"z": "1", "a/b": "0", "y": "2", "x": "3"}}}),
    json!({"metadata": {"annotations": {"z": "1", "y": "2", "x": "3"}}})
)]
#[case::the_only_one(json!({"metadata": {"annotations": {"a/b": 7}}}), json!({"metadata": {"annotations": {}}}))]
#[case::absent(json!({"metadata": {"annotations": {"z": "1"}}}), json!({"metadata": {"annotations": {"z": "1"}}}))]
#[case::annotations_null(json!({"metadata": {"annotations": null}}), json!({"metadata": {"annotations": null}}))]
#[case::no_annotations(json!({"metadata": {}}), json!({"metadata": {}}))]
#[case::no_metadata(json!({}), json!({}))]
#[test_runner::test]
fn remove_annotation(#[case] mut pod: Value, #[case] expected: Value) {
    apply(&mut pod, Edit::RemoveAnnotation { key: "a/b".into() }).unwrap();
    assert_eq!(text(&pod), text(&expected));
}

#[rstest]
#[case::absent(json!({"spec": {}}), json!({"spec": {"hostIPC": true}}))]
#[case::null(json!({"spec": {"hostIPC": null, "a": 1}}), json!({"spec": {"hostIPC": true, "a": 1}}))]
#[case::no(json!({"spec": {"hostIPC": false}}), json!({"spec": {"hostIPC": true}}))]
#[case::yes(json!({"spec": {"hostIPC": true}}), json!({"spec": {"hostIPC": true}}))]
#[test_runner::test]
fn set_host_ipc(#[case] mut pod: Value, #[case] expected: Value) {
    apply(&mut pod, Edit::SetHostIpc).unwrap();
    assert_eq!(text(&pod), text(&expected));
    assert!(pod::host_ipc(&pod));
}

#[rstest]
#[case::absent(json!({"spec": {}}), Some(false))]
#[case::null(json!({"spec": {"enableServiceLinks": null}}), Some(false))]
#[case::no(json!({"spec": {"enableServiceLinks": false}}), Some(false))]
#[case::the_user_wants_them(json!({"spec": {"enableServiceLinks": true}}), Some(true))]
#[test_runner::test]
fn disable_service_links(#[case] mut pod: Value, #[case] expected: Option<bool>) {
    apply(&mut pod, Edit::DisableServiceLinks).unwrap();
    assert_eq!(pod::service_links(&pod), expected);
}

#[rstest]
#[case::absent(json!({"spec": {}}), json!({"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}))]
#[case::null(json!({"spec": {"volumes": null}}), json!({"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}))]
#[case::last(
    json!({"spec": {"volumes": [{"name": "a"}, null]}}),
    json!({"spec": {"volumes": [{"name": "a"}, null, {"name": "v", "emptyDir": {}}]}})
)]
#[case::equal(
    json!({"spec": {"volumes": [{"emptyDir": {}, "name": "v"}]}}),
    json!({"spec": {"volumes": [{"emptyDir": {}, "name": "v"}]}})
)]
#[test_runner::test]
fn append_volume(#[case] mut pod: Value, #[case] expected: Value) {
    apply(&mut pod, Edit::AppendVolume(json!({"name": "v", "emptyDir": {}}))).unwrap();
    assert_eq!(text(&pod), text(&expected));
}

fn staging() -> Value {
    json!({
        "name": "stage", "image": "registry.example.com/payload:v1", "env": [{"name": "DIR", "value": "/p"}],
        "resources": {"limits": {"memory": "64Mi"}}, "volumeMounts": [{"name": "v", "mountPath": "/p"}]
    })
}

fn with(mut object: Value, key: &str, value: Value) -> Value {
    object[key] = value;
    object
}

#[rstest]
#[case::absent(json!(null), json!([staging()]))]
#[case::last(json!([{"name": "log", "restartPolicy": "Always"}]), json!([{"name": "log", "restartPolicy": "Always"}, staging()]))]
#[case::equal(json!([staging(), {"name": "z"}]), json!([staging(), {"name": "z"}]))]
#[case::with_defaults(
    json!([with(staging(), "terminationMessagePath", json!("/dev/termination-log"))]),
    json!([with(staging(), "terminationMessagePath", json!("/dev/termination-log"))])
)]
#[case::with_token_mounted(
    json!([with(staging(), "volumeMounts", json!([{"name": "v", "mountPath": "/p"}, {"name": "token", "mountPath": "/t"}]))]),
    json!([with(staging(), "volumeMounts", json!([{"name": "v", "mountPath": "/p"}, {"name": "token", "mountPath": "/t"}]))])
)]
#[case::with_limits_filled_in(
    json!([with(staging(), "resources", json!({"limits": {"cpu": "1", "memory": "64Mi"}}))]),
    json!([with(staging(), "resources", json!({"limits": {"cpu": "1", "memory": "64Mi"}}))])
)]
#[case::with_empty_command(json!([with(staging(), "command", json!([]))]), json!([with(staging(), "command", json!([]))]))]
#[test_runner::test]
fn append_init_container(#[case] init: Value, #[case] expected: Value) {
    let mut pod = json!({"spec": {"containers": [{"name": "vllm"}], "initContainers": init}});
    apply(&mut pod, Edit::AppendInitContainer(staging())).unwrap();
    assert_eq!(text(&pod["spec"]["initContainers"]), text(&expected));
}

#[rstest]
#[case::other_image(with(staging(), "image", json!("x")))]
#[case::command(with(staging(), "command", json!(["true"])))]
#[case::args(with(staging(), "args", json!(["x"])))]
#[case::sidecar(with(staging(), "restartPolicy", json!("Always")))]
#[case::no_mounts(with(staging(), "volumeMounts", json!([])))]
#[case::other_mount(with(staging(), "volumeMounts", json!([{"name": "w", "mountPath": "/p"}])))]
#[case::two_mounts_at_the_path(
    with(staging(), "volumeMounts", json!([{"name": "w", "mountPath": "/p/"}, {"name": "v", "mountPath": "/p"}]))
)]
#[case::only_the_name(json!({"name": "stage"}))]
#[test_runner::test]
fn another_init_container_of_that_name(#[case] existing: Value) {
    let mut pod = json!({"spec": {"containers": [], "initContainers": [existing]}});
    let error = apply(&mut pod, Edit::AppendInitContainer(staging())).unwrap_err();
    assert_eq!(
        error.to_string(),
        "spec.initContainers: found another entry \"stage\", expected no other init container of that name"
    );
}

#[test_runner::test]
fn init_container_named_like_a_container() {
    let mut pod = json!({"spec": {"containers": [{"name": "stage"}]}});
    assert_eq!(
        apply(&mut pod, Edit::AppendInitContainer(staging())).unwrap_err().path,
        "spec.containers"
    );
}

#[rstest]
#[case::absent(json!({"spec": {}}), &["a"], json!({"spec": {"imagePullSecrets": [{"name": "a"}]}}))]
#[case::nothing_to_add(json!({"spec": {}}), &[], json!({"spec": {}}))]
#[case::null_and_nothing_to_add(json!({"spec": {"imagePullSecrets": null}}), &[], json!({"spec": {"imagePullSecrets": null}}))]
#[case::each_once(
    json!({"spec": {"imagePullSecrets": [{"name": "u"}, {"name": "u"}, {"name": ""}]}}),
    &["b", "u", "b", "a"],
    json!({"spec": {"imagePullSecrets": [{"name": "u"}, {"name": "u"}, {"name": ""}, {"name": "b"}, {"name": "a"}]}})
)]
#[case::all_there(
    json!({"spec": {"imagePullSecrets": [{"name": "a", "x": 1}]}}),
    &["a"],
    json!({"spec": {"imagePullSecrets": [{"name": "a", "x": 1}]}})
)]
#[test_runner::test]
fn append_pull_secrets(#[case] mut pod: Value, #[case] names: &[&str], #[case] expected: Value) {
    apply(
        &mut pod,
        Edit::AppendPullSecrets(names.iter().map(|&name| name.to_owned()).collect()),
    )
    .unwrap();
    assert_eq!(text(&pod), text(&expected));
}

fn on_container(container: &Value, edit: Edit) -> Result<Value, EditError> {
    let mut pod = json!({"spec": {"containers": [{"name": "first"}, container]}});
    apply(&mut pod, edit)?;
    assert_eq!(pod["spec"]["containers"][0], json!({"name": "first"}));
    Ok(pod["spec"]["containers"][1].clone())
}

fn mount(value: Value) -> Edit {
    Edit::AppendMount {
        container: 1,
        mount: value,
    }
}

#[rstest]
#[case::absent(json!({}), json!({"volumeMounts": [{"name": "v", "mountPath": "/p", "readOnly": true}]}))]
#[case::null(json!({"volumeMounts": null}), json!({"volumeMounts": [{"name": "v", "mountPath": "/p", "readOnly": true}]}))]
#[case::same(json!({"volumeMounts": [{"name": "v", "mountPath": "/p"}]}), json!({"volumeMounts": [{"name": "v", "mountPath": "/p"}]}))]
#[case::same_path(json!({"volumeMounts": [{"name": "v", "mountPath": "//p/"}]}), json!({"volumeMounts": [{"name": "v", "mountPath": "//p/"}]}))]
#[case::elsewhere(
    json!({"volumeMounts": [{"name": "v", "mountPath": "/q"}]}),
    json!({"volumeMounts": [{"name": "v", "mountPath": "/q"}, {"name": "v", "mountPath": "/p", "readOnly": true}]})
)]
#[test_runner::test]
fn append_mount(#[case] container: Value, #[case] expected: Value) {
    let edit = mount(json!({"name": "v", "mountPath": "/p", "readOnly": true}));
    assert_eq!(text(&on_container(&container, edit).unwrap()), text(&expected));
}

#[rstest]
#[case::another_volume(json!({"volumeMounts": [{"name": "w", "mountPath": "/p/"}]}), "spec.containers[1].volumeMounts")]
#[case::a_part_of_it(json!({"volumeMounts": [{"name": "v", "mountPath": "/p", "subPath": "x"}]}), "spec.containers[1].volumeMounts")]
#[case::read_only(json!({"volumeMounts": [{"name": "v", "mountPath": "/p", "readOnly": true}]}), "spec.containers[1].volumeMounts")]
#[case::a_device(json!({"volumeDevices": [{"name": "w", "devicePath": "/p"}]}), "spec.containers[1].volumeDevices")]
#[case::wrong_type(json!({"volumeMounts": {}}), "spec.containers[1].volumeMounts")]
#[test_runner::test]
fn mount_path_taken(#[case] container: Value, #[case] path: &str) {
    let error = on_container(&container, mount(json!({"name": "v", "mountPath": "/p"}))).unwrap_err();
    assert_eq!(error.path, path);
}

#[rstest]
#[case::absent(json!({}), json!({"env": [{"name": "A", "value": "0"}]}))]
#[case::last(
    json!({"env": [{"name": "B", "value": "$(C)"}, {"name": "B"}]}),
    json!({"env": [{"name": "B", "value": "$(C)"}, {"name": "B"}, {"name": "A", "value": "0"}]})
)]
#[case::equal(json!({"env": [{"name": "A", "value": "0"}, 7]}), json!({"env": [{"name": "A", "value": "0"}, 7]}))]
#[test_runner::test]
fn append_env(#[case] container: Value, #[case] expected: Value) {
    let edit = Edit::AppendEnv {
        container: 1,
        entry: json!({"name": "A", "value": "0"}),
    };
    assert_eq!(text(&on_container(&container, edit).unwrap()), text(&expected));
}

#[rstest]
#[case::other_value(json!({"env": [{"name": "A", "value": "42"}]}))]
#[case::value_from(json!({"env": [{"name": "A", "valueFrom": {}}]}))]
#[case::last_one_counts(json!({"env": [{"name": "A", "value": "0"}, {"name": "A", "value": "1"}]}))]
#[test_runner::test]
fn variable_taken(#[case] container: Value) {
    let edit = Edit::AppendEnv {
        container: 1,
        entry: json!({"name": "A", "value": "0"}),
    };
    assert_eq!(
        on_container(&container, edit).unwrap_err().path,
        "spec.containers[1].env"
    );
}

fn prepend() -> Edit {
    Edit::PrependPath {
        container: 1,
        name: "PYTHONPATH".into(),
        entry: "/p".into(),
    }
}

#[rstest]
#[case::absent(json!({}), json!({"env": [{"name": "PYTHONPATH", "value": "/p"}]}))]
#[case::null(json!({"env": null, "envFrom": []}), json!({"env": [{"name": "PYTHONPATH", "value": "/p"}], "envFrom": []}))]
#[case::literal(
    json!({"env": [{"name": "A"}, {"name": "PYTHONPATH", "value": "/a:/b", "x": 1}, {"name": "B"}]}),
    json!({"env": [{"name": "A"}, {"name": "PYTHONPATH", "value": "/p:/a:/b", "x": 1}, {"name": "B"}]})
)]
#[case::empty(json!({"env": [{"name": "PYTHONPATH", "value": ""}]}), json!({"env": [{"name": "PYTHONPATH", "value": "/p"}]}))]
#[case::no_value(json!({"env": [{"name": "PYTHONPATH"}]}), json!({"env": [{"name": "PYTHONPATH", "value": "/p"}]}))]
#[case::value_from_null(
    json!({"env": [{"name": "PYTHONPATH", "value": "/a", "valueFrom": null}]}),
    json!({"env": [{"name": "PYTHONPATH", "value": "/p:/a", "valueFrom": null}]})
)]
#[case::first(json!({"env": [{"name": "PYTHONPATH", "value": "/p:/a"}]}), json!({"env": [{"name": "PYTHONPATH", "value": "/p:/a"}]}))]
#[case::somewhere(json!({"env": [{"name": "PYTHONPATH", "value": "/a:/p/"}]}), json!({"env": [{"name": "PYTHONPATH", "value": "/a:/p/"}]}))]
#[case::longer_name(json!({"env": [{"name": "PYTHONPATH", "value": "/pp"}]}), json!({"env": [{"name": "PYTHONPATH", "value": "/p:/pp"}]}))]
#[case::own_entry_beats_env_from(
    json!({"env": [{"name": "PYTHONPATH", "value": "/a"}], "envFrom": [{}]}),
    json!({"env": [{"name": "PYTHONPATH", "value": "/p:/a"}], "envFrom": [{}]})
)]
#[case::every_one_of_several(
    json!({"env": [{"name": "PYTHONPATH"}, {"name": "PYTHONPATH", "value": "/a"}, {"name": "PYTHONPATH", "value": "/p"}]}),
    json!({"env": [{"name": "PYTHONPATH", "value": "/p"}, {"name": "PYTHONPATH", "value": "/p:/a"}, {"name": "PYTHONPATH", "value": "/p"}]})
)]
#[case::env_from_is_referred_to(
    json!({"envFrom": [{"configMapRef": {}}]}),
    json!({"envFrom": [{"configMapRef": {}}], "env": [{"name": "PYTHONPATH", "value": "/p:$(PYTHONPATH)"}]})
)]
#[case::env_from_with_a_prefix_that_fits(
    json!({"envFrom": [{"prefix": "PYTHON"}]}),
    json!({"envFrom": [{"prefix": "PYTHON"}], "env": [{"name": "PYTHONPATH", "value": "/p:$(PYTHONPATH)"}]})
)]
#[case::env_from_with_another_prefix(
    json!({"envFrom": [{"prefix": "APP_", "secretRef": {}}]}),
    json!({"envFrom": [{"prefix": "APP_", "secretRef": {}}], "env": [{"name": "PYTHONPATH", "value": "/p"}]})
)]
#[test_runner::test]
fn prepend_path(#[case] container: Value, #[case] expected: Value) {
    assert_eq!(text(&on_container(&container, prepend()).unwrap()), text(&expected));
}

#[rstest]
#[case::value_from(json!({"env": [{"name": "PYTHONPATH", "valueFrom": {"configMapKeyRef": {}}}]}), "\"PYTHONPATH\" set by valueFrom")]
#[case::value_from_behind_a_literal(
    json!({"env": [{"name": "PYTHONPATH", "value": "/a"}, {"name": "PYTHONPATH", "valueFrom": {"secretKeyRef": {}}}]}),
    "\"PYTHONPATH\" set by valueFrom"
)]
#[case::wrong_type(json!({"env": [{"name": "PYTHONPATH", "value": 1}]}), "the number 1")]
#[case::wrong_list(json!({"env": "PYTHONPATH=/a"}), "the string \"PYTHONPATH=/a\"")]
#[case::wrong_source(json!({"envFrom": true}), "the boolean true")]
#[test_runner::test]
fn path_cannot_be_prefixed(#[case] container: Value, #[case] found: &str) {
    assert_eq!(on_container(&container, prepend()).unwrap_err().found, found);
}

#[rstest]
#[case::metadata(json!({"metadata": "x"}), Edit::SetAnnotation { key: "a".into(), value: "b".into() }, "metadata")]
#[case::metadata_on_removal(json!({"metadata": 1}), Edit::RemoveAnnotation { key: "a".into() }, "metadata")]
#[case::annotations(json!({"metadata": {"annotations": []}}), Edit::SetAnnotation { key: "a".into(), value: "b".into() }, "metadata.annotations")]
#[case::annotations_on_removal(json!({"metadata": {"annotations": "x"}}), Edit::RemoveAnnotation { key: "a".into() }, "metadata.annotations")]
#[case::no_pod(json!([]), Edit::SetAnnotation { key: "a".into(), value: "b".into() }, "pod")]
#[case::no_spec(json!({}), Edit::SetHostIpc, "spec")]
#[case::spec(json!({"spec": []}), Edit::SetHostIpc, "spec")]
#[case::host_ipc(json!({"spec": {"hostIPC": "true"}}), Edit::SetHostIpc, "spec.hostIPC")]
#[case::service_links(json!({"spec": {"enableServiceLinks": 0}}), Edit::DisableServiceLinks, "spec.enableServiceLinks")]
#[case::volumes(json!({"spec": {"volumes": {}}}), Edit::AppendVolume(json!({"name": "v"})), "spec.volumes")]
#[case::volume_taken(json!({"spec": {"volumes": [{"name": "v", "hostPath": {}}]}}), Edit::AppendVolume(json!({"name": "v"})), "spec.volumes")]
#[case::volume_without_name(json!({"spec": {}}), Edit::AppendVolume(json!({})), "spec.volumes[].name")]
#[case::init_containers(json!({"spec": {"initContainers": 1}}), Edit::AppendInitContainer(json!({"name": "v"})), "spec.initContainers")]
#[case::pull_secrets(json!({"spec": {"imagePullSecrets": "a"}}), Edit::AppendPullSecrets(vec!["a".into()]), "spec.imagePullSecrets")]
#[case::no_container(json!({"spec": {"containers": [{}]}}), prepend(), "spec.containers[1]")]
#[case::containers(json!({"spec": {"containers": {}}}), prepend(), "spec.containers")]
#[case::container(json!({"spec": {"containers": [1, 2]}}), prepend(), "spec.containers[1]")]
#[case::mount_without_path(json!({"spec": {"containers": [{}, {}]}}), mount(json!({"name": "v"})), "spec.containers[1].volumeMounts[].mountPath")]
#[test_runner::test]
fn wrong_types_are_errors(#[case] mut pod: Value, #[case] edit: Edit, #[case] path: &str) {
    assert_eq!(apply(&mut pod, edit).unwrap_err().path, path);
}

#[test_runner::test]
fn a_plan_is_applied_whole_or_not_at_all() {
    let before = json!({"spec": {"containers": [{"name": "vllm"}], "volumes": [{"name": "w"}]}});
    let mut pod = before.clone();
    let mut plan = Plan::new();
    assert!(plan.is_empty());
    assert_eq!(plan.apply(&mut pod), Ok(false));
    plan.push(Edit::SetHostIpc);
    plan.push(Edit::AppendVolume(json!({"name": "v"})));
    plan.extend([Edit::AppendVolume(json!({"name": "w", "emptyDir": {}}))]);
    assert_eq!(plan.apply(&mut pod).unwrap_err().path, "spec.volumes");
    assert_eq!(pod, before);
    plan.edits.pop();
    assert_eq!(plan.apply(&mut pod), Ok(true));
    assert_eq!(
        pod,
        json!({"spec": {"containers": [{"name": "vllm"}], "volumes": [{"name": "w"}, {"name": "v"}], "hostIPC": true}})
    );
}

#[test_runner::test]
fn later_edits_see_earlier_ones() {
    let mut pod = json!({"spec": {}});
    let plan = Plan::from(vec![
        Edit::AppendVolume(json!({"name": "v"})),
        Edit::AppendVolume(json!({"name": "v", "x": 1})),
    ]);
    assert!(plan.apply(&mut pod).is_err());
    assert_eq!(pod, json!({"spec": {}}));
}
