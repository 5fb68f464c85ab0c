//! Client certificates: what a client presented, and what an account requires.

/// What a fingerprint begins with, where it is written.
const FINGERPRINT: &str = "sha256:";

/// A certificate that a client has shown, and that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownCertificate {
    /// SHA-256 of the whole certificate.
    pub fingerprint: [u8; 32],
    /// The common name, and the DNS names and mail addresses of subjectAltName.
    pub names: Vec<String>,
}

/// A certificate as it is written in a configuration: `sha256:…` with or without colons between the
/// octets, or one of its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WantedCertificate {
    Fingerprint([u8; 32]),
    Name(String),
}

// === impl ShownCertificate ===

impl ShownCertificate {
    /// Whether the certificate matches. Names are compared without regard to case.
    pub fn is(&self, wanted: &WantedCertificate) -> bool {
        match wanted {
            WantedCertificate::Fingerprint(fingerprint) => self.fingerprint == *fingerprint,
            WantedCertificate::Name(name) => {
                self.names.iter().any(|own| own.eq_ignore_ascii_case(name))
            }
        }
    }
}

// === impl WantedCertificate ===

impl WantedCertificate {
    /// Reads what is written; `None` for a fingerprint that is none, and for nothing.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let Some(digits) = text
            .to_ascii_lowercase()
            .strip_prefix(FINGERPRINT)
            .map(str::to_owned)
        else {
            return (!text.is_empty()).then(|| Self::Name(text.to_owned()));
        };
        let digits: Vec<u8> = digits.bytes().filter(|octet| *octet != b':').collect();
        let mut fingerprint = [0; 32];
        if digits.len() != 2 * fingerprint.len() {
            return None;
        }
        for (octet, pair) in fingerprint.iter_mut().zip(digits.chunks(2)) {
            let digit = |at: usize| char::from(pair[at]).to_digit(16);
            *octet = (digit(0)? * 16 + digit(1)?) as u8;
        }
        Some(Self::Fingerprint(fingerprint))
    }
}
