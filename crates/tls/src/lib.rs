//! TLS: certificates, keys and authorities from files, by rustls and ring.
//!
//! The admin API and the listeners for ESMEs serve with a [`Server`], which re-reads its files when
//! they have changed: checked at handshakes, at most once a minute, and on SIGHUP. Open connections
//! are not affected. Connections to operators use a [`client_config`] that is read at each connect.
//! Guarantees that unusable files leave the current certificate in use, and that every error names the
//! setting.

mod client;
mod refusal;
mod watched;

use std::fmt::Display;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use x509_cert::der::Decode as _;

use self::refusal::PairFault;
use self::watched::Watched;
use smsc_host::files;

pub use self::client::shown;
pub use self::refusal::handshake_refusal;

/// A file of the configuration and the key that names it, for errors.
#[derive(Debug, Clone)]
pub struct Named {
    pub setting: String,
    pub file: PathBuf,
}

/// What a server is made of.
#[derive(Debug, Clone)]
pub struct ServerFiles {
    /// Certificate chain (PEM), ours first.
    pub cert: Named,
    /// Its key (PEM).
    pub key: Named,
    /// Authorities (PEM) that must issue clients' certificates; without them no certificate is
    /// requested.
    pub client_ca: Option<Named>,
    /// Lists of revoked certificates (PEM), of every authority that signs clients' certificates.
    pub client_crl: Option<Named>,
}

/// The serving side, kept up to date with its files.
#[derive(Debug)]
pub struct Server(Watched<Loaded>);

#[derive(Debug)]
struct Loaded {
    key: Arc<CertifiedKey>,
    config: Arc<ServerConfig>,
    expires_at: i64,
}

/// The certificate and key that we show to whom we dial.
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

/// The certificates that this machine trusts; none where it has none, and then no server is trusted.
pub fn platform_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

/// The authorities of a file.
///
/// # Errors
/// It cannot be read or holds none.
pub fn roots(ca: &Named) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in chain(ca)? {
        roots.add(certificate).map_err(|error| ca.unusable(error))?;
    }
    Ok(roots)
}

/// Client configuration for servers with certificates under `roots`, with `identity` as the client
/// certificate on request.
///
/// # Errors
/// Certificate and key do not belong together.
pub fn client_config(
    roots: RootCertStore,
    identity: Option<Identity>,
) -> Result<ClientConfig, String> {
    let builder = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots);
    match identity {
        None => Ok(builder.with_no_client_auth()),
        Some(identity) => builder
            .with_client_auth_cert(identity.chain, identity.key)
            .map_err(|error| error.to_string()),
    }
}

/// When a certificate ends, in Unix seconds.
pub fn expires_at(certificate: &CertificateDer<'_>) -> Option<i64> {
    let read = x509_cert::Certificate::from_der(certificate).ok()?;
    let end = read.tbs_certificate.validity.not_after.to_unix_duration();
    i64::try_from(end.as_secs()).ok()
}

/// Named, because a process may have no default provider, or more than one to choose from.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn chain(cert: &Named) -> Result<Vec<CertificateDer<'static>>, String> {
    sections(cert, "there is no certificate in it")
}

/// The lists of a file.
fn revoked(crl: &Named) -> Result<Vec<CertificateRevocationListDer<'static>>, String> {
    sections(crl, "there is no list of revoked certificates in it")
}

/// The sections of a file that are of this type; `none` says that there is none.
fn sections<T: PemObject>(file: &Named, none: &str) -> Result<Vec<T>, String> {
    let sections = T::pem_slice_iter(&file.read()?)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| file.unusable(plain(&error)))?;
    if sections.is_empty() {
        Err(file.unusable(none))
    } else {
        Ok(sections)
    }
}

fn private_key(key: &Named) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_slice(&key.read()?).map_err(|error| key.unusable(plain(&error)))
}

/// What is wrong with a file, without its lines: it need not be a certificate.
fn plain(error: &pem::Error) -> &'static str {
    match error {
        pem::Error::MissingSectionEnd { .. } => "a section has no end",
        pem::Error::IllegalSectionStart { .. } => "a section begins wrongly",
        pem::Error::Base64Decode(_) => "a section is not in base64",
        pem::Error::NoItemsFound => "there is none in it",
        _ => "it is no PEM",
    }
}

