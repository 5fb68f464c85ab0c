//! Operators that speak CMPP: the session goes on speaking SMPP, and what is in here translates.
//!
//! ```text
//! OperatorSession ⇄ SMPP ⇄ pair of sockets ⇄ relay ⇄ CMPP ⇄ gateway
//! ```
//!
//! Called by [`super::operator_session`] for each connection it makes. So credit, settling, correlation, reconnecting
//! and the breaker are those of SMPP; the relay keeps only what belongs to a connection. Invariants: the bind is
//! accepted when the login is; a report or message of a handset is answered when its deliver_sm is, which is when it
//! is durable; when either side is gone, so is the other.
//!
//! | file | idea |
//! |---|---|
//! | `relay` | moves octets and events between both sides |
//! | `gateway` | what a protocol must say to be relayed |
//! | `translate` | messages of SMPP in the terms of carriers, and the other way |
//! | `cmpp` | CMPP says it |

mod cmpp;
mod gateway;
mod relay;
#[cfg(test)]
mod tests;
mod translate;

use std::sync::Arc;

use tokio::net::UnixStream;

use crate::actors::context::NodeContext;
use crate::actors::context::plan::OperatorPlan;
use crate::actors::runtime::link::Wire;
use crate::cmpp::Cmpp;
use crate::config::{CmppVersion, Protocol};

/// The connection that the session of this operator speaks SMPP on, where `wire` is the one to the operator: the same
/// one if that speaks SMPP.
///
/// # Errors
/// Why not, for people.
pub(super) fn translated(
    node: &Arc<NodeContext>,
    wire: Wire,
    plan: &Arc<OperatorPlan>,
) -> Result<Wire, String> {
    if plan.config.protocol == Protocol::Smpp {
        return Ok(wire);
    }
    let version = match plan.config.carrier().version {
        CmppVersion::V2 => Cmpp::V20,
        CmppVersion::V3 => Cmpp::V30,
    };
    let pair = UnixStream::pair().map_err(|error| format!("a pair of sockets: {error}"))?;
    let (ours, theirs) = pair;
    let (node, plan) = (Arc::clone(node), Arc::clone(plan));
    actix::spawn(async move {
        match wire {
            Wire::Plain(socket) => relay::serve(version, node, &plan, theirs, socket).await,
            Wire::Tls(stream) => relay::serve(version, node, &plan, theirs, stream).await,
            // Only TCP and TLS are dialled for an operator with this protocol.
            _ => {}
        }
    });
    Ok(Wire::Local(ours))
}
