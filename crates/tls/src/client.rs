//! The names and the fingerprint of a client certificate.

use rustls::pki_types::CertificateDer;
use sha2::{Digest as _, Sha256};
use x509_cert::Certificate;
use x509_cert::der::Decode as _;
use x509_cert::der::asn1::ObjectIdentifier;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;

use smsc_domain::certificate::ShownCertificate;

/// The common name of a subject (RFC 5280, appendix A.1).
const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");

/// The names and fingerprint of a certificate; without names when it cannot be read.
pub fn shown(certificate: &CertificateDer<'_>) -> ShownCertificate {
    let read = Certificate::from_der(certificate);
    ShownCertificate {
        fingerprint: Sha256::digest(certificate).into(),
        names: read.map_or_else(|_| Vec::new(), |read| names(&read)),
    }
}

fn names(certificate: &Certificate) -> Vec<String> {
    let tbs = &certificate.tbs_certificate;
    let mut names = Vec::new();
    for part in tbs.subject.0.iter().flat_map(|part| part.0.iter()) {
        if part.oid == COMMON_NAME {
            names.push(String::from_utf8_lossy(part.value.value()).into_owned());
        }
    }
    if let Ok(Some((_, more))) = tbs.get::<SubjectAltName>() {
        for name in more.0 {
            match name {
                GeneralName::DnsName(name) | GeneralName::Rfc822Name(name) => {
                    names.push(name.as_str().to_owned());
                }
                _ => {}
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use smsc_domain::certificate::WantedCertificate;

    #[test]
    fn a_certificate_is_known_by_its_names_and_its_fingerprint() {
        let key = rcgen::KeyPair::generate().unwrap();
        let names = ["esme.example".to_owned(), "ops@bank.example".to_owned()];
        let mut params = rcgen::CertificateParams::new(names).unwrap();
        params.distinguished_name = rcgen::DistinguishedName::new();
        let name = (rcgen::DnType::CommonName, "Bank 1");
        params.distinguished_name.push(name.0, name.1);
        let certificate = params.self_signed(&key).unwrap();
        let bank = shown(certificate.der());
        for name in ["Bank 1", "bank 1", "ESME.example"] {
            assert!(
                bank.is(&WantedCertificate::parse(name).unwrap()),
                "{name} {bank:?}"
            );
        }
        let octets = bank.fingerprint.map(|octet| format!("{octet:02X}"));
        for written in [octets.join(":"), octets.concat().to_lowercase()] {
            let wanted = WantedCertificate::parse(&format!("SHA256:{written}")).unwrap();
            assert!(bank.is(&wanted), "{written}");
        }
        for other in ["bank", "example", &format!("sha256:{}", "00".repeat(32))] {
            assert!(
                !bank.is(&WantedCertificate::parse(other).unwrap()),
                "{other}"
            );
        }
        for wrong in [
            "",
            " ",
            "sha256:",
            "sha256:00",
            &format!("sha256:{}", "0g".repeat(32)),
        ] {
            assert_eq!(WantedCertificate::parse(wrong), None, "{wrong}");
        }
        assert!(shown(&CertificateDer::from(vec![1, 2, 3])).names.is_empty());
    }
}
