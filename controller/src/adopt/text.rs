//! The report for people.

use std::fmt::{self, Display, Formatter};

use super::engines::{Engine, Servers};
use super::finding::{Finding, Level};
use super::installer::{Installer, Keeps, named};
use super::operators::Operator;
use super::report::Report;
use super::steps::Step;
use super::webhooks::{Webhook, Whose};
use super::workloads::Workload;

/// As many paths as are listed of one thing.
const PATHS: usize = 8;

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        runs(self, f)?;
        section(
            f,
            "Admission, in the order of the API server",
            self.webhooks.iter().map(webhook),
        )?;
        section(f, "Engines and coordinators", self.engines.iter().map(engine))?;
        section(f, "Workloads that ask for wiring", self.workloads.iter().map(workload))?;
        for (level, title) in [
            (Level::First, "To be done first"),
            (Level::Change, "Will be otherwise"),
            (Level::Note, "Notes"),
        ] {
            section(f, title, self.of(level).map(finding))?;
        }
        let step = |next: &Step| {
            let instead = next.instead.iter().map(|instead| format!(": {instead}"));
            format!(
                "Next: step {}, {}{}",
                next.step,
                next.title,
                instead.collect::<String>()
            )
        };
        match (&self.next, self.clear) {
            (Some(next), true) => writeln!(f, "Nothing is in the way. {}", step(next)),
            (Some(next), false) => writeln!(f, "{}", step(next)),
            (None, true) => writeln!(f, "Nothing is left to do."),
            (None, false) => writeln!(f, "Something has to be done first, see above."),
        }
    }
}

/// A heading and a line or more for each of its items; nothing where there are none.
fn section(f: &mut Formatter<'_>, title: &str, items: impl Iterator<Item = Vec<String>>) -> fmt::Result {
    let mut items = items.peekable();
    if items.peek().is_none() {
        return Ok(());
    }
    writeln!(f, "{title}")?;
    for lines in items {
        for (number, line) in lines.iter().enumerate() {
            let indent = if number == 0 { "  " } else { "      " };
            writeln!(f, "{indent}{line}")?;
        }
    }
    writeln!(f)
}

fn runs(report: &Report, f: &mut Formatter<'_>) -> fmt::Result {
    writeln!(
        f,
        "Looked at on {}; nothing was written, and no Secret was read\n",
        report.taken
    )?;
    let none = |what: &str| vec![vec![format!("{what}: no Deployment found")]];
    let all = |what: &str, operators: &[Operator]| match operators {
        [] => none(what),
        operators => operators.iter().map(|each| operator(what, each)).collect(),
    };
    let mut lines = all("the Go operator", &report.go_operator);
    lines.extend(all("lmcache-controller", &report.controller));
    let counts: Vec<String> = report
        .counts
        .iter()
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    lines.push(vec![format!("custom resources: {}", counts.join(", "))]);
    let sum = |count: fn(&Engine) -> usize| report.engines.iter().map(count).sum::<usize>();
    lines.push(vec![format!(
        "their objects: {} with fields of the Go operator, {} with ours",
        sum(|engine| engine.of_the_go_operator),
        sum(|engine| engine.of_ours)
    )]);
    for crd in &report.crds {
        let whose = if crd.is_ours { "ours" } else { "of the Go operator" };
        let owners: Vec<String> = crd
            .installed_by
            .iter()
            .map(|owner| {
                let keeps = match owner.keeps {
                    Keeps::Yes => "stays when that goes",
                    Keeps::No | Keeps::NotInTheRelease => "goes with it",
                };
                format!("{}, {keeps}", named(std::slice::from_ref(&owner.installer)))
            })
            .collect();
        let owners = if owners.is_empty() {
            String::new()
        } else {
            format!("; {}", owners.join("; "))
        };
        lines.push(vec![format!("CRD {}: {whose}{owners}", crd.name)]);
    }
    let used = &report.settings;
    lines.push(vec![format!(
        "judged by {}: ipcDefault {}, clusterDomain {}",
        used.source, used.ipc_default, used.cluster_domain
    )]);
    section(f, "What runs", lines.into_iter())
}

