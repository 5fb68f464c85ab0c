//! What actors stand on: supervision, measured mailboxes, connections, locks.
//!
//! Knows no message and no store. Every other room builds on it.

pub mod certificates;
pub mod link;
pub mod locks;
pub mod supervise;
pub mod timed_mailbox;
