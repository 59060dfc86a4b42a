//! Setting flags: exactly one occurrence in the end, and nothing else moved.

// clippy.toml allows these in tests, but not in the functions that tests call.
#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

#[cfg(not(target_arch = "wasm32"))]
use core::prelude::v1 as test_runner;
use pod_edit::args::{
    ATTENTION_BACKEND, BLOCK_SIZE, COMPILATION_CONFIG, CommandLine, ENABLE_CHUNKED_PREFILL, ENFORCE_EAGER, Flag,
    KV_TRANSFER_CONFIG, PIPELINE_PARALLEL_SIZE,
};
use pod_edit::{Edit, EditError, Plan};
use rstest::rstest;
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
mod test_runner {
    pub use wasm_bindgen_test::wasm_bindgen_test as test;
}

fn pod(command: &[&str], args: &[&str]) -> Value {
    json!({"spec": {"containers": [{"name": "vllm", "command": command, "args": args}]}})
}

fn set(flag: &'static Flag, value: &str) -> Edit {
    Edit::SetFlag {
        container: 0,
        flag,
        value: value.to_owned(),
    }
}

fn switch(flag: &'static Flag, on: bool) -> Edit {
    Edit::SetSwitch { container: 0, flag, on }
}

/// Applies twice; the second time must change nothing.
fn apply(pod: &mut Value, edit: Edit) -> Result<Vec<String>, EditError> {
    let before = pod.clone();
    let plan = Plan::from(vec![edit]);
    let replaced = plan.replaces(pod);
    let changed = plan.apply(pod).inspect_err(|_| assert_eq!(*pod, before))?;
    assert_eq!(changed, *pod != before);
    let once = pod.clone();
    assert_eq!(plan.apply(pod), Ok(false));
    assert_eq!(*pod, once);
    assert_eq!(plan.replaces(pod), Vec::<String>::new());
    Ok(replaced)
}

fn args(pod: &Value) -> Vec<&str> {
    pod["spec"]["containers"][0]["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap())
        .collect()
}

#[rstest]
#[case::absent(&["m"], &["m", "--block-size", "64"], &[])]
#[case::equal(&["--block-size", "64", "m"], &["--block-size", "64", "m"], &[])]
#[case::equal_joined(&["--block_size=64", "m"], &["--block_size=64", "m"], &[])]
#[case::in_place(&["--block-size", "16", "-q", "x"], &["--block-size", "64", "-q", "x"], &["--block-size 16"])]
#[case::in_place_joined(&["--block_s=16", "-q"], &["--block_s=64", "-q"], &["--block_s=16"])]
#[case::twice(
    &["--block-size", "16", "--model", "m", "--block-size", "32"],
    &["--model", "m", "--block-size", "64"],
    &["--block-size 16", "--block-size 32"]
)]
#[case::twice_one_right(&["--block-size=64", "--model", "m", "--bl", "32"], &["--model", "m", "--block-size", "64"], &["--bl 32"])]
#[case::twice_the_same(&["--block-size=64", "-q", "x", "--block-size=64"], &["-q", "x", "--block-size", "64"], &[])]
#[case::value_missing(&["--block-size", "--model", "m"], &["--model", "m", "--block-size", "64"], &["--block-size"])]
#[case::last_word(&["--model", "m", "--block-size"], &["--model", "m", "--block-size", "64"], &["--block-size"])]
#[case::value_of_another(&["--served-model-name", "--block-size"], &["--served-model-name", "--block-size", "64"], &["--block-size"])]
#[case::dotted(&["--block-size.a", "1", "-q", "x"], &["-q", "x", "--block-size", "64"], &["--block-size.a 1"])]
#[case::before_double_dash(&["m", "--", "x"], &["m", "--block-size", "64", "--", "x"], &[])]
#[case::removed_before_double_dash(&["--block-size", "--", "x"], &["--block-size", "64", "--", "x"], &["--block-size"])]
#[case::behind_double_dash(&["--", "--block-size", "16"], &["--block-size", "64", "--", "--block-size", "16"], &[])]
#[case::model_behind_a_removed_one(
    &["--served-model-name", "a", "--block-size", "1", "--block-size", "2", "org/m"],
    &["--served-model-name", "a", "--block-size", "64", "org/m"],
    &["--block-size 1", "--block-size 2"]
)]
#[case::dotted_is_no_separator(
    &["--served-model-name", "a", "--block-size.x=1", "b", "--block-size.y", "2", "c"],
    &["--served-model-name", "a", "b", "c", "--block-size", "64"],
    &["--block-size.x=1", "--block-size.y 2"]
)]
#[case::dotted_between_flag_and_value(
    &["--block-size", "--hf-overrides.a", "1", "16", "m"],
    &["--block-size", "--hf-overrides.a", "1", "64", "m"],
    &["--block-size 16"]
)]
#[case::own_dotted_between_flag_and_value(
    &["--block-size", "--block-size.x", "1", "16", "-q", "x"],
    &["-q", "x", "--block-size", "64"],
    &["--block-size 16", "--block-size.x 1"]
)]
#[case::model_in_front(&["org/m", "--block-size", "1", "x", "--block-size", "2"], &["org/m", "x", "--block-size", "64"], &["--block-size 1", "--block-size 2"])]
#[test_runner::test]
fn block_size(#[case] before: &[&str], #[case] after: &[&str], #[case] replaced: &[&str]) {
    let mut pod = pod(&[], before);
    assert_eq!(apply(&mut pod, set(&BLOCK_SIZE, "64")).unwrap(), replaced);
    assert_eq!(args(&pod), after);
}

