//! What a release publishes of the policies: OCI artifacts as `kwctl push` makes them, manifests pinned to their digests,
//! and SBOMs.
//!
//! Everything is decided on data: [`Artifact`] is a policy's manifest and blobs, [`layout`] the files of an OCI image
//! layout, [`Digests`] what manifests are pinned to, [`pin`] a manifest's text with digests in it, [`sbom`] a document cut
//! down to what is in the module. Only [`cli`] reads and writes files, and only [`push`] talks to a registry.

mod annotations;
mod artifact;
pub mod cli;
pub mod credentials;
mod digests;
mod files;
pub mod layout;
pub mod pin;
pub mod push;
pub mod sbom;
mod target;

pub use annotations::manifest_annotations;
pub use artifact::{Artifact, Blob, sha256};
pub use digests::Digests;
pub use target::{Protocol, Target};
