//! The same for LMCache's Go operator: what a takeover would change can be compared before it is done.

use super::fleet::Fleet;
use super::{Outcome, Subject};
use crate::legacy::{self, Missing, State};

/// What the Go operator makes of an object where there is nothing but the files. Where it stops because something else is
/// missing, what it had made before that is printed.
pub(super) fn render(state: State, subject: &Subject, fleet: &Fleet<'_>) -> Outcome {
    let object = &subject.document.object;
    let (namespace, _) = subject.place();
    let coordinator = legacy::coordinator_ref(state, object);
    let url = coordinator
        .as_deref()
        .and_then(|name| fleet.legacy_coordinator(namespace, name));
    let login = legacy::resp_source_ref(state, object);
    let secret = login
        .as_ref()
        .and_then(|(namespace, name)| fleet.secret(namespace, name));

    let errors = legacy::errors(state, object, url.as_deref(), secret);
    let stopped = errors.reconcile.map(|missing| match missing {
        Missing::RespSource => {
            let (namespace, name) = login.clone().unwrap_or_default();
            let found = match secret {
                Some(_) => "has no password",
                None => "is not in the given files (one with any password will do)",
            };
            format!("spec.l2Backend.resp.authSecretRef: Secret {namespace}/{name} {found}; the Go operator stops there")
        }
        Missing::Coordinator => {
            let name = coordinator.as_deref().unwrap_or_default();
            format!(
                "spec.coordinator.ref.name: LMCacheCoordinator {namespace}/{name} is not in the given files; the Go \
                 operator stops there"
            )
        }
    });
    let mut faults = errors.admission;
    faults.extend(errors.spec);
    let unread = legacy::unread(state, object).into_iter();
    Outcome {
        objects: legacy::children(state, object, url.as_deref(), secret),
        faults,
        stopped,
        warnings: unread
            .map(|path| format!("{path}: not known to the Go operator ({})", state.as_str()))
            .collect(),
    }
}
