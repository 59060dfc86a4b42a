//! What a Pod says about itself, read from its labels and annotations alone.

use crate::keys::{PAYLOAD_SKIP_REASON, PAYLOAD_STAGED};
use crate::pod::{Labelled, OptIn, SkipReason, System};

/// What a Pod says about its wiring to one of the two systems.
pub(super) struct Claims {
    pub system: &'static System,
    /// Its stamp says that it is wired.
    pub injected: bool,
    /// LMCache's other stamp says that the payload is staged. CacheBlend has none: its first one says both.
    pub staged: bool,
    /// It asks to be wired, in the way that the setting `optIn` names.
    pub asked: bool,
    /// The reason for which it was not wired, by its key.
    ///
    /// The policies take reasons away from a Pod that they wire, and leave a stamp that stood in the template on one that
    /// they do not wire: of the two, the reason is the word of this admission.
    pub not_injected: Option<&'static str>,
    /// Likewise for the payload.
    pub not_staged: Option<&'static str>,
    /// It says why it was not wired, or not in full.
    pub explained: bool,
}

impl Claims {
    pub fn of(head: &dyn Labelled, system: &'static System, opt_in: OptIn) -> Self {
        let is_true = |key: &str| head.annotation(key).as_deref() == Some("true");
        let reason = |key: &'static str| {
            let reason = head.annotation(key)?.trim().to_owned();
            (!reason.is_empty()).then_some((key, reason))
        };
        let has_payload_keys = !system.blends();
        let of_connection = reason(system.keys.skip_reason);
        let of_payload = reason(PAYLOAD_SKIP_REASON).filter(|_| has_payload_keys);
        let asked = match opt_in {
            OptIn::Label => head.label(system.keys.inject).as_deref() == Some("true"),
            OptIn::Annotation => head
                .annotation(system.keys.engine)
                .is_some_and(|name| !name.trim().is_empty()),
        };
        let explained = of_connection.is_some() || of_payload.is_some();
        // This one stands on Pods that are wired but for the connection.
        let own_connection = SkipReason::KvTransferConfigPresent.as_str();
        let not_injected = of_connection
            .filter(|(_, reason)| reason != own_connection)
            .map(|(key, _)| key);
        Self {
            system,
            injected: is_true(system.keys.injected),
            staged: has_payload_keys && is_true(PAYLOAD_STAGED),
            asked,
            not_injected,
            not_staged: of_payload.map(|(key, _)| key).or(not_injected),
            explained,
        }
    }

    /// Is there anything to prove?
    pub fn stamped(&self) -> bool {
        self.injected || self.staged
    }

    /// The stamp that a message about the whole Pod speaks of.
    pub fn stamp(&self) -> &'static str {
        if self.injected {
            self.system.keys.injected
        } else {
            PAYLOAD_STAGED
        }
    }

    /// The warning for each stamp, where the Pod itself says that none of them holds.
    pub fn all_stale(&self) -> Option<Vec<String>> {
        let mut stamps = Vec::new();
        if self.injected {
            stamps.push(stale(self.system.keys.injected, self.not_injected?));
        }
        if self.staged {
            stamps.push(stale(PAYLOAD_STAGED, self.not_staged?));
        }
        Some(stamps)
    }
}

/// The warning for a stamp that no longer holds.
pub(super) fn stale(stamp: &str, reason: &str) -> String {
    format!("{stamp} is stale: {reason} says why nothing was done to this Pod; remove the stamp from the template")
}
