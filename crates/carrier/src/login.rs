//! The digests of a login: MD5 over what both sides know (CMPP §8.4.1, SMGP §7.2.1). The protocols fix MD5;
//! who needs secrecy has the connection in TLS or a VPN.

use md5::{Digest as _, Md5};

/// The digest of these octets, one after the other.
#[must_use]
pub fn digest(parts: &[&[u8]]) -> [u8; 16] {
    let mut md5 = Md5::new();
    parts.iter().for_each(|part| md5.update(part));
    md5.finalize().into()
}

/// What a client proves its secret with: its name, `zeros` NULs, the secret, and the time as `MMDDhhmmss` in ten
/// digits.
#[must_use]
pub fn client(name: &[u8], zeros: usize, secret: &[u8], timestamp: u32) -> [u8; 16] {
    let digits = format!("{timestamp:010}");
    digest(&[name, &vec![0; zeros], secret, digits.as_bytes()])
}

/// What a server proves its secret with: the status as it is in the response, the client's proof, the secret.
#[must_use]
pub fn server(status: &[u8], of_client: &[u8; 16], secret: &[u8]) -> [u8; 16] {
    digest(&[status, of_client, secret])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_a_login() {
        // The fixture of bigwhite/gocmpp.
        let proof = client(b"900001", 9, b"888888", 1_021_080_510);
        let hex: String = proof.iter().map(|octet| format!("{octet:02x}")).collect();
        assert_eq!(hex, "90d00c1d517abd0b4f65f6bcf8535d16");
    }
}
