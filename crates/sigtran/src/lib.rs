//! The SMSC's end of an SS7 network over IP: M3UA as an application server process (RFC 4666), and
//! connectionless SCCP (ITU-T Q.711 to Q.714). Pure: octets and instants in, octets and events out.
//!
//! Called by the interface to a network that speaks MAP, by the simulated network, and by `smsc decode`.
//! Nothing in here reads a clock or opens a socket; whoever moves the octets may use SCTP, which keeps
//! messages apart, or TCP with [`next_m3ua`].
//!
//! ```text
//!   send(UnitdataRequest) ↓          ↑ SignallingEvent::Unitdata, Returned
//! ┌───────────────────────────────────────────────┐
//! │ SCCP: addresses, segments, reassembly         │
//! │ application server: override, loadshare       │
//! │ ┌ link 0 ───────┐ ┌ link 1 ───────┐           │
//! │ │ ASP, BEAT     │ │ ASP, BEAT     │ …         │
//! └─┴───────────────┴─┴───────────────┴───────────┘
//!   M3uaTransmit ↓  ↑ received(link, message)
//! ```
//!
//! | file | idea |
//! |---|---|
//! | [`m3ua`] | messages of M3UA ↔ octets |
//! | [`sccp`] | connectionless messages of SCCP ↔ octets |
//! | [`address`], [`global_title`], [`point_code`] | who writes to whom |
//! | [`segments`], [`reassembly`] | data ↔ as many messages as it needs |
//! | `asp` | one link: up, registered, active, beating |
//! | `destinations` | what gateways say about whom they reach |
//! | [`signalling_point`] | all of it |
//!
//! Invariants: no input panics; what is kept of a peer's input is bounded in number, octets and time;
//! traffic goes only over active links and to destinations that they reach.

/// Numbers of a standard with their names in it, each declared once: the constants, and `NAMED` for [`name_of`].
macro_rules! named {
    ($Type:ty; $($(#[$doc:meta])* $NAME:ident = $value:expr, $name:literal;)+) => {
        $($(#[$doc])* pub const $NAME: $Type = $value;)+

        const NAMED: &'static [($Type, &'static str)] = &[$(($value, $name)),+];
    };
}

pub mod address;
mod asp;
pub mod config;
mod destinations;
pub mod global_title;
pub mod m3ua;
mod output;
pub mod point_code;
pub mod reassembly;
pub mod sccp;
pub mod segments;
pub mod signalling_point;

pub use self::m3ua::{M3uaFraming, M3uaKind, M3uaMessage, M3uaParameter, ProtocolData, next_m3ua};
pub use self::sccp::{SccpForm, SccpMessage, SccpPurpose};
pub use address::{SccpAddress, SccpAddressProblem, SccpRouting};
pub use config::{SignallingConfig, TrafficMode};
pub use global_title::{GlobalTitle, GlobalTitleForm};
pub use output::{
    LinkState, LinkView, M3uaTransmit, SignallingEvent, SignallingUnavailable, Unitdata,
};
pub use point_code::{NoPointCode, PointCode};
pub use segments::UnitdataRequest;
pub use signalling_point::SignallingPoint;

/// The name of a number, where the standard has it.
fn name_of<T: PartialEq>(named: &[(T, &'static str)], wanted: &T) -> Option<&'static str> {
    let found = named.iter().find(|(number, _)| number == wanted);
    found.map(|(_, name)| *name)
}

// The same for the tests of all crates.
#[cfg(test)]
#[path = "../../sms/src/hex.rs"]
mod hex;
