//! What holds for every Pod and every plan.
//!
//! The Pods are made of what an API server may hand over and of what it would refuse: unknown fields, `null`s, empty lists,
//! duplicates, wrong types. Words of command lines come from a small set, so that flags repeat and meet in all spellings.

#![cfg(not(target_arch = "wasm32"))]
// clippy.toml allows these in tests, but not in the functions that tests call.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use json_patch::PatchOperation;
use pod_edit::args::{
    BLOCK_SIZE, COMPILATION_CONFIG, CommandLine, ENABLE_CHUNKED_PREFILL, ENFORCE_EAGER, Flag, FlagKind, FlagUse, Form,
    KV_TRANSFER_CONFIG, PIPELINE_PARALLEL_SIZE,
};
use pod_edit::{Edit, Plan, Tail};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

const FLAGS: [&Flag; 6] = [
    &KV_TRANSFER_CONFIG,
    &BLOCK_SIZE,
    &PIPELINE_PARALLEL_SIZE,
    &COMPILATION_CONFIG,
    &ENABLE_CHUNKED_PREFILL,
    &ENFORCE_EAGER,
];

const WORDS: [&str; 45] = [
    "m",
    "org/m",
    "--model",
    "--served-model-name",
    "-q",
    "-",
    "--",
    "-1",
    "- x",
    "",
    "x=y",
    "16",
    "64",
    "{}",
    "{\"a\": 1}",
    "False",
    "True",
    "--kv-transfer-config",
    "--kv_transfer_config",
    "--kv-t",
    "--kv-t={}",
    "--kv-transfer-config={\"a\":1}",
    "--kv-transfer-config.a",
    "--kv-transfer-config.a.b=1",
    "--kv_t.l+",
    "--block-size",
    "--block_size=16",
    "--bl=64",
    "--block-size.x",
    "-pp",
    "-pp=2",
    "--pipeline-parallel-size",
    "--pi=1",
    "-cc",
    "-cc={}",
    "-cc.a",
    "-O",
    "-O3",
    "--compilation-config",
    "--hf-overrides.a",
    "--enable-chunked-prefill",
    "--no-enable-chunked-prefill",
    "--disable-chunked-prefill",
    "--enforce-eager",
    "--enforce-eager=False",
];

/// Something of the wrong type.
fn odd() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!(7)),
        Just(json!("text")),
        Just(json!([])),
        Just(json!({})),
        Just(json!([null, 1, {"name": 3}])),
        Just(json!({"name": null})),
    ]
}

/// Mostly what belongs there.
fn mostly(usual: impl Strategy<Value = Value> + 'static) -> impl Strategy<Value = Option<Value>> {
    prop_oneof![2 => Just(None), 12 => usual.prop_map(Some), 1 => odd().prop_map(Some)]
}

fn list(of: impl Strategy<Value = Value>, most: usize) -> impl Strategy<Value = Value> {
    prop::collection::vec(of, 0..most).prop_map(Value::Array)
}

fn pick(values: &'static [&'static str]) -> impl Strategy<Value = Value> {
    prop::sample::select(values).prop_map(Value::from)
}

/// An object of the given members in any order, with a few that nobody knows.
fn object(members: Vec<(&'static str, BoxedStrategy<Option<Value>>)>) -> impl Strategy<Value = Value> {
    let (names, values): (Vec<_>, Vec<_>) = members.into_iter().unzip();
    (values, prop::option::of(odd()), any::<bool>()).prop_map(move |(values, unknown, unknown_first)| {
        let known = names
            .iter()
            .zip(values)
            .filter_map(|(name, value)| Some(((*name).to_owned(), value?)));
        let unknown = unknown.map(|value| ("someNewerField".to_owned(), value));
        let mut members: Vec<(String, Value)> = known.collect();
        members.splice(
            if unknown_first {
                0..0
            } else {
                members.len()..members.len()
            },
            unknown,
        );
        Value::Object(members.into_iter().collect::<Map<_, _>>())
    })
}

fn words() -> impl Strategy<Value = Value> {
    list(prop_oneof![30 => pick(&WORDS), 1 => odd()], 9)
}

fn command() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => Just(json!([])),
        2 => Just(json!(["vllm", "serve"])),
        1 => Just(json!(["python3", "-m", "vllm.entrypoints.openai.api_server"])),
        2 => words().prop_map(|words| {
            let mut line = vec![json!("vllm"), json!("serve")];
            line.extend(words.as_array().unwrap().iter().take(3).cloned());
            Value::Array(line)
        }),
    ]
}

