//! Carrying out the steps about children.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use super::api::Api;
use super::fault::Fault;
use crate::index::{Index, Shared};
use crate::live::{Child, ChildKind, Key};
use crate::plan::{ChildName, Desired, Inputs, Monitors, Owner, Problem, Reason, Step, Wanted, fitted, foreign, step};

/// What came of the steps.
#[derive(Debug, Default)]
pub(super) struct Applied {
    /// What was not done, in the order of the steps.
    pub problems: Vec<Problem>,
    /// Whether anything was written.
    pub has_written: bool,
    /// Whether the workload that runs stays as it was: see [`crate::plan::Report::is_held`].
    pub is_held: bool,
}

/// Creates, applies and deletes what `desired` says. A step that fails does not keep the others from being taken.
pub(super) async fn apply(api: &Api, shared: &Shared, key: &Key, inputs: &Inputs, desired: &Desired) -> Applied {
    let mut outcome = Applied {
        problems: desired.problems.clone(),
        has_written: false,
        is_held: desired.is_held,
    };
    let children = Children {
        api,
        shared,
        namespace: &key.namespace,
        owner: Owner {
            key,
            uid: inputs.custom.uid(),
        },
    };
    for wanted in &desired.wanted {
        let live = inputs.children.get(&wanted.name).map(AsRef::as_ref);
        let kind = wanted.name.kind;
        // Clients would be led to where nobody listens.
        if outcome.is_held && live.is_some() && matches!(kind, ChildKind::ConfigMap | ChildKind::Service) {
            continue;
        }
        match children.carry_out(wanted, live).await {
            Ok(has_written) => outcome.has_written |= has_written,
            Err(problem) => {
                outcome.is_held |= kind.is_workload() && live.is_some();
                outcome.problems.push(problem);
            }
        }
    }
    let is_rolled_out = || shared.with(|index| is_rolled_out(index, key, inputs));
    for child in &desired.unwanted {
        let Some(live) = inputs.children.get(child) else {
            continue;
        };
        // Pods of the template before refer to it, and could not start again without it.
        if outcome.is_held || child.kind == ChildKind::Secret && !is_rolled_out() {
            continue;
        }
        let deleted = api.delete(child.kind, &key.namespace, &child.name, live.uid()).await;
        match deleted {
            Ok(()) => {
                outcome.has_written = true;
                shared.with(|index| index.deleted_child(child.kind, &key.namespace, &child.name));
            }
            Err(fault) => outcome.problems.push(children.problem(child, "deleted", &fault)),
        }
    }
    outcome
}

/// Whether every Pod of the workload is of the present template. Where none is yet, its watch brings the pass that sees it.
fn is_rolled_out(index: &Index, key: &Key, inputs: &Inputs) -> bool {
    let workload = ChildName::new(ChildKind::DaemonSet, key.name.as_str());
    let live = index.find_child(&workload, &key.namespace);
    let status = live.filter(|live| live.is_controlled_by(inputs.custom.uid()));
    status
        .and_then(|live| live.facts.workload.clone())
        .is_none_or(|status| status.observed_generation >= status.generation && status.updated >= status.desired)
}

struct Children<'a> {
    api: &'a Api,
    shared: &'a Shared,
    namespace: &'a str,
    owner: Owner<'a>,
}

