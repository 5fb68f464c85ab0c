//! How an operator stands, and on which nodes it is bound, as the admin API shows them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::copies::copies;
use super::{ErrorInWords, time};
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

copies! {
    /// The binds of one node to an operator; those of other nodes as of their last heartbeat.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    pub struct OperatorOnNode from pb::OperatorShare as share {
        pub node: u32,
        /// Those that are up.
        pub bound: u32,
        /// All that it has.
        pub binds: u32,
    }
}

/// `POST /v1/operators/{id}/test`: what came of a connection that was made only to try it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OperatorTest {
    /// The node that has tried it: operators often let in some addresses only.
    pub node: u32,
    /// Whether the operator has taken the bind; with `live`, whether any bind to it is up.
    pub ok: bool,
    /// Whether no connection was made, because binds to the operator are up already, with this address and `system_id`;
    /// `force=true` makes one.
    pub live: bool,
    /// The steps that were done, in their order.
    pub steps: Vec<OperatorTestStep>,
    /// The step that failed: `resolve`, `connect`, `tls` or `bind`; null where none did.
    pub failed: Option<String>,
    /// What was found, in words.
    pub detail: String,
    /// What usually helps; null where nothing is wrong.
    pub cure: Option<String>,
    /// What the status means with which the operator refused the bind; null without a refusal, and for a status without a name.
    pub error: Option<ErrorInWords>,
    /// The address that was connected to; null without a connection.
    pub peer: Option<String>,
    /// The bind that was tried last: `transceiver`, `transmitter` or `receiver`; null where none was tried.
    pub bind: Option<String>,
    /// What the operator calls itself; null where it has not taken the bind.
    pub system_id: Option<String>,
    /// Milliseconds that all of it took.
    pub took_ms: u64,
}

/// A step of the test of a connection.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OperatorTestStep {
    /// `resolve`, `connect`, `tls`, `bind` or `unbind`.
    pub step: String,
    pub ok: bool,
    /// What was found, in words.
    pub detail: String,
    /// Milliseconds that it took.
    pub took_ms: u64,
}

// === conversions ===

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
