//! How an operator stands, and on which nodes it is bound, as the admin API shows them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::time;
use smsc_proto as pb;

/// How an operator stands, in the words of the events of `operator.health`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OperatorHealth {
    /// `BOUND`; `UNBOUND` without a bind on any node; or `FAILBACK`: it is bound again after it was away, and new messages go
    /// to others until it has been so for `failback_after`.
    pub status: String,
    /// When it was last bound again after others stood in by a route, as the answering node has seen it since it was
    /// started; null if it has not.
    pub failback_at: Option<String>,
}

/// The binds of one node to an operator; those of other nodes as of their last heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OperatorOnNode {
    pub node: u32,
    /// Those that are up.
    pub bound: u32,
    /// All that it has.
    pub binds: u32,
}

// === conversions ===

impl Default for OperatorHealth {
    fn default() -> Self {
        Self {
            status: "UNBOUND".to_owned(),
            failback_at: None,
        }
    }
}

impl From<&pb::OperatorView> for OperatorHealth {
    fn from(operator: &pb::OperatorView) -> Self {
        let queue = operator.queue.as_ref();
        let status = match operator.bound {
            0 => "UNBOUND",
            _ if queue.is_some_and(|queue| queue.returning) => "FAILBACK",
            _ => "BOUND",
        };
        Self {
            status: status.to_owned(),
            failback_at: time(queue.map_or(0, |queue| queue.failback_at)),
        }
    }
}

impl From<pb::OperatorShare> for OperatorOnNode {
    fn from(share: pb::OperatorShare) -> Self {
        Self {
            node: share.node,
            bound: share.bound,
            binds: share.binds,
        }
    }
}
