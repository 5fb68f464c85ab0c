//! Texts of several messages: stored with their parts, and assembled from them.
//!
//! - [`stage`]: prepares a message for the store: as a whole, or with the parts that are sent instead;
//! - [`assembly`]: the actor that holds parts until their message is complete.
//!
//! In: messages that Ingest accepts, and parts of the queue `internal:assembly`. Out: rows for the store, and
//! dispatches to the queues of the whole or of its parts. Imports `runtime`, `context`, `receipts` and `queue`.

pub mod assembly;
pub mod stage;
