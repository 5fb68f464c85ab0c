//! `[[listener]]`: addresses for ESMEs with settings of their own.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::content::Alphabet;
use super::section::section;

section! {
    /// `[[listener]]`: addresses for ESMEs with settings of their own, beside the plain ones of `smpp.listen`.
    pub struct Listener {
        /// Addresses to listen on: one, or a list.
        @required listen: Vec<SocketAddr> = Vec::new(),
        /// Its name in logs and metrics; without it, its first address.
        name: Option<String> = None,
        /// What data_coding 0 means in what ESMEs submit here, for accounts that do not say.
        alphabet: Option<Alphabet> = None,
        /// File with the certificate chain (PEM); with it, ESMEs must speak TLS. Read again when it changes, without touching the sessions there are.
        tls_cert: Option<PathBuf> = None,
        /// File with the key of the certificate (PEM).
        tls_key: Option<PathBuf> = None,
        /// File with authorities (PEM); with it, an ESME must show a certificate that descends from one of them. Read again when it changes.
        tls_client_ca: Option<PathBuf> = None,
        /// File with lists of revoked certificates (PEM), one of each authority that signs certificates of ESMEs: a certificate in them is refused, and one whose authority has no list there. Read again when it changes; a list that is overdue still holds.
        tls_client_crl: Option<PathBuf> = None,
        /// IP addresses and CIDR blocks of load balancers; with it, only they may connect, and each connection must begin with a PROXY protocol header of version 2, whose address is the ESME's.
        proxy_from: Vec<String> = Vec::new(),
    }
}

// === impl Listener ===

impl Listener {
    /// What logs and metrics call it.
    pub fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| {
            self.listen
                .first()
                .map_or_else(String::new, ToString::to_string)
        })
    }
}
