//! Messages whose look-up has ended: each goes to the queue of its route, or ends.
//!
//! Only the queues of the resolvers get these. They leave as in a failover: a `change` row is written
//! before the other queue gets them.

use std::time::Duration;

use actix::{AsyncContext, Context};

use crate::actors::context::item::Item;
use crate::actors::context::traced;
use crate::actors::queue::Queue;
use crate::actors::queue::dispatch::Dispatch;
use crate::actors::queue::sessions::ANY_JOINING;
use crate::clock;
use crate::content::peer::{self, PeerTreatment};
use crate::domain::{imsi, network};
use crate::pb::{Final, MessageState, Moved, Resolved, ResolvedBatch};
use crate::store::{ChangeRow, WriteBatch};

/// Pause before a queue that is reading the store looks again.
const LATER: Duration = Duration::from_millis(100);

impl Queue {
    /// While the store is being read, the queue does not know what it handed over, so it tries again
    /// later.
    pub(in crate::actors::queue) fn resolved(
        &mut self,
        mut batch: ResolvedBatch,
        ctx: &mut Context<Self>,
    ) {
        if self.recovery.awaits(batch.session) {
            batch.room = 0;
        }
        if !self.recovery.is_running() {
            // Now: when the store is read once more meanwhile, the report to that includes it.
            let room = std::mem::take(&mut batch.room);
            self.sessions
                .add_room(&self.port, batch.session, ANY_JOINING, room);
            ctx.notify_later(batch, LATER);
            return;
        }
        let at = clock::now_ms();
        let mut rows = WriteBatch::default();
        let (mut moved, mut finals) = (Vec::new(), Vec::new());
        for one in batch.resolved {
            let id = one.message.as_ref().map(|message| message.id);
            let held = id.and_then(|id| self.in_flight.take_back(batch.session, id));
            let Some(item) = held.map(|held| held.item) else {
                self.late_holds
                    .forget(batch.session, id.unwrap_or_default());
                continue;
            };
            // This node no longer owns its partition: the new owner has the number looked up.
            if !self.node.local_lease.hold().owns(self.port.id, item.part) {
                self.have_left([item.id].into_iter());
                continue;
            }
            match self.target_of(&one) {
                Some(queue) => moved.push(self.sent_on(item, one, queue, at, &mut rows)),
                None => finals.push(self.ended(item, one, at)),
            }
        }
        self.counters.delivered += moved.len() as u64;
        self.counters.failed += finals.len() as u64;
        if !moved.is_empty() {
            self.pass_over(moved, rows, ctx);
        }
        if !finals.is_empty() {
            self.finish(WriteBatch::default(), finals, Vec::new(), ctx);
        }
        self.sessions
            .add_room(&self.port, batch.session, ANY_JOINING, batch.room);
        self.check_released(ctx);
        self.pump(ctx);
    }

    /// The queue that a message goes to; `None` if it has no route.
    fn target_of(&self, one: &Resolved) -> Option<u32> {
        let message = one.message.as_ref().filter(|_| !one.refused)?;
        let (node, plan) = (&self.node, self.node.plan());
        let queue = match message.towards {
            0 => plan.first_target(message, message.id, node.as_ref())?,
            ordered => ordered,
        };
        let way = plan
            .peer_encoding_of(queue)
            .map(|to| peer::way(message, to));
        Some(match way {
            // The assembly actor gives it the form that its peer wants, as durably as here.
            Some(PeerTreatment::Gather | PeerTreatment::Divide) => plan.assembly,
            _ => plan.first_stop(queue, message),
        })
    }

    /// Whether the messages here wait for their IMSI, otherwise for their network.
    fn is_for_imsis(&self) -> bool {
        Some(self.port.id) == self.node.plan().imsi_queue
    }

    fn sent_on(
        &self,
        item: Item,
        one: Resolved,
        queue: u32,
        at: i64,
        rows: &mut WriteBatch,
    ) -> (Item, Dispatch) {
        let mut message = one.message.unwrap_or_default();
        let is_for_imsis = self.is_for_imsis();
        let (by, moved) = if is_for_imsis {
            // Not in the note, which is shown and stays when the number is erased.
            let imsi = message.imsi.clone();
            let moved = Moved {
                imsi,
                ..Moved::default()
            };
            (imsi::note(&one.origin), moved)
        } else {
            let network = message.network.clone();
            let note = network::note(&network, &one.origin);
            let moved = Moved {
                network: Some(network),
                ..Moved::default()
            };
            (note, moved)
        };
        let row = ChangeRow::moved(item.id, at, queue, &by, moved);
        rows.change.push(row);
        // A reading of the store gives the message its new queue, too.
        message.queue = queue;
        message.towards = 0;
        if is_for_imsis {
            traced::found_imsi(&self.node, &message, &one.origin);
        } else {
            traced::resolved(&self.node, &message, &one.origin);
        }
        let queued = item.for_another_queue();
        (item, Dispatch::new(&self.node, queue, message, queued))
    }

    fn ended(&self, item: Item, one: Resolved, at: i64) -> Final {
        let error = if one.refused {
            one.error
        } else {
            // The status that the ESME would have got, had the network been known then.
            self.node.plan().no_route_status().to_string()
        };
        if !one.refused {
            self.node.metrics.no_route.inc();
        }
        Final {
            id: item.id,
            state: MessageState::Undeliverable.into(),
            error: error.into(),
            at,
            message: one.message,
            attempts: u32::from(item.attempts),
            ..Final::default()
        }
    }
}
