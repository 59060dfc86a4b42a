//! How a command line is read, one named row for each rule of vLLM's parser.

// clippy.toml allows these in tests, but not in the functions that tests call.
#![allow(clippy::panic)]

#[cfg(not(target_arch = "wasm32"))]
use core::prelude::v1 as test_runner;
use pod_edit::args::{
    ASYNC_SCHEDULING, ATTENTION_BACKEND, BLOCK_SIZE, COMPILATION_CONFIG, CommandLine, DISABLE_HYBRID_KV_CACHE_MANAGER,
    ENABLE_CHUNKED_PREFILL, ENFORCE_EAGER, Flag, FlagUse, Form, KV_TRANSFER_CONFIG, Launcher, PIPELINE_PARALLEL_SIZE,
    TENSOR_PARALLEL_SIZE, replaced,
};
use rstest::rstest;
use serde_json::{Value, json};
#[cfg(target_arch = "wasm32")]
mod test_runner {
    pub use wasm_bindgen_test::wasm_bindgen_test as test;
}

const JSON: &str = r#"{"kv_connector":"NixlConnector","kv_role":"kv_both"}"#;

fn text(value: &str) -> Option<FlagUse> {
    Some(FlagUse::Text(value.to_owned()))
}

fn dotted(value: Value) -> Option<FlagUse> {
    Some(FlagUse::Dotted(value))
}

fn effective(args: &[&str], flag: &Flag) -> Option<FlagUse> {
    CommandLine::of(&json!({ "args": args })).effective(flag)
}

