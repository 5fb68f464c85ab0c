//! Operators that speak CMPP or SMGP: the session goes on speaking SMPP, and what is in here translates.
//!
//! ```text
//! OperatorSession ⇄ SMPP ⇄ pair of sockets ⇄ relay ⇄ CMPP or SMGP ⇄ gateway
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
//! | `cmpp`, `smgp` | CMPP and SMGP say it |

mod cmpp;
mod gateway;
mod relay;
mod smgp;
#[cfg(test)]
mod tests;
mod translate;

use std::sync::Arc;

use tokio::net::UnixStream;

use self::gateway::Gateway;
use crate::actors::context::plan::OperatorPlan;
use crate::actors::runtime::link::Wire;
use crate::cmpp::Cmpp;
use crate::config::{CmppVersion, Protocol};
use crate::smgp::Smgp;

/// The connection that the session of this operator speaks SMPP on, where `wire` is the one to the operator: the same
/// one if that speaks SMPP.
///
/// # Errors
/// Why not, for people.
pub(super) fn translated(wire: Wire, plan: &Arc<OperatorPlan>) -> Result<Wire, String> {
    let protocol = plan.config.protocol;
    if protocol == Protocol::Smpp {
        return Ok(wire);
    }
    let pair = UnixStream::pair().map_err(|error| format!("a pair of sockets: {error}"))?;
    let (ours, theirs) = pair;
    let plan = Arc::clone(plan);
    actix::spawn(async move {
        match (protocol, plan.config.carrier().version) {
            (Protocol::Smpp, _) => {}
            (Protocol::Cmpp, CmppVersion::V2) => serve(Cmpp::V20, &plan, theirs, wire).await,
            (Protocol::Cmpp, CmppVersion::V3) => serve(Cmpp::V30, &plan, theirs, wire).await,
            (Protocol::Smgp, _) => serve(Smgp, &plan, theirs, wire).await,
        }
    });
    Ok(Wire::Local(ours))
}

async fn serve<G: Gateway>(protocol: G, plan: &Arc<OperatorPlan>, near: UnixStream, wire: Wire) {
    match wire {
        Wire::Plain(socket) => relay::serve(protocol, plan, near, socket).await,
        Wire::Tls(stream) => relay::serve(protocol, plan, near, stream).await,
        // Only TCP and TLS are dialled for an operator with such a protocol.
        _ => {}
    }
}
