//! Events on custom resources: what changed from one status to the next, as far as people must hear of it.

use serde_json::Value;

use super::condition::Previous;
use super::text::cut;
use super::words::{reasons, types};
use crate::plan::Reason;

/// Longest note of an Event, in bytes: `events.k8s.io/v1` takes 1 kB.
pub(super) const NOTE_BYTES: usize = 1_000;

/// An Event to publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// Whether it is a warning.
    pub warning: bool,
    /// Its `reason`, one CamelCase word.
    pub reason: String,
    /// Its `action`: what the controller was doing.
    pub action: &'static str,
    /// Its `note`: one sentence, less than 1 kB.
    pub note: String,
}

/// The Events about the change from the status `before` to `after`, in the order of the conditions; none where nothing
/// changed. [`super::EVENTS`] lists them.
pub fn news(before: &Value, after: &Value) -> Vec<News> {
    let change = Change {
        before: Previous::new(before),
        after: Previous::new(after),
    };
    let news = [
        change.config_valid(),
        change.reconciled(),
        change.available(),
        change.all_ready(),
        change.covered(),
        change.l2_reconnect(),
    ];
    news.into_iter().flatten().collect()
}

struct Change<'a> {
    before: Previous<'a>,
    after: Previous<'a>,
}

/// `status` and `reason` of a condition; both empty where there is none.
type Seen<'a> = (&'a str, &'a str);

fn seen<'a>(status: Previous<'a>, type_: &str) -> Seen<'a> {
    (status.text(type_, "status"), status.text(type_, "reason"))
}

impl Change<'_> {
    fn of(&self, type_: &str) -> (Seen<'_>, Seen<'_>) {
        (seen(self.before, type_), seen(self.after, type_))
    }

    fn say(&self, warning: bool, action: &'static str, type_: &str) -> Option<News> {
        let (_, reason) = seen(self.after, type_);
        Some(News {
            warning,
            reason: reason.to_owned(),
            action,
            note: cut(self.after.text(type_, "message"), NOTE_BYTES),
        })
    }

    fn config_valid(&self) -> Option<News> {
        let type_ = types::CONFIG_VALID;
        let message = |status: Previous<'_>| status.text(type_, "message").to_owned();
        let warning = match self.of(type_) {
            // A correction that brings other faults is as good as the first attempt.
            (("False", _), ("False", _)) if message(self.before) == message(self.after) => return None,
            (_, ("False", _)) => true,
            (("False", _), ("True", _)) => false,
            _ => return None,
        };
        self.say(warning, "Validate", type_)
    }

    fn reconciled(&self) -> Option<News> {
        let type_ = types::RECONCILED;
        // Of faults the other condition tells.
        let is_told = |(status, reason): Seen<'_>| {
            let mut passing = Reason::ALL.into_iter().filter(|reason| reason.passes_by_itself());
            let passes = passing.any(|passing| passing.as_str() == reason);
            status == "False" && reason != reasons::VALIDATION_FAILED && !passes
        };
        let (before, after) = self.of(type_);
        let warning = if is_told(after) {
            if after == before {
                return None;
            }
            true
        } else {
            let has_recovered = is_told(before) && after.0 == "True";
            let is_kept = after.1 == reasons::LEGACY_TEMPLATE_KEPT && before.1 != after.1;
            if !has_recovered && !is_kept {
                return None;
            }
            false
        };
        self.say(warning, "Reconcile", type_)
    }

    fn available(&self) -> Option<News> {
        let type_ = types::AVAILABLE;
        let warning = match self.of(type_) {
            (("True", _), ("True", _)) => return None,
            (_, ("True", _)) => false,
            (("True", _), ("False", _)) => true,
            ((_, before), ("False", reasons::INSTANCES_FAILING)) if before != reasons::INSTANCES_FAILING => true,
            _ => return None,
        };
        self.say(warning, "Observe", type_)
    }

    fn all_ready(&self) -> Option<News> {
        let type_ = types::ALL_INSTANCES_READY;
        // Of instances of which none is left, or which fail one and all, `Available` tells.
        let is_told_otherwise = self.after.text(types::AVAILABLE, "status") != "True";
        let warning = match self.of(type_) {
            (("True", _), ("True", _)) => return None,
            (_, ("True", _)) => false,
            _ if is_told_otherwise => return None,
            (("True", _), ("False", reasons::NOT_ALL_READY)) => true,
            ((_, before), ("False", reasons::INSTANCES_FAILING)) if before != reasons::INSTANCES_FAILING => true,
            // A rollout takes one instance after the other: nothing has happened to them.
            _ => return None,
        };
        self.say(warning, "Observe", type_)
    }

    fn covered(&self) -> Option<News> {
        let type_ = types::CLIENTS_COVERED;
        let warning = match self.of(type_) {
            (("False", _), ("False", _)) => return None,
            (_, ("False", _)) => true,
            (("False", _), ("True", _)) => false,
            _ => return None,
        };
        self.say(warning, "Observe", type_)
    }

    fn l2_reconnect(&self) -> Option<News> {
        let type_ = types::L2_RECONNECT_NEEDED;
        match self.of(type_) {
            (("True", _), _) => None,
            (_, ("True", _)) => self.say(true, "Observe", type_),
            _ => None,
        }
    }
}
