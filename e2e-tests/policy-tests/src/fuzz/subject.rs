//! A policy under test.

use super::input::Input;
use super::role::Role;
use policy_host::{Evaluation, EvaluationContext, Policy, SettingsVerdict};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashMap;

/// Evaluates what it is given; `None` where no host could make a request of it.
type Evaluate = dyn Fn(&Input) -> Option<Evaluation>;
/// Judges settings.
type ValidateSettings = dyn Fn(&Value) -> SettingsVerdict;

/// Verdicts on settings that are remembered: most inputs have one of few settings.
const REMEMBERED: usize = 4096;

/// A policy, and what is known of it.
pub struct Subject {
    /// The name of its folder.
    pub name: String,
    /// What it is for.
    pub role: Role,
    /// The (apiVersion, kind) pairs that it may read.
    pub reads: Vec<(String, String)>,
    evaluate: Box<Evaluate>,
    validate_settings: Box<ValidateSettings>,
    verdicts: RefCell<HashMap<String, SettingsVerdict>>,
}

impl Subject {
    /// A compiled policy, with the grants of its metadata.
    pub fn new(name: &str, policy: Policy) -> Self {
        let reads: Vec<(String, String)> = policy
            .metadata()
            .map(|metadata| metadata.context_aware_pairs().collect())
            .unwrap_or_default();
        let (granted, judge) = (reads.clone(), policy.clone());
        let evaluate = move |input: &Input| {
            let (request, context) = (input.admission_request()?, input.context(&granted)?);
            Some(policy.validate(&request, &input.settings, &context))
        };
        let validate_settings =
            move |settings: &Value| judge.validate_settings(settings, &EvaluationContext::without_cluster());
        Self::of(name, Role::of(name), reads, evaluate, validate_settings)
    }

    /// Anything that answers like a policy.
    pub fn of(
        name: &str,
        role: Role,
        reads: Vec<(String, String)>,
        evaluate: impl Fn(&Input) -> Option<Evaluation> + 'static,
        validate_settings: impl Fn(&Value) -> SettingsVerdict + 'static,
    ) -> Self {
        Self {
            name: name.to_owned(),
            role,
            reads,
            evaluate: Box::new(evaluate),
            validate_settings: Box::new(validate_settings),
            verdicts: RefCell::default(),
        }
    }

    /// Evaluates an input in a fresh instance.
    pub fn evaluate(&self, input: &Input) -> Option<Evaluation> {
        (self.evaluate)(input)
    }

    /// What the policy says to these settings.
    pub fn settings_verdict(&self, settings: &Value) -> SettingsVerdict {
        let key = settings.to_string();
        if let Some(verdict) = self.verdicts.borrow().get(&key) {
            return verdict.clone();
        }
        let verdict = (self.validate_settings)(settings);
        let mut verdicts = self.verdicts.borrow_mut();
        if verdicts.len() >= REMEMBERED {
            verdicts.clear();
        }
        verdicts.insert(key, verdict.clone());
        verdict
    }
}
