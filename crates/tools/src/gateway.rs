//! Simulates a carrier's gateway that speaks CMPP, SMGP or SGIP, to which an SMSC logs in as a service provider.
//!
//! Used by `smsc simulate --protocol cmpp|smgp|sgip` and by tests:
//!
//! ```text
//! accept loop ─→ connection (login, answers and reports in their time) ─→ hub (what waits for a connection)
//!                     ↑ dialect: what cmpp, smgp and sgip say; sgip also connects to the SMSC to bring something
//! ```
//!
//! Invariants: what is accepted is in the journal; a report is kept until it is taken, also when its connection ends;
//! messages of handsets are made only while somebody receives them. Nothing survives a restart.

mod cmpp;
mod connection;
mod dialect;
mod hub;
mod sgip;
mod smgp;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use smsc_cmpp::Cmpp;
use smsc_sgip::Sgip;
use smsc_smgp::Smgp;
use tokio::net::TcpListener;

use self::hub::GatewayHub;
use crate::network;
use crate::simulator::SimulatorOptions;

/// What a gateway speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatewayProtocol {
    /// CMPP 2.0 and 3.0.
    Cmpp,
    /// SMGP 3.0.
    Smgp,
    /// SGIP 1.2.
    Sgip,
}

/// How a simulated gateway behaves.
#[derive(Debug, Clone)]
pub struct GatewayOptions {
    /// What it speaks.
    pub protocol: GatewayProtocol,
    /// As an operator does, as far as a gateway can: its reports are the receipts.
    pub like: SimulatorOptions,
    /// Where the SMSC listens for a gateway of SGIP; without it, nothing is brought.
    pub bring_to: Option<String>,
}

/// A simulated gateway that has its port and waits to be run.
#[derive(Debug)]
pub struct SimulatedGateway {
    listener: TcpListener,
    address: SocketAddr,
    hub: Arc<GatewayHub>,
}

// === impl SimulatedGateway ===

impl SimulatedGateway {
    /// Takes the port and opens the journal. Connections queue up until [`Self::run`].
    ///
    /// # Errors
    /// When the port is taken or the journal cannot be created.
    pub async fn bind(options: GatewayOptions) -> io::Result<Self> {
        let (listener, journal) = network::open(&options.like).await?;
        Ok(Self {
            address: listener.local_addr()?,
            listener,
            hub: Arc::new(GatewayHub::new(options, journal)),
        })
    }

    /// The listening address, with the actual port if port 0 was requested.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// A function that tells what has happened so far, for people.
    pub fn counts(&self) -> impl Fn() -> String + use<> {
        let hub = Arc::clone(&self.hub);
        move || hub.counts()
    }

    /// Serves connections until it is dropped.
    pub async fn run(self) {
        let listener = Some(self.listener);
        match self.hub.options.protocol {
            GatewayProtocol::Cmpp => {
                network::run(listener, self.hub, connection::serve::<Cmpp>).await;
            }
            GatewayProtocol::Smgp => {
                network::run(listener, self.hub, connection::serve::<Smgp>).await;
            }
            GatewayProtocol::Sgip => {
                let hub = Arc::clone(&self.hub);
                let serving = network::run(listener, self.hub, connection::serve::<Sgip>);
                match hub.options.bring_to.clone() {
                    Some(address) => {
                        tokio::join!(serving, sgip::bring(hub, address));
                    }
                    None => serving.await,
                }
            }
        }
    }
}