fn operator(what: &str, operator: &Operator) -> Vec<String> {
    let mut lines = vec![format!(
        "{what}: Deployment {}, {} of {} replicas ready",
        operator.place(),
        operator.ready,
        operator.replicas
    )];
    if !operator.ending.is_empty() {
        lines.push(format!("Pods that end: {}", operator.ending.join(", ")));
    }
    lines.push(format!("image {}", operator.image));
    if let Some(leader) = &operator.leader {
        let alive = if leader.is_fresh { "" } else { ", which is long ago" };
        lines.push(format!(
            "led by {:?}, renewed at {}{alive}",
            leader.holder, leader.renewed
        ));
    }
    lines.extend(installed_by(&operator.installed_by));
    lines
}

fn installed_by(by: &[Installer]) -> Option<String> {
    (!by.is_empty()).then(|| format!("installed by {}", named(by)))
}

fn webhook(webhook: &Webhook) -> Vec<String> {
    let whose = match webhook.whose {
        Whose::GoOperator => "the Go operator's",
        Whose::Ours => "our policy",
    };
    let kind = webhook.kind.trim_end_matches("WebhookConfiguration").to_lowercase();
    let labels = if webhook.labels.is_empty() {
        String::new()
    } else {
        format!(", asked about {}", webhook.labels.join(", "))
    };
    let mut lines = vec![format!(
        "{whose} {} ({kind}), failurePolicy {}{labels}",
        webhook.name, webhook.failure_policy
    )];
    if webhook.whose == Whose::GoOperator {
        lines.push(format!(
            "in {} {}, served by {}",
            webhook.kind, webhook.configuration, webhook.server
        ));
        if !webhook.others.is_empty() {
            lines.push(format!("beside others there: {}", webhook.others.join(", ")));
        }
        lines.extend(
            webhook
                .certificate
                .as_ref()
                .map(|name| format!("authority from Certificate {name}")),
        );
    }
    lines.extend(installed_by(&webhook.installed_by));
    lines
}

fn engine(engine: &Engine) -> Vec<String> {
    let servers = match engine.servers {
        Servers::Kept => "servers run on; a later rollout changes",
        Servers::Same => "servers run on; nothing about them is otherwise",
        Servers::Ours => "is our controller's already",
        Servers::Held => "servers run on as they are",
        Servers::Replaced => "servers are replaced; what changes is",
        Servers::Made => "its servers are made",
        Servers::Foreign => "the workload is somebody else's, and left alone",
        Servers::Ending => "is being deleted",
    };
    let paths = listed(&engine.differences);
    let [ready, desired] = engine.ready;
    let mut lines = vec![format!(
        "{} ({ready} of {desired} ready): {servers}{paths}",
        engine.title()
    )];
    lines.extend(engine.why.iter().map(|why| format!("because {why}")));
    lines.extend(engine.deleted.iter().map(|child| format!("{child} is deleted")));
    lines.extend(engine.problems.clone());
    lines
}

fn listed(paths: &[String]) -> String {
    let more = paths.len().saturating_sub(PATHS);
    let shown: Vec<&str> = paths.iter().take(PATHS).map(String::as_str).collect();
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    if shown.is_empty() {
        String::new()
    } else {
        format!(" {}{more}", shown.join(", "))
    }
}

fn workload(workload: &Workload) -> Vec<String> {
    let engines = if workload.engines.is_empty() {
        String::new()
    } else {
        format!(" to {}", workload.engines.join(", "))
    };
    let then = match (workload.wired_then, workload.reasons.as_slice()) {
        (true, []) => format!("is wired{engines}"),
        (true, reasons) => format!("is wired{engines} ({})", reasons.join(", ")),
        (false, []) => "does not ask for wiring".to_owned(),
        (false, reasons) => format!("is not wired{engines} ({})", reasons.join(", ")),
    };
    let pods = match (workload.pods, workload.changes()) {
        (0, _) => "no Pod to compare with".to_owned(),
        (1, false) => "as its Pod is now".to_owned(),
        (count, false) => format!("as its {count} Pods are now"),
        (1, true) => "otherwise than its Pod now".to_owned(),
        (count, true) => format!("otherwise than its {count} Pods now"),
    };
    let mut lines = vec![format!("{}: {then}, {pods}", workload.title())];
    lines.extend(workload.differences.clone());
    lines.extend(workload.warnings.iter().map(|warning| format!("warning: {warning}")));
    lines
}

fn finding(finding: &Finding) -> Vec<String> {
    let mut lines = vec![format!("[{}] {}", finding.code, finding.found)];
    if !finding.todo.is_empty() {
        lines.push(format!("-> {}", finding.todo));
    }
    lines
}
