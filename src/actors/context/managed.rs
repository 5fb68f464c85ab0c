//! What the management service has said about operators with `managed = true`, but for their passwords.
//!
//! Set by the sessions with operators whenever they bind; read where rates are enforced, and by the face of
//! smpp-connector. In memory only: whoever binds asks again. A password is never here.

use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::domain::ByQueue;
use crate::pb::{BindDirection, BindSnapshot};

/// What was said about one operator.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Terms {
    /// Messages per second.
    pub rate: Option<f64>,
    /// Its name for people.
    pub name: Option<String>,
    /// The operator that gets commands for it while it is not bound.
    pub backup: Option<String>,
}

/// The terms of managed operators, by queue.
#[derive(Debug, Default)]
pub struct Managed(ArcSwap<ByQueue<Terms>>);

// === impl Managed ===

impl Managed {
    pub fn of(&self, queue: u32) -> Option<Terms> {
        self.0.load().get(&queue).cloned()
    }

    /// The limit that was said for a queue.
    pub fn rate(&self, queue: u32) -> Option<f64> {
        self.0.load().get(&queue)?.rate
    }

    /// Replaces what is known about an operator; `None` for one that is not managed any more. Whether that changes
    /// anything.
    pub fn set(&self, queue: u32, terms: Option<Terms>) -> bool {
        if self.of(queue) == terms {
            return false;
        }
        self.0.rcu(|known| {
            let mut known = ByQueue::clone(known);
            match terms.clone() {
                Some(terms) => known.insert(queue, terms),
                None => known.remove(&queue),
            };
            Arc::new(known)
        });
        true
    }
}

/// The limit that counts, with its burst: the lower one of the configured and the one that was said.
pub fn lower(planned: Option<(f64, u32)>, said: Option<f64>) -> Option<(f64, u32)> {
    let said = said.map(|rate| (rate, (rate.ceil() as u32).max(1)));
    match (planned, said) {
        (Some(planned), Some(said)) if planned.0 <= said.0 => Some(planned),
        (planned, None) => planned,
        (_, said) => said,
    }
}

/// Whether a bind is one of ours to an operator.
pub fn is_outbound(bind: &BindSnapshot) -> bool {
    bind.direction() == BindDirection::Out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_limits_the_lower_one_counts() {
        for (planned, said, counts) in [
            (None, None, None),
            (None, Some(2.5), Some((2.5, 3))),
            (Some((10.0, 20)), None, Some((10.0, 20))),
            (Some((10.0, 20)), Some(100.0), Some((10.0, 20))),
            (Some((100.0, 100)), Some(10.0), Some((10.0, 10))),
            (None, Some(0.2), Some((0.2, 1))),
        ] {
            assert_eq!(lower(planned, said), counts, "{planned:?} {said:?}");
        }
    }

    #[test]
    fn only_a_change_is_one() {
        let managed = Managed::default();
        let terms = Terms {
            rate: Some(100.0),
            ..Terms::default()
        };
        assert!(managed.set(7, Some(terms.clone())));
        assert!(!managed.set(7, Some(terms)));
        assert_eq!(managed.rate(7), Some(100.0));
        assert!(managed.set(7, None));
        assert_eq!(managed.rate(7), None);
        assert!(!managed.set(7, None));
    }
}
