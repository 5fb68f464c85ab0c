//! How messages end, and how their senders are notified.
//!
//! - [`correlation`]: the actor that finds the message of an operator's receipt;
//! - [`final_state`], [`parts`]: the only place that writes final states, also those of divided messages;
//! - [`damaged`]: lists damaged rows of the store, and ends their messages;
//! - [`wanted`]: what the sender of a message wants to hear, and where;
//! - [`actor`]: the actor Receipts, which makes a receipt for the account;
//! - [`confirms`]: tells sessions that results are durable;
//! - [`copies`]: receipts a second time, for accounts with two ways;
//! - [`states`]: states before the final one, for accounts that hear of them by callback;
//! - [`just_ended`]: what has ended a moment ago, for records of it;
//! - [`said`]: what the receipt of an operator says;
//! - [`receipt`], [`shown_id`]: receipts in the form that an account gets, with the message id that it
//!   knows;
//! - [`notification`], [`alert`]: intermediate notifications and alerts of operators.
//!
//! In: `SentBatch` and `ReceiptBatch` from operators' sessions, and `FinalBatch` from every actor that ends
//! messages. Out: rows to the store, `ReceiptReply` to the session that brought a receipt or waits
//! for its results to be durable, and `Enqueue` to
//! the queue of the account. Imports `runtime`, `context` and `routing`.

pub mod actor;
pub mod alert;
pub mod confirms;
pub mod copies;
pub mod correlation;
pub mod damaged;
pub mod final_state;
pub mod just_ended;
pub mod notification;
pub mod parts;
pub mod receipt;
pub mod said;
pub mod shown_id;
pub mod states;
pub mod wanted;

pub use actor::{MAILBOX, Receipts};
