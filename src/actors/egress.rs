//! The side of operators: how messages go out, and how fast.
//!
//! - [`operator_session`]: the actor of one outbound bind;
//! - [`test_target`]: the actor of a built-in destination;
//! - [`throttle`]: the actor with the token buckets of accounts and operators.
//!
//! In: `DeliverBatch` of queues, PDUs of operators, and `TakeTokens` of queues and Ingest. Out: `SettleBatch`
//! to queues, `SentBatch` and `ReceiptBatch` to Correlation, and MO messages to Ingest. Imports `runtime`,
//! `context`, `routing`, `session`, `receipts` and `ingress`.

pub mod operator_session;
pub mod test_target;
pub mod throttle;
