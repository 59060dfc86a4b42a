//! What our controller would make of each engine and coordinator, by the controller's own plan.

use kube::runtime::watcher::Event;
use lmcache_api::Kind;
use serde::Serialize;

use super::finding::{Finding, codes};
use super::snapshot::Snapshot;
use crate::index::Index;
use crate::live::{Child, ChildKind, Custom, Key};
use crate::plan::{
    ChildName, Inputs, Judgement, Monitors, Owner, Replaced, Rollout, Settings, Step, desire, judge, rollout, step,
};

/// What becomes of the servers of an engine or coordinator when our controller starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Servers {
    /// They run on: the template is exactly what the Go operator renders, and is kept.
    Kept,
    /// They run on: the template is what ours is.
    Same,
    /// They run on: our controller has them already.
    Ours,
    /// They run on: something is wrong that has to be mended first.
    Held,
    /// They are replaced.
    Replaced,
    /// There are none yet.
    Made,
    /// The workload is somebody else's.
    Foreign,
    /// The custom resource is being deleted.
    Ending,
}

/// One engine or coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Engine {
    /// Its kind.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// How many servers are ready, of how many.
    pub ready: [i32; 2],
    /// What becomes of them.
    pub servers: Servers,
    /// Paths of the Pod template that change: now, where servers are replaced; with a later rollout, where they are kept.
    pub differences: Vec<String>,
    /// Why servers are replaced.
    pub why: Vec<String>,
    /// What will need somebody afterwards: the reason that the status gives, and the sentence.
    pub problems: Vec<String>,
    /// Objects that are deleted, `kind name`.
    pub deleted: Vec<String>,
    /// How many of its objects the Go operator still owns fields of.
    pub of_the_go_operator: usize,
    /// How many our controller applied.
    pub of_ours: usize,
    /// Whether it names a login in a Secret, without which the controller leaves its servers as they are. Secrets are not
    /// read here.
    #[serde(skip)]
    pub names_login: bool,
}

impl Engine {
    /// `kind namespace/name`.
    pub fn title(&self) -> String {
        format!("{} {}/{}", self.kind, self.namespace, self.name)
    }

    /// Whether the Go operator's objects stay as they are until somebody mends what is wrong, whoever is started.
    pub fn waits(&self) -> bool {
        self.of_the_go_operator > 0 && (self.servers == Servers::Held || self.names_login)
    }
}

/// Looks at every custom resource, sorted by namespace and name.
pub(super) fn engines(snapshot: &Snapshot, settings: &Settings) -> Vec<Engine> {
    let index = index(snapshot);
    let mut keys: Vec<Key> = index.keys().collect();
    keys.sort_by(|a, b| (&a.namespace, &a.name, a.kind).cmp(&(&b.namespace, &b.name, b.kind)));
    let inputs = keys.iter().filter_map(|key| Some((key, index.inputs(key)?)));
    inputs.map(|(key, inputs)| engine(key, &inputs, settings)).collect()
}

/// The cluster as the controller knows it. Secrets stay unknown to it, as before the first answer of their watch.
fn index(snapshot: &Snapshot) -> Index {
    let mut index = Index::new();
    for kind in Kind::ALL {
        index.custom(kind, Event::Init);
        for object in snapshot.of(kind.as_str()) {
            index.custom(kind, Event::InitApply(Custom::read(object.clone())));
        }
        index.custom(kind, Event::InitDone);
    }
    for kind in ChildKind::ALL {
        index.child(kind, Event::Init);
        for object in snapshot.of(kind.as_str()) {
            index.child(kind, Event::InitApply(Child::read(object.clone())));
        }
        index.child(kind, Event::InitDone);
    }
    index.monitors(if snapshot.serves(ChildKind::ServiceMonitor.as_str()) {
        Monitors::Served
    } else {
        Monitors::NotServed
    });
    index
}

fn engine(key: &Key, inputs: &Inputs, settings: &Settings) -> Engine {
    let uid = inputs.custom.uid();
    let own: Vec<_> = inputs
        .children
        .values()
        .filter(|child| child.is_controlled_by(uid))
        .collect();
    let workload = own.iter().find_map(|child| child.facts.workload.as_ref());
    let mut engine = Engine {
        kind: key.kind.to_string(),
        namespace: key.namespace.clone(),
        name: key.name.clone(),
        ready: workload.map_or([0, 0], |status| [status.ready, status.desired]),
        servers: Servers::Held,
        differences: Vec::new(),
        why: Vec::new(),
        problems: Vec::new(),
        deleted: Vec::new(),
        of_the_go_operator: own.iter().filter(|child| child.inherited().is_some()).count(),
        of_ours: own.iter().filter(|child| child.applied().is_some()).count(),
        names_login: inputs.custom.facts.login.is_some(),
    };
    match judge(inputs, settings) {
        Judgement::Ending => engine.servers = Servers::Ending,
        Judgement::Invalid(faults) => {
            // The paths alone: what stands there may be anything.
            let paths: Vec<&str> = faults.iter().map(|fault| fault.path.as_str()).collect();
            engine.problems.push(format!(
                "ValidationFailed: {}; `lmcache-controller render` says what is expected there",
                paths.join(", ")
            ));
        }
        Judgement::Rivalled(rival) => engine.problems.push(format!(
            "NameConflict: {} is older and has the name; no object is written for this one",
            rival.key
        )),
        Judgement::Valid(subject) => {
            take(&mut engine, rollout(&subject, inputs, settings));
            let desired = desire(&subject, inputs, settings);
            let owner = Owner { key, uid };
            let foreign = desired.wanted.iter().filter_map(|wanted| {
                match step(wanted, inputs.children.get(&wanted.name).map(AsRef::as_ref), &owner) {
                    Step::Leave(problem) => Some(problem),
                    Step::Keep | Step::Create | Step::Apply { .. } => None,
                }
            });
            let problems = desired.problems.iter().cloned().chain(foreign);
            let problems =
                problems.map(|problem| format!("{}: {}: {}", problem.reason.as_str(), problem.child, problem.message));
            engine.problems.extend(problems);
            engine.problems.extend(shared_login(inputs));
            engine.deleted = desired.unwanted.iter().map(ChildName::to_string).collect();
        }
    }
    engine
}

