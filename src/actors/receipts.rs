//! How messages end, and who hears of it.

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
