//! Pushing artifacts to a registry.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use oci_client::client::{ClientConfig, ClientProtocol};
use oci_client::errors::{OciDistributionError, OciErrorCode};
use oci_client::secrets::RegistryAuth;
use oci_client::{Client, Reference, RegistryOperation};

use crate::artifact::{Artifact, Blob};
use crate::target::{Protocol, Target};

const CONNECT: Duration = Duration::from_secs(20);
const READ: Duration = Duration::from_secs(60);

/// How to push.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Where to.
    pub target: &'a Target,
    /// The tag of all policies, in the place of each one's version.
    pub tag: Option<&'a str>,
    /// Whether a tag that names something else is moved.
    pub move_tag: bool,
    /// TLS or not.
    pub protocol: Protocol,
    /// Who pushes.
    pub auth: &'a RegistryAuth,
}

/// Pushes each artifact under its tag, and asks the registry for the digest that it has then. `pushed` gets each
/// artifact's reference by digest.
///
/// # Errors
/// The registry cannot be reached, refuses, has another artifact under a tag, or stores something else than was pushed.
pub async fn push(
    artifacts: &[Artifact],
    options: &Options<'_>,
    mut pushed: impl FnMut(&str) -> Result<()>,
) -> Result<()> {
    // An error says that one was chosen before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let config = ClientConfig {
        protocol: match options.protocol {
            Protocol::Https => ClientProtocol::Https,
            Protocol::Http => ClientProtocol::Http,
        },
        connect_timeout: Some(CONNECT),
        read_timeout: Some(READ),
        ..ClientConfig::default()
    };
    let client = Client::try_from(config).context("cannot make an HTTP client")?;
    for artifact in artifacts {
        let own = artifact.tag();
        let reference = options.target.reference(&artifact.name, options.tag.unwrap_or(&own))?;
        push_one(&client, artifact, &reference, options)
            .await
            .with_context(|| format!("cannot push {reference}"))?;
        pushed(&options.target.pinned(&artifact.name, artifact.digest()))?;
    }
    Ok(())
}

/// Whether a registry says so of a tag that is not there, or of a repository that this user may not see or that is yet to
/// be made.
fn may_be_missing(error: &OciDistributionError) -> bool {
    match error {
        OciDistributionError::ServerError { code, .. } => matches!(code, 401 | 403 | 404),
        OciDistributionError::RegistryError { envelope, .. } => !envelope
            .errors
            .iter()
            .any(|error| matches!(error.code, OciErrorCode::Toomanyrequests)),
        _ => true,
    }
}

async fn push_one(client: &Client, artifact: &Artifact, reference: &Reference, options: &Options<'_>) -> Result<()> {
    let there = client.fetch_manifest_digest(reference, options.auth).await;
    match there {
        Ok(digest) if digest == artifact.digest() => return Ok(()),
        Ok(digest) if !options.move_tag => bail!(
            "the tag is taken by {digest}, and this is {}: take another tag, or move it with --move-tag",
            artifact.digest()
        ),
        Err(OciDistributionError::RequestError(error)) => {
            return Err(error).with_context(|| {
                format!(
                    "the registry does not answer over {}",
                    match options.protocol {
                        Protocol::Https => "TLS (for a registry without, --plain-http)",
                        Protocol::Http => "plain HTTP",
                    }
                )
            });
        }
        // What does not say whether the tag is taken must not move it: a registry that is overloaded, say.
        Err(error) if !may_be_missing(&error) => {
            return Err(error).context("the registry does not say whether the tag is taken");
        }
        // Not there, or not to be seen before the repository exists: the push itself tells.
        Ok(_) | Err(_) => {}
    }
    // By itself, the client would try without a token where it gets none.
    client
        .auth(reference, options.auth, RegistryOperation::Push)
        .await
        .context("the registry does not let this user in")?;
    for blob in [&artifact.layer, &artifact.config] {
        push_blob(client, reference, blob)
            .await
            .with_context(|| format!("the blob {} was not taken", blob.digest))?;
    }
    let manifest = &artifact.manifest;
    client
        .push_manifest_raw(reference, manifest.bytes.clone(), manifest.media_type.parse()?)
        .await
        .context("the manifest was not taken")?;
    let stored = client
        .fetch_manifest_digest(reference, options.auth)
        .await
        .context("the registry does not say what it stored")?;
    ensure!(
        stored == artifact.digest(),
        "the registry stored {stored}, expected {}: it rewrites manifests, and signatures would not match",
        artifact.digest()
    );
    Ok(())
}

/// Some registries, that of crane among them, take a blob and do not say where it is now.
async fn push_blob(client: &Client, reference: &Reference, blob: &Blob) -> oci_client::errors::Result<()> {
    match client.push_blob(reference, blob.bytes.clone(), &blob.digest).await {
        Err(OciDistributionError::RegistryNoLocationError) if client.blob_exists(reference, &blob.digest).await? => {
            Ok(())
        }
        pushed => pushed.map(drop),
    }
}

#[cfg(test)]
mod tests;