fn certified_key(cert: &Named, key: &Named) -> Result<CertifiedKey, String> {
    let der = private_key(key)?;
    let signing = ring::sign::any_supported_type(&der).map_err(|error| key.unusable(error))?;
    let read = CertifiedKey::new(chain(cert)?, signing);
    // A key whose public half is not known is believed.
    match read.keys_match() {
        Ok(()) | Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => {
            Ok(read)
        }
        Err(error) => Err(match refusal::of_pair(&error) {
            PairFault::Key(why) => key.unusable(why),
            PairFault::Certificate(why) => cert.unusable(why),
        }),
    }
}

// === impl Named ===

impl Named {
    /// `setting` names `file`.
    pub fn new(setting: impl Into<String>, file: impl Into<PathBuf>) -> Self {
        Self {
            setting: setting.into(),
            file: file.into(),
        }
    }

    fn read(&self) -> Result<Vec<u8>, String> {
        files::read(&self.file, files::CERTIFICATES).map_err(|error| self.unusable(error))
    }

    fn unusable(&self, why: impl Display) -> String {
        format!(
            "{}: {} cannot be used: {why}",
            self.setting,
            self.file.display()
        )
    }
}

// === impl ServerFiles ===

impl ServerFiles {
    fn paths(&self) -> Vec<PathBuf> {
        let of_clients = [self.client_ca.as_ref(), self.client_crl.as_ref()];
        [Some(&self.cert), Some(&self.key)]
            .into_iter()
            .chain(of_clients)
            .flatten()
            .map(|named| named.file.clone())
            .collect()
    }

    fn load(&self) -> Result<Loaded, String> {
        let key = Arc::new(certified_key(&self.cert, &self.key)?);
        let builder = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let builder = match &self.client_ca {
            None => builder.with_no_client_auth(),
            Some(ca) => {
                let roots = Arc::new(roots(ca)?);
                let mut verifier = WebPkiClientVerifier::builder_with_provider(roots, provider());
                if let Some(crl) = &self.client_crl {
                    // Of the client's own certificate. One whose authority has no list in the file is
                    // refused: it may have been revoked.
                    verifier = verifier
                        .with_crls(revoked(crl)?)
                        .only_check_end_entity_revocation();
                }
                let verifier = verifier.build().map_err(|error| ca.unusable(error))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        let certificate = Arc::new(SingleCertAndKey::from(Arc::clone(&key)));
        let first = key.cert.first();
        Ok(Loaded {
            config: Arc::new(builder.with_cert_resolver(certificate)),
            expires_at: first.and_then(expires_at).unwrap_or_default(),
            key,
        })
    }
}

// === impl Server ===

impl Server {
    /// Reads the files.
    ///
    /// # Errors
    /// They cannot be used; the text names the setting.
    pub fn open(files: ServerFiles) -> io::Result<Arc<Self>> {
        let paths = files.paths();
        let watched = Watched::open(paths, move || files.load()).map_err(io::Error::other)?;
        Ok(Arc::new(Self(watched)))
    }

    /// For one new connection.
    pub fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.get().config)
    }

    /// For a server that takes one configuration for its life: only the certificate follows the files.
    ///
    /// # Errors
    /// The library does not know the protocol versions it has, which cannot be.
    pub fn lasting_config(self: &Arc<Self>) -> io::Result<ServerConfig> {
        let config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(self) as Arc<dyn ResolvesServerCert>);
        Ok(config)
    }

    /// Reads the files again if they have changed.
    pub fn look(&self) {
        self.0.look();
    }

    /// When its certificate expires, in Unix seconds; 0 when that cannot be read.
    pub fn expires_at(&self) -> i64 {
        self.0.get().expires_at
    }
}

impl ResolvesServerCert for Server {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.get().key))
    }
}

// === impl Identity ===

impl Identity {
    /// Reads certificate chain and key.
    ///
    /// # Errors
    /// They cannot be used; the text names the setting.
    pub fn read(cert: &Named, key: &Named) -> Result<Self, String> {
        Ok(Self {
            chain: chain(cert)?,
            key: private_key(key)?,
        })
    }

    /// When the certificate ends, in Unix seconds.
    pub fn expires_at(&self) -> Option<i64> {
        self.chain.first().and_then(expires_at)
    }
}
