//! The compiled command: what goes to stdout, what to stderr, and exit codes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::process::{Command, Output};

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lmcache-controller"))
        .args(args)
        .output()
        .unwrap()
}

#[test]
fn an_answer_goes_to_stdout_alone() {
    let output = run(&["flags", "--release", "0.5.3", "--command", "server"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
    assert!(output.stdout.starts_with(b"LMCache 0.5.3\n"));
}

#[test]
fn json_is_json() {
    let output = run(&["flags", "-o", "json"]);
    assert_eq!(output.status.code(), Some(0));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(json["coordinator"]["flags"].is_array());
}

#[test]
fn an_error_is_one_line_on_stderr() {
    let output = run(&["flags", "--release", "nightly"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("Error: --release nightly: is no LMCache release"));
}

#[test]
fn arguments_that_cannot_be_understood() {
    for args in [
        &["flags", "--release"][..],
        &["flags", "--command", "worker"],
        &["flag"],
        &[],
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}
