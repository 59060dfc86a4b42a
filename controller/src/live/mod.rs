//! What the controller keeps of the cluster, held small.
//!
//! Every object that a watch delivers is cut down while it is read, so memory grows with the engines, not with the cluster:
//!
//! | What | Kept |
//! |---|---|
//! | custom resources | the object as JSON text, without `managedFields` ([`Custom`]) |
//! | children with the operator's labels | what a comparison needs, as JSON text that those that are alike share ([`Child`], [`Texts`]) |
//! | Pods of servers | node, readiness, why they fail ([`ServerPod`]) |
//! | Pods that opted in | node, stamps, the connection they were given ([`ClientPod`]) |
//! | Secrets that engines name | the two keys of a login, and when they last changed ([`SecretSource`]) |
//!
//! Nothing here decides anything.

mod alike;
mod cached;
mod child;
mod client_pod;
mod custom;
mod json;
mod key;
mod secret;
mod server_pod;

pub use alike::Texts;
pub use cached::{Cached, Facts};
pub use child::{
    Child, ChildFacts, ChildKind, Controller, FIELD_MANAGER, GO_OPERATOR_MANAGER, OwnedFields, WorkloadStatus,
};
pub use client_pod::{ClientPod, ClientPodFacts, Stamp, WiredConnection};
pub use custom::{Custom, CustomFacts, CustomName, NothingElse};
pub use key::{Key, NamespacedName};
pub use secret::{SecretSource, SecretSourceFacts};
pub use server_pod::{ServerPod, ServerPodFacts};
