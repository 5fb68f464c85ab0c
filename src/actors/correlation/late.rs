//! Receipts about messages that are final: repeated by the operator, or too late.
//!
//! A message ends once. What it had ended as before, UNKNOWN when the wait for its receipt was over,
//! stays; the receipt is answered, so that the operator does not bring it again, and counted.

use std::collections::HashSet;

use super::*;

impl Correlation {
    /// The operator said the same again.
    pub(super) fn repeated(&mut self, count: u64) {
        self.counters.repeated += count;
        self.hub.metrics.receipts_repeated.inc_by(count);
    }

    /// These messages were final in the store, for a reason that this node's memory did not know.
    /// `settled` is what other nodes' messages with the same ids may be meant by.
    pub(super) fn lost(
        &mut self,
        lost: &[u64],
        settled: Vec<(u32, u64, OperatorReceipt)>,
        ctx: &mut Context<Self>,
    ) {
        let ids: HashSet<u64> = lost.iter().copied().collect();
        let mut by_operator: HashMap<u32, Vec<Stranger>> = HashMap::new();
        for (operator, id, receipt) in settled {
            if ids.contains(&id) {
                by_operator.entry(operator).or_default().push(Stranger {
                    receipt,
                    known: Some(id),
                });
            }
        }
        for (operator, strangers) in by_operator {
            // Answered already.
            self.look_further(operator, 0, strangers, ctx);
        }
        let reply = self.hub.store.load(lost.to_vec());
        ctx.spawn(reply.into_actor(self).map(|loaded, correlation, _| {
            let ended = |stored: &crate::store::Stored| stored.fin.as_ref().map(|fin| fin.state);
            let states: Vec<MessageState> = loaded
                .unwrap_or_default()
                .iter()
                .flatten()
                .filter_map(ended)
                .collect();
            let is_ours = |state: &&MessageState| {
                use MessageState::{Deleted, Expired, Unknown};
                matches!(state, Unknown | Expired | Deleted)
            };
            let late = states.iter().filter(is_ours).count();
            correlation.hub.metrics.receipts_late.inc_by(late as u64);
            correlation.repeated((states.len() - late) as u64);
        }));
    }
}
