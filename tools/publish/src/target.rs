//! Where policies are pushed to: a registry and the path below which each policy has a repository.

use std::net::IpAddr;

use anyhow::{Result, bail, ensure};
use oci_client::Reference;

/// How the registry is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// With TLS.
    Https,
    /// In plain text.
    Http,
}

/// A registry with a path, as `ghcr.io/acme/policies`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Without scheme and without a slash at the end.
    place: String,
}

impl Target {
    /// Reads what people write; `registry://` in front is understood, as kwctl does.
    ///
    /// # Errors
    /// It names no host, another scheme, a tag, or what no registry takes as path.
    pub fn parse(text: &str) -> Result<Target> {
        let place = text.strip_prefix("registry://").unwrap_or(text).trim_end_matches('/');
        let host = place.split('/').next().unwrap_or_default();
        if place.contains("://") {
            bail!("registry '{text}': expected host/path without a scheme, as ghcr.io/acme/policies");
        }
        // Reference would take `acme/policies` for a path on Docker Hub.
        ensure!(
            host.contains(['.', ':']) || host == "localhost",
            "registry '{text}': '{host}' is no host; expected host[:port]/path, as ghcr.io/acme/policies"
        );
        let target = Target {
            place: place.to_owned(),
        };
        target.reference("policy", "v1")?;
        Ok(target)
    }

    /// A policy's repository with a tag.
    ///
    /// # Errors
    /// The parts make no reference.
    pub fn reference(&self, policy: &str, tag: &str) -> Result<Reference> {
        let text = format!("{}:{tag}", self.repository(policy));
        match Reference::try_from(text.as_str()) {
            // A tag in the path would be read as part of the reference.
            Ok(reference) if reference.tag() == Some(tag) && reference.repository().ends_with(policy) => Ok(reference),
            Ok(_) => bail!("'{text}' is no reference of a registry: expected host[:port]/path/policy:tag"),
            Err(error) => bail!("'{text}' is no reference of a registry: {error}"),
        }
    }

    /// A policy's repository.
    pub fn repository(&self, policy: &str) -> String {
        format!("{}/{policy}", self.place)
    }

    /// A policy by its digest, which no later push changes.
    pub fn pinned(&self, policy: &str, digest: &str) -> String {
        format!("{}@{digest}", self.repository(policy))
    }

    /// The registry's host, with its port.
    pub fn host(&self) -> &str {
        self.place.split('/').next().unwrap_or_default()
    }

    /// TLS, but for the loopback interface or where plain text was asked for.
    pub fn protocol(&self, plain_http: bool) -> Protocol {
        if plain_http || self.is_loopback() {
            Protocol::Http
        } else {
            Protocol::Https
        }
    }

    fn is_loopback(&self) -> bool {
        let host = self.host();
        let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
    }
}

#[cfg(test)]
mod tests;
