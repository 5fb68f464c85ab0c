//! GSUP, the protocol of Osmocom's core networks between HLR, MSC and SMSC, over IPA: frames, the
//! handshake, and the messages that carry short messages. Pure: octets and instants in, octets and
//! events out.
//!
//! Called by `smsc decode`, by the IMSI look-up, and by whatever moves the octets of a connection. Nothing in here reads a
//! clock or opens a socket. GSUP is no standard: the reference is the manual of OsmoHLR, "Generic
//! Subscriber Update Protocol"; what the elements carry is that of 3GPP TS 29.002 §7.6.8 and 24.011.
//!
//! ```text
//! ┌────────┬────────┬───────────┬──────────────┬───────────────────────┐
//! │ length │ stream │ extension │ message type │ tag length value …    │
//! └───2────┴───1────┴─────1─────┴──────1───────┴───────────────────────┘
//!            EE       05 GSUP     24 …            01 IMSI first
//!            FE: the handshake and the pings, without an extension
//! ```
//!
//! | file | idea |
//! |---|---|
//! | [`ipa`] | octets ↔ frames, with their limit |
//! | [`ccm`] | who is who: the handshake, and the pings |
//! | [`element`] | the elements of a message, their tags and names |
//! | [`message_type`] | what a message is |
//! | [`message`] | the messages of short messages: a strict writer, a tolerant reader |
//! | [`session`] | one connection: handshake, pings, which answer is for which request |
//! | [`ctrl`] | variables of an HLR, read over its control interface |
//!
//! Invariants: a frame is cut by its length first and nothing is read past it; unknown elements and
//! messages are passed over; what a writer writes, the reader reads as the same.

pub mod ccm;
pub mod ctrl;
pub mod element;
pub mod ipa;
pub mod message;
pub mod message_type;
pub mod session;

pub use element::{Elements, Tag};
pub use message::{ElementProblem, GsupMessage, GsupWriteError, MalformedGsup, SmRpAddress};
pub use message_type::MessageType;
pub use session::{GsupEvent, GsupRole, GsupSession, GsupSessionConfig};

// The same for the tests of both crates.
#[cfg(test)]
#[path = "../../sms/src/hex.rs"]
mod hex;
