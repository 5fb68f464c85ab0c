//! Watches the binds of operators on all nodes, for sinks that want to hear of them: BOUND with the first one, UNBOUND
//! with the loss of the last one, FAILBACK when one is there again for whom others stand in by a route.
//!
//! Only the node that does the work for all nodes watches. What is shorter than a look is not seen. When another
//! node takes over, what it finds may be told once more.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::actors::context::NodeContext;
use crate::actors::control::admin::operators_of_all_nodes;
use crate::clock;
use crate::pb::{EarlyEvent, EarlyKind};
use crate::store::StoreError;
use crate::store::sinks::bit;

/// An operator that is not bound so long after the watch began is told to be unbound.
const FIRST_BINDS: Duration = Duration::from_secs(10);

/// What was seen last.
#[derive(Default)]
pub(in super::super) struct Watch {
    /// Whether each operator had a bind, by interned name.
    bound: HashMap<u32, bool>,
    since: Option<Instant>,
}

// === impl Watch ===

impl Watch {
    /// Looks once, and writes what has changed.
    ///
    /// # Errors
    /// The store cannot be written; it is tried again.
    pub(in super::super) async fn look(&mut self, node: &NodeContext) -> Result<(), StoreError> {
        let wanted = node.plan().wanted_by_sinks();
        let is_wanted = wanted
            .iter()
            .any(|one| one.kinds & bit(EarlyKind::Bound) != 0);
        if !is_wanted || !node.local_lease.is_janitor() {
            *self = Self::default();
            return Ok(());
        }
        let plan = node.full_plan();
        let list = operators_of_all_nodes(node);
        let seen = list.iter().filter_map(|operator| {
            let number = plan.queue_of(&operator.id)?;
            Some((number, operator.bound > 0))
        });
        let has_stand_in = |number| node.has_stand_in(number);
        let (events, bound) = self.changes(seen, has_stand_in, Instant::now(), clock::now_ms());
        if !events.is_empty() {
            let of_node = |event| EarlyEvent {
                node: node.ids.node().into(),
                ..event
            };
            let events = events.into_iter().map(of_node).collect();
            node.store.add_early(events).await?;
        }
        self.bound = bound;
        Ok(())
    }

    /// What has changed by what is seen: operators, and whether each is bound. `has_stand_in` goes through all routes, so it is
    /// asked only about one that is back.
    fn changes(
        &mut self,
        seen: impl Iterator<Item = (u32, bool)>,
        has_stand_in: impl Fn(u32) -> bool,
        now: Instant,
        at: i64,
    ) -> (Vec<EarlyEvent>, HashMap<u32, bool>) {
        let since = *self.since.get_or_insert(now);
        let (mut events, mut bound) = (Vec::new(), HashMap::new());
        for (operator, is_bound) in seen {
            let mut tell = |kind: EarlyKind| {
                events.push(EarlyEvent {
                    kind: kind.into(),
                    at,
                    operator,
                    ..EarlyEvent::default()
                });
            };
            match (self.bound.get(&operator), is_bound) {
                (None, false) if now - since < FIRST_BINDS => continue,
                (Some(true), true) | (Some(false), false) => {}
                (before, true) => {
                    tell(EarlyKind::Bound);
                    if before.is_some() && has_stand_in(operator) {
                        tell(EarlyKind::Failback);
                    }
                }
                (_, false) => tell(EarlyKind::Unbound),
            }
            bound.insert(operator, is_bound);
        }
        (events, bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told when operator 7 is seen like this, one look after another, a second apart.
    fn told(looks: &[bool]) -> Vec<EarlyKind> {
        let mut watch = Watch::default();
        let (start, mut told) = (Instant::now(), Vec::new());
        for (at, is_bound) in (0..).zip(looks) {
            let now = start + Duration::from_secs(at);
            let (events, bound) = watch.changes([(7, *is_bound)].into_iter(), |_| true, now, 1);
            watch.bound = bound;
            told.extend(events.iter().map(EarlyEvent::kind));
        }
        told
    }

    #[test]
    fn the_first_bind_and_the_loss_of_the_last_are_told() {
        use EarlyKind::{Bound, Failback, Unbound};
        assert_eq!(told(&[true, true]), [Bound]);
        assert_eq!(told(&[false, true]), [Bound], "it has only just started");
        assert_eq!(told(&[false; 12]), [Unbound]);
        let again = [true, false, false, true];
        assert_eq!(told(&again), [Bound, Unbound, Bound, Failback]);
    }
}
