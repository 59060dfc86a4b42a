//! What a flag comes to, wherever in a container's command vLLM is started.
//!
//! The policies wire a container whose command line vLLM reads. Webhooks that run later put programs in front of it: one that
//! fetches secrets (`op run -- vllm serve ...`), an init (`tini --`), a binding to memory nodes (`numactl`), a shell. The
//! arguments then reach vLLM as before, so they are looked for behind the program that starts it. Only where vLLM itself
//! stands first is a `--` the end of its options.

use pod_edit::args::{CommandLine, Flag, FlagUse, Launcher};
use serde_json::{Value, json};

/// Programs that start each other, so many are looked through.
const DEPTH: usize = 4;
/// Words that tell what a line starts: an interpreter with its switches, the module, a sub-command.
const FIRST_WORDS: usize = 16;

/// What a flag comes to for the server that a container starts in the end.
pub(super) fn effective(container: &Value, flag: &Flag) -> Option<FlagUse> {
    looked_for(container, flag, DEPTH)
}

fn looked_for(container: &Value, flag: &Flag, depth: usize) -> Option<FlagUse> {
    let line = CommandLine::of(container);
    let shell = match line.launcher() {
        Launcher::Shell => true,
        Launcher::Other(_) => false,
        _ => return line.effective(flag),
    };
    if depth == 0 {
        return line.effective(flag);
    }
    let words = words(container);
    let of_script = |script: &str| {
        let commands = commands(script);
        commands
            .iter()
            .rev()
            .find_map(|command| looked_for(&line_of(command), flag, depth - 1))
    };
    let found = scripts(&words, shell).find_map(of_script);
    if found.is_some() {
        return found;
    }
    if let Some(started) = vllm_among(&words) {
        return CommandLine::of(&started).effective(flag);
    }
    let handed_on = words.iter().position(|word| *word == "--");
    let handed_on = handed_on.and_then(|at| words.get(at + 1..)).map(line_of);
    looked_for(&handed_on.unwrap_or_default(), flag, depth - 1).or_else(|| line.effective(flag))
}

/// The line of vLLM itself, where it stands among the words of a program that starts it. What a line starts, its first words
/// tell.
fn vllm_among(words: &[&str]) -> Option<Value> {
    let starts_vllm = |at: usize| {
        let first: Vec<&str> = words.iter().skip(at).take(FIRST_WORDS).copied().collect();
        let launcher = CommandLine::of(&line_of(&first)).launcher();
        matches!(launcher, Launcher::VllmServe | Launcher::VllmModule)
    };
    let at = words.iter().enumerate().position(|(at, word)| {
        let program = word.rsplit('/').next().unwrap_or_default();
        (program == "vllm" || program.starts_with("python")) && starts_vllm(at)
    })?;
    words.get(at..).map(line_of)
}

fn words(container: &Value) -> Vec<&str> {
    let list = |key| container.get(key).and_then(Value::as_array).into_iter().flatten();
    list("command").chain(list("args")).filter_map(Value::as_str).collect()
}

fn line_of<T: AsRef<str>>(words: &[T]) -> Value {
    json!({"command": words.iter().map(AsRef::as_ref).collect::<Vec<&str>>()})
}

/// The words that are scripts: of a shell every one that may hold an option, of another program the one behind a `-c`.
fn scripts<'a>(words: &'a [&'a str], shell: bool) -> impl Iterator<Item = &'a str> {
    let before = std::iter::once("").chain(words.iter().copied());
    let is_switch = |word: &str| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    before
        .zip(words.iter().copied())
        .filter(move |(before, word)| {
            (shell || is_switch(before)) && word.contains(char::is_whitespace) && word.contains("--")
        })
        .map(|(_, word)| word)
}

/// The commands of a shell script, as words. Quotes and backslashes are taken away as a shell does it; nothing is expanded.
fn commands(script: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = script.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (Some(open), _) if open == character => quote = None,
            (None | Some('"'), '\\') => match characters.next() {
                None | Some('\n') => {}
                Some(next) => {
                    let word = word.get_or_insert_default();
                    if quote.is_some() && !matches!(next, '"' | '\\' | '$' | '`') {
                        word.push('\\');
                    }
                    word.push(next);
                }
            },
            (None, '#') if word.is_none() => {
                let _comment = characters.by_ref().find(|&character| character == '\n');
                commands.push(Vec::new());
            }
            (None, ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '(' | ')') => {
                if let (Some(word), Some(command)) = (word.take(), commands.last_mut()) {
                    command.push(word);
                }
                if !matches!(character, ' ' | '\t' | '\r') {
                    commands.push(Vec::new());
                }
            }
            _ => word.get_or_insert_default().push(character),
        }
    }
    if let (Some(word), Some(command)) = (word, commands.last_mut()) {
        command.push(word);
    }
    commands.retain(|command| !command.is_empty());
    commands
}

