//! The side of accounts: how messages come in, and how receipts and MO go out to ESMEs.
//!
//! - [`listener`], [`outbind`]: the tasks that accept connections of ESMEs, and that connect to them;
//! - [`gate`], [`bind_guard`], [`verifier`]: which ESMEs may bind, and how others are refused;
//! - [`esme_session`]: the actor of one inbound bind;
//! - `client_protocol`, `client_event`, `carrier`: what such a session speaks: SMPP, or CMPP;
//! - [`account_api`]: what the HTTP APIs for accounts and the local socket do;
//! - [`ingest`]: the actor that accepts submissions: checked, routed, charged, durable, answered;
//! - [`duplicates`]: the guard against repeated submissions;
//! - [`idempotency`]: the guard of requests with an Idempotency-Key;
//! - [`responder`]: the actor that answers and drops messages of operators as rules say;
//! - [`operations`]: query_sm, cancel_sm, replace_sm.
//!
//! In: PDUs of ESMEs, MO messages of operators' sessions, and `DeliverBatch` of accounts' queues. Out: rows
//! to the store, dispatches to queues, and responses. Imports all rooms below it, because most features
//! apply when a message is accepted.

pub mod account_api;
pub mod bind_guard;
mod carrier;
mod client_event;
mod client_protocol;
pub mod duplicates;
pub mod esme_session;
pub mod gate;
pub mod idempotency;
pub mod ingest;
pub mod listener;
pub mod operations;
pub mod outbind;
pub mod responder;
pub mod verifier;
