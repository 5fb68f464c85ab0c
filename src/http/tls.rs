//! HTTPS: the certificate of the admin API, read again when its files have changed.
//!
//! Looked at by the handshakes themselves, at most once a minute, and on SIGHUP. Connections that are
//! open keep what they have. Keeps true that files that cannot be used leave the certificate in force.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::actors::ports::lock;

/// How often the files are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// A certificate and its key, from two files.
#[derive(Debug)]
pub struct Certificate {
    cert: PathBuf,
    key: PathBuf,
    current: ArcSwap<CertifiedKey>,
    looked: Mutex<Looked>,
}

#[derive(Debug)]
struct Looked {
    at: Instant,
    /// When the files had been changed.
    changed: [Option<SystemTime>; 2],
}

// === impl Certificate ===

impl Certificate {
    /// Reads the files.
    ///
    /// # Errors
    /// They cannot be used; the text names the setting.
    pub fn open(cert: PathBuf, key: PathBuf) -> io::Result<Arc<Self>> {
        let changed = [modified(&cert), modified(&key)];
        let current = read(&cert, &key).map_err(io::Error::other)?;
        Ok(Arc::new(Self {
            current: ArcSwap::from_pointee(current),
            looked: Mutex::new(Looked {
                at: Instant::now(),
                changed,
            }),
            cert,
            key,
        }))
    }

    /// What a listener serves with.
    ///
    /// # Errors
    /// The library does not know the protocol versions it has, which cannot be.
    pub fn server_config(self: &Arc<Self>) -> io::Result<ServerConfig> {
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(self) as Arc<dyn ResolvesServerCert>);
        Ok(config)
    }

    /// Reads the files again if they have changed.
    pub fn look(&self) {
        let changed = [modified(&self.cert), modified(&self.key)];
        {
            let mut looked = lock(&self.looked);
            looked.at = Instant::now();
            if looked.changed == changed {
                return;
            }
            looked.changed = changed;
        }
        match read(&self.cert, &self.key) {
            Ok(read) => {
                self.current.store(Arc::new(read));
                tracing::info!(file = %self.cert.display(), "certificate read again");
            }
            Err(error) => tracing::error!(error, "the certificate in force stays"),
        }
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let due = lock(&self.looked).at.elapsed() >= LOOK_EVERY;
        if due {
            self.look();
        }
        Some(self.current.load_full())
    }
}

fn modified(file: &PathBuf) -> Option<SystemTime> {
    std::fs::metadata(file)
        .and_then(|about| about.modified())
        .ok()
}

fn read(cert: &PathBuf, key: &PathBuf) -> Result<CertifiedKey, String> {
    let unread = |setting: &str, file: &PathBuf, error: &dyn std::fmt::Display| {
        format!("{setting}: {} cannot be used: {error}", file.display())
    };
    let chain = CertificateDer::pem_file_iter(cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unread("http.tls_cert", cert, &error))?;
    if chain.is_empty() {
        return Err(unread(
            "http.tls_cert",
            cert,
            &"there is no certificate in it",
        ));
    }
    let der =
        PrivateKeyDer::from_pem_file(key).map_err(|error| unread("http.tls_key", key, &error))?;
    let signing = ring::sign::any_supported_type(&der)
        .map_err(|error| unread("http.tls_key", key, &error))?;
    let read = CertifiedKey::new(chain, signing);
    // A key whose public half is not known is believed.
    match read.keys_match() {
        Ok(()) | Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::Unknown)) => {
            Ok(read)
        }
        Err(error) => Err(unread("http.tls_key", key, &error)),
    }
}
