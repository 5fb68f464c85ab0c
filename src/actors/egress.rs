//! The side of operators and handsets: how messages go out, and how fast.
//!
//! - [`operator_session`]: the actor of one outbound bind;
//! - [`gsm_interface`]: the actor of the connection to a GSM network;
//! - `upstream_protocol`: what such a bind speaks: SMPP, one of `carrier` (CMPP, SMGP, SGIP), or with a program on the same
//!   machine as `program_bind` says; `operator_event`: what it hears;
//! - [`gateway_listener`]: the task that accepts connections of gateways of SGIP, and `given`: one of them;
//! - `local_peer`: the connection to a program on the same machine in place of a network;
//! - [`test_target`]: the actor of a built-in destination;
//! - [`throttle`]: the actor with the token buckets of accounts and operators.
//!
//! In: `DeliverBatch` of queues, PDUs of operators, GSUP of GSM networks, and `TakeTokens` of queues and Ingest. Out: `SettleBatch`
//! and `SubscriberReady` to queues, `SentBatch` and `ReceiptBatch` to Correlation, and MO messages to Ingest. Imports `runtime`,
//! `context`, `routing`, `session`, `receipts` and `ingress`.

pub(in crate::actors) mod carrier;
pub mod gateway_listener;
pub mod given;
pub mod gsm_interface;
mod local_peer;
mod operator_event;
pub mod operator_session;
mod program_bind;
pub mod test_target;
pub mod throttle;
mod upstream_protocol;
