//! What actors stand on: supervision, measured mailboxes, connections, locks.
//!
//! - [`supervise`]: keeps an actor alive through panics, gives up and says so when it cannot;
//! - [`timed_mailbox`]: how many messages wait for an actor, for how long, and how long each takes;
//! - [`link`]: a socket inside an actor, with TLS or without;
//! - [`certificates`]: the certificates that this node serves with and has been shown;
//! - [`locks`]: locks that a panic does not spoil.
//!
//! In come actors, sockets and certificates of all rooms; out goes health, for snapshots. Knows no message
//! and no store. Imports no other room.

pub mod certificates;
pub mod link;
pub mod locks;
pub mod supervise;
pub mod timed_mailbox;
