//! What CMPP, SGIP and SMGP, the protocols of Chinese carriers, have in common. Pure: octets and instants in,
//! octets and events out.
//!
//! Used by the crates `cmpp`, `sgip` and `smgp`, which hold the tables of their PDUs, and by `smsc decode`.
//! Nothing in here reads a clock or opens a socket.
//!
//! | file | idea |
//! |---|---|
//! | [`fields`] | fields of fixed widths: a strict writer, a tolerant reader |
//! | [`pdu`] | a header and a body: what a protocol says of its PDUs |
//! | [`repeats`] | requests of the peer that come a second time |
//! | [`session`] | one connection: login, window, keep-alive, which response is for which request |
//! | [`text`] | the text of a message in ASCII, UCS-2 or GBK |
//! | [`login`] | the MD5 digests of a login |
//! | [`link_id`] | which message of a handset is answered, where SMPP has a TLV |
//! | [`outcome`] | what became of a message, by the word in a report |
//!
//! Invariants: a frame is cut by its length first and nothing is read past it; what a writer writes, the reader
//! reads as the same; no octets make the reader panic.

pub mod fields;
pub mod link_id;
pub mod login;
pub mod outcome;
pub mod pdu;
pub mod repeats;
pub mod session;
pub mod text;

pub use fields::{Field, Malformed, Reader, Seen, Unwritable, Value, Writer};
pub use pdu::{Fields, Kind, Pdu, Protocol, next_frame};
pub use repeats::Repeats;
pub use session::{Event, NotSent, Session, SessionConfig, Tick};
