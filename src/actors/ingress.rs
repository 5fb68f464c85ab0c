//! The side of accounts.

pub mod bind_guard;
pub mod duplicates;
pub mod esme_session;
pub mod gate;
pub mod ingest;
pub mod listener;
pub mod operations;
pub mod outbind;
pub mod verifier;
