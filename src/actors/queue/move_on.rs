//! What leaves a queue by another way than a session: expiry, cancel, purge, failover.

use std::time::Duration;

use actix::{AsyncContext, Context};
use bytes::Bytes;
use tokio::time::Instant;

use super::level::Withdrawn;
use super::{Item, PRIORITIES, Queue};
use crate::actors::context::ports::Counted;
use crate::actors::context::ports::QueueKind;
use crate::actors::queue::dispatch::{self, Dispatch};
use crate::clock;
use crate::config::OutcomePolicy;
use crate::domain::partition;
use crate::pb::delivery::What;
use crate::pb::{Final, Message, MessageState, QueueItem};
use crate::store::{ChangeKind, ChangeRow, WriteBatch};

/// Most messages that are moved or ended in one step.
const STEP: usize = 1000;
/// Pause between two steps of a purge.
const PURGE_EVERY: Duration = Duration::from_millis(20);

impl Queue {
    /// Ends what has outlived its validity, looking once a second. The timer's half; the other
    /// half is at the take.
    pub(super) fn expire(&mut self, now: i64, ctx: &mut Context<Self>) {
        let seconds = super::to_seconds(now);
        // Nothing could end while nothing is written; it does not go out meanwhile either.
        if seconds == self.expired_upto || self.node.store.is_stalled() {
            return;
        }
        let mut expired = self.lists.take_if(|item| item.expires <= seconds);
        for level in 0..PRIORITIES {
            if let Some(number) = self.lists.levels()[level].spilled_expired(seconds) {
                // Looked at when it is here, and the next one with it.
                let again = |queue: &mut Self, _, _: &mut _| queue.expired_upto = 0;
                self.fetch_block(level, number, again, ctx);
            }
        }
        let late = self.scheduled.take_if(|item| item.expires <= seconds);
        expired.extend(late.into_iter().map(|item| (item, None)));
        self.expired_upto = seconds;
        if !expired.is_empty() {
            self.expire_items(expired, ctx);
        }
    }

    pub(super) fn expire_items(&mut self, items: Vec<Withdrawn>, ctx: &mut Context<Self>) {
        self.counters.expired += items.len() as u64;
        self.node.metrics.expired.inc_by(items.len() as u64);
        let mut items = items.into_iter();
        // All that had gathered while nobody looked may be late at once.
        while items.len() > 0 {
            let some = items.by_ref().take(STEP).collect();
            self.end(some, MessageState::Expired, "validity.receipts", ctx);
        }
    }

    pub(super) fn cancel(&mut self, items: Vec<Item>, by: &str, ctx: &mut Context<Self>) {
        let items = items.into_iter().map(|item| (item, None)).collect();
        self.end(items, MessageState::Deleted, by, ctx);
    }

    pub(super) fn cancel_spilled(&mut self, id: u64, by: &str, ctx: &mut Context<Self>) {
        let item = Item {
            id,
            expires: u32::MAX,
            attempts: 0,
            priority: 0,
            what: What::Message,
            part: partition::WHOLE,
            sender: 0,
        };
        self.cancel(vec![item], by, ctx);
    }

    /// Ends waiting messages; a receipt is given up (told, so that it stays away), by whom its message's
    /// history says.
    fn end(
        &mut self,
        items: Vec<Withdrawn>,
        state: MessageState,
        by: &str,
        ctx: &mut Context<Self>,
    ) {
        let at = clock::now_ms();
        let mut batch = WriteBatch::default();
        let mut finals = Vec::with_capacity(items.len());
        for (item, message) in items {
            match item.what {
                What::Receipt => {
                    self.node.metrics.receipts_given_up.inc();
                    batch.give_up(item.id, at, by);
                }
                What::Message => {
                    if state == MessageState::Deleted {
                        batch.change.push(ChangeRow {
                            id: item.id,
                            at,
                            kind: ChangeKind::Cancel,
                            queue: self.port.id,
                            by: by.to_owned(),
                            expires_at: 0,
                            body: Bytes::new(),
                        });
                    }
                    finals.push(Final {
                        id: item.id,
                        state: state.into(),
                        at,
                        message,
                        attempts: u32::from(item.attempts),
                        ..Final::default()
                    });
                }
            }
        }
        self.finish(batch, finals, ctx);
    }

    /// Ends everything that waits, a step at a time so that commits stay small.
    pub(super) fn purge(&mut self, by: String, ctx: &mut Context<Self>) {
        if self.purging.replace(by).is_none() {
            self.purge_step(ctx);
        }
    }