fn take(engine: &mut Engine, rollout: Rollout) {
    let (servers, differences) = match rollout {
        Rollout::Made => (Servers::Made, Vec::new()),
        Rollout::Foreign(_) => (Servers::Foreign, Vec::new()),
        Rollout::Ours => (Servers::Ours, Vec::new()),
        Rollout::Held => (Servers::Held, Vec::new()),
        Rollout::Same => (Servers::Same, Vec::new()),
        Rollout::Kept(differences) => (Servers::Kept, differences),
        Rollout::Replaced(replaced) => {
            engine.why = why(&replaced);
            (Servers::Replaced, replaced.differences)
        }
    };
    engine.servers = servers;
    engine.differences = differences;
}

fn why(replaced: &Replaced) -> Vec<String> {
    let mut why = Vec::new();
    if replaced.is_asked_for {
        why.push("it has the annotation lmcache.ai/rollout".to_owned());
    }
    if !replaced.unread.is_empty() {
        why.push(format!(
            "it sets fields that the Go operator does not know: {}",
            replaced.unread.join(", ")
        ));
    }
    if !replaced.unlike.is_empty() {
        why.push(format!(
            "the template is not what the Go operator renders for the present specification, at {}",
            replaced.unlike.join(", ")
        ));
    }
    if why.is_empty() {
        why.push("the Go operator would render nothing for the present specification".to_owned());
    }
    why
}

/// A login of another namespace: whether its owner consents stands on a Secret, which is not read here.
fn shared_login(inputs: &Inputs) -> Option<String> {
    let login = inputs.custom.facts.login.as_ref()?;
    (login.namespace != inputs.custom.namespace()).then(|| {
        format!(
            "SecretNotShared: unless Secret {login} has the annotation lmcache.ai/allow-copy-to with {} in it (Secrets are \
             not read here), no change of this engine reaches its servers, nor its login their copy of it",
            inputs.custom.namespace()
        )
    })
}

/// What is to be said about them in short. `ours_runs` is whether our controller has started.
pub(super) fn findings(engines: &[Engine], ours_runs: bool) -> Vec<Finding> {
    let titles = |chosen: &dyn Fn(&Engine) -> bool| -> Vec<String> {
        engines
            .iter()
            .filter(|engine| chosen(engine))
            .map(Engine::title)
            .collect()
    };
    let mut findings = Vec::new();
    let replaced = titles(&|engine| engine.servers == Servers::Replaced);
    if !replaced.is_empty() {
        findings.push(Finding::change(
            codes::SERVERS_REPLACED,
            format!(
                "servers are replaced when lmcache-controller takes them over, and lose their cache: {}",
                replaced.join(", ")
            ),
            "see below why. What the Go operator has not rolled out yet is kept if it does that before",
        ));
    }
    let is_waiting = |engine: &Engine| ours_runs && engine.waits();
    let waiting = titles(&is_waiting);
    if !waiting.is_empty() {
        findings.push(Finding::change(
            codes::ENGINE_NEEDS_YOU,
            format!(
                "not taken over, though lmcache-controller runs, since something is wrong with them: {}",
                waiting.join(", ")
            ),
            "mend what is said about each of them below or in its conditions: they are taken over then, without a restart \
             but for those of servers-replaced. Their servers run on",
        ));
    }
    let needing = titles(&|engine| !is_waiting(engine) && !engine.problems.is_empty());
    if !needing.is_empty() {
        findings.push(Finding::change(
            codes::ENGINE_NEEDS_YOU,
            format!(
                "a condition will ask for something; servers run on: {}",
                needing.join(", ")
            ),
            "see below; it can be done before or after",
        ));
    }
    let deleting: Vec<String> = engines
        .iter()
        .filter(|engine| !engine.deleted.is_empty())
        .map(|engine| format!("{} of {}", engine.deleted.join(", "), engine.title()))
        .collect();
    if !deleting.is_empty() {
        findings.push(Finding::change(
            codes::OBJECTS_DELETED,
            format!(
                "deleted when lmcache-controller starts, since nothing is behind them: {}",
                deleting.join("; ")
            ),
            "",
        ));
    }
    findings
}
