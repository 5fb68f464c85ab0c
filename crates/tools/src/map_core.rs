//! Simulates a network that speaks MAP over SIGTRAN: HLRs, MSCs, SGSNs and their handsets, behind a signalling gateway of
//! its own, to which an SMSC connects by M3UA over TCP or SCTP.
//!
//! Used by `smsc simulate --protocol map` and by tests, which say how each subscriber is served:
//!
//! ```text
//! accept loop ─→ connection (M3UA) ─→ gateway (who is active) ─→ nodes (TCAP, MAP) ─→ handsets (what each has got)
//! ```
//!
//! There need be no STP: whatever an SMSC writes, to which global title and point code ever, reaches the node of that
//! subsystem number, and its answer goes back to the point code that has asked. Where several SMSCs are connected,
//! each gets the answers to its own questions. With an STP ([`MapStp`]) the network connects to that, as the SMSC does, and
//! writes to one SMSC. Nobody has a number that begins with 000. Nothing survives a restart.

mod asp;
mod connection;
mod gateway;
mod mobile;
mod nodes;
mod phones;
mod served;
mod socket;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use smsc_sigtran::PointCode;

pub use self::phones::{MapMood, MapPhone, MapPhones, imsi_of};
use self::socket::MapDoor;
use crate::handsets::GsmCoreOptions;
use crate::network;
use crate::simulator::journal::Journal;

/// What carries M3UA.
// Comments of its values would be in `smsc simulate --help`, where the option says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum MapTransport {
    // TCP, as osmo-stp takes it.
    #[default]
    Tcp,
    // SCTP of the kernel.
    Sctp,
}

/// An STP to connect to.
#[derive(Debug, Clone, Default)]
pub struct MapStp {
    /// Host and port, of each of its addresses.
    pub addresses: Vec<String>,
    /// Our addresses, with SCTP; any without one.
    pub local: Vec<SocketAddr>,
}

/// How a simulated network behaves; [`Default`] speaks version 3 and answers at once.
#[derive(Debug, Clone)]
pub struct MapCoreOptions {
    /// What has nothing to do with MAP. Of an answer with `reject_cause`, the MSC makes the error of MAP.
    pub core: GsmCoreOptions,
    pub transport: MapTransport,
    /// Instead of listening: an STP to connect to, which brings what is for `point_code`. Needs `smsc_point_code`.
    pub stp: Option<MapStp>,
    /// Our point code, as long as nobody has written to another one.
    pub point_code: PointCode,
    /// The point code of the SMSC; that of whoever has registered or written something, when absent.
    pub smsc_point_code: Option<PointCode>,
    /// The number of the SMSC, to which handsets write; that of the last question to an HLR, when absent.
    pub smsc: Option<String>,
    /// Numbers of the nodes, in digits.
    pub hlr: String,
    pub msc: String,
    pub sgsn: String,
    /// The latest version of MAP that HLRs know, 1 to 3, and that of MSCs and SGSNs.
    pub hlr_version: u8,
    pub msc_version: u8,
}

/// A simulated network that has its port and waits to be run.
#[derive(Debug)]
pub struct MapCore {
    door: MapDoor,
    address: Option<SocketAddr>,
    options: MapCoreOptions,
    phones: Arc<MapPhones>,
}

// === impl MapCoreOptions ===

impl Default for MapCoreOptions {
    fn default() -> Self {
        Self {
            core: GsmCoreOptions::default(),
            transport: MapTransport::default(),
            stp: None,
            // 0.2.1; that of the SMSC in the examples is 0.1.1.
            point_code: PointCode(17),
            smsc_point_code: None,
            smsc: None,
            // 999 is no country (ITU-T E.164, list of assigned country codes).
            hlr: "99900000001".to_owned(),
            msc: "99900000002".to_owned(),
            sgsn: "99900000003".to_owned(),
            hlr_version: 3,
            msc_version: 3,
        }
    }
}

// === impl MapCore ===

impl MapCore {
    /// Takes the port and opens the journal. Connections queue up until [`Self::run`].
    ///
    /// # Errors
    /// When the port is taken, the kernel has no SCTP, the journal cannot be created, or an STP is to be connected without
    /// the point code of the SMSC.
    pub async fn bind(options: MapCoreOptions) -> io::Result<Self> {
        if options.stp.is_some() && options.smsc_point_code.is_none() {
            let said = "behind an STP, the point code of the SMSC is needed";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, said));
        }
        let door = match options.stp {
            Some(_) => MapDoor::Closed,
            None => MapDoor::open(&options.core.like.listen, options.transport).await?,
        };
        let address = door.local_addr()?;
        let journal = options.core.like.journal.as_deref();
        let journal = journal.map(Journal::create).transpose()?;
        let phones = Arc::new(MapPhones::new(options.clone(), journal));
        Ok(Self {
            door,
            address,
            options,
            phones,
        })
    }

    /// The listening address, with the actual port if port 0 was requested; none behind an STP.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.address
    }

    /// The handsets and nodes, to be told what to do and asked what has come.
    pub fn phones(&self) -> Arc<MapPhones> {
        Arc::clone(&self.phones)
    }

    /// Serves connections until it is dropped.
    pub async fn run(self) {
        let listening = network::run(self.door, Arc::clone(&self.phones), connection::serve);
        match self.options.stp {
            Some(stp) => {
                let dialling = connection::dial(stp, self.options.transport, self.phones);
                tokio::join!(listening, dialling);
            }
            None => listening.await,
        }
    }
}

#[cfg(test)]
mod tests;
