//! Fuzzing of the compiled policies: mutated requests, clusters, host answers and settings, and rules that hold for all.
//!
//! Everything hangs on a seed: the same seed gives the same inputs, as many of them as the time allows. Inputs on which a
//! policy shows a behaviour that was not seen before join those from which the next ones are made.

mod corpus;
mod dictionary;
mod input;
mod judge;
mod minimise;
mod mutate;
mod report;
mod rng;
mod role;
mod signature;
mod subject;
mod words;

pub use input::Input;
pub use judge::{Violation, peers};
pub use report::Finding;
pub use role::{Owned, Role};
pub use subject::Subject;

use judge::judge;
use minimise::minimise;
use mutate::Material;
use policy_host::Evaluation;
use rng::Rng;
use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::time::Instant;

/// Findings that a run keeps of a policy; it stops then.
const FINDINGS: usize = 12;
/// Inputs that a run starts from at most; beyond it new ones take the place of others.
const POOL: usize = 4000;
/// Evaluations spent on making one input smaller.
const TRIES: usize = 1500;
/// Only every so many inputs are compared with other policies, which takes several evaluations.
const COMPARED: u64 = 4;

/// How long a run lasts.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// Until a moment; the inputs of the corpus itself come in any case.
    Until(Instant),
    /// So many mutations. The corpus itself is left to the fixtures' own test.
    Mutations(u64),
}

/// The inputs for a policy: its own fixtures and those of policies that see the same objects.
///
/// # Errors
/// A fixture cannot be read, or there is none.
pub fn corpus(policy: &str) -> Result<Vec<Input>, String> {
    corpus::of(policy, Role::of(policy))
}

/// One run of one policy.
pub struct Run<'a> {
    /// The policy.
    pub subject: &'a Subject,
    /// The policies that it is compared with, as [`peers::of`] names them; none leaves the comparison out.
    pub peers: &'a [Subject],
    /// The inputs to start from, as [`corpus`] finds them.
    pub corpus: &'a [Input],
    /// What the mutations hang on.
    pub seed: u64,
    /// When it ends.
    pub limit: Limit,
    /// Where findings are written; nowhere if there is none.
    pub findings_in: Option<PathBuf>,
}

/// What a run did.
#[derive(Debug, Default)]
pub struct Summary {
    /// How many mutations were evaluated.
    pub mutations: u64,
    /// How many inputs there were to start from in the end, the corpus among them.
    pub pool: usize,
    /// The broken rules.
    pub findings: Vec<Finding>,
}

impl Run<'_> {
    /// Evaluates inputs until the limit.
    ///
    /// # Errors
    /// The questions of the policy cannot be read, or a finding cannot be written.
    pub fn start(&self) -> Result<Summary, String> {
        let material = Material::of(&self.subject.name, self.corpus)?;
        let mut state = State {
            run: self,
            seen: HashSet::new(),
            reported: BTreeSet::new(),
            summary: Summary::default(),
        };
        let mut pool = self.corpus.to_vec();
        if let Limit::Until(_) = self.limit {
            for (turn, input) in (self.seed % COMPARED..).zip(self.corpus) {
                state.evaluate(input, 0, turn.is_multiple_of(COMPARED))?;
            }
        }
        let mut rng = Rng::named(self.seed, &self.subject.name);
        while !self.is_over(&state.summary) {
            state.summary.mutations += 1;
            let number = state.summary.mutations;
            let Some(start) = rng.pick(&pool).cloned() else {
                break;
            };
            let input = mutate::mutate(&mut rng, &material, &pool, &start);
            if state.evaluate(&input, number, number.is_multiple_of(COMPARED))? {
                if pool.len() < POOL {
                    pool.push(input);
                } else {
                    let place = rng.below(pool.len());
                    if let Some(old) = pool.get_mut(place) {
                        *old = input;
                    }
                }
            }
        }
        state.summary.pool = pool.len();
        Ok(state.summary)
    }

    fn is_over(&self, summary: &Summary) -> bool {
        summary.findings.len() >= FINDINGS
            || match self.limit {
                Limit::Until(moment) => Instant::now() >= moment,
                Limit::Mutations(count) => summary.mutations >= count,
            }
    }

    fn judge(&self, input: &Input, compared: bool) -> Result<Evaluation, Violation> {
        let evaluation = judge(self.subject, input)?;
        if compared {
            peers::check(self.subject, self.peers, input, &evaluation)?;
        }
        Ok(evaluation)
    }
}

struct State<'a> {
    run: &'a Run<'a>,
    seen: HashSet<u64>,
    /// Rules that were broken already, and roughly how.
    reported: BTreeSet<(&'static str, String)>,
    summary: Summary,
}

impl State<'_> {
    /// Judges an input; whether the policy behaved in a new way. A broken rule is a finding, once.
    fn evaluate(&mut self, input: &Input, iteration: u64, compared: bool) -> Result<bool, String> {
        let violation = match self.run.judge(input, compared) {
            Ok(evaluation) => return Ok(self.seen.insert(signature::of(&evaluation))),
            Err(violation) => violation,
        };
        if !self.reported.insert((
            violation.rule,
            signature::skeleton(signature::beginning(&violation.detail)),
        )) {
            return Ok(false);
        }
        let fails = |input: &Input| {
            let judged = self.run.judge(input, compared);
            judged.is_err_and(|other| other.rule == violation.rule)
        };
        let input = minimise(input, TRIES, fails);
        let violation = self.run.judge(&input, compared).err().unwrap_or(violation);
        let mut finding = Finding {
            policy: self.run.subject.name.clone(),
            seed: self.run.seed,
            iteration,
            violation,
            input,
            folder: None,
        };
        if let Some(folder) = &self.run.findings_in {
            finding.write(folder, self.summary.findings.len() + 1)?;
        }
        self.summary.findings.push(finding);
        Ok(false)
    }
}

#[cfg(test)]
mod tests;
