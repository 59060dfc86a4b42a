use std::collections::BTreeSet;

use serde_json::Value;

use super::*;

fn args(release: Option<&str>, command: Option<Program>, output: Output) -> Args {
    Args {
        release: release.map(str::to_owned),
        command,
        output,
    }
}

fn table(release: Option<&str>, command: Option<Program>) -> String {
    run(&args(release, command, Output::Table)).unwrap()
}

fn parsed(release: Option<&str>, command: Option<Program>) -> Value {
    serde_json::from_str(&run(&args(release, command, Output::Json)).unwrap()).unwrap()
}

fn error(release: &str) -> String {
    run(&args(Some(release), None, Output::Table)).unwrap_err().to_string()
}

/// A line with its columns one blank apart.
fn has_line(text: &str, line: &str) -> bool {
    text.lines()
        .any(|found| found.split_whitespace().collect::<Vec<_>>().join(" ") == line)
}

#[track_caller]
fn says(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(has_line(text, line), "no line {line:?} in\n{text}");
    }
}

#[test]
fn overview_has_every_row_of_the_table() {
    let text = table(None, None);
    for program in Program::ALL {
        for flag in program.flags() {
            let found = text
                .lines()
                .filter(|line| line.split_whitespace().next() == Some(flag.name));
            assert!(found.count() > 0, "{}", flag.name);
        }
    }
    let rows = text.lines().filter(|line| line.starts_with("  -")).count();
    // The heading --l2-adapter looks like a row.
    assert_eq!(rows, SERVER.len() + COORDINATOR.len() + 1);
}

#[test]
fn overview_says_which_releases_know_a_flag_and_its_words() {
    says(
        &table(None, Some(Program::Server)),
        &[
            "lmcache server, 0.4.1 to 0.5.6 (the command exists from 0.4.3 on)",
            "--chunk-size all integer",
            "--disable-prometheus up to 0.4.2 -",
            "--isolated-ipc from 0.5.5 - (off: --no-...)",
            "--transfer-mode 0.4.6 only text gpu, non_gpu",
            "--l2-prefetch-policy from 0.4.2 text default, retain (from 0.4.4)",
            "--l2-adapter all text [repeatable]",
            "--coordinator-l2-event-reporting from 0.5.3 - [old name, deprecated]",
            "valkey from 0.5.2 startup_nodes",
            "dax from 0.4.7 slot_bytes, device_path (without devices), max_dax_size_gb (without devices)",
        ],
    );
    says(
        &table(None, Some(Program::Coordinator)),
        &[
            "lmcache coordinator, 0.4.7 to 0.5.6",
            "--blend-chunk-size 0.5.0 to 0.5.1 integer",
            "--chunk-size from 0.5.2 integer",
            "--port all integer",
        ],
    );
}

#[test]
fn one_command_alone() {
    let server = table(None, Some(Program::Server));
    assert!(!server.contains("lmcache coordinator"));
    let coordinator = table(Some("0.5.6"), Some(Program::Coordinator));
    assert!(!coordinator.contains("lmcache server") && !coordinator.contains("--l2-adapter"));
    let json = parsed(None, Some(Program::Coordinator));
    assert!(json.get("server").is_none() && json.get("l2Adapter").is_none() && json.get("coordinator").is_some());
}

#[test]
fn a_release_says_what_it_takes_offers_and_cannot() {
    let text = table(Some("v0.5.3-cu129"), None);
    assert!(text.starts_with("LMCache 0.5.3\n\n"));
    says(
        &text,
        &[
            "--eviction-policy text IsolatedLRU, LRU, noop [required]",
            "metrics :8080/metrics",
            "health :8080/healthcheck",
            "configuration :8080/config",
            "environment :8080/env, passwords included",
            "--isolated-ipc 0.5.5",
            "--eviction-policy ARC 0.5.6",
            "--l2-adapter: type hf3fs 0.5.6",
            "type valkey needs startup_nodes",
            "type sagemaker-hyperpod needs url",
            "type mooncake_store",
            "--disable-prometheus 0.4.2",
            "--blend-chunk-size 0.5.1",
            "metrics none",
        ],
    );
    assert!(!has_line(&text, "--isolated-ipc - (off: --no-...)"));
}

#[test]
fn an_old_release_says_that_encryption_is_not_heeded() {
    let text = table(Some("0.4.4"), Some(Program::Server));
    says(
        &text,
        &[
            "metrics :9090/metrics",
            "health :8080/api/healthcheck",
            "configuration none",
            "environment not shown",
            "--l2-adapter: serde (ignored, data is stored as it is) 0.4.5",
            "--l2-adapter: serde aesgcm 0.5.3",
        ],
    );
}

#[test]
fn what_is_missing_for_want_of_its_flag_is_not_listed_by_itself() {
    let text = table(Some("0.4.4"), Some(Program::Server));
    assert!(has_line(&text, "--supported-transfer-mode 0.4.7"));
    assert!(!text.contains("--supported-transfer-mode auto"));
}