#[rstest]
#[case::alias_in_place(&PIPELINE_PARALLEL_SIZE, "1", &["-pp", "2"], &["-pp", "1"])]
#[case::alias_joined(&PIPELINE_PARALLEL_SIZE, "1", &["-pp=2"], &["-pp=1"])]
#[case::alias_and_long(&PIPELINE_PARALLEL_SIZE, "1", &["-pp", "2", "--pipeline_parallel_size=4"], &["--pipeline-parallel-size", "1"])]
#[case::json_laid_out_otherwise(&COMPILATION_CONFIG, r#"{"a":"B"}"#, &["-cc", r#"{ "a": "B" }"#], &["-cc", r#"{ "a": "B" }"#])]
#[case::json_other(&COMPILATION_CONFIG, r#"{"a":"B"}"#, &["-cc={}"], &[r#"-cc={"a":"B"}"#])]
#[case::json_dotted(&COMPILATION_CONFIG, r#"{"a":"B"}"#, &["-cc.a", "B", "m"], &["m", "--compilation-config", r#"{"a":"B"}"#])]
#[case::old_short_name_is_not_kept(&COMPILATION_CONFIG, "{}", &["-O", "{\"level\":3}"], &["--compilation-config", "{}"])]
#[case::level_is_not_touched(&COMPILATION_CONFIG, "{}", &["-O", "3", "-O3"], &["-O", "3", "-O3", "--compilation-config", "{}"])]
#[case::text_is_not_json(&BLOCK_SIZE, "64", &["--block-size", " 64"], &["--block-size", "64"])]
#[case::value_like_a_flag(&ATTENTION_BACKEND, "-x", &["m"], &["m", "--attention-backend=-x"])]
#[case::value_like_a_flag_in_place(&ATTENTION_BACKEND, "--x", &["--attention-backend", "y", "m"], &["--attention-backend=--x", "m"])]
#[case::negative_number(&ATTENTION_BACKEND, "-1", &[], &["--attention-backend", "-1"])]
#[case::negative_fraction_would_read_as_dotted(&ATTENTION_BACKEND, "-1.5", &[], &["--attention-backend=-1.5"])]
#[case::empty_value(&KV_TRANSFER_CONFIG, "", &["--kv-transfer-config", "x"], &["--kv-transfer-config", ""])]
#[test_runner::test]
fn other_flags(#[case] flag: &'static Flag, #[case] value: &str, #[case] before: &[&str], #[case] after: &[&str]) {
    let mut pod = pod(&[], before);
    apply(&mut pod, set(flag, value)).unwrap();
    assert_eq!(args(&pod), after);
}

