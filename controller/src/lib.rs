//! What stands behind the `lmcache-controller` command.
//!
//! | Question | Module |
//! |---|---|
//! | Which objects does an engine or coordinator become? | [`build`] |
//! | The same offline, for files | [`render`] |
//! | What does LMCache's Go operator make of it? | [`legacy`] |
//! | The CustomResourceDefinitions | [`crds`] |
//! | What may the controller do? | [`rbac`] |

pub mod build;
pub mod cli;
pub mod crds;
mod flags;
pub mod legacy;
pub mod rbac;
pub mod render;
