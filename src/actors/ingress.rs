//! The side of accounts: how messages come in, and how receipts and MO go out to ESMEs.
//!
//! - [`listener`], [`outbind`]: the actors that accept connections of ESMEs, and that dial them;
//! - [`gate`], [`bind_guard`], [`verifier`]: who may bind, and what becomes of the others;
//! - [`esme_session`]: the actor of one inbound bind;
//! - [`ingest`]: the actor that accepts submissions: checked, routed, charged, durable, answered;
//! - [`duplicates`]: submissions that come twice;
//! - [`operations`]: query_sm, cancel_sm, replace_sm.
//!
//! In come PDUs of ESMEs, MO messages of operators' sessions, and `DeliverBatch` of accounts' queues; out go
//! rows to the store, dispatches to queues, and answers. Imports all rooms below it: it is where a
//! message meets most features.

pub mod bind_guard;
pub mod duplicates;
pub mod esme_session;
pub mod gate;
pub mod ingest;
pub mod listener;
pub mod operations;
pub mod outbind;
pub mod verifier;
