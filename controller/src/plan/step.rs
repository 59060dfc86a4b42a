//! What to do about one child.

use serde_json::Value;

use super::desire::Wanted;
use super::managed::takeover;
use super::settled::is_settled;
use super::{ChildName, Problem, Reason};
use crate::live::{Child, Controller, Key};
use lmcache_api::Kind;

/// What to do about a child.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// It is as it should be.
    Keep,
    /// It is not there, as far as is known: look, and create it if so.
    Create,
    /// It is ours and differs: apply it.
    Apply {
        /// First hand the Go operator's fields over, by this JSON patch.
        takeover: Option<Value>,
        /// Then apply this, and only then what is wanted.
        before: Option<Box<Value>>,
    },
    /// It is somebody else's: leave it alone.
    Leave(Problem),
}

/// The custom resource that a child belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Owner<'a> {
    /// How it is called.
    pub key: &'a Key,
    /// Its uid.
    pub uid: &'a str,
}

/// Compares a wanted child with what is there.
///
/// A child is as it should be if it has every wanted value, if the controller owns these fields and none beyond, and if the
/// Go operator owns nothing of it any more.
pub fn step(wanted: &Wanted, live: Option<&Child>, owner: &Owner<'_>) -> Step {
    let Some(live) = live else {
        return Step::Create;
    };
    if !live.is_controlled_by(owner.uid) {
        return Step::Leave(foreign(&wanted.name, live, owner.key));
    }
    // It goes, and comes again when it is gone.
    if live.facts.is_being_deleted {
        return Step::Keep;
    }
    let takeover = takeover(live);
    let is_settled = (live.applied()).is_some_and(|applied| is_settled(&applied.fields, &wanted.body, &live.value()));
    if takeover.is_none() && is_settled {
        return Step::Keep;
    }
    Step::Apply {
        takeover,
        before: before(&wanted.body, live),
    }
}

/// A Deployment that is to be recreated must not have the limits of a rolling update, which nobody owns where the API server
/// filled them in: so nobody can take them away. They are taken over as they are first; the next apply then takes them away.
fn before(wanted: &Value, live: &Child) -> Option<Box<Value>> {
    let is_recreated = wanted.pointer("/spec/strategy/type").and_then(Value::as_str) == Some("Recreate");
    if !is_recreated {
        return None;
    }
    let live = live.value();
    let strategy = live.pointer("/spec/strategy")?;
    strategy.get("rollingUpdate")?;
    let mut before = wanted.clone();
    before.pointer_mut("/spec/strategy")?.clone_from(strategy);
    Some(Box::new(before))
}

/// What to do about an object that is in the way.
const WAY_OUT: &str = "delete it, make this custom resource its controlling owner, or choose another name";

/// An object that has the name of a child.
pub fn foreign(child: &ChildName, live: &Child, key: &Key) -> Problem {
    // Also of one of the other kinds, whose children have the same names.
    let is_ours = |kind: &str| kind.parse::<Kind>().is_ok();
    let is_predecessor = |owner: &Controller| is_ours(&owner.kind) && owner.name == key.name;
    let message = match &live.facts.controller {
        Some(owner) if is_predecessor(owner) => format!(
            "belongs to a former {} {} (uid {}), and goes with it; until then it is left alone",
            owner.kind, owner.name, owner.uid
        ),
        Some(owner) => format!(
            "exists and is controlled by {} {} (uid {}), so it is left alone; {WAY_OUT}",
            owner.kind, owner.name, owner.uid
        ),
        None => format!("exists and has no controlling owner, so it is left alone; {WAY_OUT}"),
    };
    Problem {
        child: child.clone(),
        reason: Reason::ForeignObject,
        message,
        after: None,
    }
}
