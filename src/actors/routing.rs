//! Where a message goes and under which addresses.
//!
//! - [`policy`]: which messages accounts may send: blocked addresses, limits, opt-out lists;
//! - [`resolver`]: networks and IMSIs of numbers known to this node, and the actors that look up the others;
//! - [`rewrite`]: address rewriting rules of accounts and operators;
//! - [`explain`]: explains the route of a message; [`explain_mo`]: which rule takes one that an operator brings.
//!
//! In: messages that Ingest checks, messages of the queues `internal:resolve` and `internal:imsi`, and questions of
//! Admin. Out: verdicts, and `ResolvedBatch` to those queues. Routes themselves are part of the plan. Imports `runtime` and
//! `context`.

pub mod explain;
pub mod explain_mo;
pub mod policy;
pub mod resolver;
pub mod rewrite;
