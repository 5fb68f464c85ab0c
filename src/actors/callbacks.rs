//! Callbacks: what an account gets by HTTPS instead of by its binds.
//!
//! - [`session`]: the actor of one account, which serves the account's queue as a bind would;
//! - [`receivers`]: which of what it has is sent next: lanes by host and URL, so that what fails holds up itself alone;
//! - [`gone`]: URLs that want no more;
//! - [`lanes`]: the order within one: of one subscriber, one callback at a time;
//! - [`latest`]: no state of a message behind a later one;
//! - [`form`]: a callback as a request, in the form that its receiver knows;
//! - [`body`], [`kannel`], [`jasmin`]: these forms;
//! - [`client`]: one signed request and its bounded answer, over connections to addresses that may be reached
//!   ([`connector`]).
//!
//! In come `DeliverBatch` of the account's queue; out go `Credit` and `SettleBatch` to it. What is durable, what is
//! tried again and when, in which order, and what is told: all that is the queue's, as for ESMEs. Imports
//! `runtime`, `context`, `routing`, `session`, `receipts` and `orders`.

pub mod body;
pub mod client;
pub mod connector;
pub mod form;
pub mod gone;
mod jasmin;
mod kannel;
pub mod lanes;
pub mod latest;
pub mod receivers;
pub mod session;
