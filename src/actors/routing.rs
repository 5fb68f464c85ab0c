//! Where a message goes and under which addresses.
//!
//! - [`policy`]: who may send what to whom: blocked addresses, limits, opt-out lists;
//! - [`resolver`]: the networks of numbers that this node knows, and the actor that looks the others up;
//! - [`rewrite`]: rules of accounts and operators about addresses;
//! - [`explain`]: why a message would go where it goes.
//!
//! In come messages that Ingest checks, those of the queue `internal:resolve`, and questions of Admin; out go
//! verdicts, and `ResolvedBatch` to that queue. Routes themselves are part of the plan. Imports `runtime` and
//! `context`.

pub mod explain;
pub mod policy;
pub mod resolver;
pub mod rewrite;
