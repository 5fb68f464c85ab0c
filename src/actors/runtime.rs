//! The foundation of the actors: supervision, measured mailboxes, connections, locks.
//!
//! - [`supervise`]: keeps actors and tasks alive through panics, and escalates when it cannot;
//! - [`timed_mailbox`]: measures how many messages wait for an actor, how long they wait, and how long
//!   each takes;
//! - [`link`]: a socket inside an actor, with TLS or without;
//! - [`accepting`]: accepts connections;
//! - [`certificates`]: the certificates that this node serves with and presents;
//! - [`in_turn`]: results of concurrent work, in the order in which it began;
//! - [`kafka`]: a connection to brokers of Kafka;
//! - [`locks`]: locks that survive a panic of their holder;
//! - [`nats`]: a connection to servers of NATS.
//!
//! In: actors, sockets and certificates of all rooms. Out: health, for snapshots. Knows neither messages
//! nor the store. Imports no other room.

pub mod accepting;
pub mod certificates;
pub mod https;
pub mod in_turn;
pub mod kafka;
pub mod link;
pub mod locks;
pub mod nats;
pub mod supervise;
pub mod timed_mailbox;
