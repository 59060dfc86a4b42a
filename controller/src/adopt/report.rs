//! Everything that there is to say, as data.

use lmcache_api::Kind;
use serde::Serialize;
use std::collections::BTreeMap;

use super::asking;
use super::crds::{self, Crd};
use super::engines::{self, Engine};
use super::finding::{Finding, Level, codes};
use super::installer::Installer;
use super::operator_findings;
use super::operators::{self, Operator};
use super::settings::{self, Options, Used};
use super::snapshot::Snapshot;
use super::steps::{self, State, Step};
use super::webhook_findings;
use super::webhooks::{self, Webhook, Whose};
use super::workloads::{self, Workload};

/// What `adopt --check` prints. Its JSON is what scripts read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// When the cluster was looked at, RFC 3339.
    pub taken: String,
    /// Whether nothing is in the way: no finding says that something has to be done first.
    pub clear: bool,
    /// What was found, what matters most first.
    pub findings: Vec<Finding>,
    /// The next step of docs/migrate-from-go-operator.md; absent where nothing is left to do.
    pub next: Option<Step>,
    /// The Go operator's Deployments.
    pub go_operator: Vec<Operator>,
    /// This project's controllers.
    pub controller: Vec<Operator>,
    /// How many custom resources there are, by kind.
    pub counts: BTreeMap<String, usize>,
    /// The CRDs.
    pub crds: Vec<Crd>,
    /// Webhooks about Pods of model servers, in the order in which the API server calls them.
    pub webhooks: Vec<Webhook>,
    /// Engines and coordinators.
    pub engines: Vec<Engine>,
    /// Workloads that ask for wiring.
    pub workloads: Vec<Workload>,
    /// By which settings Pods and engines were judged.
    pub settings: Used,
}

impl Report {
    /// Looks at everything in a snapshot.
    pub fn new(snapshot: &Snapshot, options: &Options) -> Report {
        let chosen = settings::choose(snapshot, options);
        let go = operators::go_operators(snapshot);
        let ours = operators::controllers(snapshot);
        let crds = crds::crds(snapshot);
        let webhooks = webhooks::webhooks(snapshot, &go);
        let engines = engines::engines(snapshot, &chosen.controller);
        let workloads = workloads::workloads(snapshot, &chosen.pods);
        let wanted = asking::wanted(snapshot, &chosen.pods);
        let unseen = operators::unseen(snapshot, &go);
        let installers: Vec<Installer> = go.iter().flat_map(|operator| operator.installed_by.clone()).collect();
        let mut findings = operator_findings::findings(&go, &unseen, &ours);
        findings.extend(webhook_findings::findings(&webhooks, &go, &unseen, wanted));
        findings.extend(crds::findings(&crds, &installers, !engines.is_empty()));
        findings.extend(engines::findings(&engines, ours.iter().any(Operator::runs)));
        findings.extend(workloads::findings(&workloads));
        findings.extend(leftovers(&go, &webhooks));
        findings.extend(chosen.findings);
        findings.sort_by_key(|finding| finding.level);
        let state = State {
            findings: &findings,
            ours: &ours,
            webhooks: &webhooks,
            engines: &engines,
            has_crds: !crds.is_empty(),
            changing_workloads: workloads.iter().filter(|workload| workload.changes()).count(),
            wanted,
        };
        let counts = Kind::ALL.map(|kind| (kind.to_string(), snapshot.of(kind.as_str()).count()));
        Report {
            taken: snapshot.taken.to_string(),
            clear: !findings.iter().any(|finding| finding.level == Level::First),
            next: steps::next(&state),
            counts: counts.into(),
            findings,
            go_operator: go,
            controller: ours,
            crds,
            webhooks,
            engines,
            workloads,
            settings: chosen.used,
        }
    }

    /// The findings of a level.
    pub fn of(&self, level: Level) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.level == level)
    }
}

/// A Deployment without replicas, and what cert-manager was told for webhooks.
fn leftovers(go: &[Operator], webhooks: &[Webhook]) -> Option<Finding> {
    let stopped = go.iter().filter(|operator| !operator.runs());
    let mut left: Vec<String> = stopped
        .map(|operator| format!("Deployment {}", operator.place()))
        .collect();
    if left.is_empty() {
        return None;
    }
    let theirs = webhooks.iter().filter(|webhook| webhook.whose == Whose::GoOperator);
    let certificates = theirs.filter_map(|webhook| webhook.certificate.as_ref());
    let helm = go.iter().flat_map(|operator| &operator.installed_by);
    let helm: Vec<&Installer> = helm.filter(|by| by.tool == "Helm").collect();
    left.extend(certificates.map(|name| format!("Certificate {name}")));
    left.dedup();
    Some(Finding::note(
        codes::LEFTOVERS,
        format!("left of the Go operator, and the way back to it: {}", left.join(", ")),
        match helm.first() {
            // The CRDs may say meanwhile that they are another release's: what the old one's manifest says is what counts.
            Some(release) => format!(
                "remove it last, see step 9. Before helm uninstall of {}, helm get manifest must show helm.sh/resource-policy: \
                 keep on all three CRDs, or all engines go with it",
                release.name
            ),
            None => "remove it last, see step 9; cert-manager's Certificate, Issuer and Secret stand in its namespace"
                .into(),
        },
    ))
}
