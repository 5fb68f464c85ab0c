//! Look-ups of numbers in the admin API: how they stand, and forgetting answers so that numbers are looked up
//! anew.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::context::AdminContext;
use crate::actors::context::NodeContext;
use crate::actors::ingress::ingest::Intake;
use crate::actors::routing::resolver::{
    ImsiQuestion, KnownAnswers, LookUpQuestion, NetworkQuestion,
};
use crate::api::{Forgotten, Lookup, Lookups};
use crate::domain::address::mask;
use crate::pb::{ForgetLookups, LookupQuestion, Refusal};

/// The look-ups of this node.
pub async fn list(admin: Arc<AdminContext>) -> Lookups {
    let (node, intake) = (&admin.node, &admin.intake);
    Lookups {
        lookups: vec![
            view::<NetworkQuestion>(node, &intake.networks),
            view::<ImsiQuestion>(node, &intake.imsis),
        ],
    }
}

fn view<Q: LookUpQuestion>(node: &NodeContext, known: &KnownAnswers<Q>) -> Lookup {
    let plan = node.plan();
    let queue = Q::queue(&plan).and_then(|queue| node.queue(queue));
    Lookup {
        question: Q::PROTO.into(),
        cached: known.cached_count() as u64,
        waiting: queue.map_or(0, |queue| queue.depth.load(Ordering::Relaxed)),
        away: Q::meters(&node.metrics).away.get() != 0,
        has_source: Q::has_source(&plan.config),
    }
}

/// Forgets answers on all nodes.
pub async fn forget(admin: Arc<AdminContext>, order: ForgetLookups) -> Result<Forgotten, Refusal> {
    let (node, intake) = (&admin.node, &admin.intake);
    let number = number_of(&order);
    let count = match order.question() {
        LookupQuestion::Network => intake.networks.forget_everywhere(node, number).await,
        LookupQuestion::Imsi => intake.imsis.forget_everywhere(node, number).await,
    };
    let whose = number.map_or_else(|| "all numbers".to_owned(), mask);
    let what = format!("{} of {whose}", order.question().as_str_name());
    match &count {
        Ok(count) => tracing::info!(
            target: "audit",
            by = order.by, command = "forget", what, count, "command carried out"
        ),
        Err(refusal) => tracing::warn!(
            target: "audit",
            by = order.by, command = "forget", what, reason = refusal.detail, "command refused"
        ),
    }
    Ok(Forgotten {
        forgotten: count? as u64,
    })
}

/// Forgets answers on this node, by order of another one.
pub(super) fn forget_here(intake: &Intake, order: &ForgetLookups) {
    let number = number_of(order);
    match order.question() {
        LookupQuestion::Network => intake.networks.forget(number),
        LookupQuestion::Imsi => intake.imsis.forget(number),
    };
}

/// The number in an order, `None` for all of them.
fn number_of(order: &ForgetLookups) -> Option<&[u8]> {
    (!order.msisdn.is_empty()).then_some(order.msisdn.as_bytes())
}
