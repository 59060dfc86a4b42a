//! The real argument parser of one release, in a Python process that answers one line with another.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::line::Line;
use crate::python::{Python, scripts};

/// How the real command ends; see `python/command.py`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// All its checks passed, it was about to serve.
    Accepted,
    /// Its argument parser refused the line.
    Usage,
    /// One of its own checks refused the configuration.
    Config,
    /// It printed its help and ended.
    Help,
    /// The release has no such program.
    Absent,
    /// The test bed failed; says nothing about the line.
    Harness,
}

/// What the real command said.
#[derive(Clone, Debug, Deserialize)]
pub struct Answer {
    /// How it ended.
    pub outcome: Outcome,
    /// The parser's or the check's words; empty where the line was accepted.
    pub message: String,
    /// What the parser made of the arguments, by the name that `argparse` gives to each; only where asked for.
    #[serde(default)]
    pub parsed: Map<String, Value>,
}

/// The real parser of one release. The process ends when it is dropped.
pub struct RealParser {
    child: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    known: BTreeMap<Line, Answer>,
    /// Lines that the process has answered.
    pub asked: usize,
    /// Time that the answers took.
    pub spent: Duration,
}

impl RealParser {
    /// Loads the unpacked release.
    pub fn start(python: &Python, folder: &Path) -> Result<Self> {
        let mut child = Command::new(python.path())
            // Isolated, without installed packages: only the standard library, the release and the stand-ins.
            .args(["-I", "-S"])
            .arg(scripts().join("serve.py"))
            .arg(folder)
            // Several flags can also come from the environment.
            .env_clear()
            // Paths in made-up lines lead nowhere near the sources.
            .current_dir(std::env::temp_dir())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("starting {}", python.path().display()))?;
        let (questions, answers) = (child.stdin.take(), child.stdout.take());
        let answers = answers.context("no standard output")?;
        let mut parser = RealParser {
            child,
            questions,
            answers: BufReader::new(answers),
            known: BTreeMap::new(),
            asked: 0,
            spent: Duration::ZERO,
        };
        let ready: Value = parser.receive().context("loading the release")?;
        if ready.get("ready") != Some(&json!(true)) {
            bail!("the release cannot be loaded with stand-ins: {ready}");
        }
        Ok(parser)
    }

    /// The answer to a line; the same line is asked once.
    pub fn ask(&mut self, line: &Line) -> Result<Answer> {
        if let Some(answer) = self.known.get(line) {
            return Ok(answer.clone());
        }
        let answer = self.ask_again(line, false)?;
        self.known.insert(line.clone(), answer.clone());
        Ok(answer)
    }

    /// The answer to a line that may have been asked before, with what was parsed on demand.
    pub fn ask_again(&mut self, line: &Line, parsed: bool) -> Result<Answer> {
        let start = Instant::now();
        let question =
            json!({"id": self.asked, "command": line.command, "args": line.args, "env": line.env, "parsed": parsed});
        let questions = self.questions.as_mut().context("the parser has ended")?;
        writeln!(questions, "{question}").with_context(|| format!("asking about {}", line.text()))?;
        let answer: Value = self
            .receive()
            .with_context(|| format!("asking about {}", line.text()))?;
        if answer.get("id") != Some(&json!(self.asked)) {
            bail!("the answer belongs to another question: {answer}");
        }
        self.asked += 1;
        self.spent += start.elapsed();
        Ok(serde_json::from_value(answer)?)
    }

    fn receive(&mut self) -> Result<Value> {
        let mut text = String::new();
        if self.answers.read_line(&mut text)? == 0 {
            bail!("the Python process ended without an answer");
        }
        Ok(serde_json::from_str(&text)?)
    }
}

impl Drop for RealParser {
    fn drop(&mut self) {
        // Without questions it ends by itself.
        drop(self.questions.take());
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    /// A release with a `main` of this body, in a folder of its own.
    fn release(name: &str, main: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("server-flags-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let write = |path: &str, text: &str| {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "lmcache-1.dist-info/entry_points.txt",
            "[console_scripts]\nlmcache = lmcache.cli.main:main\n",
        );
        write("compiled-modules", "lmcache.compiled\n");
        for package in [
            "lmcache",
            "lmcache/cli",
            "lmcache/v1",
            "lmcache/v1/distributed",
            "lmcache/v1/distributed/l2_adapters",
        ] {
            write(&format!("{package}/__init__.py"), "");
        }
        write("lmcache/cli/main.py", main);
        folder
    }

    /// What the release answers to one word; `None` where there is no Python.
    fn answer(name: &str, main: &str, word: &str) -> Option<Answer> {
        let python = Python::find().ok()?;
        let folder = release(name, main);
        let answer = RealParser::start(&python, &folder)
            .unwrap()
            .ask_again(&Line::new("server", &[word]), true)
            .unwrap();
        fs::remove_dir_all(folder).unwrap();
        Some(answer)
    }

    const MAIN: &str = r#"
import argparse, logging, sys
import torch, uvicorn
from lmcache import compiled

logger = logging.getLogger("lmcache.cli.main")

@torch.jit.script
class Config(torch.nn.Module):
    kind: torch.Tensor | None = None

def check(word):
    if word == "wrong":
        raise ValueError("the word is wrong")
    if word == "leak" and torch.cuda.device_count() > 1:
        raise ValueError("decided by a stand-in")
    if word == "swallowed":
        try:
            bool(compiled.answer())
        except:
            pass
    if word == "missing":
        import no_such_package
    if word == "late":
        sys.exit(1)
    if word == "silent":
        return
    uvicorn.Server(uvicorn.Config(Config())).run()

def main():
    parser = argparse.ArgumentParser(prog="lmcache")
    parser.add_argument("command")
    parser.add_argument("word", choices="right wrong leak swallowed missing late silent".split())
    args = parser.parse_args()
    try:
        check(args.word)
    except Exception:
        logger.exception("Command failed")
        sys.exit(1)
"#;

    #[test]
    fn the_outcome_is_that_of_the_release() {
        for (word, outcome, message) in [
            ("right", Outcome::Accepted, ""),
            ("wrong", Outcome::Config, "ValueError: the word is wrong"),
            (
                "bogus",
                Outcome::Usage,
                "lmcache: error: argument word: invalid choice: 'bogus'",
            ),
            ("-h", Outcome::Help, ""),
        ] {
            let Some(answer) = answer(&format!("outcome-{word}"), MAIN, word) else {
                return;
            };
            assert_eq!(answer.outcome, outcome, "{word}: {}", answer.message);
            assert!(answer.message.starts_with(message), "{word}: {}", answer.message);
        }
    }

    #[test]
    fn what_a_stand_in_decides_is_no_outcome() {
        for word in ["leak", "swallowed", "missing", "late", "silent"] {
            let Some(answer) = answer(&format!("harness-{word}"), MAIN, word) else {
                return;
            };
            assert_eq!(answer.outcome, Outcome::Harness, "{word}: {}", answer.message);
        }
    }

    #[test]
    fn what_was_parsed_can_be_looked_at() {
        let Some(answer) = answer("parsed", MAIN, "right") else {
            return;
        };
        assert_eq!(answer.parsed.get("word"), Some(&json!("right")));
    }

    #[test]
    fn a_release_that_cannot_be_loaded_says_why() {
        let Ok(python) = Python::find() else { return };
        let folder = release("broken", "import no_such_package");
        let error = RealParser::start(&python, &folder).err().unwrap();
        assert!(format!("{error:#}").contains("no_such_package"), "{error:#}");
        fs::remove_dir_all(folder).unwrap();
    }
}
