//! `flags`: the table of LMCache's releases, for people and for programs.

mod adapters;
mod columns;
mod gaps;
mod offers;
mod one;
mod overview;
mod words;

use anyhow::{Result, anyhow, bail};
use clap::ValueEnum;
use lmcache_api::Release;
use lmcache_server::table::{COORDINATOR, COORDINATOR_COMMAND, Flag, RELEASES, SERVER, SERVER_COMMAND, at, newest};

/// Options of the command.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show one release: what it takes, what it offers, and what it cannot do. As 0.5.3, or an image tag such as
    /// v0.5.3-cu129. Without it: every flag, and the releases that know it.
    #[arg(long, value_name = "RELEASE")]
    release: Option<String>,
    /// Show one of the two commands of LMCache only.
    #[arg(long, value_name = "COMMAND")]
    command: Option<Program>,
    /// For people or for programs.
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    output: Output,
}

/// A command of LMCache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Program {
    /// `lmcache server`, which engines run.
    Server,
    /// `lmcache coordinator`.
    Coordinator,
}

impl Program {
    const ALL: [Program; 2] = [Program::Server, Program::Coordinator];

    /// The word behind `lmcache`.
    fn name(self) -> &'static str {
        match self {
            Program::Server => "server",
            Program::Coordinator => "coordinator",
        }
    }

    /// Its flags, a row for each shape that a flag had.
    fn flags(self) -> &'static [Flag] {
        match self {
            Program::Server => &SERVER,
            Program::Coordinator => &COORDINATOR,
        }
    }

    /// The first release that has the command.
    fn since(self) -> Release {
        match self {
            Program::Server => SERVER_COMMAND.since(),
            Program::Coordinator => COORDINATOR_COMMAND.since(),
        }
    }
}

/// How the answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// Columns.
    Table,
    /// One JSON object.
    Json,
}

/// The answer, with a line break at its end.
///
/// # Errors
/// The release is none, or none that is known and not newer.
pub fn run(args: &Args) -> Result<String> {
    let programs = args.command.as_ref().map_or(&Program::ALL[..], std::slice::from_ref);
    let text = match &args.release {
        None => match args.output {
            Output::Table => overview::text(programs),
            Output::Json => json(&overview::json(programs))?,
        },
        Some(asked) => {
            let chosen = Chosen::read(asked)?;
            match args.output {
                Output::Table => one::text(&chosen, programs),
                Output::Json => json(&one::json(&chosen, programs))?,
            }
        }
    };
    Ok(text)
}

fn json(value: &serde_json::Value) -> Result<String> {
    Ok(format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// The release that is shown.
#[derive(Debug, PartialEq, Eq)]
struct Chosen {
    /// What was asked for.
    asked: Release,
    /// Position in [`RELEASES`] of what is shown.
    position: usize,
}

impl Chosen {
    /// A release newer than the table is shown as the newest one, as everything else here takes it.
    fn read(asked: &str) -> Result<Self> {
        let release = Release::from_tag(asked.trim())
            .ok_or_else(|| anyhow!("--release {asked}: is no LMCache release; write it like {}", newest()))?;
        let position = RELEASES.iter().rposition(|known| *known <= release);
        match position {
            Some(position) if RELEASES.get(position) == Some(&release) || release > newest() => Ok(Chosen {
                asked: release,
                position,
            }),
            Some(position) => bail!(
                "--release {asked}: no such release was read; an engine that names it is taken for {}; known are {}",
                at(position),
                known()
            ),
            None => bail!("--release {asked}: is older than what was read; known are {}", known()),
        }
    }

    fn release(&self) -> Release {
        at(self.position)
    }

    fn is_newer(&self) -> bool {
        self.asked > newest()
    }
}

fn known() -> String {
    let known: Vec<String> = RELEASES.iter().map(ToString::to_string).collect();
    known.join(", ")
}

#[cfg(test)]
mod tests;
