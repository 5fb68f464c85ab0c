//! The rate of an operator that nodes share through Redis.

use crate::actors::context::NodeContext;
use crate::actors::context::plan::OperatorPlan;

/// The rate of an operator that Redis may grant: without the shares of nodes that it does not reach.
pub fn rate_in_redis(node: &NodeContext, operator: &OperatorPlan, rate: f64) -> f64 {
    let view = node.local_lease.cluster_view();
    let alone = view.binds_alone(operator.id, node.config().node);
    let all = operator.config.binds.max(1);
    let rest = f64::from(all) - (alone as f64).min(f64::from(all - 1));
    rate * rest / f64::from(all)
}