#[rstest]
#[case::absent(&["--model", "m"], None)]
#[case::two_words(&["--kv-transfer-config", JSON], text(JSON))]
#[case::equals(&[&*format!("--kv-transfer-config={JSON}")], text(JSON))]
#[case::equals_in_the_value(&["--kv-transfer-config=a=b"], text("a=b"))]
#[case::value_with_spaces_and_newlines(&["--kv-transfer-config", "{\n  \"a\": 1\n}"], text("{\n  \"a\": 1\n}"))]
#[case::rule_1_model_is_no_obstacle(&["--model", "m", "--kv-transfer-config", JSON], text(JSON))]
#[case::rule_3_underscores(&["--kv_transfer_config", JSON], text(JSON))]
#[case::rule_3_mixed(&["--kv_transfer-config", JSON], text(JSON))]
#[case::rule_3_underscores_with_equals(&["--kv_transfer_config=x_y"], text("x_y"))]
#[case::rule_4_prefix(&["--kv-t", JSON], text(JSON))]
#[case::rule_4_longer_prefix(&["--kv_transfer=x"], text("x"))]
#[case::rule_4_ambiguous_prefix(&["--kv-", JSON], None)]
#[case::longer_flag(&["--kv-transfer-config-file=/etc/kv.json"], None)]
#[case::other_flag(&["--kv-events-config", JSON], None)]
#[case::rule_5_last_wins(&["--kv-transfer-config", "a", "--kv_transfer_config=b"], text("b"))]
#[case::rule_6_dotted(
    &["--kv-transfer-config.kv_connector", "Nixl", "--kv-transfer-config.kv_role=kv_both"],
    dotted(json!({"kv_connector": "Nixl", "kv_role": "kv_both"}))
)]
#[case::rule_6_dotted_replaces_a_later_whole(
    &["--kv-transfer-config.kv_role", "kv_both", "--kv-transfer-config", JSON],
    dotted(json!({"kv_role": "kv_both"}))
)]
#[case::rule_6_dotted_keeps_underscores_of_keys(&["--kv_transfer_config.kv_role", "x"], dotted(json!({"kv_role": "x"})))]
#[case::rule_6_dotted_prefix(&["--kv-t.kv_role=x"], dotted(json!({"kv_role": "x"})))]
#[case::rule_6_no_dots_in_keys(
    &["--kv-transfer-config.extra.lmcache.mp.port=5555"],
    dotted(json!({"extra": {"lmcache": {"mp": {"port": 5555}}}}))
)]
#[case::rule_6_json_values(
    &["--kv-transfer-config.a", "1", "--kv-transfer-config.b", "true", "--kv-transfer-config.c", "{\"d\":[1.5]}"],
    dotted(json!({"a": 1, "b": true, "c": {"d": [1.5]}}))
)]
#[case::rule_6_nested_merge(
    &["--kv-transfer-config.a.b", "1", "--kv-transfer-config.a.c=2", "--kv-transfer-config.a", "{\"b\":3,\"d\":4}"],
    dotted(json!({"a": {"b": 3, "c": 2, "d": 4}}))
)]
#[case::rule_6_scalar_gives_way(
    &["--kv-transfer-config.a", "1", "--kv-transfer-config.a.b", "2"],
    dotted(json!({"a": {"b": 2}}))
)]
#[case::rule_6_lists_grow(
    &["--kv-transfer-config.l+", "x", "--kv-transfer-config.l+=y,z", "--kv-transfer-config.l", "[1]"],
    dotted(json!({"l": ["x", "y", "z", 1]}))
)]
#[case::rule_6_last_spelling_wins(
    &["--kv-transfer-config.a=1", "--kv-t.b=2", "--kv-transfer-config.c=3"],
    dotted(json!({"b": 2}))
)]
#[case::rule_6_takes_any_next_word(
    &["--kv-transfer-config.a", "--kv_transfer_config", "x"],
    dotted(json!({"a": "--kv-transfer-config"}))
)]
#[case::rule_6_dotted_between_flag_and_value(
    &["--kv-transfer-config", "--compilation-config.level", "--x", "-cc.mode=1", "y"],
    text("y")
)]
#[case::rule_6_without_value(&["--kv-transfer-config.a"], Some(FlagUse::NoValue))]
#[case::dots_in_the_value_only(&["--kv-transfer-config={\"a.b\":1}"], text("{\"a.b\":1}"))]
#[case::foreign_dotted_flag_swallows_the_next(&["--compilation-config.level", "--kv-transfer-config", "x"], None)]
#[case::foreign_dotted_flag_with_equals(&["--compilation-config.level=3", "--kv-transfer-config", "x"], text("x"))]
#[case::rule_9_after_double_dash(&["--model", "m", "--", "--kv-transfer-config", "x"], None)]
#[case::rule_9_before_double_dash(&["--kv-transfer-config", "x", "--", "y"], text("x"))]
#[case::rule_9_double_dash_is_no_value(&["--kv-transfer-config", "--", "x"], Some(FlagUse::NoValue))]
#[case::without_value_at_the_end(&["--kv-transfer-config"], Some(FlagUse::NoValue))]
#[case::without_value_before_a_flag(&["--kv-transfer-config", "--model", "m"], Some(FlagUse::NoValue))]
#[case::not_a_value_of_another_flag(&["--served-model-name", "--kv-transfer-config"], Some(FlagUse::NoValue))]
#[case::not_a_value_of_another_flag_with_value(&["--served-model-name", "--kv-transfer-config", "x"], text("x"))]
#[case::short_option_is_no_value(&["--kv-transfer-config", "-x"], Some(FlagUse::NoValue))]
#[case::lone_dash_is_a_value(&["--kv-transfer-config", "-"], text("-"))]
#[case::negative_number_is_a_value(&["--kv-transfer-config", "-1"], text("-1"))]
#[case::negative_fraction_is_a_value(&["--kv-transfer-config", "-.5"], text("-.5"))]
#[case::dash_with_space_is_a_value(&["--kv-transfer-config", "- x"], text("- x"))]
#[case::double_dash_with_space_is_a_value(&["--kv-transfer-config", "--x y"], text("--x y"))]
#[case::flag_and_value_in_one_word(&["--kv-transfer-config {}"], None)]
#[case::empty_value(&["--kv-transfer-config", ""], text(""))]
#[case::a_value_that_names_the_flag(&["--model", "kv-transfer-config"], None)]
#[test_runner::test]
fn connector_flag(#[case] args: &[&str], #[case] expected: Option<FlagUse>) {
    assert_eq!(effective(args, &KV_TRANSFER_CONFIG), expected);
}

#[rstest]
#[case::empty("", true)]
#[case::none("None", true)]
#[case::null("null", false)]
#[case::json("{}", false)]
#[test_runner::test]
fn rule_10_unset_values(#[case] value: &str, #[case] unset: bool) {
    assert_eq!(
        effective(&["--kv-transfer-config", value], &KV_TRANSFER_CONFIG).map(|found| found.is_unset()),
        Some(unset)
    );
    assert!(!FlagUse::NoValue.is_unset());
}

