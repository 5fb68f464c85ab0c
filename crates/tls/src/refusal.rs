//! Why a certificate is refused, in words, and what helps.
//!
//! Called by whoever shakes hands ([`handshake_refusal`]), and by those whose library gives only a text ([`reworded`]).

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use rustls::pki_types::UnixTime;
use rustls::{CertificateError, Error as TlsError, InconsistentKeys};
use x509_cert::der::DateTime;

/// What the library says before the name of what is wrong.
const INVALID: &str = "invalid peer certificate: ";
const REFUSED: &str = "the peer's certificate is refused: ";
const OTHER_KEY: &str =
    "it is not the key of the certificate; name the key with which that was requested";
/// What is wrong by the name that the library gives it, where it says no more; a name that begins with another one is first.
static REASONS: [(&str, &str); 12] = [
    (
        "Other(OtherError(CaUsedAsEndEntity))",
        "it is an authority's (basicConstraints CA:TRUE), which cannot be a peer's own; issue one for the peer",
    ),
    (
        "Other(OtherError(UnsupportedCertVersion))",
        "it is not an X.509 certificate of version 3; issue one that is",
    ),
    (
        "UnknownIssuer",
        "it was issued by an authority that is not trusted here (or by itself); add the authority's certificate to the file of \
         authorities, or have the peer send the certificates between",
    ),
    (
        "BadEncoding",
        "it cannot be read as an X.509 certificate; issue it again",
    ),
    (
        "BadSignature",
        "its signature is not that of its authority; an authority of the same name may have another key now",
    ),
    (
        "ExpiredRevocationList",
        "the list of revoked certificates is too old; put a new one there",
    ),
    (
        "UnknownRevocationStatus",
        "its authority has no list of revoked certificates here; add it",
    ),
    ("Expired", "it has expired; renew it"),
    (
        "NotValidYet",
        "it is not valid yet; compare the clock of this machine with that of its authority",
    ),
    ("Revoked", "it was revoked; issue another one"),
    (
        "NotValidForName",
        "it is for another name; connect by the name that it has, or issue one for this name",
    ),
    (
        "InvalidPurpose",
        "it was not issued for this use (extendedKeyUsage); issue one that is",
    ),
];

/// Why a handshake failed, in words.
pub fn handshake_refusal(error: &io::Error) -> String {
    let inner = error.get_ref();
    let tls = inner.and_then(|inner| inner.downcast_ref::<TlsError>());
    tls.map_or_else(|| reworded(&error.to_string()), in_words)
}

/// A text in which a library repeats what TLS has said, with words in the place of names of code.
pub fn reworded(text: &str) -> String {
    let mut said = text.to_owned();
    for (name, why) in &REASONS {
        // As the library says it, and as a library above it shows its value.
        for form in [
            format!("{INVALID}{name}"),
            format!("InvalidCertificate({name})"),
        ] {
            said = said.replace(&form, &format!("{REFUSED}{why}"));
        }
    }
    said
}

/// The library's own words are the form of its code for some (`Other(OtherError(CaUsedAsEndEntity))`).
fn in_words(error: &TlsError) -> String {
    match error {
        TlsError::InvalidCertificate(refused) => match certificate(refused) {
            Some(why) => format!("{REFUSED}{why}"),
            None => error.to_string(),
        },
        TlsError::InvalidMessage(_) => {
            format!("the peer answers with something else than TLS ({error})")
        }
        _ => error.to_string(),
    }
}

/// Why a certificate of ours, or one that we trust, cannot be used.
pub(crate) fn of_own(error: &TlsError) -> String {
    match error {
        TlsError::InvalidCertificate(refused) => {
            certificate(refused).map_or_else(|| error.to_string(), Cow::into_owned)
        }
        TlsError::InconsistentKeys(InconsistentKeys::KeyMismatch) => OTHER_KEY.to_owned(),
        _ => error.to_string(),
    }
}

