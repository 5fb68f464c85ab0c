//! How messages end, and who hears of it.
//!
//! - [`correlation`]: the actor that finds the message of an operator's receipt;
//! - [`final_state`], [`parts`]: the one place where ends are written, also of a divided message;
//! - [`actor`]: the actor Receipts: a receipt for the account, a call detail record ([`cdr`]);
//! - [`receipt`], [`shown_id`]: receipts as an account gets them, with the id that it knows;
//! - [`notification`], [`alert`]: what operators tell of messages and subscribers in between.
//!
//! In come `SentBatch` and `ReceiptBatch` of operators' sessions, and `FinalBatch` of whoever ends messages;
//! out go rows to the store, `ReceiptReply` to the session that brought a receipt, and `Enqueue` to the queue of
//! the account. Imports `runtime`, `context` and `routing`.

pub mod actor;
pub mod alert;
pub mod cdr;
pub mod correlation;
pub mod final_state;
pub mod notification;
pub mod parts;
pub mod receipt;
pub mod shown_id;

pub use actor::{MAILBOX, Receipts};
