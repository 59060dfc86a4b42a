//! A policy as an OCI artifact: one layer, the module; a config that says nothing; a manifest.

use anyhow::{Context, Result, ensure};
use oci_client::client::{Config, ImageLayer};
use oci_client::manifest::{OCI_IMAGE_MEDIA_TYPE, OciImageManifest, WASM_CONFIG_MEDIA_TYPE, WASM_LAYER_MEDIA_TYPE};
use olpc_cjson::CanonicalFormatter;
use semver::Version;
use serde::Serialize as _;
use sha2::{Digest as _, Sha256};

use crate::annotations::{manifest_annotations, policy_annotations};

/// The annotation that holds a policy's version.
const VERSION: &str = "io.kubewarden.policy.version";

/// What kwctl writes as config.
const CONFIG: &[u8] = b"{}";

/// Bytes that are addressed by their digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// `sha256:` and 64 hexadecimal digits.
    pub digest: String,
    /// What the bytes are.
    pub media_type: &'static str,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Blob {
    fn new(media_type: &'static str, bytes: Vec<u8>) -> Blob {
        let digest = sha256(&bytes);
        Blob {
            digest,
            media_type,
            bytes,
        }
    }
}

/// The digest of some bytes, as registries write it.
pub fn sha256(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// A policy, ready for a registry. The same module always makes the same artifact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// The policy's name, which is the last part of its repository.
    pub name: String,
    /// The policy's version, without a `v`.
    pub version: String,
    /// The module.
    pub layer: Blob,
    /// The config.
    pub config: Blob,
    /// What names the two. Its digest is the policy's.
    pub manifest: Blob,
}

impl Artifact {
    /// The artifact of an annotated module.
    ///
    /// # Errors
    /// The bytes are no module, it is not annotated, or its metadata has no version.
    pub fn new(name: &str, wasm: Vec<u8>) -> Result<Artifact> {
        let annotations = policy_annotations(&wasm)?;
        let version = annotations
            .get(VERSION)
            .with_context(|| format!("its metadata has no annotation {VERSION}"))?
            .clone();
        ensure!(
            Version::parse(&version).is_ok(),
            "its annotation {VERSION} is '{version}', expected a semantic version as 1.2.3"
        );
        let layers = [ImageLayer::new(wasm, WASM_LAYER_MEDIA_TYPE.to_owned(), None)];
        let config = Config::new(CONFIG, WASM_CONFIG_MEDIA_TYPE.to_owned(), None);
        let manifest = OciImageManifest::build(&layers, &config, Some(manifest_annotations(&annotations)));
        // Byte for byte what a push of oci-client writes, which is what kwctl calls.
        let mut bytes = Vec::new();
        let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, CanonicalFormatter::new());
        manifest
            .serialize(&mut serializer)
            .context("cannot write the manifest")?;
        let [layer] = layers;
        Ok(Artifact {
            name: name.to_owned(),
            version,
            layer: Blob::new(WASM_LAYER_MEDIA_TYPE, layer.data.into()),
            config: Blob::new(WASM_CONFIG_MEDIA_TYPE, CONFIG.to_vec()),
            manifest: Blob::new(OCI_IMAGE_MEDIA_TYPE, bytes),
        })
    }

    /// The digest that the policy is addressed by.
    pub fn digest(&self) -> &str {
        &self.manifest.digest
    }

    /// The tag that it gets where none is asked for.
    pub fn tag(&self) -> String {
        format!("v{}", self.version)
    }
}

#[cfg(test)]
mod tests;