fn variable() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => (pick(&["PYTHONPATH", "A", "B"]), pick(&["", "/a", "/p:/a", "0", "$(A)"])).prop_map(|(name, value)| json!({"name": name, "value": value})),
        1 => pick(&["PYTHONPATH", "A"]).prop_map(|name| json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}})),
        1 => odd(),
    ]
}

fn mount() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => (pick(&["v", "w"]), pick(&["/p", "/p/", "/q", "/dev/shm"])).prop_map(|(name, path)| json!({"name": name, "mountPath": path})),
        1 => odd(),
    ]
}

fn container() -> impl Strategy<Value = Value> {
    prop_oneof![
        20 => object(vec![
            ("name", mostly(pick(&["vllm", "envoy", "stage"])).boxed()),
            ("command", mostly(command()).boxed()),
            ("args", mostly(words()).boxed()),
            ("env", mostly(list(variable(), 4)).boxed()),
            ("envFrom", mostly(prop_oneof![5 => Just(json!([])), 1 => Just(json!([{"secretRef": {}}]))]).boxed()),
            ("volumeMounts", mostly(list(mount(), 3)).boxed()),
        ]),
        1 => odd(),
    ]
}

fn pod() -> impl Strategy<Value = Value> {
    let volume = || {
        prop_oneof![
            6 => pick(&["v", "w", "x"]).prop_map(|name| json!({"name": name, "emptyDir": {}})),
            1 => pick(&["v", "w"]).prop_map(|name| json!({"name": name, "hostPath": {"path": "/"}})),
            1 => odd(),
        ]
    };
    let annotations = prop::collection::vec(
        (prop::sample::select(&["a/b", "c", "a~b", "d"][..]), pick(&["1", "2"])),
        0..4,
    )
    .prop_map(|entries| {
        Value::Object(
            entries
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
        )
    });
    object(vec![
        ("apiVersion", Just(Some(json!("v1"))).boxed()),
        (
            "metadata",
            mostly(object(vec![
                ("creationTimestamp", Just(Some(Value::Null)).boxed()),
                ("annotations", mostly(annotations).boxed()),
            ]))
            .boxed(),
        ),
        (
            "spec",
            mostly(object(vec![
                (
                    "containers",
                    mostly(prop::collection::vec(container(), 1..4).prop_map(Value::Array)).boxed(),
                ),
                (
                    "initContainers",
                    mostly(list(
                        pick(&["stage", "log"]).prop_map(|name| json!({"name": name, "image": "i"})),
                        3,
                    ))
                    .boxed(),
                ),
                ("volumes", mostly(list(volume(), 3)).boxed()),
                (
                    "imagePullSecrets",
                    mostly(list(pick(&["s", "t"]).prop_map(|name| json!({"name": name})), 3)).boxed(),
                ),
                ("hostIPC", mostly(any::<bool>().prop_map(Value::from)).boxed()),
                (
                    "enableServiceLinks",
                    mostly(any::<bool>().prop_map(Value::from)).boxed(),
                ),
            ]))
            .boxed(),
        ),
    ])
}

fn flag_edit() -> impl Strategy<Value = Edit> {
    (0..FLAGS.len(), 0..2usize, any::<bool>()).prop_map(|(flag, container, on)| {
        let flag = FLAGS[flag];
        match flag.kind {
            FlagKind::Switch => Edit::SetSwitch { container, flag, on },
            FlagKind::Json => Edit::SetFlag {
                container,
                flag,
                value: if on { "{\"a\":1}" } else { "{}" }.to_owned(),
            },
            FlagKind::Value => Edit::SetFlag {
                container,
                flag,
                value: if on { "64" } else { "1" }.to_owned(),
            },
        }
    })
}

fn edit() -> impl Strategy<Value = Edit> {
    let key = || prop::sample::select(&["a/b", "a~b", "new"][..]).prop_map(str::to_owned);
    let container = || 0..2usize;
    prop_oneof![
        2 => (key(), prop::sample::select(&["1", "3"][..])).prop_map(|(key, value)| Edit::SetAnnotation { key, value: value.to_owned() }),
        2 => key().prop_map(|key| Edit::RemoveAnnotation { key }),
        1 => Just(Edit::SetHostIpc),
        1 => Just(Edit::DisableServiceLinks),
        1 => Just(Edit::AppendVolume(json!({"name": "v", "emptyDir": {}}))),
        1 => Just(Edit::AppendInitContainer(json!({"name": "stage", "image": "i"}))),
        1 => Just(Edit::AppendPullSecrets(vec!["s".to_owned(), "u".to_owned()])),
        1 => container().prop_map(|container| Edit::AppendMount { container, mount: json!({"name": "v", "mountPath": "/p"}) }),
        1 => container().prop_map(|container| Edit::AppendEnv { container, entry: json!({"name": "A", "value": "0"}) }),
        1 => container().prop_map(|container| Edit::PrependPath { container, name: "PYTHONPATH".to_owned(), entry: "/p".to_owned() }),
        1 => container().prop_map(|container| Edit::AppendArgs { container, tokens: vec!["--kv-transfer-config".to_owned(), "{}".to_owned()] }),
        1 => container().prop_map(|container| Edit::OrderTail { list: Tail::Env(container), order: vec![
            json!({"name": "A", "value": "0"}), json!({"name": "PYTHONPATH", "value": "/p"}),
        ] }),
        5 => flag_edit(),
    ]
}