#[rstest]
#[case::alias(&["-tp", "2"], &TENSOR_PARALLEL_SIZE, text("2"))]
#[case::alias_equals(&["-tp=2"], &TENSOR_PARALLEL_SIZE, text("2"))]
#[case::rule_8_alias_glued(&["-tp2"], &TENSOR_PARALLEL_SIZE, None)]
#[case::alias_then_long(&["-tp", "2", "--tensor-parallel-size", "4"], &TENSOR_PARALLEL_SIZE, text("4"))]
#[case::pipeline(&["-pp", "2"], &PIPELINE_PARALLEL_SIZE, text("2"))]
#[case::other_short_names(&["-dpp", "2", "-pcp", "2"], &PIPELINE_PARALLEL_SIZE, None)]
#[case::block_size_prefix(&["--block_s=16"], &BLOCK_SIZE, text("16"))]
#[case::attention(&["--attention-back", "X"], &ATTENTION_BACKEND, text("X"))]
#[case::attention_config_is_another(&["--attention-config", "{}"], &ATTENTION_BACKEND, None)]
#[case::attention_config_shortened(&["--attention-c={}"], &ATTENTION_BACKEND, None)]
#[case::compilation_alias(&["-cc", "{}"], &COMPILATION_CONFIG, text("{}"))]
#[case::compilation_dotted_alias(&["-cc.cudagraph_mode=NONE"], &COMPILATION_CONFIG, dotted(json!({"cudagraph_mode": "NONE"})))]
#[case::old_compilation_alias(&["-O", "{\"level\":3}"], &COMPILATION_CONFIG, text("{\"level\":3}"))]
#[case::old_compilation_alias_dotted(&["-O.level=3"], &COMPILATION_CONFIG, dotted(json!({"level": 3})))]
#[case::rule_8_level(&["-O", "3"], &COMPILATION_CONFIG, None)]
#[case::rule_8_level_glued(&["-O3"], &COMPILATION_CONFIG, None)]
#[case::rule_8_level_equals(&["-O=3"], &COMPILATION_CONFIG, None)]
#[case::level_swallows_nothing(&["-O{\"a.b\":1}", "-cc", "x"], &COMPILATION_CONFIG, text("x"))]
#[test_runner::test]
fn valued_flags(#[case] args: &[&str], #[case] flag: &Flag, #[case] expected: Option<FlagUse>) {
    assert_eq!(effective(args, flag), expected);
}

#[rstest]
#[case::on(&["--enable-chunked-prefill"], &ENABLE_CHUNKED_PREFILL, Some(FlagUse::On))]
#[case::off(&["--no-enable-chunked-prefill"], &ENABLE_CHUNKED_PREFILL, Some(FlagUse::Off))]
#[case::rule_7_disable(&["--disable-chunked-prefill"], &ENABLE_CHUNKED_PREFILL, Some(FlagUse::Off))]
#[case::rule_7_disable_shortened(&["--disable-chunked-p"], &ENABLE_CHUNKED_PREFILL, Some(FlagUse::Off))]
#[case::other_disable(&["--disable-chunked-mm-input", "--disable-chunked-m"], &ENABLE_CHUNKED_PREFILL, None)]
#[case::underscores(&["--no_enable_chunked_prefill"], &ENABLE_CHUNKED_PREFILL, Some(FlagUse::Off))]
#[case::rule_5_last_of_a_pair(&["--no-enable-chunked-prefill", "--enable-chunked-prefill"], &ENABLE_CHUNKED_PREFILL, Some(FlagUse::On))]
#[case::rule_7_with_value(&["--enable-chunked-prefill=False"], &ENABLE_CHUNKED_PREFILL, text("False"))]
#[case::rule_7_with_value_word(&["--enforce-eager", "false"], &ENFORCE_EAGER, text("false"))]
#[case::model_behind_a_switch(&["--enforce-eager", "org/model"], &ENFORCE_EAGER, Some(FlagUse::On))]
#[case::eager_off(&["--no-enforce-eager"], &ENFORCE_EAGER, Some(FlagUse::Off))]
#[case::async_on(&["--async"], &ASYNC_SCHEDULING, Some(FlagUse::On))]
#[case::async_off(&["--no-async-scheduling"], &ASYNC_SCHEDULING, Some(FlagUse::Off))]
#[case::hybrid_off(&["--disable-hybrid-kv-cache-manager"], &DISABLE_HYBRID_KV_CACHE_MANAGER, Some(FlagUse::On))]
#[case::hybrid_on(&["--no-disable-hybrid-kv-cache-manager"], &DISABLE_HYBRID_KV_CACHE_MANAGER, Some(FlagUse::Off))]
#[case::rule_7_hybrid_enabled(&["--enable-hybrid-kv-cache-manager"], &DISABLE_HYBRID_KV_CACHE_MANAGER, Some(FlagUse::Off))]
#[test_runner::test]
fn switches(#[case] args: &[&str], #[case] flag: &Flag, #[case] expected: Option<FlagUse>) {
    assert_eq!(effective(args, flag), expected);
}