#[rstest]
#[case::absent(&ENABLE_CHUNKED_PREFILL, false, &["m"], &["m", "--no-enable-chunked-prefill"], &[])]
#[case::there(&ENABLE_CHUNKED_PREFILL, false, &["--no-enable-ch", "m"], &["--no-enable-ch", "m"], &[])]
#[case::there_as_disable(&ENABLE_CHUNKED_PREFILL, false, &["--disable-chunked-prefill"], &["--disable-chunked-prefill"], &[])]
#[case::opposite(&ENABLE_CHUNKED_PREFILL, false, &["--enable-chunked-prefill", "m"], &["--no-enable-chunked-prefill", "m"], &["--enable-chunked-prefill"])]
#[case::both(
    &ENABLE_CHUNKED_PREFILL, false,
    &["--no-enable-chunked-prefill", "-q", "x", "--enable-chunked-prefill"],
    &["-q", "x", "--no-enable-chunked-prefill"],
    &["--enable-chunked-prefill"]
)]
#[case::with_value(&ENFORCE_EAGER, true, &["--enforce-eager=False", "m"], &["--enforce-eager", "m"], &["--enforce-eager=False"])]
#[case::with_value_word(&ENFORCE_EAGER, true, &["--enforce-eager", "False", "-q"], &["--enforce-eager", "-q"], &["--enforce-eager False"])]
#[case::with_value_true(&ENFORCE_EAGER, true, &["--enforce-eager=True"], &["--enforce-eager"], &["--enforce-eager=True"])]
#[case::twice(&ENFORCE_EAGER, true, &["--enforce-eager", "-q", "x", "--enforce-eager"], &["-q", "x", "--enforce-eager"], &[])]
#[case::stray_truth_behind(&ENFORCE_EAGER, true, &["--enforce-eager=False", "False"], &["False", "--enforce-eager"], &["--enforce-eager=False"])]
#[case::model_behind(
    &ENFORCE_EAGER, true,
    &["--served-model-name", "a", "--no-enforce-eager", "org/m", "--enforce-eager"],
    &["--served-model-name", "a", "--enforce-eager", "org/m"],
    &["--no-enforce-eager"]
)]
#[test_runner::test]
fn switches(
    #[case] flag: &'static Flag,
    #[case] on: bool,
    #[case] before: &[&str],
    #[case] after: &[&str],
    #[case] replaced: &[&str],
) {
    let mut pod = pod(&[], before);
    assert_eq!(apply(&mut pod, switch(flag, on)).unwrap(), replaced);
    assert_eq!(args(&pod), after);
}

