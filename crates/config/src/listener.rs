//! `[[listener]]`: addresses for ESMEs, or for clients of another protocol, with settings of their own.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::content::DefaultAlphabet;
use super::section::{choice, section};

choice! {
    /// What is spoken on a listener.
    pub enum ListenerProtocol {
        /// SMPP 3.3, 3.4 or 5.0.
        Smpp = "smpp",
        /// CMPP 2.0 or 3.0: clients of China Mobile's protocol submit as accounts (docs/carriers.md).
        Cmpp = "cmpp",
    }
}

section! {
    /// `[[listener]]`: addresses for ESMEs with settings of their own, beside the plain ones of `smpp.listen`.
    pub struct ListenerConfig {
        /// Addresses to listen on: one, or a list.
        @filled("is missing; write an address such as \"0.0.0.0:3550\"")
        @required listen: Vec<SocketAddr> = Vec::new(),
        /// Its name in logs and metrics; without it, its first address.
        @filled("is empty; remove it, or write a name")
        name: Option<String> = None,
        /// What is spoken here. With `cmpp` the clients are accounts with a `carrier_secret`.
        protocol: ListenerProtocol = ListenerProtocol::Smpp,
        /// Meaning of data_coding 0 in messages that ESMEs submit here, for accounts without `alphabet`.
        alphabet: Option<DefaultAlphabet> = None,
        /// File with the certificate chain (PEM); with it, ESMEs must use TLS. Read again when it changes; existing sessions stay.
        tls_cert: Option<PathBuf> = None,
        /// File with the key of the certificate (PEM).
        tls_key: Option<PathBuf> = None,
        /// File with authorities (PEM); with it, an ESME must present a certificate issued under one of them. Read again when it changes.
        tls_client_ca: Option<PathBuf> = None,
        /// File with certificate revocation lists (PEM), one for each authority that signs certificates of ESMEs: a certificate is refused if it is listed, or if its authority has no list. Read again when it changes; an expired list is still used.
        tls_client_crl: Option<PathBuf> = None,
        /// IP addresses and CIDR blocks of load balancers; with it, only they may connect, and each connection must begin with a PROXY protocol header of version 2, which has the address of the ESME.
        @network proxy_from: Vec<String> = Vec::new(),
    }
}

// === impl ListenerConfig ===

impl ListenerConfig {
    /// What logs and metrics call it.
    pub fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| {
            self.listen
                .first()
                .map_or_else(String::new, ToString::to_string)
        })
    }
}
