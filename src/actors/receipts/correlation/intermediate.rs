//! Intermediate states: they end nothing, and are passed on to senders that requested them.

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};

use super::{Correlation, Match, ok};
use crate::actors::receipts::notification;

impl Correlation {
    /// Answers receipts with intermediate states, and notifies the senders that requested it.
    pub(super) fn notify(&mut self, said: Vec<Match>, ctx: &mut Context<Self>) {
        let mut elsewhere = Vec::new();
        for found in said {
            self.answer(found.session, vec![ok(&found.receipt)]);
            match self.recent.get(&found.id) {
                Some(recent) if notification::is_wanted(&self.node, &recent.message) => {
                    notification::pass_on(&self.node, &recent.message, &found.receipt);
                }
                Some(_) => {}
                None => elsewhere.push(found),
            }
        }
        if elsewhere.is_empty() {
            return;
        }
        let ids = elsewhere.iter().map(|found| found.id).collect();
        let reply = self.node.store.load(ids);
        ctx.spawn(reply.into_actor(self).map(move |loaded, correlation, _| {
            for (found, stored) in elsewhere.iter().zip(loaded.unwrap_or_default()) {
                // The final receipt may have come meanwhile.
                let is_open = |key| {
                    (correlation.index.get(key))
                        .is_some_and(|entry| entry.id == found.id && !entry.done)
                };
                let is_open = found.key.is_none_or(is_open);
                let Some(stored) = stored.filter(|stored| is_open && stored.fin.is_none()) else {
                    continue;
                };
                if notification::is_wanted(&correlation.node, &stored.message) {
                    notification::pass_on(&correlation.node, &stored.message, &found.receipt);
                }
            }
        }));
    }
}
