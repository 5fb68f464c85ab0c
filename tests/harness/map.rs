//! A mobile network that speaks MAP over SIGTRAN and that nobody here wrote: HLR, MSC and SGSN made with pycrate, behind
//! real signalling gateways, osmo-stp.
//!
//! ```text
//!        M3UA over TCP, SCCP, TCAP, MAP
//!   SMSC ◀────▶ Proxy ◀────▶ Stp ◀────▶ MapNetwork (tests/clients/map_network.py)
//!   0.1.1                   2905        0.2.1: HLR, MSC, SGSN, by their global titles
//! ```
//!
//! ```text
//! let stp = Stp::start();
//! let network = MapNetwork::start(&[stp.m3ua()]);      connected when this returns
//! network.subscriber(1, json!({ "forward": ["absent", "ok"] }));
//! ```
//!
//! [`recorded`] has what a proxy saw, and [`MapReading`] what tshark reads in it.

mod network;
mod stp;
mod wire;

pub use network::{
    CENTRE, CENTRE_POINT_CODE, HLR, MSC, MapDialogue, MapMessage, MapNetwork, MapOperation,
    NETWORK_POINT_CODE, ROUTING, SGSN, hex, map_subscriber,
};
pub use stp::{NETWORK_CONTEXT, Stp};
pub use wire::{MapReading, SignallingMessage, recorded};
