//! The certificates of this node, for snapshots: those that it serves with, and those that it presents
//! to operators.
//!
//! `app` adds those of the servers at start; operators' sessions add theirs at each connect.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::actors::runtime::locks::lock;
use crate::pb::CertificateSnapshot;
use crate::tls::Server;

/// The known certificates.
#[derive(Default)]
pub struct Certificates {
    servers: Mutex<Vec<(String, Arc<Server>)>>,
    shown: Mutex<BTreeMap<String, i64>>,
}

// === impl Certificates ===

impl Certificates {
    /// Adds a server, whose certificate is read for each snapshot.
    pub fn serve(&self, name: &str, server: &Arc<Server>) {
        lock(&self.servers).push((name.to_owned(), Arc::clone(server)));
    }

    /// Sets a certificate that is presented to a peer, and when it expires in Unix seconds; `None` if
    /// there is none.
    pub fn show(&self, name: String, expires_at: Option<i64>) {
        let mut shown = lock(&self.shown);
        match expires_at {
            Some(expires_at) => shown.insert(name, expires_at),
            None => shown.remove(&name),
        };
    }

    /// Checks whether files have changed.
    pub fn look(&self) {
        for (_, server) in lock(&self.servers).iter() {
            server.look();
        }
    }

    /// All of them.
    pub fn all(&self) -> Vec<CertificateSnapshot> {
        let snapshot = |name: &String, expires_at| CertificateSnapshot {
            name: name.clone(),
            expires_at,
        };
        let servers = lock(&self.servers)
            .iter()
            .map(|(name, server)| snapshot(name, server.expires_at()))
            .collect::<Vec<_>>();
        let shown = lock(&self.shown)
            .iter()
            .map(|(name, expires_at)| snapshot(name, *expires_at))
            .collect::<Vec<_>>();
        [servers, shown].concat()
    }
}
