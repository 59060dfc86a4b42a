//! Whether a custom resource can be built.

use lmcache_api::{AnyObject, FieldError, Kind, decode};
use lmcache_server::validate;
use serde_json::{Value, json};

use super::{Inputs, Rival, Settings};

/// The finalizer of early versions of the Go operator. Nothing waits for it: children go with their owner.
const LEGACY_FINALIZER: &str = "lmcache.ai/cleanup";

/// What to do with a custom resource.
#[derive(Clone, Debug, PartialEq)]
pub enum Judgement {
    /// Its deletion was asked for: Kubernetes deletes the children.
    Ending,
    /// It has faults; children stay as they are.
    Invalid(Vec<FieldError>),
    /// Its name is taken; the children are another's.
    Rivalled(Rival),
    /// Its children can be built.
    Valid(Box<Subject>),
}

/// A custom resource that can be built.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// As it is stored.
    pub stored: Value,
    /// With the operator's defaults.
    pub object: AnyObject,
}

/// Judges a custom resource. The name comes first: as long as another one has it, nothing else matters.
pub fn judge(inputs: &Inputs, settings: &Settings) -> Judgement {
    let custom = &inputs.custom;
    let Some(kind) = custom.facts.kind.filter(|_| !custom.facts.is_being_deleted) else {
        return Judgement::Ending;
    };
    if let Some(rival) = winner(inputs) {
        return Judgement::Rivalled(rival.clone());
    }
    let stored = custom.value();
    let faults = validate(kind, &stored, settings.ipc_default);
    if !faults.is_empty() {
        return Judgement::Invalid(faults);
    }
    let mut object = decode(kind, &stored).object;
    object.set_defaults();
    Judgement::Valid(Box::new(Subject { stored, object }))
}

/// The rival that has the name, if it is not this one's: the oldest wins. Of two made in the same second the one whose uid
/// sorts first does, so that both passes come to the same end.
fn winner(inputs: &Inputs) -> Option<&Rival> {
    let own = (inputs.custom.facts.created.as_str(), inputs.custom.uid());
    let oldest = inputs.rivals.iter().min_by_key(|rival| (&rival.created, &rival.uid))?;
    ((oldest.created.as_str(), oldest.uid.as_str()) < own).then_some(oldest)
}

/// The JSON patch that takes the legacy finalizer away, where there is one. It fails if the list has changed meanwhile.
pub fn without_legacy_finalizer(inputs: &Inputs) -> Option<Value> {
    let facts = &inputs.custom.facts;
    // Only this kind ever had it, and the controller may patch no other.
    if facts.kind != Some(Kind::LMCacheEngine) || !facts.has_finalizers {
        return None;
    }
    let stored = inputs.custom.value();
    let finalizers = stored.pointer("/metadata/finalizers")?.as_array()?;
    let place = finalizers.iter().position(|finalizer| finalizer == LEGACY_FINALIZER)?;
    let path = format!("/metadata/finalizers/{place}");
    Some(json!([
        {"op": "test", "path": path, "value": LEGACY_FINALIZER},
        {"op": "remove", "path": path},
    ]))
}
