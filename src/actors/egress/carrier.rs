//! Operators that speak CMPP, SMGP or SGIP: the session goes on speaking SMPP, and what is in here translates.
//!
//! ```text
//! OperatorSession ⇄ SMPP ⇄ pair of sockets ⇄ relay ⇄ CMPP, SMGP or SGIP ⇄ gateway
//! ```
//!
//! Called by [`super::operator_session`] for each connection it makes, and by [`super::gateway_listener`] for those that
//! gateways make to us. So credit, settling, correlation, reconnecting and the breaker are those of SMPP; the relay keeps
//! only what belongs to a connection. Invariants: the bind is accepted when the login is; a report or message of a handset
//! is answered when its deliver_sm is, which is when it is durable; when either side is gone, so is the other, but for a
//! connection that is closed because there is no work.
//!
//! | file | idea |
//! |---|---|
//! | `socket` | moves octets between both sides |
//! | `relay` | moves events between both sides |
//! | `pending` | messages that wait, and which of them share a request |
//! | `gateway` | what a protocol must say to be relayed |
//! | `translate` | messages of SMPP in the terms of carriers, and the other way |
//! | `cmpp`, `smgp`, `sgip` | what each protocol says |
//! | `inbound` | a gateway that has connected to us: whose it is |

mod cmpp;
mod gateway;
mod inbound;
mod pending;
mod relay;
mod sgip;
mod smgp;
mod socket;
#[cfg(test)]
mod tests;
mod translate;

use std::sync::Arc;
use std::time::Duration;

use tokio::net::UnixStream;

use self::gateway::Gateway;
pub(super) use self::inbound::{admit, expects, turn_away};
use self::relay::Relay;
pub(in crate::actors) use self::sgip::sequence_in;
pub(super) use self::translate::validity;
use crate::actors::context::NodeContext;
use crate::actors::context::plan::OperatorPlan;
use crate::actors::runtime::link::Wire;
use crate::cmpp::Cmpp;
use crate::config::{CmppVersion, OperatorConfig, OperatorProtocol};
use crate::sgip::{Sgip, Version};
use crate::smgp::Smgp;

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
    let protocol = plan.config.protocol;
    if protocol == OperatorProtocol::Smpp {
        return Ok(wire);
    }
    let pair = UnixStream::pair().map_err(|error| format!("a pair of sockets: {error}"))?;
    let (ours, theirs) = pair;
    let (node, plan) = (Arc::clone(node), Arc::clone(plan));
    actix::spawn(async move {
        match (protocol, plan.config.carrier().version) {
            (OperatorProtocol::Smpp, _) => {}
            (OperatorProtocol::Cmpp, CmppVersion::V2) => {
                serve(Cmpp::V20, node, plan, theirs, wire).await
            }
            (OperatorProtocol::Cmpp, CmppVersion::V3) => {
                serve(Cmpp::V30, node, plan, theirs, wire).await
            }
            (OperatorProtocol::Smgp, _) => serve(Smgp, node, plan, theirs, wire).await,
            (OperatorProtocol::Sgip, _) => {
                let sgip = sgip_of(&plan.config);
                serve(sgip, node, plan, theirs, wire).await;
            }
        }
    });
    Ok(Wire::Local(ours))
}

async fn serve<G: Gateway>(
    protocol: G,
    node: Arc<NodeContext>,
    plan: Arc<OperatorPlan>,
    near: UnixStream,
    wire: Wire,
) {
    socket::serve(Relay::new(protocol, node, plan), near, wire).await;
}

/// For how long the session of this operator lets a gateway be silent that has been asked whether it is there: longer
/// than the relay, which knows how its protocol asks.
pub(super) fn longest_silence(operator: &OperatorConfig) -> Duration {
    let far = gateway::session_of::<Cmpp>(operator);
    far.response + far.probe * far.probes
}

/// SGIP as this operator speaks it. The versions differ only in what a gateway answers to a Trace, which is not asked.
fn sgip_of(operator: &OperatorConfig) -> Sgip {
    Sgip {
        version: Version::V12,
        node: operator.carrier().node.unwrap_or_default(),
        time: 0,
    }
}
