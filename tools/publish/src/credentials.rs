//! Who pushes: the environment, else docker's `config.json` with its credential helpers. Never an argument, which other
//! users of the machine can see; and no error quotes what it found.

use std::path::PathBuf;

use anyhow::{Result, bail};
use docker_credential::{CredentialRetrievalError, DockerCredential, get_credential_from_reader};
use oci_client::secrets::RegistryAuth;

/// The variables with a user and a password, or a token in its place.
pub const USERNAME: &str = "REGISTRY_USERNAME";
/// See [`USERNAME`].
pub const PASSWORD: &str = "REGISTRY_PASSWORD";

/// Docker Hub's name in `config.json`.
const DOCKER_HUB: &str = "https://index.docker.io/v1/";

/// Where docker's `config.json` is, if anywhere.
pub fn docker_config(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let home = || Some(PathBuf::from(variable("HOME")?).join(".docker"));
    let folder = variable("DOCKER_CONFIG").map(PathBuf::from).or_else(home)?;
    Some(folder.join("config.json"))
}

/// The credentials for a registry's host; anonymous where there are none. `config` is the content of docker's `config.json`.
///
/// # Errors
/// They are there, but incomplete, unreadable, or of a kind that cannot be used for a push.
pub fn find(host: &str, variable: impl Fn(&str) -> Option<String>, config: Option<&[u8]>) -> Result<RegistryAuth> {
    match (variable(USERNAME), variable(PASSWORD)) {
        (Some(user), Some(password)) => return Ok(RegistryAuth::Basic(user, password)),
        (None, None) => {}
        (Some(_), None) => bail!("{USERNAME} is set and {PASSWORD} is not: set both or neither"),
        (None, Some(_)) => bail!("{PASSWORD} is set and {USERNAME} is not: set both or neither"),
    }
    let Some(config) = config else {
        return Ok(RegistryAuth::Anonymous);
    };
    let server = match host {
        "docker.io" | "index.docker.io" => DOCKER_HUB,
        host => host,
    };
    let advice = format!("run `docker login {host}` anew, or set {USERNAME} and {PASSWORD}");
    match get_credential_from_reader(config, server) {
        Ok(DockerCredential::UsernamePassword(user, password)) => Ok(RegistryAuth::Basic(user, password)),
        Ok(DockerCredential::IdentityToken(_)) => {
            bail!(
                "docker's config.json has an identity token for {host}, with which nothing can be pushed here: {advice}"
            )
        }
        Err(CredentialRetrievalError::NoCredentialConfigured) => Ok(RegistryAuth::Anonymous),
        // What every helper says of a host that it does not know.
        Err(CredentialRetrievalError::HelperFailure { stdout, .. }) if stdout.contains("credentials not found") => {
            Ok(RegistryAuth::Anonymous)
        }
        Err(CredentialRetrievalError::HelperFailure { helper, .. }) => bail!("{helper} fails for {host}: {advice}"),
        Err(CredentialRetrievalError::HelperCommunicationError | CredentialRetrievalError::MalformedHelperResponse) => {
            bail!("the credential helper that docker's config.json names for {host} does not run or answer: {advice}")
        }
        Err(_) => bail!("docker's config.json cannot be read as such, or its entry for {host} cannot: {advice}"),
    }
}

#[cfg(test)]
mod tests;