#[rstest]
#[case::equal(&["vllm", "serve", "--block-size", "64"], &["m"], Ok(vec!["m"]))]
#[case::last_wins(&["vllm", "serve", "--block-size", "16"], &["m"], Ok(vec!["m", "--block-size", "64"]))]
#[case::overridden_already(&["vllm", "serve", "--block-size", "16"], &["--bl=64"], Ok(vec!["--bl=64"]))]
#[case::overridden_otherwise(&["vllm", "serve", "--block-size", "16"], &["--bl=32"], Ok(vec!["--bl=64"]))]
#[case::value_in_args(&["vllm", "serve", "m", "--block-size"], &["16", "-q"], Ok(vec!["64", "-q"]))]
#[case::without_value(&["vllm", "serve", "--block-size"], &["--model", "m"], Err("\"--block-size\""))]
#[case::dotted(&["vllm", "serve", "--block-size.x=1"], &["m"], Err("\"--block-size.x=1\""))]
#[case::double_dash(&["vllm", "serve", "m", "--"], &["x"], Err("\"--\""))]
#[case::double_dash_but_set(&["vllm", "serve", "m", "--block-size=64", "--"], &["x"], Ok(vec!["x"]))]
#[test_runner::test]
fn occurrences_in_command(#[case] command: &[&str], #[case] before: &[&str], #[case] after: Result<Vec<&str>, &str>) {
    let mut pod = pod(command, before);
    match (apply(&mut pod, set(&BLOCK_SIZE, "64")), after) {
        (Ok(_), Ok(after)) => assert_eq!(args(&pod), after),
        (Err(error), Err(found)) => {
            assert_eq!(
                (error.path.as_str(), error.found.as_str()),
                ("spec.containers[0].command", found)
            );
        }
        (got, expected) => panic!("{got:?} instead of {expected:?}"),
    }
    assert_eq!(pod["spec"]["containers"][0]["command"], json!(command));
}

#[test_runner::test]
fn switch_in_command_is_overridden_by_the_last() {
    let mut pod = pod(&["vllm", "serve", "--no-enforce-eager"], &["m"]);
    assert_eq!(
        apply(&mut pod, switch(&ENFORCE_EAGER, true)).unwrap(),
        ["--no-enforce-eager"]
    );
    assert_eq!(args(&pod), ["m", "--enforce-eager"]);
}

#[test_runner::test]
fn refused_switch_in_command_cannot_be_mended() {
    let error = apply(
        &mut pod(&["vllm", "serve", "--enforce-eager=1"], &["m"]),
        switch(&ENFORCE_EAGER, true),
    )
    .unwrap_err();
    assert_eq!(error.found, "\"--enforce-eager=1\"");
}

#[rstest]
#[case::open_dotted(&["m", "--compilation-config.level"], "\"--compilation-config.level\"")]
#[case::two_models_to_keep_apart(
    &["--served-model-name", "a", "--block-size=1", "m", "--block-size=2", "n"],
    "--block-size=1, --block-size=2"
)]
#[test_runner::test]
fn what_cannot_be_done(#[case] before: &[&str], #[case] found: &str) {
    let error = apply(&mut pod(&[], before), set(&BLOCK_SIZE, "64")).unwrap_err();
    assert_eq!(
        (error.path.as_str(), error.found.as_str()),
        ("spec.containers[0].args", found)
    );
}

#[test_runner::test]
fn stray_truth_value_behind_an_option() {
    let mut pod = pod(&[], &["--served-model-name", "a", "--enforce-eager=False", "False"]);
    let error = apply(&mut pod, switch(&ENFORCE_EAGER, true)).unwrap_err();
    assert_eq!(
        (error.path.as_str(), error.found.as_str()),
        ("spec.containers[0].args", "--enforce-eager=False")
    );
}

#[test_runner::test]
fn open_dotted_flag_of_ours_is_removed() {
    let mut pod = pod(&[], &["m", "--block-size.x"]);
    assert_eq!(apply(&mut pod, set(&BLOCK_SIZE, "64")).unwrap(), ["--block-size.x"]);
    assert_eq!(args(&pod), ["m", "--block-size", "64"]);
}

#[rstest]
#[case::value_for_a_switch(set(&ENFORCE_EAGER, "1"), "a flag that takes a value")]
#[case::switch_for_a_value(switch(&BLOCK_SIZE, true), "an on/off flag")]
#[test_runner::test]
fn kinds_must_fit(#[case] edit: Edit, #[case] expected: &str) {
    assert_eq!(apply(&mut pod(&[], &["m"]), edit).unwrap_err().expected, expected);
}

