//! Clients that speak CMPP: what the session of an ESME needs of the protocol, in place of SMPP.
//!
//! Used by the session of each connection of a listener with `protocol = "cmpp"`. So accounts, limits, policies, windows,
//! prices, receipts and the guard against wrong passwords are those of SMPP. Invariants: a CMPP_SUBMIT is answered when its
//! message is durable; a report or a message of a handset is out of its queue when the client has answered its CMPP_DELIVER;
//! a Msg_Id is our number in the form of CMPP, so nothing has to be remembered to find it again.
//!
//! | file | idea |
//! |---|---|
//! | `client` | one connection: login, window, timers, events |
//! | `requests` | what the client asks for |
//! | `translate` | messages in the terms of SMPP, and the other way |
//! | `numbers` | Msg_Id of our number, and back |
//! | `query` | CMPP_QUERY, from the sums of usage |

mod client;
mod numbers;
mod query;
mod requests;
#[cfg(test)]
mod tests;
mod translate;

pub(super) use self::client::CmppClient;
pub(super) use self::query::day_of;
