//! Intermediate states: they end nothing, and are passed on to who asked for them.

use super::*;
use crate::actors::notification;

impl Correlation {
    /// Tells senders that asked what was said about their messages, which are not final.
    pub(super) fn notify(
        &mut self,
        said: Vec<(u64, Key, OperatorReceipt)>,
        ctx: &mut Context<Self>,
    ) {
        let mut elsewhere = Vec::new();
        for (id, key, receipt) in said {
            match self.recent.get(&id) {
                Some(recent) if notification::is_wanted(&self.hub, &recent.message) => {
                    notification::pass_on(&self.hub, &recent.message, &receipt);
                }
                Some(_) => {}
                None => elsewhere.push((id, key, receipt)),
            }
        }
        if elsewhere.is_empty() {
            return;
        }
        let ids = elsewhere.iter().map(|(id, ..)| *id).collect();
        let reply = self.hub.store.load(ids);
        ctx.spawn(reply.into_actor(self).map(move |loaded, correlation, _| {
            for ((id, key, receipt), stored) in elsewhere.iter().zip(loaded.unwrap_or_default()) {
                // The receipt may have come meanwhile, and be on its way.
                let is_open = (correlation.index.get(*key))
                    .is_some_and(|entry| entry.id == *id && !entry.done);
                let Some(stored) = stored.filter(|stored| is_open && stored.fin.is_none()) else {
                    continue;
                };
                if notification::is_wanted(&correlation.hub, &stored.message) {
                    notification::pass_on(&correlation.hub, &stored.message, receipt);
                }
            }
        }));
    }
}
