//! What sessions of both sides do: those of ESMEs and those of operators.
//!
//! - [`core`]: what both hold: protocol, outbox, deliveries under way, what waits for a commit;
//! - [`bound`]: what a session needs of the protocol of its peer;
//! - [`spoken_protocol`]: SMPP, or another one in its place;
//! - [`outgoing`]: deliveries of a queue, sent within the window and settled in batches;
//! - [`served_queue`]: the same for interfaces of requests, which have no window: credit, grants, settling, leaving;
//! - [`smpp_terms`]: messages of peers that do not speak SMPP, in its terms;
//! - [`data_sm`]: the operation that carries a message without the fields of submit_sm;
//! - [`bind_permits`]: the binds that an account may have.
//!
//! In come `DeliverBatch` of a queue and answers of the peer; out go `Credit` and `SettleBatch` to that queue,
//! and permits of the store. Holds no actor: sessions do this as part of themselves. Imports `runtime` and
//! `context`.

pub mod bind_permits;
pub mod bound;
pub mod core;
pub mod data_sm;
pub mod outgoing;
pub mod served_queue;
pub mod smpp_terms;
pub mod spoken_protocol;
