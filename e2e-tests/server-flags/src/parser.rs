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
            .env("LANG", "C.UTF-8")
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
        if ready["ready"] != json!(true) {
            bail!("the release cannot be loaded with stand-ins: {}", ready["message"]);
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
        let answer: Value = self.receive().with_context(|| format!("asking about {}", line.text()))?;
        if answer["id"] != json!(self.asked) {
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