#[rstest]
#[case::two_words(&["m", "--config", "/etc/vllm.yaml"], Some("/etc/vllm.yaml"))]
#[case::rule_2_equals_is_ignored(&["m", "--config=/etc/vllm.yaml"], None)]
#[case::shortened_is_not_read(&["m", "--confi", "/etc/vllm.yaml"], None)]
#[case::absent(&["m"], None)]
#[test_runner::test]
fn rule_2_config_file(#[case] args: &[&str], #[case] expected: Option<&str>) {
    assert_eq!(CommandLine::of(&json!({ "args": args })).config_file(), expected);
}

fn other(word: &str) -> Launcher {
    Launcher::Other(word.to_owned())
}

#[rstest]
#[case::nothing(json!({}), Launcher::Entrypoint)]
#[case::nulls(json!({"command": null, "args": null}), Launcher::Entrypoint)]
#[case::empty_command(json!({"command": [], "args": ["org/model"]}), Launcher::Entrypoint)]
#[case::wrong_types(json!({"command": "sh", "args": {"a": 1}}), Launcher::Entrypoint)]
#[case::flags(json!({"args": ["--model", "m"]}), Launcher::Entrypoint)]
#[case::model(json!({"args": ["org/model"]}), Launcher::Entrypoint)]
#[case::model_named_like_a_shell(json!({"args": ["org/bash"]}), Launcher::Entrypoint)]
#[case::model_path(json!({"args": ["/models/falcon"]}), Launcher::Entrypoint)]
#[case::entrypoint_vllm(json!({"args": ["serve", "org/model"]}), Launcher::Entrypoint)]
#[case::compilation_alias_is_no_shell(json!({"args": ["-cc", "{}"]}), Launcher::Entrypoint)]
#[case::attention_alias_is_no_shell(json!({"args": ["-ac", "{}"]}), Launcher::Entrypoint)]
#[case::server_count_is_no_shell(json!({"args": ["-asc", "2"]}), Launcher::Entrypoint)]
#[case::serve(json!({"command": ["vllm", "serve"], "args": ["m"]}), Launcher::VllmServe)]
#[case::serve_by_path(json!({"command": ["/opt/venv/bin/vllm", "serve", "m"]}), Launcher::VllmServe)]
#[case::serve_split(json!({"command": ["vllm"], "args": ["serve", "m"]}), Launcher::VllmServe)]
#[case::serve_in_args(json!({"args": ["vllm", "serve", "m"]}), Launcher::VllmServe)]
#[case::bench(json!({"command": ["vllm", "bench"]}), other("vllm"))]
#[case::vllm_alone(json!({"command": ["vllm"]}), other("vllm"))]
#[case::module(json!({"command": ["python3", "-m", "vllm.entrypoints.openai.api_server"]}), Launcher::VllmModule)]
#[case::module_in_args(json!({"args": ["python3", "-m", "vllm.entrypoints.openai.api_server"]}), Launcher::VllmModule)]
#[case::module_split(json!({"command": ["python3"], "args": ["-m", "vllm.entrypoints.openai.api_server"]}), Launcher::VllmModule)]
#[case::module_versioned(json!({"command": ["/usr/bin/python3.12", "-u", "-m", "vllm.entrypoints.api_server"]}), Launcher::VllmModule)]
#[case::module_switch_with_word(json!({"command": ["python", "-W", "ignore", "-X", "dev", "-m", "vllm.entrypoints.api_server"]}), Launcher::VllmModule)]
#[case::module_switch_glued(json!({"command": ["python", "-Wignore::ImportWarning", "-m", "vllm.entrypoints.api_server"]}), Launcher::VllmModule)]
#[case::module_serve(json!({"command": ["python3", "-m", "vllm.entrypoints.cli.main", "serve", "m"]}), Launcher::VllmServe)]
#[case::module_bench(json!({"command": ["python3", "-m", "vllm.entrypoints.cli.main", "bench"]}), other("python3"))]
#[case::sglang(json!({"command": ["python3", "-m", "sglang.launch_server"], "args": ["--model-path", "m"]}), Launcher::SglangLaunchServer)]
#[case::other_module(json!({"command": ["python3", "-m", "http.server"]}), other("python3"))]
#[case::python_code(json!({"command": ["python3", "-uc", "-m", "vllm.entrypoints.api_server"]}), other("python3"))]
#[case::python_script(json!({"command": ["python3", "/app/serve.py"]}), other("python3"))]
#[case::python_without_module(json!({"command": ["python3", "-m"]}), other("python3"))]
#[case::shell(json!({"command": ["sh", "-c"], "args": ["vllm serve m | tee /log"]}), Launcher::Shell)]
#[case::shell_by_path(json!({"command": ["/bin/bash", "-lc", "vllm serve m"]}), Launcher::Shell)]
#[case::shell_in_args(json!({"args": ["bash", "-c", "vllm serve m"]}), Launcher::Shell)]
#[case::shell_path_in_args(json!({"args": ["/bin/sh", "-c", "vllm serve m"]}), Launcher::Shell)]
#[case::shell_is_the_entrypoint(json!({"args": ["-c", "vllm serve m"]}), Launcher::Shell)]
#[case::login_shell_is_the_entrypoint(json!({"args": ["-lc", "vllm serve m"]}), Launcher::Shell)]
#[case::strict_shell_is_the_entrypoint(json!({"args": ["-euo", "pipefail", "-c", "vllm serve m"]}), Launcher::Shell)]
#[case::ray(json!({"command": ["ray", "start"]}), other("ray"))]
#[case::ray_in_args(json!({"args": ["ray", "start"]}), other("ray"))]
#[case::tini(json!({"command": ["/usr/bin/tini", "--", "vllm", "serve"]}), other("/usr/bin/tini"))]
#[case::env(json!({"command": ["env", "A=b", "vllm", "serve"]}), other("env"))]
#[case::own_server(json!({"command": ["./serve"]}), other("./serve"))]
#[case::number(json!({"command": [7]}), other("7"))]
#[test_runner::test]
fn launchers(#[case] container: Value, #[case] expected: Launcher) {
    assert_eq!(CommandLine::of(&container).launcher(), expected);
}

