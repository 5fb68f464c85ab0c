//! Callbacks to web servers without their input and output: where they may go, how they are signed, and
//! when they are tried again.
//!
//! - [`signature`]: the headers of the Standard Webhooks specification;
//! - [`target`]: the URL of a callback;
//! - [`reach`]: which addresses may be dialled for it;
//! - [`pace`]: the pauses after failures;
//! - [`states`]: states before the final one, which they may report;
//! - [`kannel`]: URLs with Kannel's escapes, for programs that were written for it.
//!
//! Used by the configuration, which refuses what cannot work, and by the actor that sends callbacks.

pub mod kannel;
pub mod pace;
pub mod reach;
pub mod signature;
pub mod states;
pub mod target;