#[cfg(test)]
mod tests {
    #[cfg(target_arch = "wasm32")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use pod_edit::args::{ENABLE_CHUNKED_PREFILL, KV_TRANSFER_CONFIG};

    fn connection(command: &[&str], args: &[&str]) -> Option<String> {
        match effective(&json!({"command": command, "args": args}), &KV_TRANSFER_CONFIG)? {
            FlagUse::Text(text) => Some(text),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn behind_a_program_that_starts_vllm() {
        let args = [
            "org/m",
            "--kv-transfer-config",
            "{}",
            "--",
            "--kv-transfer-config",
            "not vLLM's",
        ];
        for command in [
            &["vllm", "serve"][..],
            &["/op/bin/op", "run", "--", "vllm", "serve"],
            &[
                "/op/bin/op",
                "run",
                "--env-file",
                "x",
                "--",
                "python3",
                "-m",
                "vllm.entrypoints.openai.api_server",
            ],
            &["tini", "--", "numactl", "--interleave=all", "--", "vllm", "serve"],
            &["sh", "-c", "exec \"$@\"", "--", "vllm", "serve"],
            &["numactl", "--interleave=all", "vllm", "serve"],
            &["sh", "-c", "exec \"$@\"", "sh", "vllm", "serve"],
        ] {
            assert_eq!(connection(command, &args).as_deref(), Some("{}"), "{command:?}");
        }
        let wrapped_entry_point = ["--model", "m", "--kv-transfer-config", "{}"];
        for command in [&["/wrapper", "--"][..], &["/wrapper"], &[]] {
            assert_eq!(connection(command, &wrapped_entry_point).as_deref(), Some("{}"));
        }
    }

    #[test]
    fn where_vllm_stands_first_two_dashes_end_its_options() {
        let args = ["org/m", "--", "--kv-transfer-config", "{}"];
        for command in [
            &["vllm", "serve"][..],
            &[],
            &["/op/bin/op", "run", "--", "vllm", "serve"],
        ] {
            assert_eq!(connection(command, &args), None, "{command:?}");
        }
    }

    #[test]
    fn inside_a_script() {
        let json = r#"{"kv_connector": "A", "n": [1]}"#;
        for script in [
            format!("exec vllm serve m --kv-transfer-config '{json}'"),
            format!("set -e; . /secrets && exec vllm serve m --kv-transfer-config '{json}'; exit 1"),
            format!("vllm serve m \\\n  --kv-transfer-config='{json}' \\\n  --port 8000 2>&1 | tee log"),
            format!(
                "exec vllm serve m --kv_transfer_config \"{}\"",
                json.replace('"', "\\\"")
            ),
            format!(
                "exec op run -- vllm serve m --kv-transfer-config {}",
                json.replace(['"', ' '], "").replace("kv_c", "\\\"kv_c")
            ),
            format!("# it's wrapped\n(vllm serve m --kv-transfer-config '{json}')"),
        ] {
            let found = connection(&["/bin/sh", "-c"], &[&script]).unwrap();
            assert!(
                found.starts_with('{') && found.ends_with('}') && found.contains("kv_connector"),
                "{script}: {found}"
            );
            assert_eq!(
                connection(&["tini", "--", "bash", "-lc", &script], &[]),
                Some(found.clone())
            );
            assert_eq!(connection(&["timeout", "9", "bash", "-lc", &script], &[]), Some(found));
        }
        let nested = format!(
            "exec bash -c \"exec vllm serve m --kv-transfer-config '{}'\"",
            json.replace('"', "\\\"")
        );
        assert_eq!(connection(&["sh", "-c", &nested], &[]).as_deref(), Some(json));
        for without in [
            "exec vllm serve m",
            "vllm serve m # --kv-transfer-config x",
            "",
            "vllm serve -- --kv-transfer-config x",
        ] {
            assert_eq!(connection(&["sh", "-c", without], &[]), None, "{without}");
        }
    }

    #[test]
    fn a_text_that_is_no_script_is_none() {
        let text = "told to --kv-transfer-config {}";
        assert_eq!(connection(&["echo", text], &[]), None);
        assert_eq!(connection(&["vllm", "serve", "-c", text], &[]), None);
    }

    #[test]
    fn switches_too() {
        for command in [
            vec!["op", "run", "--", "vllm", "serve", "m", "--no-enable-chunked-prefill"],
            vec!["sh", "-c", "vllm serve m --no-enable-chunked-prefill --port 1"],
        ] {
            let found = effective(&json!({"command": command}), &ENABLE_CHUNKED_PREFILL);
            assert_eq!(found, Some(FlagUse::Off));
        }
    }

    #[test]
    fn odd_lines_end() {
        let nested = vec!["--"; 5000];
        assert_eq!(connection(&["a"], &nested), None);
        assert!(connection(&["sh", "-c", "'--kv-transfer-config \\", "\"--kv-transfer-config"], &[]).is_none());
    }
}
