//! TLS for tests: a certificate authority, and a tunnel that speaks TLS for a plain [`super::Peer`].

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DistinguishedName,
    DnType, IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, RevokedCertParams, SerialNumber,
    date_time_ymd,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;

/// An authority: its certificate and its signing key.
pub struct Authority {
    pub pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key (PEM).
pub struct Certificate {
    pub certificate: String,
    pub key: String,
    serial: SerialNumber,
}

/// The client's end of TLS: a plain port, whose connections are forwarded to a server over TLS.
pub struct Tunnel {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    certificates: Vec<Vec<u8>>,
    errors: Vec<String>,
}

// === impl Authority ===

impl Authority {
    /// A new authority, which nothing trusts yet.
    pub fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, name);
        let pem = params.self_signed(&key).unwrap().pem();
        Self {
            pem,
            issuer: Issuer::new(params, key),
        }
    }

    /// A revocation list (PEM) with these certificates.
    pub fn revoke(&self, certificates: &[&Certificate]) -> String {
        let revoked = |certificate: &&Certificate| RevokedCertParams {
            serial_number: certificate.serial.clone(),
            revocation_time: date_time_ymd(2024, 1, 1),
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2024, 1, 1),
            next_update: date_time_ymd(2040, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: None,
            revoked_certs: certificates.iter().map(revoked).collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        list.signed_by(&self.issuer).unwrap().pem().unwrap()
    }

    /// A certificate for a host name or an address.
    pub fn sign(&self, name: &str) -> Certificate {
        self.signed(CertificateParams::new(vec![name.to_owned()]).unwrap())
    }

    /// One whose time is over.
    pub fn sign_expired(&self, name: &str) -> Certificate {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(2023, 1, 1);
        params.not_after = date_time_ymd(2024, 1, 1);
        self.signed(params)
    }

    fn signed(&self, mut params: CertificateParams) -> Certificate {
        let key = KeyPair::generate().unwrap();
        let serial = SerialNumber::from(u64::from(rand::random::<u32>()) + 1);
        params.serial_number = Some(serial.clone());
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Certificate {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
            serial,
        }
    }
}

// === impl Certificate ===

impl Certificate {
    /// Writes `NAME.pem` and `NAME.key` into a folder and returns their paths.
    pub fn write(&self, folder: &Path, name: &str) -> (PathBuf, PathBuf) {
        let files = ["pem", "key"].map(|end| folder.join(format!("{name}.{end}")));
        std::fs::write(&files[0], &self.certificate).unwrap();
        std::fs::write(&files[1], &self.key).unwrap();
        files.into()
    }

    fn der(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(self.certificate.as_bytes()).unwrap()
    }
}

// === impl Tunnel ===

impl Tunnel {
    /// To a server at this address, whose certificate must be for 127.0.0.1 and from `authority`.
    pub fn to(server: SocketAddr, authority: &Authority, own: Option<&Certificate>) -> Self {
        Self::open(server, authority, own, Vec::new())
    }

    /// Like [`Self::to`], with octets that are sent before each handshake.
    pub fn behind(server: SocketAddr, authority: &Authority, header: Vec<u8>) -> Self {
        Self::open(server, authority, None, header)
    }

    fn open(
        server: SocketAddr,
        authority: &Authority,
        own: Option<&Certificate>,
        header: Vec<u8>,
    ) -> Self {
        let mut roots = RootCertStore::empty();
        let trusted = CertificateDer::from_pem_slice(authority.pem.as_bytes()).unwrap();
        roots.add(trusted).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let config = match own {
            None => builder.with_no_client_auth(),
            Some(own) => {
                let key = PrivateKeyDer::from_pem_slice(own.key.as_bytes()).unwrap();
                builder.with_client_auth_cert(vec![own.der()], key).unwrap()
            }
        };
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::<Mutex<Seen>>::default();
        let for_thread = Arc::clone(&seen);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(serve(
                listener,
                (server, header),
                Arc::new(config),
                for_thread,
            ));
        });
        Self { address, seen }
    }

    /// The address for plain clients.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Certificates that the server has presented, one per connection.
    pub fn certificates(&self) -> Vec<Vec<u8>> {
        self.seen.lock().unwrap().certificates.clone()
    }

    /// Whether the server presented this certificate on the last connection.
    pub fn was_shown(&self, certificate: &Certificate) -> bool {
        let last = self.certificates().pop();
        last.as_deref() == Some(certificate.der().as_ref())
    }
}

async fn serve(
    listener: std::net::TcpListener,
    (server, header): (SocketAddr, Vec<u8>),
    config: Arc<ClientConfig>,
    seen: Arc<Mutex<Seen>>,
) {
    let listener = TcpListener::from_std(listener).unwrap();
    while let Ok((mut plain, _)) = listener.accept().await {
        let (connector, seen) = (TlsConnector::from(Arc::clone(&config)), Arc::clone(&seen));
        let header = header.clone();
        tokio::spawn(async move {
            let outcome = async {
                let mut socket = TcpStream::connect(server).await?;
                socket.write_all(&header).await?;
                let name = ServerName::from(server.ip());
                let mut secured = connector.connect(name, socket).await?;
                if let Some(shown) = secured.get_ref().1.peer_certificates() {
                    let first = shown[0].as_ref().to_vec();
                    seen.lock().unwrap().certificates.push(first);
                }
                tokio::io::copy_bidirectional(&mut plain, &mut secured).await
            };
            if let Err(error) = outcome.await {
                seen.lock().unwrap().errors.push(error.to_string());
            }
        });
    }
}
