//! Requests over HTTP that wait for their answer on a thread that may block: TLS as it is configured.
//!
//! Called by the look-up service of the resolver and for the credentials of managed operators. An error names the key
//! of the configuration that is wrong, and never what a file contains.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use ureq::tls::{Certificate, ClientCert, PrivateKey, RootCerts, TlsConfig, TlsProvider};

use crate::tls::{handshake_refusal, reworded};

/// A file, and the key of the configuration that names it.
pub struct NamedFile<'a> {
    pub key: &'a str,
    pub file: &'a Path,
}

/// TLS for requests to `url`. `ca` has the authorities that are believed, instead of those of the machine; `identity` is
/// the certificate that we show, and its key. Reads files: blocks.
///
/// # Errors
/// Which file cannot be used, and why.
pub fn tls(
    url: &str,
    ca_key: &str,
    ca: Option<&Path>,
    identity: Option<(NamedFile<'_>, NamedFile<'_>)>,
) -> Result<TlsConfig, String> {
    let mut roots: Vec<Certificate<'static>> = Vec::new();
    let mut shown = None;
    if url.starts_with("https://") {
        let certificates = match ca {
            None => rustls_native_certs::load_native_certs().certs,
            Some(file) => chain(&NamedFile { key: ca_key, file })?,
        };
        roots = owned(&certificates);
        if roots.is_empty() {
            return Err(format!(
                "{ca_key}: there is no certificate that could be believed; name a file with the \
                 service's authority"
            ));
        }
        shown = identity
            .map(|(cert, key)| client(&cert, &key))
            .transpose()?;
    }
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .root_certs(RootCerts::new_with_certs(&roots))
        .client_cert(shown)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build())
}

/// Why a request has no answer, for people.
pub fn unanswered(error: &ureq::Error) -> String {
    match error {
        ureq::Error::Io(error) => format!("io: {}", handshake_refusal(error)),
        other => reworded(&other.to_string()),
    }
}

fn client(cert: &NamedFile<'_>, key: &NamedFile<'_>) -> Result<ClientCert, String> {
    // Its error may quote the file, so it is not repeated.
    let read = std::fs::read(key.file).map_err(|error| error.to_string());
    let read = read.and_then(|pem| {
        PrivateKey::from_pem(&pem).map_err(|_| "there is no private key (PEM) in it".to_owned())
    });
    let private = read.map_err(|why| format!("{}: {}: {why}", key.key, key.file.display()))?;
    Ok(ClientCert::new_with_certs(&owned(&chain(cert)?), private))
}

fn chain(named: &NamedFile<'_>) -> Result<Vec<CertificateDer<'static>>, String> {
    CertificateDer::pem_file_iter(named.file)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| format!("{}: {}: {error}", named.key, named.file.display()))
}

fn owned(certificates: &[CertificateDer<'_>]) -> Vec<Certificate<'static>> {
    let read = certificates.iter();
    read.map(|certificate| Certificate::from_der(certificate).to_owned())
        .collect()
}
