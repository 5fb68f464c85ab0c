//! Why a certificate is refused, in words.

use std::io;

use rustls::{CertificateError, Error as TlsError, InconsistentKeys};

/// Why a handshake failed, in words.
pub fn handshake_refusal(error: &io::Error) -> String {
    let inner = error.get_ref();
    let tls = inner.and_then(|inner| inner.downcast_ref::<TlsError>());
    tls.map_or_else(|| error.to_string(), in_words)
}

/// The library's own words are the form of its code for some (`Other(OtherError(CaUsedAsEndEntity))`).
fn in_words(error: &TlsError) -> String {
    match error {
        TlsError::InvalidCertificate(refused) => match certificate(refused) {
            Some(why) => format!("the peer's certificate is refused: {why}"),
            None => error.to_string(),
        },
        TlsError::InvalidMessage(_) => {
            format!("the peer answers with something else than TLS ({error})")
        }
        _ => error.to_string(),
    }
}

/// Why a certificate is refused; `None` when the library says it as well.
fn certificate(error: &CertificateError) -> Option<&'static str> {
    Some(match error {
        CertificateError::BadEncoding => "it cannot be read",
        CertificateError::UnknownIssuer => {
            "it was issued by an authority that is not trusted here (or by itself)"
        }
        CertificateError::Revoked => "it was revoked",
        CertificateError::BadSignature => "its signature is not that of its authority",
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "it was not issued for this use (extendedKeyUsage)"
        }
        // The library of certificates has no type of its own here; its words are the name of its variant.
        CertificateError::Other(other) => match other.0.to_string().as_str() {
            "CaUsedAsEndEntity" => {
                "it is an authority's (basicConstraints CA:TRUE), which cannot be a peer's own; issue one for the peer"
            }
            "UnsupportedCertVersion" => "it is not an X.509 certificate of version 3",
            _ => return None,
        },
        _ => return None,
    })
}

/// What a check of a certificate with its key has found.
pub(crate) enum PairFault {
    Key(String),
    Certificate(String),
}

/// Which of the two files is wrong, and why.
pub(crate) fn of_pair(error: &TlsError) -> PairFault {
    match error {
        TlsError::InconsistentKeys(InconsistentKeys::KeyMismatch) => {
            PairFault::Key("it is not the key of the certificate".to_owned())
        }
        TlsError::InvalidCertificate(refused) => PairFault::Certificate(
            certificate(refused).map_or_else(|| error.to_string(), str::to_owned),
        ),
        _ => PairFault::Key(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
    use rustls::pki_types::{PrivateKeyDer, ServerName};
    use rustls::{ClientConnection, RootCertStore, ServerConfig, ServerConnection};

    use super::*;

    /// What a client says that trusts only `trusted`, to a server that shows `shown`.
    fn refused(
        shown: &rcgen::Certificate,
        key: &KeyPair,
        trusted: &rcgen::Certificate,
    ) -> TlsError {
        let mut roots = RootCertStore::empty();
        roots.add(trusted.der().clone()).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let server = ServerConfig::builder_with_provider(crate::provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![shown.der().clone()], key)
            .unwrap();
        let client = crate::client_config(roots, None).unwrap();
        let name = ServerName::try_from("smsc.example").unwrap();
        let mut client = ClientConnection::new(Arc::new(client), name).unwrap();
        let mut server = ServerConnection::new(Arc::new(server)).unwrap();
        for _ in 0..4 {
            let mut octets = Vec::new();
            client.write_tls(&mut octets).unwrap();
            server.read_tls(&mut octets.as_slice()).unwrap();
            server.process_new_packets().unwrap();
            octets.clear();
            server.write_tls(&mut octets).unwrap();
            client.read_tls(&mut octets.as_slice()).unwrap();
            if let Err(error) = client.process_new_packets() {
                return error;
            }
        }
        panic!("it was not refused");
    }

    fn certificate_of(key: &KeyPair, issuer: &str, is_ca: IsCa) -> rcgen::Certificate {
        let names = vec!["smsc.example".to_owned()];
        let mut parameters = CertificateParams::new(names).unwrap();
        parameters.is_ca = is_ca;
        let name = &mut parameters.distinguished_name;
        name.push(rcgen::DnType::CommonName, issuer);
        parameters.self_signed(key).unwrap()
    }

    #[test]
    fn no_refusal_is_told_in_the_form_of_code() {
        let (key, other) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
        let authority =
            certificate_of(&key, "authority", IsCa::Ca(BasicConstraints::Unconstrained));
        let stranger = certificate_of(&other, "stranger", IsCa::NoCa);
        let told = in_words(&refused(&authority, &key, &authority));
        assert!(told.contains("it is an authority's"), "{told}");
        let told = in_words(&refused(&stranger, &other, &authority));
        assert!(told.contains("not trusted here"), "{told}");
        let handshake = io::Error::other(TlsError::HandshakeNotComplete);
        assert_eq!(handshake_refusal(&handshake), handshake.to_string());
        let reset = io::Error::from(io::ErrorKind::ConnectionReset);
        assert_eq!(handshake_refusal(&reset), reset.to_string());
    }

    #[test]
    fn a_pair_blames_the_file_that_is_wrong() {
        let mismatch = TlsError::InconsistentKeys(InconsistentKeys::KeyMismatch);
        assert!(matches!(of_pair(&mismatch), PairFault::Key(_)));
        let unreadable = TlsError::InvalidCertificate(CertificateError::BadEncoding);
        assert!(matches!(of_pair(&unreadable), PairFault::Certificate(_)));
    }
}
