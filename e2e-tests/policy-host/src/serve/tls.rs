//! Certificates: given ones, or a certificate authority that lives as long as the process.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// What a generated certificate is always valid for.
const LOOPBACK: [&str; 3] = ["127.0.0.1", "::1", "localhost"];

/// The certificate that the webhook shows.
pub struct Certificates {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    authority: Option<String>,
}

impl Certificates {
    /// A certificate for the loopback addresses and these names or addresses, signed by an authority made for it alone.
    /// The keys are in memory only.
    ///
    /// # Errors
    /// A name is no DNS name.
    pub fn generate(names: &[String]) -> Result<Self> {
        let failed = |e: rcgen::Error| anyhow!("cannot make a certificate: {e}");
        let authority_key = KeyPair::generate().map_err(failed)?;
        let mut authority = CertificateParams::default();
        authority
            .distinguished_name
            .push(DnType::CommonName, "policy-host authority");
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let authority_certificate = authority.self_signed(&authority_key).map_err(failed)?;
        let issuer = Issuer::new(authority, authority_key);

        let subject: Vec<String> = LOOPBACK
            .iter()
            .map(ToString::to_string)
            .chain(names.iter().cloned())
            .collect();
        let key = KeyPair::generate().map_err(failed)?;
        let mut params = CertificateParams::new(subject).map_err(failed)?;
        params.distinguished_name.push(DnType::CommonName, "policy-host");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let certificate = params.signed_by(&key, &issuer).map_err(failed)?;
        Ok(Self {
            chain: vec![certificate.der().clone()],
            key: PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
            authority: Some(authority_certificate.pem()),
        })
    }

    /// A certificate chain and its key from PEM files.
    ///
    /// # Errors
    /// Names the file that cannot be read or holds nothing of the kind.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self> {
        let chain = pem_certificates(certificate)?;
        let key_text = std::fs::read(key).with_context(|| format!("cannot read {}", key.display()))?;
        let key = PrivateKeyDer::from_pem_slice(&key_text)
            .map_err(|e| anyhow!("{}: expected a private key in PEM: {e}", key.display()))?;
        Ok(Self {
            chain,
            key,
            authority: None,
        })
    }

    /// The PEM of the authority to trust; none for given certificates, whose owner knows it.
    pub fn authority(&self) -> Option<&str> {
        self.authority.as_deref()
    }

    pub(super) fn server_config(&self) -> Result<Arc<ServerConfig>> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .context("cannot set up TLS")?
            .with_no_client_auth()
            .with_single_cert(self.chain.clone(), self.key.clone_key())
            .context("cannot use the certificate and its key")?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

/// A PEM file of certificate authorities, as it is.
///
/// # Errors
/// Names the file that cannot be read or holds no certificate.
pub fn read_ca_bundle(path: &Path) -> Result<String> {
    pem_certificates(path)?;
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

fn pem_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let found = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| anyhow!("{}: expected certificates in PEM: {e}", path.display()))?;
    if found.is_empty() {
        bail!("{}: holds no certificate in PEM", path.display());
    }
    Ok(found)
}
