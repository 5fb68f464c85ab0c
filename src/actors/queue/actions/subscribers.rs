//! A subscriber is there again: what waits for it is tried at once, in the order of acceptance.
//!
//! Called for `SubscriberReady`, which GSM interfaces and alert_notifications of operators cause, and by the timer, which
//! reads from the store whose messages wait.

use actix::Context;

use crate::actors::queue::Queue;
use crate::actors::queue::backlog::SubscriberKey;
use crate::pb::SubscriberReady;
use crate::store::{StoreError, Stored};

/// Messages read at once.
const READ: usize = 512;

impl Queue {
    pub(in crate::actors::queue) fn subscriber_ready(
        &mut self,
        ready: SubscriberReady,
        ctx: &mut Context<Self>,
    ) {
        self.backlog.want_subscribers();
        let mut ids = ready.ids;
        if !ready.imsi.is_empty() {
            ids.extend(
                self.backlog
                    .of_subscriber(SubscriberKey::of_imsi(&ready.imsi)),
            );
        }
        if !ready.msisdn.is_empty() {
            let number = SubscriberKey::of_number(ready.msisdn.as_bytes());
            ids.extend(self.backlog.of_subscriber(number));
        }
        self.wake_messages(ids, ctx);
        self.read_subscribers(ctx);
    }

    fn wake_messages(&mut self, ids: Vec<u64>, ctx: &mut Context<Self>) {
        let woken = self.backlog.wake(ids);
        if woken > 0 {
            self.node.metrics.woken.inc_by(woken as u64);
            tracing::debug!(queue = %self.port.name, woken, "a subscriber is there again");
            self.pump(ctx);
        }
    }

    /// Messages have come from the store: subscribers of them may have been there while nobody had them.
    pub(in crate::actors::queue) fn wait_for_subscribers(&mut self, ctx: &mut Context<Self>) {
        let config = self.node.config();
        self.backlog.came_from_store(&config.cluster);
        self.read_subscribers(ctx);
    }

    /// Reads whose messages wait, as far as that is wanted and not known.
    pub(in crate::actors::queue) fn read_subscribers(&mut self, ctx: &mut Context<Self>) {
        let ids = self.backlog.unread_subscribers(READ);
        if ids.is_empty() || !self.recovery.is_running() {
            return;
        }
        let reply = self.node.store.load(ids.clone());
        self.run_on_lists(ctx, reply, move |queue, loaded, ctx| {
            queue.subscribers_read(&ids, loaded, ctx);
        });
    }

    fn subscribers_read(
        &mut self,
        ids: &[u64],
        loaded: Result<Vec<Option<Stored>>, StoreError>,
        ctx: &mut Context<Self>,
    ) {
        match loaded {
            Ok(loaded) => {
                // A message may have an IMSI from another network, or from its sender.
                let plan = self.node.plan();
                let network = plan.gsm(self.port.id);
                let by_number = network.is_some_and(|gsm| gsm.config.is_map());
                self.backlog.subscribers_read(ids, &loaded, by_number);
                self.wake_messages(Vec::new(), ctx);
                self.read_subscribers(ctx);
            }
            Err(error) => {
                // The timer tries again.
                tracing::warn!(queue = %self.port.name, %error, "whose messages wait could not be read");
                self.backlog.no_subscribers_read();
            }
        }
    }
}