/// The beginnings of the paths that an edit may touch.
fn owned(edit: &Edit) -> Vec<String> {
    let in_container = |container: &usize, member: &str| vec![format!("/spec/containers/{container}/{member}")];
    match edit {
        Edit::SetAnnotation { key, .. } | Edit::RemoveAnnotation { key } => {
            vec![format!(
                "/metadata/annotations/{}",
                key.replace('~', "~0").replace('/', "~1")
            )]
        }
        Edit::SetHostIpc => vec!["/spec/hostIPC".to_owned()],
        Edit::DisableServiceLinks => vec!["/spec/enableServiceLinks".to_owned()],
        Edit::AppendVolume(_) => vec!["/spec/volumes".to_owned()],
        Edit::AppendInitContainer(_) => vec!["/spec/initContainers".to_owned()],
        Edit::AppendPullSecrets(_) => vec!["/spec/imagePullSecrets".to_owned()],
        Edit::AppendMount { container, .. } => in_container(container, "volumeMounts"),
        Edit::AppendEnv { container, .. } | Edit::PrependPath { container, .. } => in_container(container, "env"),
        Edit::OrderTail { list, .. } => match list {
            Tail::Volumes => vec!["/spec/volumes".to_owned()],
            Tail::Mounts(container) => in_container(container, "volumeMounts"),
            Tail::Env(container) => in_container(container, "env"),
        },
        Edit::AppendArgs { container, .. } | Edit::SetFlag { container, .. } | Edit::SetSwitch { container, .. } => {
            in_container(container, "args")
        }
    }
}

