//! What a queue does for an operator with `strict_order` instead of what it does for others: a message that comes back
//! goes to the very front, and the others wait for it.
//!
//! Called by the actions that grant and settle. The part is [`InOrder`](crate::actors::queue::in_order::InOrder).

use std::time::Duration;

use actix::Context;

use crate::actors::context::item::Item;
use crate::actors::queue::Queue;
use crate::domain::queue_name::QueueName;

impl Queue {
    /// Puts a message that was granted back to the front. In strict order nothing is granted before it goes again,
    /// after `pause`; other queues go on at once, those of handsets with it.
    pub(super) fn put_back(&mut self, item: Item, pause: Duration) {
        if QueueName::parse(&self.port.name).is_handsets() {
            // Subscribers get their messages in order, so none that has its body already may overtake it.
            return self.backlog.push_first(item);
        }
        if !self.backlog.is_in_order() {
            return self.backlog.push_front(item);
        }
        match self.in_order.take_back(item.id) {
            Some(message) => self.backlog.push_ready_front(item, message),
            // The lists were discarded while a session had it: those with bodies must not pass before it is read.
            None => self.backlog.push_first(item),
        }
        self.in_order.wait(item.id, pause);
    }

    /// How many messages may be granted, of `most`: in strict order one, when none is with a session, none is out of the
    /// lists to be replaced, and none waits in front for its next attempt.
    pub(super) fn in_order_quota(&mut self, most: u32) -> u32 {
        if !self.backlog.is_in_order() {
            return most;
        }
        if self.under_way_len() > 0 || self.in_order.is_replacing() {
            return 0;
        }
        let front = self.backlog.front().map(|(item, _)| item.id);
        if self.in_order.holds(front) {
            0
        } else {
            most.min(1)
        }
    }

    /// Reads the lists again when they are in another order than the configuration says.
    pub(in crate::actors::queue) fn watch_order(&mut self, ctx: &mut Context<Self>) {
        if !self.recovery.is_running() {
            return;
        }
        let is_changed = self.backlog.is_in_order() != self.node.plan().is_in_order(self.port.id);
        if is_changed {
            self.recover_when_noted(ctx);
        }
    }
}
