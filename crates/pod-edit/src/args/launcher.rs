//! What a command line starts.

use super::line::CommandLine;

/// What a command line starts, and so whether its arguments reach an engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Launcher {
    /// The image's own entry point: no `command`, and `args` that name no program.
    Entrypoint,
    /// `vllm serve`, also `python3 -m vllm.entrypoints.cli.main serve`.
    VllmServe,
    /// `python3 -m vllm.entrypoints...`.
    VllmModule,
    /// `python3 -m sglang.launch_server`.
    SglangLaunchServer,
    /// A shell. What is appended becomes a parameter of its script and reaches no engine.
    Shell,
    /// Another program, by the first word of the line.
    Other(String),
}

const SHELLS: [&str; 6] = ["sh", "bash", "dash", "ash", "zsh", "ksh"];

/// Programs that start others, recognised without `command` too, where the first of `args` could also be a model.
const STARTERS: [&str; 9] = [
    "ray",
    "tini",
    "dumb-init",
    "env",
    "torchrun",
    "numactl",
    "mpirun",
    "uv",
    "sglang",
];

/// The launcher, and the index of the first argument that it hands on.
pub(super) fn detect(line: &CommandLine<'_>) -> (Launcher, usize) {
    let has_command = !line.command.is_empty();
    let Some(first) = line.word(0) else {
        return match line.command.first() {
            Some(word) => (Launcher::Other(word.to_string()), 0),
            None => (Launcher::Entrypoint, 0),
        };
    };
    // Without `command`, `org/bash` is a model and `/bin/bash` a program.
    let program = if has_command || first.starts_with('/') {
        first.rsplit('/').next().unwrap_or(first)
    } else {
        first
    };
    if SHELLS.contains(&program) || (!has_command && is_shell_switch(line)) {
        return (Launcher::Shell, 0);
    }
    let known = match program {
        "vllm" => (line.word(1) == Some("serve")).then_some((Launcher::VllmServe, 2)),
        _ if is_python(program) => module(line),
        _ if has_command || STARTERS.contains(&program) => None,
        _ => Some((Launcher::Entrypoint, 0)),
    };
    known.unwrap_or_else(|| (Launcher::Other(first.to_owned()), 0))
}

/// `python`, `python3`, `python3.12`.
fn is_python(program: &str) -> bool {
    program
        .strip_prefix("python")
        .is_some_and(|version| version.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
}

/// The module that `python -m` runs, if it is an engine.
fn module(line: &CommandLine<'_>) -> Option<(Launcher, usize)> {
    let mut at = 1;
    loop {
        match line.word(at)? {
            "-m" => break,
            // The only switches of the interpreter that take a word of their own.
            "-W" | "-X" => at += 2,
            switch if is_interpreter_switch(switch) => at += 1,
            _ => return None,
        }
    }
    let arguments = at + 2;
    match line.word(at + 1)? {
        "vllm.entrypoints.cli.main" => {
            (line.word(arguments) == Some("serve")).then_some((Launcher::VllmServe, arguments + 1))
        }
        name if name.starts_with("vllm.entrypoints.") => Some((Launcher::VllmModule, arguments)),
        "sglang.launch_server" => Some((Launcher::SglangLaunchServer, arguments)),
        _ => None,
    }
}

/// A switch like `-u` or `-Wignore`; not `-c CODE` or `-m MODULE` among other letters, which end the switches. With `-I` or
/// `-E` Python does not read its environment: neither a hash seed nor a search path would reach the engine.
fn is_interpreter_switch(word: &str) -> bool {
    match word.strip_prefix('-') {
        None | Some("") => false,
        Some(letters) => letters.starts_with(['W', 'X']) || !letters.contains(['-', 'c', 'm', 'I', 'E']),
    }
}

/// Whether `args` begin with the switches of a shell that is the image's entry point: `-c`, `-lc`, `-euo pipefail -c`. vLLM's
/// own short names that end in `c` (`-cc`, `-ac`, `-sc`, `-asc`) hold other letters.
fn is_shell_switch(line: &CommandLine<'_>) -> bool {
    let letters = |at: usize, last: &[char]| {
        line.word(at)
            .and_then(|word| word.strip_prefix('-'))
            .and_then(|word| word.strip_suffix(last))
            .is_some_and(|before| before.bytes().all(|letter| b"eiluvx".contains(&letter)))
    };
    letters(0, &['c']) || (letters(0, &['o']) && letters(2, &['c']))
}
