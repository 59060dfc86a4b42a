//! What the policies would make of the Pods of a workload, for who wants to know before the next Pod is made.
//!
//! The same decision as at admission, about each template. Nothing is logged, and no host is asked but the given cluster.

use super::kind::Kind;
use super::{keys, of_template, wording};
use crate::cluster::{AskOnce, Cluster};
use crate::keys::SystemKeys;
use crate::pod::{Decision, Outcome, POD_INJECTION, Settings};
use serde_json::Value;

/// What becomes of the Pods of one template.
#[derive(Debug, Clone)]
pub struct Outlook {
    /// Where the template stands in the workload, with dots.
    pub path: &'static str,
    /// The template as a Pod would have it: `metadata` and `spec`, wired where the decision is to wire.
    pub pod: Value,
    /// The systems that the template asks for, and what is decided about each. Empty where it asks for none.
    pub decisions: Vec<Judged>,
    /// What a person who applies the workload is told.
    pub warnings: Vec<String>,
}

/// The decision about one system.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The labels and annotations of the system.
    pub keys: &'static SystemKeys,
    /// The engine as `namespace/name`, empty where none was named.
    pub engine: String,
    /// What becomes of the Pod.
    pub outcome: Outcome,
}

/// Looks at every template of a workload. Empty for objects of a kind without templates.
///
/// `namespace` is where its Pods are.
pub fn outlooks(
    group: &str,
    kind: &str,
    object: &Value,
    namespace: &str,
    settings: &Settings,
    cluster: &dyn Cluster,
) -> Vec<Outlook> {
    let Some(kind) = Kind::named(group, kind) else {
        return Vec::new();
    };
    let cluster = AskOnce::new(cluster);
    let templates = kind.templates(object);
    let looked_at = templates.iter().map(|template| {
        let mut outlook = Outlook {
            path: template.path,
            pod: template.body.clone(),
            decisions: Vec::new(),
            warnings: keys::of_template(template, settings)
                .iter()
                .map(|said| said.about(template.name))
                .collect(),
        };
        for side in (POD_INJECTION.sides)(settings).into_iter().flatten() {
            let decision = of_template(template, namespace, settings, &cluster, side);
            if decision.outcome != Outcome::NotOptedIn {
                outlook.add(kind, template.name, side.system.keys, &decision);
            }
        }
        outlook
    });
    looked_at.collect()
}

impl Outlook {
    fn add(&mut self, kind: Kind, template: &str, keys: &'static SystemKeys, decision: &Decision) {
        // It was tried on the template; of two systems one at most makes more than a note, so it fits here as well. Where not
        // even the note finds a place, the Pod stays as it is, as at admission.
        let _ = decision.plan.apply(&mut self.pod);
        let said = wording::of_decision(kind, decision);
        self.warnings.extend(said.iter().map(|said| said.about(template)));
        self.decisions.push(Judged {
            keys,
            engine: decision.engine.clone(),
            outcome: decision.outcome.clone(),
        });
    }
}
