//! The decision about a Pod: a pure function of the Pod, the settings and what the cluster answers.
//!
//! Nothing is changed before everything is decided. The order of the questions is that of the Go operator, because the
//! first one that is answered with "no" gives the reason: engine and ConfigMap, role, container, command, the user's own
//! connector; then those that it does not ask: payload, releases, Pod Security.
//!
//! Two systems ([`System`]) and the parts of a wiring ([`Part`]) make the four policies that change Pods ([`Mutator`]). They
//! share [`decide`], so they agree, and can run in any order.

mod admission;
mod arguments;
mod command;
mod compatibility;
pub(crate) mod connection;
mod decide;
mod examine;
pub(crate) mod ipc;
mod mutator;
pub(crate) mod nixl;
mod occupancy;
mod opt_in;
mod outcome;
mod pull_secrets;
mod reasons;
pub(crate) mod reference;
mod service_links;
mod settings;
mod staging;
mod system;
mod target;
mod unchunked;
pub(crate) mod user_config;
mod wiring;

pub use admission::admit;
pub use decide::{decide, unfit};
pub use mutator::{CACHEBLEND_INJECTION, CONNECTION_INJECTION, Mutator, PAYLOAD_STAGING, POD_INJECTION, Side};
pub use opt_in::{Labelled, OptedIn};
pub(crate) use outcome::NOT_WIRED;
pub use outcome::{Decision, Outcome, Skip};
pub use reasons::{Asks, Obstacle, SkipReason};
pub use reference::EngineReference;
pub(crate) use settings::domain;
pub use settings::{Admission, CacheblendArguments, CommandOverride, OptIn, Settings, Steps, Strictness};
pub use staging::Staging;
pub(crate) use staging::names_a_payload;
pub use system::{CACHEBLEND, LMCACHE, System};
pub use wiring::Part;
