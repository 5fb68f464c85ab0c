//! Restart after a failure: Correlation reads its state from the store.

use std::sync::Arc;

use actix::{ActorFutureExt, AsyncContext, Supervised, WrapFuture};

use super::Correlation;
use super::awaited::Awaited;

impl Supervised for Correlation {
    /// The index is read from the store again; messages that arrive meanwhile wait in the mailbox.
    fn restarting(&mut self, ctx: &mut Self::Context) {
        let node = Arc::clone(&self.node);
        let store = Arc::clone(&node.store);
        let shared = node.local_lease.is_shared();
        let read = tokio::task::spawn_blocking(move || {
            if shared {
                // The store is asked when a receipt needs it.
                return Ok((Vec::new(), Vec::new()));
            }
            let sent = Awaited::read(store.as_ref())?;
            let parked = store.parked(usize::MAX)?;
            Ok::<_, crate::store::StoreError>((sent, parked))
        });
        *self = Self::new(node, Arc::clone(&self.health), Vec::new(), Vec::new());
        ctx.wait(
            read.into_actor(self)
                .map(|read, correlation, _| match read {
                    Ok(Ok((sent, parked))) => {
                        // Forms may have been learned since the reading began.
                        let learned = std::mem::take(&mut correlation.learned);
                        *correlation = Self::new(
                            Arc::clone(&correlation.node),
                            Arc::clone(&correlation.health),
                            sent,
                            parked,
                        );
                        correlation.learned = learned;
                        correlation.parked_due = true;
                    }
                    Ok(Err(error)) => panic!("correlation cannot read the store: {error}"),
                    Err(error) => panic!("correlation cannot read the store: {error}"),
                }),
        );
    }
}
