//! Simulates the core of a GSM network: an HLR, an MSC and their phones in one, to which an SMSC connects by GSUP.
//!
//! Used by `smsc simulate --protocol gsup` and by tests, which say how each phone behaves:
//!
//! ```text
//! accept loop ─→ connection (handshake, GSUP, answers in their time) ─→ phones (what each has got)
//! ```
//!
//! Like OsmoHLR it passes READY-FOR-SM on to every SMSC, and gives answers to whom the name of the asker leads to. Like
//! OsmoMSC it answers an MT-forwardSM with a reference of its own. Invariant: what a phone has acknowledged is in
//! [`Phones::delivered`] and in the journal. Nothing survives a restart.

mod connection;
mod phones;
mod routes;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;

pub use self::phones::{Phone, Phones};
pub use self::routes::Namesakes;
pub use crate::handsets::{Arrived, GsmCoreOptions};
use crate::network;

/// The simulated HLR's own IPA name.
const NAME: &str = "HLR-SIMULATED";

/// A simulated core that has its port and waits to be run.
#[derive(Debug)]
pub struct GsmCore {
    listener: TcpListener,
    address: SocketAddr,
    phones: Arc<Phones>,
}

// === impl GsmCore ===

impl GsmCore {
    /// Takes the port and opens the journal. Connections queue up until [`Self::run`].
    ///
    /// # Errors
    /// When the port is taken or the journal cannot be created.
    pub async fn bind(options: GsmCoreOptions) -> io::Result<Self> {
        let (listener, journal) = network::open(&options.like).await?;
        Ok(Self {
            address: listener.local_addr()?,
            listener,
            phones: Arc::new(Phones::new(options, journal)),
        })
    }

    /// The listening address, with the actual port if port 0 was requested.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// The phones, to be told what to do and asked what they have got.
    pub fn phones(&self) -> Arc<Phones> {
        Arc::clone(&self.phones)
    }

    /// Serves connections until it is dropped.
    pub async fn run(self) {
        network::run(Some(self.listener), self.phones, connection::serve).await;
    }
}

#[cfg(test)]
mod tests;
