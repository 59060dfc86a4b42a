//! What to do about one child.

use serde_json::Value;

use super::desire::Wanted;
use super::managed::{has_unwanted, takeover};
use super::same::lacking;
use super::{ChildName, Problem, Reason};
use crate::live::Child;

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
    },
    /// It is somebody else's: leave it alone.
    Leave(Problem),
}

/// Compares a wanted child with what is there. `uid` is the owner's.
///
/// A child is as it should be if it says everything that is wanted, if the controller owns nothing beyond that, and if the
/// Go operator owns nothing of it any more.
pub fn step(wanted: &Wanted, live: Option<&Child>, uid: &str) -> Step {
    let Some(live) = live else {
        return Step::Create;
    };
    if !live.is_controlled_by(uid) {
        return Step::Leave(foreign(&wanted.name, live));
    }
    // It goes, and comes again when it is gone.
    if live.facts.is_being_deleted {
        return Step::Keep;
    }
    let takeover = takeover(live);
    let is_applied = live
        .applied()
        .is_some_and(|applied| !has_unwanted(&applied.fields, &wanted.body));
    if takeover.is_none() && is_applied && lacking(&wanted.body, &live.value()).is_empty() {
        return Step::Keep;
    }
    Step::Apply { takeover }
}

/// An object that has the name of a child.
pub fn foreign(child: &ChildName, live: &Child) -> Problem {
    let owner = match &live.facts.controller {
        Some(owner) => format!("is controlled by {} {} (uid {})", owner.kind, owner.name, owner.uid),
        None => "has no controlling owner".to_owned(),
    };
    Problem {
        child: child.clone(),
        reason: Reason::ForeignObject,
        message: format!(
            "{child} exists and {owner}, so it is left alone; delete or rename it, or give this custom resource another name"
        ),
        after: None,
    }
}
