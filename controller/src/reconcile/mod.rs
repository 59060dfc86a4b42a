//! Passes over custom resources: the edge between decisions and the Kubernetes API.
//!
//! ```text
//! dereference  the index                 what is known of the cluster, no request
//! validate     plan::judge               no client
//! build        plan::desire, plan::step  no client
//! apply        children                  writes what differs
//! update       custom                    writes the status where it differs, then Events
//! ```
//!
//! Reads come from watches, so a settled object causes no request at all. An object that is not among the watched ones is
//! looked up by name before it is created: it may be somebody else's.

mod api;
mod backoff;
mod children;
mod custom;
mod fault;
mod first_status;
mod pass;

pub use api::Api;
pub use backoff::Backoff;
pub use fault::{Fault, fault};
pub use pass::{Pass, Reconciler};
