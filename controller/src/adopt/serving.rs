//! Whether anybody answers for a webhook of the Go operator, as far as that is known.

use super::operators::{Operator, Unseen};
use super::webhooks::Webhook;

/// Whether a Go operator answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Serving {
    /// Nobody does: its Deployments are known, and no Pod of them is ready.
    No,
    /// No Deployment or Pod was recognised that would.
    Unknown,
    /// One is ready.
    Yes,
}

impl Serving {
    /// A Service reaches Pods of its own namespace alone; where a URL leads is not known, so there every Go operator counts.
    pub fn of(webhook: &Webhook, go: &[Operator], unseen: &Unseen) -> Serving {
        let namespace = webhook.service_namespace.as_str();
        let is_there = |other: &str| namespace.is_empty() || namespace == other;
        let mut recognised = go.iter().filter(|operator| is_there(&operator.namespace)).peekable();
        let mut strays = unseen.pods.iter().filter(|pod| is_there(&pod.namespace)).peekable();
        // Of a leader nothing is known but its Lease.
        let is_led_unseen = unseen.leaders.iter().any(|leader| is_there(&leader.namespace));
        let is_doubtful = recognised.peek().is_none() || strays.peek().is_some() || is_led_unseen;
        let answers = |operator: &Operator| operator.replicas > 0 && operator.ready > 0;
        if recognised.any(answers) || strays.any(|pod| pod.is_ready) {
            Serving::Yes
        } else if is_doubtful {
            Serving::Unknown
        } else {
            Serving::No
        }
    }
}
