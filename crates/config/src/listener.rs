//! `[[listener]]`: addresses for ESMEs, or for clients of another protocol, with settings of their own.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::content::DefaultAlphabet;
use super::section::settings;

settings! {
    /// Protocol of a listener.
    pub enum ListenerProtocol {
        /// SMPP 3.3, 3.4 or 5.0.
        Smpp = "smpp",
        /// CMPP 2.0 or 3.0 of China Mobile (docs/carriers.md).
        Cmpp = "cmpp",
    }

    /// `[[listener]]`: addresses for ESMEs with own settings, beside `smpp.listen`.
    pub struct ListenerConfig {
        /// Addresses to listen on: one, or a list.
        @filled("is missing; write an address such as \"0.0.0.0:3550\"")
        @required listen: Vec<SocketAddr> = Vec::new(),
        /// Name in logs and metrics; without it, the first address.
        @filled("is empty; remove it, or write a name")
        name: Option<String> = None,
        /// Protocol. `cmpp` needs accounts with `carrier_secret`.
        protocol: ListenerProtocol = ListenerProtocol::Smpp,
        /// Meaning of data_coding 0, for accounts without `alphabet`.
        alphabet: Option<DefaultAlphabet> = None,
        /// PEM file of the certificate chain; it requires TLS. Reloaded when it changes; sessions stay.
        tls_cert: Option<PathBuf> = None,
        /// PEM file of the certificate's key.
        tls_key: Option<PathBuf> = None,
        /// PEM file of CAs; it requires client certificates. Reloaded when it changes.
        tls_client_ca: Option<PathBuf> = None,
        /// PEM file of revocation lists, one per CA that signs client certificates; certificates of a CA without a list are refused. Reloaded when it changes; expired lists stay in use.
        tls_client_crl: Option<PathBuf> = None,
        /// IP addresses and CIDR blocks of load balancers; only they may connect, with a PROXY protocol header version 2.
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