/// Whether a path is one of the owned ones or leads into it.
fn within(path: &str, owned: &[String]) -> bool {
    owned.iter().any(|prefix| {
        path.strip_prefix(prefix.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// `metadata` and `annotations` that are absent or `null` come as a whole.
fn creates_annotations(path: &str, value: &Value, before: &Value, plan: &Plan) -> bool {
    let absent = before.pointer(path).is_none_or(Value::is_null);
    let sets = plan.edits.iter().any(|edit| matches!(edit, Edit::SetAnnotation { .. }));
    absent && sets && value.is_object() && (path == "/metadata" || path == "/metadata/annotations")
}

fn is_args(path: &str) -> bool {
    path.starts_with("/spec/containers/") && path.contains("/args/")
}

/// Every member of `before` is in `after`, in the same order among the members that both have.
fn keeps_order(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            let kept: Vec<&String> = before.keys().filter(|key| after.contains_key(*key)).collect();
            let now: Vec<&String> = after.keys().filter(|key| before.contains_key(*key)).collect();
            kept == now
                && kept
                    .iter()
                    .all(|key| keeps_order(&before[key.as_str()], &after[key.as_str()]))
        }
        (Value::Array(before), Value::Array(after)) => before
            .iter()
            .zip(after)
            .all(|(before, after)| keeps_order(before, after)),
        _ => true,
    }
}

/// A plan that removes an annotation and sets it again puts it last.
fn moves_own_annotation(plan: &Plan) -> bool {
    let mut removed: Vec<&String> = Vec::new();
    plan.edits.iter().any(|edit| match edit {
        Edit::RemoveAnnotation { key } => {
            removed.push(key);
            false
        }
        Edit::SetAnnotation { key, .. } => removed.contains(&key),
        _ => false,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn only_owned_paths_change(before in pod(), edits in prop::collection::vec(edit(), 1..5)) {
        let plan = Plan::from(edits);
        let mut after = before.clone();
        match plan.apply(&mut after) {
            Err(error) => {
                prop_assert_eq!(serde_json::to_string(&after).unwrap(), serde_json::to_string(&before).unwrap());
                prop_assert!(!error.path.is_empty() && !error.found.is_empty() && !error.expected.is_empty());
            }
            Ok(changed) => {
                prop_assert_eq!(changed, after != before);
                prop_assert!(keeps_order(&before, &after) || moves_own_annotation(&plan));
                let owned: Vec<String> = plan.edits.iter().flat_map(owned).collect();
                for operation in json_patch::diff(&before, &after).0 {
                    let path = operation.path().to_string();
                    match operation {
                        PatchOperation::Remove(_) => {
                            prop_assert!(path.starts_with("/metadata/annotations/") || is_args(&path), "removes {}", path);
                            prop_assert!(within(&path, &owned), "removes {}", path);
                        }
                        PatchOperation::Add(add) => {
                            prop_assert!(within(&path, &owned) || creates_annotations(&path, &add.value, &before, &plan), "adds {}", path);
                        }
                        PatchOperation::Replace(replace) => {
                            prop_assert!(within(&path, &owned) || creates_annotations(&path, &replace.value, &before, &plan), "replaces {}", path);
                        }
                        other => prop_assert!(false, "{:?}", other),
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_edit_is_done_once(before in pod(), edit in edit()) {
        let plan = Plan::from(vec![edit]);
        let mut once = before.clone();
        if plan.apply(&mut once).is_ok() {
            let mut twice = once.clone();
            prop_assert_eq!(plan.apply(&mut twice), Ok(false));
            prop_assert_eq!(&twice, &once);
            prop_assert!(plan.replaces(&once).is_empty());
        }
    }

    #[test]
    fn a_set_flag_is_there_exactly_once(command in command(), words in words(), edit in flag_edit()) {
        let container = json!({"command": command, "args": words});
        let mut after = json!({"spec": {"containers": [container, container]}});
        if Plan::from(vec![edit.clone()]).apply(&mut after).is_err() {
            return Ok(());
        }
        let (index, flag, wanted) = match &edit {
            Edit::SetFlag { container, flag, value } => (*container, *flag, FlagUse::Text(value.clone())),
            Edit::SetSwitch { container, flag, on } => (*container, *flag, if *on { FlagUse::On } else { FlagUse::Off }),
            other => panic!("{other:?}"),
        };
        let container = &after["spec"]["containers"][index];
        let line = CommandLine::of(container);
        let same_json = |found: &str, wanted: &str| {
            let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
            flag.kind == FlagKind::Json && parse(found).is_some() && parse(found) == parse(wanted)
        };
        match (line.effective(flag), &wanted) {
            (Some(FlagUse::Text(found)), FlagUse::Text(wanted)) => prop_assert!(found == *wanted || same_json(&found, wanted)),
            (found, wanted) => prop_assert_eq!(found.as_ref(), Some(wanted)),
        }
        let fixed = container["command"].as_array().map_or(0, Vec::len);
        let (in_command, in_args): (Vec<_>, Vec<_>) = line.occurrences(flag).into_iter().partition(|found| found.at < fixed);
        if in_command.is_empty() {
            prop_assert_eq!(in_args.len(), 1);
        } else {
            prop_assert!(in_args.len() <= 1);
        }
        let works = |form| matches!(form, Form::Pair(_) | Form::Joined(_) | Form::On | Form::Off);
        prop_assert!(in_command.iter().chain(&in_args).all(|found| works(found.form)));
    }

    #[test]
    fn other_flags_keep_what_they_come_to(words in words(), edit in flag_edit()) {
        let mut after = json!({"spec": {"containers": [{"args": words}, {"args": words}]}});
        let before = after.clone();
        let (Edit::SetFlag { container, flag, .. } | Edit::SetSwitch { container, flag, .. }) = edit.clone() else { panic!() };
        if Plan::from(vec![edit]).apply(&mut after).is_err() {
            return Ok(());
        }
        let line = CommandLine::of(&before["spec"]["containers"][container]);
        let edited = CommandLine::of(&after["spec"]["containers"][container]);
        for other in FLAGS.into_iter().filter(|other| other.name != flag.name) {
            prop_assert_eq!(line.effective(other), edited.effective(other), "{}", other.name);
        }
        prop_assert_eq!(line.launcher(), edited.launcher());
    }

    #[test]
    fn reading_never_panics(pod in pod(), name in "[a-z_.=+-]{0,12}") {
        for container in pod_edit::container::containers(&pod) {
            let line = CommandLine::of(container);
            let _ = (line.launcher(), line.can_append(), line.config_file());
            for flag in FLAGS {
                let _ = line.effective(flag);
            }
            let _ = (pod_edit::env::state(container, &name), pod_edit::volume::mount_at(container, &name));
            let _ = (pod_edit::container::wants_accelerator(container), pod_edit::container::is_known_proxy(container));
        }
        let line = json!({"args": [format!("--kv-transfer-config{name}"), name, format!("-cc.{name}")]});
        for flag in FLAGS {
            let _ = CommandLine::of(&line).effective(flag);
        }
    }
}