#[rstest]
#[case::absent(json!({"name": "c"}))]
#[case::null(json!({"name": "c", "args": null}))]
#[case::empty(json!({"name": "c", "args": []}))]
#[test_runner::test]
fn args_are_created(#[case] container: Value) {
    let mut pod = json!({"spec": {"containers": [container]}});
    apply(&mut pod, set(&BLOCK_SIZE, "64")).unwrap();
    assert_eq!(
        pod,
        json!({"spec": {"containers": [{"name": "c", "args": ["--block-size", "64"]}]}})
    );
}

#[test_runner::test]
fn words_that_are_no_text_stay() {
    let mut pod = json!({"spec": {"containers": [{"args": [7, "--block-size", 16, null, "--block-size=1"]}]}});
    apply(&mut pod, switch(&ENFORCE_EAGER, true)).unwrap();
    apply(&mut pod, set(&BLOCK_SIZE, "64")).unwrap();
    assert_eq!(
        pod["spec"]["containers"][0]["args"],
        json!([7, 16, null, "--enforce-eager", "--block-size", "64"])
    );
}

#[rstest]
#[case::args(json!({"args": "--model m"}), "spec.containers[0].args", "the string \"--model m\"")]
#[case::command(json!({"command": {}}), "spec.containers[0].command", "an object")]
#[case::container(json!(3), "spec.containers[0]", "the number 3")]
#[test_runner::test]
fn wrong_types_are_errors(#[case] container: Value, #[case] path: &str, #[case] found: &str) {
    for edit in [
        set(&BLOCK_SIZE, "64"),
        switch(&ENFORCE_EAGER, true),
        Edit::AppendArgs {
            container: 0,
            tokens: vec!["--x".to_owned()],
        },
    ] {
        let mut pod = json!({"spec": {"containers": [container.clone()]}});
        let error = apply(&mut pod, edit).unwrap_err();
        assert_eq!((error.path.as_str(), error.found.as_str()), (path, found));
    }
}

#[rstest]
#[case::end(&["m"], &["m", "--kv-transfer-config", "{}"])]
#[case::before_double_dash(&["m", "--", "x"], &["m", "--kv-transfer-config", "{}", "--", "x"])]
#[case::there(&["--kv-transfer-config", "{}", "m"], &["--kv-transfer-config", "{}", "m"])]
#[case::there_in_part(&["m", "--kv-transfer-config"], &["m", "--kv-transfer-config", "--kv-transfer-config", "{}"])]
#[case::there_behind_double_dash(
    &["--", "--kv-transfer-config", "{}"],
    &["--kv-transfer-config", "{}", "--", "--kv-transfer-config", "{}"]
)]
#[test_runner::test]
fn appending(#[case] before: &[&str], #[case] after: &[&str]) {
    let mut pod = pod(&[], before);
    let tokens = vec!["--kv-transfer-config".to_owned(), "{}".to_owned()];
    apply(&mut pod, Edit::AppendArgs { container: 0, tokens }).unwrap();
    assert_eq!(args(&pod), after);
}

#[test_runner::test]
fn appending_is_refused_where_it_would_be_positional_or_swallowed() {
    let tokens = vec!["--x".to_owned()];
    for (mut pod, path) in [
        (pod(&["vllm", "serve", "--"], &["m"]), "spec.containers[0].command"),
        (pod(&["vllm", "serve"], &["m", "--a.b"]), "spec.containers[0].args"),
    ] {
        assert!(!CommandLine::of(&pod["spec"]["containers"][0]).can_append());
        let error = apply(
            &mut pod,
            Edit::AppendArgs {
                container: 0,
                tokens: tokens.clone(),
            },
        )
        .unwrap_err();
        assert_eq!(error.path, path);
    }
}

#[test_runner::test]
fn appending_nothing_changes_nothing() {
    let mut pod = json!({"spec": {"containers": [{"args": null}]}});
    assert_eq!(
        Plan::from(vec![Edit::AppendArgs {
            container: 0,
            tokens: vec![]
        }])
        .apply(&mut pod),
        Ok(false)
    );
}
