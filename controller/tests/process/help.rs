//! The command line.

use std::process::{Command, Output};

use rstest::rstest;

/// Every option, its variable and its default, as in `--help`.
pub const OPTIONS: [(&str, &str, &str); 10] = [
    ("--leader-elect", "LMCACHE_CONTROLLER_LEADER_ELECT", "false"),
    ("--lease-namespace", "POD_NAMESPACE", ""),
    ("--identity", "POD_NAME", ""),
    ("--ipc-default", "LMCACHE_CONTROLLER_IPC_DEFAULT", "HostIPC"),
    ("--cluster-domain", "LMCACHE_CONTROLLER_CLUSTER_DOMAIN", "cluster.local"),
    ("--concurrency", "LMCACHE_CONTROLLER_CONCURRENCY", "4"),
    (
        "--metrics-bind-address",
        "LMCACHE_CONTROLLER_METRICS_BIND_ADDRESS",
        ":8080",
    ),
    (
        "--health-probe-bind-address",
        "LMCACHE_CONTROLLER_HEALTH_PROBE_BIND_ADDRESS",
        ":8081",
    ),
    ("--log-format", "LMCACHE_CONTROLLER_LOG_FORMAT", "json"),
    ("--log-level", "LMCACHE_CONTROLLER_LOG_LEVEL", "info"),
];

/// The command with nothing in the environment that could count as an option.
pub fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lmcache-controller"));
    command.env_clear().arg("run");
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    text(&output.stderr)
}

#[test]
fn help_names_every_option_with_its_variable_and_default() {
    let output = command().arg("--help").output().unwrap();
    assert!(output.status.success());
    let help = text(&output.stdout);
    for (flag, variable, default) in OPTIONS {
        let at = help
            .find(&format!("{flag} "))
            .or_else(|| help.find(&format!("{flag}[")));
        let about = &help[at.unwrap_or_else(|| panic!("{flag} in {help}"))..];
        let about = about.split_once("\n      --").map_or(about, |(about, _)| about);
        assert!(about.contains(&format!("[env: {variable}=]")), "{flag}: {about}");
        let default = format!("[default: {default}]");
        assert_eq!(about.contains(&default), default != "[default: ]", "{flag}: {about}");
        assert!(
            about.lines().nth(1).is_some_and(|line| line.len() > 30),
            "{flag} says what it is: {about}"
        );
    }
    assert_eq!(help.matches("[env: ").count(), OPTIONS.len(), "{help}");
}

#[rstest]
#[case::mode(&["--ipc-default=hostipc"], "HostIPC, HostShm, Isolated")]
#[case::domain(&["--cluster-domain=cluster.local."], "must be lower-case letters")]
#[case::none_at_a_time(&["--concurrency=0"], "1..=256")]
#[case::address(&["--metrics-bind-address=8080"], "0 (off)")]
#[case::level(&["--log-level=verbose"], "neither one of")]
#[case::identity(&["--identity=two words"], "without spaces")]
#[case::namespace(&["--lease-namespace=Team_A"], "must be lower-case letters")]
#[case::no_truth(&["--leader-elect=maybe"], "--leader-elect")]
fn nonsense_is_refused_with_what_was_expected(#[case] args: &[&str], #[case] expected: &str) {
    let error = refused(&command().args(args).output().unwrap());
    assert!(error.contains(expected), "{error}");
}

#[test]
fn variables_are_checked_like_options() {
    let error = refused(
        &command()
            .env("LMCACHE_CONTROLLER_CONCURRENCY", "many")
            .output()
            .unwrap(),
    );
    assert!(error.contains("--concurrency") && error.contains("many"), "{error}");
}
