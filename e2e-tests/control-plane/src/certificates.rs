//! An authority for one control plane, and certificates for its servers and webhooks.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};

/// A certificate and its key, as PEM.
#[derive(Clone)]
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// Its private key (PKCS #8).
    pub key: String,
}

/// The authority. Its key never leaves the process.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
}

impl Authority {
    /// Makes an authority.
    ///
    /// # Errors
    /// The cryptography fails.
    pub(crate) fn new() -> Result<Authority> {
        let key = KeyPair::generate().context("cannot make the key of the authority")?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "control-plane");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = params.self_signed(&key).context("cannot sign the authority")?.pem();
        Ok(Authority {
            issuer: Issuer::new(params, key),
            certificate,
        })
    }

    /// The authority's certificate as PEM: what a `caBundle` holds.
    pub(crate) fn certificate(&self) -> &str {
        &self.certificate
    }

    /// A certificate for a server under these names and addresses.
    ///
    /// # Errors
    /// A name is no DNS name or address.
    pub(crate) fn server(&self, names: &[&str]) -> Result<Pair> {
        let key = KeyPair::generate().context("cannot make a key")?;
        let names: Vec<String> = names.iter().copied().map(str::to_owned).collect();
        let mut params =
            CertificateParams::new(names.clone()).with_context(|| format!("no certificate for {names:?}"))?;
        params
            .distinguished_name
            .push(DnType::CommonName, "control-plane server");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = params
            .signed_by(&key, &self.issuer)
            .context("cannot sign a certificate")?;
        Ok(Pair {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }
}

/// Writes a key for the tokens of service accounts, private and public part.
///
/// # Errors
/// The files cannot be written.
pub(crate) fn token_key(private: &Path, public: &Path) -> Result<()> {
    let key = KeyPair::generate().context("cannot make a key")?;
    fs::write(private, key.serialize_pem()).with_context(|| format!("cannot write {}", private.display()))?;
    fs::write(public, key.public_key_pem()).with_context(|| format!("cannot write {}", public.display()))
}