#[rstest]
#[case::plain(json!({"args": ["m"]}), true)]
#[case::nothing(json!({}), true)]
#[case::double_dash_in_args(json!({"args": ["m", "--", "x"]}), true)]
#[case::double_dash_in_command(json!({"command": ["vllm", "serve", "--"], "args": ["m"]}), false)]
#[case::open_dotted_flag(json!({"args": ["m", "--kv-transfer-config.kv_role"]}), false)]
#[case::open_dotted_flag_before_double_dash(json!({"args": ["--compilation-config.level", "--", "x"]}), false)]
#[case::closed_dotted_flag(json!({"args": ["--compilation-config.level", "3"]}), true)]
#[case::open_plain_flag(json!({"args": ["m", "--block-size"]}), true)]
#[test_runner::test]
fn can_append(#[case] container: Value, #[case] expected: bool) {
    assert_eq!(CommandLine::of(&container).can_append(), expected);
}

#[test_runner::test]
fn command_and_args_are_one_line() {
    let container = json!({"command": ["vllm", "serve", "m", "--block-size"], "args": ["16", "-pp", 2, "--pi=4"]});
    let line = CommandLine::of(&container);
    assert_eq!(line.effective(&BLOCK_SIZE), text("16"));
    let sizes = line.occurrences(&PIPELINE_PARALLEL_SIZE);
    assert_eq!(
        sizes.iter().map(|o| (o.at, o.value_at, o.form)).collect::<Vec<_>>(),
        [(5, None, Form::Bare), (7, None, Form::Joined("4"))]
    );
}

#[test_runner::test]
fn arguments_of_the_interpreter_are_not_the_engines() {
    let container = json!({"command": ["python3", "-W", "ignore", "-m", "vllm.entrypoints.api_server", "-tp", "2"]});
    assert_eq!(CommandLine::of(&container).effective(&TENSOR_PARALLEL_SIZE), text("2"));
}

#[test_runner::test]
fn quotes_what_is_written() {
    let container = json!({"args": ["--kv_t", "a", "--kv-transfer-config.x.y", "1", "--kv-transfer-config=b", "--kv-transfer-config"]});
    assert_eq!(
        replaced(&container, &KV_TRANSFER_CONFIG),
        [
            "--kv_t a",
            "--kv-transfer-config.x.y 1",
            "--kv-transfer-config=b",
            "--kv-transfer-config"
        ]
    );
}

#[test_runner::test]
fn very_deep_keys_are_cut_off() {
    let keys = "a.".repeat(100_000);
    let found = effective(&[&format!("--kv-transfer-config.{keys}=1")], &KV_TRANSFER_CONFIG);
    let Some(FlagUse::Dotted(value)) = found else {
        panic!("{found:?}")
    };
    let mut depth = 0;
    let mut inner = &value;
    while let Some(next) = inner.as_object().and_then(|object| object.values().next()) {
        inner = next;
        depth += 1;
    }
    assert_eq!((depth, inner), (32, &json!(1)));
}