#[test]
fn a_command_that_does_not_exist() {
    let text = table(Some("0.4.2"), None);
    says(
        &text,
        &[
            "There is no such command in 0.4.2; the first release that has it is 0.4.3.",
            "There is no such command in 0.4.2; the first release that has it is 0.4.7.",
        ],
    );
    assert!(!text.contains("--port"));
    let json = parsed(Some("0.4.6"), None);
    assert!(json["server"].is_object());
    assert_eq!(json["coordinator"], Value::Null);
}

/// In each release, each flag is either taken, or not yet, or no more.
#[test]
fn nothing_is_missing_and_nothing_is_there_twice() {
    for (position, release) in RELEASES.iter().enumerate() {
        let json = parsed(Some(&release.to_string()), None);
        for program in Program::ALL.into_iter().filter(|program| *release >= program.since()) {
            let of = |list: &str, key: &str| -> Vec<String> {
                let rows = json[program.name()][list].as_array().unwrap();
                rows.iter().map(|row| row[key].as_str().unwrap().to_owned()).collect()
            };
            let taken = of("flags", "flag");
            let lists = [taken.clone(), of("cannot", "what"), of("cannotAnyMore", "what")];
            for name in program.flags().iter().map(|flag| flag.name).collect::<BTreeSet<_>>() {
                let found = lists.iter().flatten().filter(|row| *row == name).count();
                assert_eq!(found, 1, "{release} {name}");
            }
            let known = program.flags().iter().filter(|flag| flag.span.holds(position)).count();
            assert_eq!(taken.len(), known);
        }
    }
}

#[test]
fn a_newer_release_is_taken_for_the_newest_and_says_so() {
    let text = table(Some("99.0.0"), None);
    assert!(text.starts_with(&format!(
        "LMCache {}\n(99.0.0 is newer than what is known here; ",
        newest()
    )));
    let json = parsed(Some("99.0.0"), None);
    assert_eq!(json["release"], newest().to_string());
    assert_eq!(json["asked"], "99.0.0");
    assert_eq!(json["newerThanKnown"], true);
    assert_eq!(parsed(Some("0.5.3"), None)["newerThanKnown"], false);
}

#[test]
fn an_unknown_release_is_an_error_that_lists_the_known_ones() {
    assert!(error("0.4.8").starts_with(
        "--release 0.4.8: no such release was read; an engine that names it is taken for 0.4.7; known are 0.4.1, 0.4.2, "
    ));
    assert!(error("0.3.9").starts_with("--release 0.3.9: is older than what was read; known are 0.4.1, "));
    assert_eq!(
        error("latest"),
        format!("--release latest: is no LMCache release; write it like {}", newest())
    );
}

#[test]
fn the_overview_for_programs() {
    let json = parsed(None, None);
    assert_eq!(json["releases"].as_array().unwrap().len(), RELEASES.len());
    assert_eq!(json["server"]["since"], "0.4.3");
    assert_eq!(json["server"]["flags"].as_array().unwrap().len(), SERVER.len());
    let row = |name: &str| {
        let rows = json["coordinator"]["flags"].as_array().unwrap();
        rows.iter().find(|row| row["flag"] == name).unwrap()
    };
    assert_eq!(row("--blend-chunk-size")["since"], "0.5.0");
    assert_eq!(row("--blend-chunk-size")["until"], "0.5.1");
    assert_eq!(row("--chunk-size")["until"], Value::Null);
    assert_eq!(row("--chunk-size")["takes"], "integer");
    let serdes = json["l2Adapter"]["serdes"].as_array().unwrap();
    assert!(
        serdes
            .iter()
            .any(|word| word["value"] == "aesgcm" && word["since"] == "0.5.3")
    );
}

#[test]
fn members_that_are_needed_under_a_condition() {
    let release = parsed(Some("0.5.3"), None);
    for json in [&parsed(None, None)["l2Adapter"], &release["server"]["l2Adapter"]] {
        let of = |name: &str| {
            let types = json["types"].as_array().unwrap();
            types.iter().rfind(|row| row["type"] == name).unwrap().clone()
        };
        assert_eq!(of("fs")["required"], serde_json::json!(["base_path"]));
        assert_eq!(of("fs")["requiredWhen"], serde_json::json!([]));
        assert_eq!(of("dax")["requiredWhen"][0]["member"], "device_path");
        assert_eq!(of("dax")["requiredWhen"][0]["without"], "devices");
        assert_eq!(of("bigtable")["requiredWhen"][0]["unset"], "BT_PROJECT_ID");
    }
    // What only other releases need is not said of this one.
    let text = table(Some("0.5.3"), Some(Program::Server));
    assert!(text.contains("backend_params.file_path (backend GDS/GDS_MT/HF3FS/POSIX)"));
    assert!(!text.contains("IBM_SCALE"));
}

#[test]
fn lines_end_where_their_text_ends() {
    let mut texts = vec![table(None, None)];
    texts.extend(RELEASES.iter().map(|release| table(Some(&release.to_string()), None)));
    for text in texts {
        assert!(text.ends_with('\n') && text.is_ascii());
        assert!(text.lines().all(|line| line.trim_end() == line));
    }
}
