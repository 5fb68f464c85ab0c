//! Operators that speak CMPP, SMGP or SGIP: what stands in the place of a session of SMPP.
//!
//! Called by [`super::operator_session`] for each connection it makes, and by [`super::gateway_listener`] for those that
//! gateways make to us. Credit, settling, correlation, reconnecting and the breaker are those of SMPP; here is only
//! what belongs to a connection. Invariants: it is bound when the login is accepted; a report or message of a handset
//! is answered when it is durable; the bind ends with the connection, but for one that is closed because there is no work.
//!
//! | file | idea |
//! |---|---|
//! | `bind` | a bind at a gateway, without socket and clock |
//! | `pending` | messages that wait, and which of them share a request |
//! | `gateway` | what a protocol must say for that |
//! | `translate` | messages of SMPP in the terms of carriers, and the other way |
//! | `cmpp`, `smgp`, `sgip` | what each protocol says |
//! | `inbound` | a gateway that has connected to us: whose it is |

mod bind;
mod cmpp;
mod gateway;
mod inbound;
mod pending;
mod sgip;
mod smgp;
#[cfg(test)]
mod tests;
mod translate;

use std::sync::Arc;

use self::bind::CarrierBind;
pub(super) use self::inbound::{admit, expects, turn_away};
pub(in crate::actors) use self::sgip::sequence_in;
pub(super) use self::translate::validity;
use crate::actors::context::NodeContext;
use crate::actors::context::plan::OperatorPlan;
use crate::actors::egress::upstream_protocol::UpstreamPeer;
use crate::cmpp::Cmpp;
use crate::config::{CmppVersion, OperatorConfig, OperatorProtocol};
use crate::sgip::{Sgip, Version};
use crate::smgp::Smgp;

/// What a session of this operator speaks on a connection that it makes; `None` if that is SMPP.
pub(super) fn peer_of(
    node: &Arc<NodeContext>,
    plan: &Arc<OperatorPlan>,
) -> Option<Box<dyn UpstreamPeer + Send>> {
    let (node, config) = (Arc::clone(node), &plan.config);
    let plan = Arc::clone(plan);
    Some(match (config.protocol, config.carrier().version) {
        (OperatorProtocol::Smpp, _) => return None,
        (OperatorProtocol::Cmpp, CmppVersion::V2) => {
            Box::new(CarrierBind::new(Cmpp::V20, node, plan))
        }
        (OperatorProtocol::Cmpp, CmppVersion::V3) => {
            Box::new(CarrierBind::new(Cmpp::V30, node, plan))
        }
        (OperatorProtocol::Smgp, _) => Box::new(CarrierBind::new(Smgp, node, plan)),
        (OperatorProtocol::Sgip, _) => Box::new(CarrierBind::new(sgip_of(config), node, plan)),
    })
}

/// SGIP as this operator speaks it. The versions differ only in what a gateway answers to a Trace, which is not asked.
fn sgip_of(operator: &OperatorConfig) -> Sgip {
    Sgip {
        version: Version::V12,
        node: operator.carrier().node.unwrap_or_default(),
        time: 0,
    }
}