/// Why a certificate is refused; `None` when the library says it as well.
fn certificate(error: &CertificateError) -> Option<Cow<'static, str>> {
    Some(match error {
        CertificateError::ExpiredContext { time, not_after } => Cow::Owned(format!(
            "it has expired at {}, and here it is {}; renew it, or set the clock of this machine",
            at(*not_after),
            at(*time)
        )),
        CertificateError::NotValidYetContext { time, not_before } => Cow::Owned(format!(
            "it is valid from {} on, and here it is {}; compare the clock of this machine with that of its authority",
            at(*not_before),
            at(*time)
        )),
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => {
            let names: Vec<&str> = presented.iter().map(|name| bare_name(name)).collect();
            let names = if names.is_empty() {
                "no name at all (subjectAltName)".to_owned()
            } else {
                names.join(", ")
            };
            let expected = expected.to_str();
            Cow::Owned(format!(
                "it is not valid for {expected}, but for {names}; connect by a name that it has, or issue one for this name"
            ))
        }
        _ => {
            let name = format!("{error:?}");
            let known = REASONS.iter().find(|(known, _)| name.starts_with(known));
            Cow::Borrowed(known?.1)
        }
    })
}

fn at(time: UnixTime) -> String {
    let at = DateTime::from_unix_duration(Duration::from_secs(time.as_secs()));
    at.map_or_else(|error| error.to_string(), |at| at.to_string())
}

/// A name of a certificate as the library shows it, `DnsName("smsc.example")`, without its kind.
fn bare_name(shown: &str) -> &str {
    let inner = shown.split_once('(');
    let inner = inner.and_then(|(_, inner)| inner.strip_suffix(')'));
    inner.unwrap_or(shown).trim_matches('"')
}

/// What a check of a certificate with its key has found.
pub(crate) enum PairFault {
    Key(String),
    Certificate(String),
}

/// Which of the two files is wrong, and why.
pub(crate) fn of_pair(error: &TlsError) -> PairFault {
    match error {
        TlsError::InvalidCertificate(_) => PairFault::Certificate(of_own(error)),
        _ => PairFault::Key(of_own(error)),
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

    fn parameters_of(name: &str) -> CertificateParams {
        CertificateParams::new(vec![name.to_owned()]).unwrap()
    }

    fn certificate_of(key: &KeyPair, issuer: &str, is_ca: IsCa) -> rcgen::Certificate {
        let mut parameters = parameters_of("smsc.example");
        parameters.is_ca = is_ca;
        let name = &mut parameters.distinguished_name;
        name.push(rcgen::DnType::CommonName, issuer);
        parameters.self_signed(key).unwrap()
    }

    /// What a client says of a certificate that it trusts itself.
    fn told_of(parameters: &CertificateParams) -> String {
        let key = KeyPair::generate().unwrap();
        let shown = parameters.self_signed(&key).unwrap();
        in_words(&refused(&shown, &key, &shown))
    }

    #[test]
    fn times_and_names_are_told() {
        let mut old = parameters_of("smsc.example");
        old.not_before = rcgen::date_time_ymd(2020, 1, 1);
        old.not_after = rcgen::date_time_ymd(2021, 1, 1);
        let told = told_of(&old);
        assert!(
            told.contains("expired at 2021-01-01T00:00:00Z") && told.contains("renew it"),
            "{told}"
        );
        let mut young = parameters_of("smsc.example");
        young.not_before = rcgen::date_time_ymd(3000, 1, 1);
        let told = told_of(&young);
        assert!(told.contains("from 3000-01-01T00:00:00Z on"), "{told}");
        let told = told_of(&parameters_of("other.example"));
        assert!(
            told.contains("not valid for smsc.example, but for other.example;"),
            "{told}"
        );
        assert_eq!(bare_name("IpAddress(127.0.0.1)"), "127.0.0.1");
    }

    #[test]
    fn a_text_of_a_library_gets_the_same_words() {
        let error = TlsError::InvalidCertificate(CertificateError::UnknownIssuer);
        let told = reworded(&format!("io: {error} (twice: {error})"));
        assert!(!told.contains("UnknownIssuer"), "{told}");
        assert!(told.starts_with("io: the peer's certificate is refused: it was issued"));
        assert!(told.ends_with(')'), "{told}");
        for other in [
            "connection refused",
            "invalid peer certificate: certificate expired: 7",
        ] {
            assert_eq!(reworded(other), other);
        }
        for (name, why) in REASONS {
            for form in [
                format!("{INVALID}{name}"),
                format!("InvalidCertificate({name})"),
            ] {
                assert_eq!(reworded(&form), format!("{REFUSED}{why}"));
            }
        }
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
        assert!(matches!(of_pair(&mismatch), PairFault::Key(why) if why == OTHER_KEY));
        let unreadable = TlsError::InvalidCertificate(CertificateError::BadEncoding);
        assert!(matches!(of_pair(&unreadable), PairFault::Certificate(_)));
    }
}
