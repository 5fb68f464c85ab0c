//! A queue and the interface of requests that serves it: callbacks, the connection to a GSM network, a built-in target.
//!
//! Such an interface is no wire with a window: it has a bounded number of requests under way, and more that waits for its
//! turn in it. Held by its actor, which has the protocol. Keeps true that the queue never has more credit than there is
//! room, that nothing is taken after the interface has left, and that the queue then takes back what was not settled.

use std::sync::Arc;

use actix::{Actor, Addr, Context, Handler};

use crate::actors::context::NodeContext;
use crate::actors::context::ports::QueuePort;
use crate::actors::runtime::timed_mailbox::Timed;
use crate::actors::session::outgoing::Serving;
use crate::pb::{DeliverBatch, Delivery, ReportHeld};

/// How much an interface may hold, and holds; by default it takes nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestRoom {
    /// Most that it may hold at once.
    pub most: u32,
    /// What it was granted and has not settled.
    pub held: usize,
    /// Fewer than these are not asked for: what is granted at once is also read from the store at once.
    pub least: u32,
}

/// See the file's documentation.
pub struct ServedQueue {
    node: Arc<NodeContext>,
    session: u64,
    /// By what the interface delivers, as spans name it.
    operation: &'static str,
    serving: Option<Serving>,
    /// Credit that the queue has and has not used.
    offered: u32,
    is_retiring: bool,
}

// === impl RequestRoom ===

impl RequestRoom {
    /// How much more the queue may grant, which has credit for `offered`.
    fn beyond(self, offered: u32) -> u32 {
        let held = u32::try_from(self.held).unwrap_or(u32::MAX);
        match self.most.saturating_sub(held.saturating_add(offered)) {
            few if few < self.least => 0,
            room => room,
        }
    }
}

// === impl ServedQueue ===

impl ServedQueue {
    /// For the interface that has this session number; it serves nothing before [`Self::join`].
    pub fn new(node: &Arc<NodeContext>, session: u64, operation: &'static str) -> Self {
        Self {
            node: Arc::clone(node),
            session,
            operation,
            serving: None,
            offered: 0,
            is_retiring: false,
        }
    }

    /// Begins to serve `queue`. `peer` is whom the interface sends to, if that is one address.
    pub fn join<A>(
        &mut self,
        queue: Arc<QueuePort>,
        interface: &Addr<A>,
        peer: &str,
        room: RequestRoom,
    ) where
        A: Actor<Context = Context<A>> + Handler<Timed<DeliverBatch>> + Handler<ReportHeld>,
    {
        self.offered = 0;
        let room = self.new_room(room);
        self.serving = Some(Serving::join(
            &self.node,
            self.session,
            queue,
            interface,
            room,
            peer,
            self.operation,
        ));
    }

    /// Whether it is served now.
    pub fn is_joined(&self) -> bool {
        self.serving.is_some()
    }

    /// Takes no more until [`Self::restart`]; what is held is still settled.
    pub fn retire(&mut self) {
        if !std::mem::replace(&mut self.is_retiring, true)
            && let Some(serving) = &self.serving
        {
            serving.retire();
        }
    }

    /// Whether nothing more is taken.
    pub fn is_retiring(&self) -> bool {
        self.is_retiring
    }

    /// Leaves the queue, which takes back what was not settled; idempotent.
    pub fn leave(&mut self) {
        self.serving = None;
        self.offered = 0;
    }

    /// Leaves the queue, and may join it again.
    pub fn restart(&mut self) {
        self.leave();
        self.is_retiring = false;
    }

    /// What the queue has granted. `None` after leaving, also if it has been joined again since: the queue has already
    /// taken it back.
    pub fn granted(&mut self, batch: DeliverBatch) -> Option<Vec<Delivery>> {
        let serving = self.serving.as_ref();
        serving.filter(|serving| serving.is_granted(&batch))?;
        self.offered = self.offered.saturating_sub(batch.deliveries.len() as u32);
        Some(batch.deliveries)
    }

    /// Notes what became of something that was granted, for [`Self::settle`]; nothing after leaving.
    pub fn note(&mut self, note: impl FnOnce(&mut Serving)) {
        if let Some(serving) = &mut self.serving {
            note(serving);
        }
    }

    /// Tells the queue what was noted, and how much more it may grant.
    pub fn settle(&mut self, room: RequestRoom) {
        let room = self.new_room(room);
        self.note(|serving| serving.settle(room));
    }

    /// Tells a queue that has restarted what is held; it has forgotten what was offered before. One that only asks for
    /// something back hears nothing: its credit stays.
    pub fn report(&mut self, ask: &ReportHeld, held: Vec<u64>, room: RequestRoom) {
        if !ask.give_back.is_empty() {
            return;
        }
        self.offered = 0;
        let room = self.new_room(room);
        self.note(|serving| serving.report_held(ask, held, room));
    }

    /// Room that the queue does not know of yet; it does afterwards.
    fn new_room(&mut self, room: RequestRoom) -> u32 {
        let room = if self.is_retiring {
            0
        } else {
            room.beyond(self.offered)
        };
        self.offered += room;
        room
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::test_support;

    #[test]
    fn the_queue_has_credit_for_no_more_than_there_is_room() {
        let beyond = |most: u32, held, offered| {
            let least = most / 2;
            RequestRoom { most, held, least }.beyond(offered)
        };
        assert_eq!((beyond(8, 0, 0), beyond(8, 1, 2)), (8, 5));
        assert_eq!(beyond(8, 1, 4), 0, "few are not asked for alone");
        assert_eq!((beyond(8, 9, 0), beyond(8, usize::MAX, 1)), (0, 0));
        assert_eq!(RequestRoom::default().beyond(0), 0);
    }

    #[actix::test]
    async fn only_a_queue_that_has_restarted_has_forgotten_its_credit() {
        let node = test_support::node(1, None).await;
        let mut served = ServedQueue::new(&node.context, 7, "callback");
        let room = RequestRoom {
            most: 8,
            held: 0,
            least: 4,
        };
        served.offered = 5;
        let gives_back = ReportHeld {
            give_back: vec![3],
            ..ReportHeld::default()
        };
        served.report(&gives_back, Vec::new(), room);
        assert_eq!(served.offered, 5);
        served.report(&ReportHeld::default(), Vec::new(), room);
        assert_eq!(served.offered, 8);
    }
}