impl Children<'_> {
    /// Whether anything was written.
    async fn carry_out(&self, wanted: &Wanted, live: Option<&Child>) -> Result<bool, Problem> {
        match step(wanted, live, &self.owner) {
            Step::Keep => Ok(false),
            Step::Leave(problem) => Err(problem),
            Step::Create => self.create(wanted).await,
            Step::Apply { takeover, before } => match live {
                Some(live) => self.apply(wanted, live, takeover, before).await,
                None => Ok(false),
            },
        }
    }

    /// The object is not among the watched ones. It may be there all the same, without the operator's labels: the apply
    /// creates it or fails, and writes nothing on what is there, however late that came.
    async fn create(&self, wanted: &Wanted) -> Result<bool, Problem> {
        let ChildName { kind, name } = &wanted.name;
        let applied = self
            .api
            .apply(*kind, self.namespace, &unless_there(&wanted.body), false)
            .await;
        match applied {
            Ok(created) => return Ok(self.created(created)),
            Err(fault) if fault.code == 409 => {}
            Err(fault) => return Err(self.problem(&wanted.name, "created", &fault)),
        }
        let found = self.api.child(*kind, self.namespace, name).await;
        match found.map_err(|fault| self.problem(&wanted.name, "looked up", &fault))? {
            Some(found) if !found.is_controlled_by(self.owner.uid) => {
                Err(foreign(&wanted.name, &found, self.owner.key))
            }
            // Ours, but somebody took its labels away, or its watch is late.
            Some(found) => {
                let wanted = fitted(wanted, &found);
                match step(&wanted, Some(&found), &self.owner) {
                    Step::Apply { takeover, before } => self.apply(&wanted, &found, takeover, before).await,
                    _ => Ok(false),
                }
            }
            // It has gone since. Without force: should somebody be faster, nothing of theirs is overwritten.
            None => {
                let created = self.api.apply(*kind, self.namespace, &wanted.body, false).await;
                let created = created.map_err(|fault| self.problem(&wanted.name, "created", &fault))?;
                Ok(self.created(created))
            }
        }
    }

    fn created(&self, child: Child) -> bool {
        self.shared.with(|index| index.wrote_child(child));
        true
    }

    async fn apply(
        &self,
        wanted: &Wanted,
        live: &Child,
        takeover: Option<Value>,
        before: Option<Box<Value>>,
    ) -> Result<bool, Problem> {
        let ChildName { kind, name } = &wanted.name;
        let fingerprint = fingerprint(&wanted.body, live);
        let is_known = |shared: &Shared| {
            shared.with(|index| index.is_remembered(&wanted.name, self.namespace, live.uid(), fingerprint))
        };
        if takeover.is_none() && is_known(self.shared) {
            return Ok(false);
        }
        let failed = |what, fault: Fault| self.problem(&wanted.name, what, &fault);
        if let Some(patch) = &takeover {
            let taken = self.api.take_over(*kind, self.namespace, name, patch).await;
            let taken = taken.map_err(|fault| failed("taken over", fault))?;
            self.shared.with(|index| index.wrote_child(taken));
        }
        if let Some(before) = &before {
            let applied = self
                .api
                .apply(*kind, self.namespace, &of_uid(before, live.uid()), true)
                .await;
            applied.map_err(|fault| failed("applied", fault))?;
        }
        let applied = self
            .api
            .apply(*kind, self.namespace, &of_uid(&wanted.body, live.uid()), true)
            .await;
        let applied = applied.map_err(|fault| failed("applied", fault))?;
        let is_unchanged = takeover.is_none() && applied.resource_version() == live.resource_version();
        self.shared.with(|index| {
            index.wrote_child(applied);
            if is_unchanged {
                index.remember(&wanted.name, self.namespace, live.uid(), fingerprint);
            }
        });
        Ok(true)
    }

    fn problem(&self, child: &ChildName, what: &str, fault: &Fault) -> Problem {
        // The kind went while it was in use.
        let reason = if child.kind == ChildKind::ServiceMonitor && fault.is_unserved {
            self.shared.update(|index| index.monitors(Monitors::NotServed));
            Reason::ServiceMonitorNotInstalled
        } else {
            fault.reason
        };
        Problem {
            child: child.clone(),
            reason,
            message: format!("could not be {what}: {}", fault.message),
            after: fault.after,
        }
    }
}

/// The body for a new object alone. No object has this version: it is that of an empty store, whose first write gets the
/// next one. An apply onto one that is there is a conflict, and one onto nothing creates it.
fn unless_there(body: &Value) -> Value {
    with_metadata(body, "resourceVersion", "1")
}

/// The body for the object of this uid alone: its successor is not touched.
fn of_uid(body: &Value, uid: &str) -> Value {
    with_metadata(body, "uid", uid)
}

fn with_metadata(body: &Value, name: &str, value: &str) -> Value {
    let mut body = body.clone();
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert(name.to_owned(), value.into());
    }
    body
}

/// Tells "this body on this object" from others. Should a comparison of ours not understand a field, the API server still
/// says that an apply changed nothing; then it is not repeated.
fn fingerprint(body: &Value, live: &Child) -> u64 {
    let mut live = live.value();
    if let Some(metadata) = live.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
    }
    let mut hasher = DefaultHasher::new();
    body.to_string().hash(&mut hasher);
    live.to_string().hash(&mut hasher);
    hasher.finish()
}
