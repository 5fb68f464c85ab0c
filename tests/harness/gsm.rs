//! A GSM core network without radio: the real osmo-stp, osmo-hlr and osmo-msc, and phones made of messages.
//!
//! ```text
//!            GSUP          GSUP          M3UA over TCP, SCCP
//!   SMSC ─────────▶ HLR ◀──────── MSC ◀────────▶ STP ◀────────▶ Bsc with its Phones
//!          4222      │
//!   control 4259 ────┘      [`GsmCore`]                          [`Bsc`], [`Phone`]
//! ```
//!
//! ```text
//! let core = GsmCore::start(&["SMSC-1"]);        all three are connected when this returns
//! core.subscriber(IMSI, "447700900123");
//! let bsc = Bsc::connect(&core);
//! let phone = bsc.phone(IMSI);
//! phone.attach();                                location update
//! ```
//!
//! The programs' ports are fixed, so each core has a loopback address of its own. The phones do what the A
//! interface shows of phones: location update, paging, CP and RP (3GPP TS 24.008, 24.011, 48.006, 48.008).
//! [`ServiceCentre`] is the other end for tests without an SMSC: the session of the crate `gsup`.

mod bsc;
mod bssap;
mod control;
mod core;
mod m3ua;
mod phone;
mod sccp;
mod service_centre;
mod wire;

pub use bsc::Bsc;
pub use control::Control;
pub use core::GsmCore;
pub use phone::{Answer, Phone};
pub use service_centre::ServiceCentre;
pub use wire::{assert_well_formed, overlaps};
