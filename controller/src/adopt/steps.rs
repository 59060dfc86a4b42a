//! Which step of docs/migrate-from-go-operator.md comes next.

use serde::Serialize;

use super::engines::{Engine, Servers};
use super::finding::{Finding, Level, codes};
use super::operators::Operator;
use super::webhooks::{Standing, Webhook, Whose};

/// A step of the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Its number there.
    pub step: u8,
    /// Its heading there.
    pub title: &'static str,
    /// What to do instead of what stands there; absent where that is what there is to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead: Option<String>,
}

/// The headings of the steps, in their order.
pub const STEPS: [&str; 9] = [
    "Look, and keep the CRDs safe",
    "Policies that look",
    "Policies that wire",
    "The Go operator's webhooks go",
    "The Go operator stops",
    "lmcache-controller starts",
    "Workloads, when it suits",
    "The audit, then the guard",
    "What is left of the Go operator",
];

/// A step by its number, from 1 on.
fn step(step: u8) -> Step {
    let title = STEPS.get(usize::from(step).wrapping_sub(1));
    Step {
        step,
        title: title.copied().unwrap_or_default(),
        instead: None,
    }
}

/// What the next step is told by.
pub(super) struct State<'a> {
    pub findings: &'a [Finding],
    pub ours: &'a [Operator],
    pub webhooks: &'a [Webhook],
    pub engines: &'a [Engine],
    pub has_crds: bool,
    pub changing_workloads: usize,
    /// For which of the two systems workloads ask, LMCache first.
    pub wanted: [bool; 2],
}

/// The next step; `None` where nothing is left to do.
pub(super) fn next(state: &State<'_>) -> Option<Step> {
    let standing = Standing::of(state.webhooks);
    let is_found = |code| state.findings.iter().any(|finding| finding.code == code);
    let is_first = |code| {
        state
            .findings
            .iter()
            .any(|finding| finding.code == code && finding.level == Level::First)
    };
    let go_runs = is_first(codes::GO_OPERATOR_RUNS) || is_first(codes::TWO_CONTROLLERS);
    let is_ours = state.ours.iter().any(Operator::runs);
    let refuses = is_found(codes::PODS_REFUSED);
    if refuses {
        return Some(step(4));
    }
    if is_found(codes::CRDS_AT_RISK) && (go_runs || standing.go) {
        return Some(step(1));
    }
    if go_runs || standing.go {
        let wires = standing.injects || standing.injects_cacheblend;
        // Their webhooks have to stay while they are the only ones that wire Pods of one of the systems.
        let is_whole =
            wires && (standing.injects || !state.wanted[0]) && (standing.injects_cacheblend || !state.wanted[1]);
        return Some(match (standing.validates || wires, is_whole, standing.go) {
            (false, ..) => step(2),
            (true, false, true) => step(3),
            (true, true, true) => step(4),
            (true, _, false) => step(5),
        });
    }
    if !is_ours && state.has_crds {
        return Some(step(6));
    }
    // What is wrong with the others, or somebody's, the controller does not come to by being started.
    let is_left = |engine: &Engine| {
        let comes_to_it = !matches!(engine.servers, Servers::Foreign | Servers::Ending);
        engine.of_the_go_operator > 0 && comes_to_it && !engine.waits()
    };
    if state.engines.iter().any(is_left) {
        return Some(step(6));
    }
    if is_found(codes::PODS_UNWIRED) {
        return Some(step(3));
    }
    let ours = state.webhooks.iter().any(|webhook| webhook.whose == Whose::Ours);
    if ours && !standing.guards {
        return Some(if state.changing_workloads > 0 { step(7) } else { step(8) });
    }
    if is_first(codes::CRDS_AT_RISK) {
        return Some(step(1));
    }
    // Step 9 takes the way back along.
    waiting(state.engines).or_else(|| is_found(codes::LEFTOVERS).then(|| step(9)))
}

/// Engines that the controller takes over as soon as somebody has mended them.
fn waiting(engines: &[Engine]) -> Option<Step> {
    let waiting = engines.iter().filter(|engine| engine.waits());
    let named: Vec<String> = waiting
        .map(|engine| {
            let problem = engine.problems.first().map_or("see its conditions", String::as_str);
            format!("{} ({problem})", engine.title())
        })
        .collect();
    (!named.is_empty()).then(|| Step {
        instead: Some(format!(
            "it has started, and these wait for you; mended, they are taken over: {}",
            named.join(", ")
        )),
        ..step(6)
    })
}