    fn purge_step(&mut self, ctx: &mut Context<Self>) {
        let Some(by) = self.purging.clone() else {
            return;
        };
        if self.node.store.is_stalled() {
            // Nothing could end.
            ctx.run_later(PURGE_EVERY, Self::purge_step);
            return;
        }
        let items = self.take_some(STEP, ctx);
        // What is on its way back into the lists is not forgotten.
        let is_all_here = self.phase.running() && !self.reading && self.fetching.is_empty();
        if items.is_empty() && is_all_here {
            self.purging = None;
            return;
        }
        if !items.is_empty() {
            self.cancel(items, &by, ctx);
        }
        ctx.run_later(PURGE_EVERY, Self::purge_step);
    }

    /// Takes up to so many items out of the lists; has blocks read that are in their way.
    fn take_some(&mut self, most: usize, ctx: &mut Context<Self>) -> Vec<Item> {
        let mut items = Vec::with_capacity(most);
        for level in 0..PRIORITIES {
            let (some, blocks) = self.lists.level(level).take_some(most - items.len());
            items.extend(some.into_iter().map(|(item, _)| item));
            for number in blocks {
                self.fetch_block(level, number, |_, _, _| {}, ctx);
            }
        }
        while items.len() < most
            && let Some(item) = self.scheduled.pop()
        {
            items.push(item);
        }
        items
    }

    /// Holds a message of unknown outcome until its receipt comes or its time is over.
    pub(super) fn wait_for_receipt(&mut self, item: Item, now: i64) {
        self.node.metrics.outcome_unknown.inc();
        let ttl = self.node.plan().correlation_ttl(self.port.id);
        self.unsure
            .insert(item.id, (now + ttl.as_millis() as i64, item));
    }

    /// Ends what no answer and no receipt ever came for.
    pub(super) fn give_up_unsure(&mut self, now: i64, ctx: &mut Context<Self>) {
        if self.unsure.is_empty() || self.node.store.is_stalled() {
            return;
        }
        let late: Vec<u64> = self
            .unsure
            .iter()
            .filter(|(_, (until, _))| *until <= now)
            .map(|(id, _)| *id)
            .collect();
        let items: Vec<_> = late
            .into_iter()
            .filter_map(|id| self.unsure.remove(&id))
            .map(|(_, item)| (item, None))
            .collect();
        if !items.is_empty() {
            let state = match self.node.plan().outcome_policy(self.port.id) {
                OutcomePolicy::Fail => MessageState::Undeliverable,
                _ => MessageState::Unknown,
            };
            self.end(items, state, "", ctx);
        }
    }

    pub(super) fn has_alternative(&self) -> bool {
        self.node.plan().has_alternative(self.port.id)
    }

    /// Gives a message that failed here to the next target of its route, if there is one.
    pub(super) fn fail_over(&mut self, item: Item, due_at: i64, ctx: &mut Context<Self>) {
        let reply = self.node.store.load(vec![item.id]);
        let generation = self.generation;
        self.writing += 1;
        self.run(ctx, reply, move |queue, loaded, ctx| {
            queue.writing = queue.writing.saturating_sub(1);
            if queue.generation != generation {
                return;
            }
            let message = loaded
                .ok()
                .and_then(|mut loaded| loaded.pop().flatten())
                .map(|stored| stored.message);
            match message {
                Some(message) if queue.alternative(&message).is_some() => {
                    queue.move_away(vec![(item, Box::new(message))], due_at, ctx);
                }
                _ => queue.pause(item, due_at),
            }
            queue.check_released(ctx);
        });
    }

    /// Another target of this message's route that could take it now.
    fn alternative(&self, message: &Message) -> Option<u32> {
        self.node
            .plan()
            .next_target(message, self.port.id, self.node.as_ref())
    }

    /// Gives messages to other queues; those that have none come back to the front.
    /// Back to an earlier target they go at `due_at` only: two that refuse must not pass a message
    /// to and fro.
    fn move_away(
        &mut self,
        items: Vec<(Item, Box<Message>)>,
        due_at: i64,
        ctx: &mut Context<Self>,
    ) -> usize {
        let plan = self.node.plan();
        let at = clock::now_ms();
        let mut batch = WriteBatch::default();
        let mut moved: Vec<(Item, Dispatch)> = Vec::new();
        for (item, message) in items.into_iter().rev() {
            let Some(queue) = self.alternative(&message) else {
                self.lists.push_front(item);
                continue;
            };
            batch.change.push(ChangeRow {
                id: item.id,
                at,
                kind: ChangeKind::Move,
                queue,
                by: self.port.name.clone(),
                expires_at: 0,
                body: Bytes::new(),
            });
            let queued = QueueItem {
                due_at: match plan.is_later(&message, self.port.id, queue) {
                    true => 0,
                    false => due_at,
                },
                ..item.for_another_queue()
            };
            moved.push((item, Dispatch::new(&self.node, queue, message, queued)));
        }
        let count = moved.len();
        if count == 0 {
            return 0;
        }
        moved.reverse();
        self.node.metrics.failovers.inc_by(count as u64);
        self.pass_over(moved, batch, ctx);
        count
    }

