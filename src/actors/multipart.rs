//! Texts of several messages: stored with their parts, put together again.
//!
//! - [`stage`]: a message on its way to be durable: itself, or the parts that travel instead of it;
//! - [`assembly`]: the actor that holds parts until all of their message are there.
//!
//! In come messages that Ingest accepts, and parts of the queue `internal:assembly`; out go rows for the store,
//! and dispatches to the queues of the whole or of its parts. Imports `runtime`, `context`, `receipts` and
//! `queue`.

pub mod assembly;
pub mod stage;
