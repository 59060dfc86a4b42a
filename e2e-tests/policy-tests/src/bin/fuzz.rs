//! `make fuzz`: mutated input for every policy, for a given time in all. Options are environment variables:
//!
//! - `FUZZ_SECONDS`: for all policies together, 60 by default;
//! - `FUZZ_POLICY`: one policy instead of all;
//! - `FUZZ_SEED`: a number; by default the time;
//! - `FUZZ_DIR`: where broken rules are written, `target/fuzz` by default.
//!
//! Exit code 1 when a policy broke a rule.

use policy_tests::fuzz::{Limit, Run, Subject, Summary, corpus, peers};
use policy_tests::{POLICIES, load, root};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

struct Options {
    seconds: f64,
    policies: Vec<String>,
    seed: u64,
    folder: PathBuf,
}

fn main() -> ExitCode {
    match options().and_then(|options| fuzz(&options)) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(findings) => {
            eprintln!("{findings} broken rules");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("Error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

fn options() -> Result<Options, String> {
    let seconds = variable("FUZZ_SECONDS").unwrap_or_else(|| "60".to_owned());
    let seconds = seconds
        .parse()
        .ok()
        .filter(|seconds: &f64| seconds.is_finite() && *seconds > 0.0)
        .ok_or_else(|| format!("FUZZ_SECONDS is '{seconds}', expected a number of seconds"))?;
    let seed = match variable("FUZZ_SEED") {
        Some(text) => text
            .parse()
            .map_err(|_| format!("FUZZ_SEED is '{text}', expected a number"))?,
        None => SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs()),
    };
    let policies = match variable("FUZZ_POLICY") {
        Some(name) => vec![name],
        None => POLICIES.iter().map(|name| (*name).to_owned()).collect(),
    };
    let root = root().canonicalize().unwrap_or_else(|_| root());
    let folder = variable("FUZZ_DIR").map_or_else(|| root.join("target/fuzz"), PathBuf::from);
    Ok(Options {
        seconds,
        policies,
        seed,
        folder,
    })
}

/// Gives every policy its share of the time, on as many threads as there are processors.
fn fuzz(options: &Options) -> Result<usize, String> {
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(options.policies.len());
    let queue = Mutex::new(options.policies.iter().rev().cloned().collect::<Vec<_>>());
    let count = u32::try_from(options.policies.len()).unwrap_or(u32::MAX);
    let at_once = u32::try_from(threads).unwrap_or(1);
    let share = Duration::from_secs_f64(options.seconds) * at_once / count.max(1);
    say(&format!(
        "seed {}, {:.1} s for each policy",
        options.seed,
        share.as_secs_f64()
    ));
    let worker = || {
        let mut findings = 0;
        while let Some(policy) = queue.lock().ok().and_then(|mut queue| queue.pop()) {
            findings += fuzz_one(&policy, options, share)?;
        }
        Ok::<usize, String>(findings)
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .map(|worker| {
                worker
                    .join()
                    .unwrap_or_else(|_| Err("the harness itself failed".to_owned()))
            })
            .sum()
    })
}

fn fuzz_one(policy: &str, options: &Options, share: Duration) -> Result<usize, String> {
    let subject = Subject::new(policy, load(policy)?);
    let compared = peers::of(policy)
        .iter()
        .map(|name| Ok(Subject::new(name, load(name)?)))
        .collect::<Result<Vec<_>, String>>()?;
    let start = Instant::now();
    let run = Run {
        subject: &subject,
        peers: &compared,
        corpus: &corpus(policy)?,
        seed: options.seed,
        limit: Limit::Until(start + share),
        findings_in: Some(options.folder.clone()),
    };
    let Summary {
        mutations,
        pool,
        findings,
    } = run.start()?;
    let seconds = start.elapsed().as_secs_f64();
    let rate = f64::from(u32::try_from(mutations).unwrap_or(u32::MAX)) / seconds;
    say(&format!(
        "{policy}: {mutations} inputs in {seconds:.1} s ({rate:.0}/s), {pool} to start from, {} broken rules",
        findings.len()
    ));
    for finding in &findings {
        say(&finding.to_string());
    }
    Ok(findings.len())
}

/// A reader that went away is no reason to stop.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