    /// Writes that messages belong to other queues, then gives them to those.
    pub(super) fn pass_over(
        &mut self,
        mut moved: Vec<(Item, Dispatch)>,
        batch: WriteBatch,
        ctx: &mut Context<Self>,
    ) {
        let node = self.node();
        // What an actor of ours gives to other queues is made again, too.
        let attempts = match self.port.kind {
            QueueKind::Internal => moved.len(),
            _ => 0,
        };
        let counted = Counted::new(&self.port, attempts);
        let dispatches = moved.iter_mut().map(|(_, dispatch)| dispatch);
        let ticket = dispatch::write(&node, batch, dispatches);
        self.writing += 1;
        let generation = self.generation;
        self.run(ctx, ticket, move |queue, written, ctx| {
            drop(counted);
            queue.writing = queue.writing.saturating_sub(1);
            if let Err(error) = written {
                tracing::error!(queue = %queue.port.name, %error, "messages could not be moved");
                if queue.generation != generation {
                    return;
                }
                for (item, _) in moved {
                    queue.lists.push_back(item);
                }
            } else {
                let count = moved.len();
                let dispatches = moved.into_iter().map(|(_, dispatch)| dispatch);
                dispatch::pass_on(&node, count, dispatches);
            }
            queue.check_released(ctx);
        });
    }

    /// When nobody serves this queue for long, what waits goes to the next target of its route.
    pub(super) fn watch_failover(&mut self, ctx: &mut Context<Self>) {
        if self.sends() || !self.has_alternative() {
            self.unserved_since = None;
            return;
        }
        let since = *self.unserved_since.get_or_insert_with(Instant::now);
        if self.node.available(self.port.id) && !self.guard.breaker.is_open() {
            // New messages still come here: it is away for a moment only.
            return;
        }
        let after = self.node.config().queue.failover_after;
        if since.elapsed() < after || self.reading || !self.phase.running() {
            return;
        }
        // Receipts have one destination only: they stay, in front and in order.
        let (mut items, mut page, mut receipts) = (Vec::new(), Vec::new(), Vec::new());
        'levels: for level in (0..PRIORITIES).rev() {
            loop {
                let most = STEP - (items.len() + page.len());
                if most == 0 {
                    break 'levels;
                }
                let (some, blocks) = self.lists.level(level).take_some(most);
                if some.is_empty() {
                    for number in blocks {
                        self.fetch_block(level, number, |_, _, _| {}, ctx);
                    }
                    break;
                }
                for (item, message) in some {
                    match (item.what, message) {
                        (What::Receipt, _) => receipts.push(item),
                        (What::Message, Some(message)) => items.push((item, message)),
                        (What::Message, None) => page.push(item),
                    }
                }
            }
        }
        for item in receipts.into_iter().rev() {
            self.lists.push_front(item);
        }
        if items.is_empty() && page.is_empty() && !self.fetching.is_empty() {
            return;
        }
        if items.is_empty() && page.is_empty() {
            // Nothing that could go; look again after as long a time.
            self.unserved_since = Some(Instant::now());
            return;
        }
        (self.reading, self.being_read) = (true, items.len() + page.len());
        let reply = self
            .node
            .store
            .load(page.iter().map(|item| item.id).collect());
        self.run_on_lists(ctx, reply, move |queue, loaded, ctx| {
            (queue.reading, queue.being_read) = (false, 0);
            match loaded {
                Ok(loaded) => items.extend(page.iter().zip(loaded).filter_map(|(item, stored)| {
                    let stored = stored?;
                    stored
                        .fin
                        .is_none()
                        .then_some((*item, Box::new(stored.message)))
                })),
                Err(_) => page
                    .into_iter()
                    .rev()
                    .for_each(|item| queue.lists.push_front(item)),
            }
            if queue.move_away(items, 0, ctx) == 0 {
                // Nowhere to go for now; look again after as long a time.
                queue.unserved_since = Some(Instant::now());
            }
        });
    }
}
