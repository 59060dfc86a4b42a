//! What stands behind the `lmcache-controller` command.
//!
//! | Question | Module |
//! |---|---|
//! | Which objects does an engine or coordinator become? | [`build`] |
//! | The same offline, for files | [`render`] |
//! | What does LMCache's Go operator make of it? | [`legacy`] |
//! | The CustomResourceDefinitions | [`crds`] |
//! | What may the controller do? | [`rbac`] |
//! | What would a takeover from the Go operator meet? | [`adopt`] |
//! | What is said of a custom resource: its status, its Events | [`status`] |
//! | Every word that it can say, as a page | `reference` |
//! | The process in a cluster | [`run`] |

pub mod adopt;
pub mod build;
pub mod cli;
pub mod crds;
mod flags;
pub mod index;
pub mod legacy;
pub mod live;
pub mod plan;
pub mod rbac;
pub mod reconcile;
mod reference;
pub mod render;
pub mod run;
pub mod status;
pub mod watch;
