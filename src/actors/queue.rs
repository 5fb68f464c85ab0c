//! The queue of one destination: an operator, or an account's receipts and MO.
//!
//! Sessions pull by credit: they say how many more they can take, the queue answers with a batch
//! whose tokens Throttle granted. Memory holds the ids that wait (16 octets each, spilled beyond a
//! limit) and a page of bodies in front; the rest stays in the store. What is handed to a session
//! is *held* until the session settles it. Nothing here is the truth: a restarted queue reads its
//! waiting messages from the store and asks its sessions what they hold before it grants again.

mod blocks;
mod command;
mod compare;
pub mod dispatch;
mod grant;
mod guard;
mod level;
mod lists;
pub mod messages;
mod move_on;
mod overlap;
mod partition_set;
mod partitions;
mod recovery;
mod replace;
mod resolved;
mod scheduled;
pub mod seeds;
mod settle;
mod shown;
mod timing;
mod transfer;
mod waiting;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Handler, Supervised, WrapFuture};
use tokio::time::Instant;

use self::lists::Lists;
use self::messages::AttemptsWritten;
use self::seeds::Seed;
use self::waiting::{PRIORITIES, expiry_second, to_seconds};
pub use waiting::{Item, items_of};

use crate::actors::context::NodeContext;
use crate::actors::context::ports::{Counted, QueueKind, QueuePort};
use crate::actors::context::unwritten::Pace;
use crate::actors::receipts::final_state;
use crate::actors::runtime::timed_mailbox::measured;
use crate::clock;
use crate::pb::{Credit, Enqueue, Final, Held, QueueCommand, QueueItem, SessionDown, SettleBatch};
use crate::store::WriteBatch;

/// Batches that may wait in the mailbox: an ingest commit, a settlement, a credit each.
pub const MAILBOX: usize = 8192;
const TICK: Duration = Duration::from_millis(100);

/// Messages waiting for one destination.
pub struct Queue {
    node: Arc<NodeContext>,
    port: Arc<QueuePort>,
    lists: Lists,
    /// Not before their time.
    scheduled: scheduled::Scheduled,
    /// Pauses are counted from here.
    began: Instant,
    held: HashMap<u64, HeldItem, ahash::RandomState>,
    sessions: Vec<SessionSlot>,
    /// Where the next grant begins, so that sessions share evenly.
    turn: usize,
    /// A page is being read, or a block is on its way.
    reading: bool,
    /// Messages that are in no list meanwhile.
    being_read: usize,
    spilling: bool,
    next_block: u64,
    fetching: blocks::Fetching,
    /// By whose order everything that waits is being ended.
    purging: Option<String>,
    /// Tokens granted by Throttle and not used yet.
    tokens: u32,
    /// They are lost then: a limit that nodes share counts them for this moment only.
    tokens_until: Option<Instant>,
    asking: bool,
    /// Nothing is granted before this: the operator said that it is throttled.
    hold_until: Option<Instant>,
    /// Taken out by a command or a late answer; skipped when its turn comes.
    gone: std::collections::HashSet<u64, ahash::RandomState>,
    /// Outcome unknown, policy `wait`: until when (Unix ms) an answer may still come.
    unsure: HashMap<u64, (i64, Item), ahash::RandomState>,
    /// Replaced while they were out of memory: when they are due (Unix ms) and expire (Unix s).
    replaced_afar: HashMap<u64, (i64, u32), ahash::RandomState>,
    /// Unanswered for too long, waiting again: whose they are, should the answer come after all.
    timed_out: HashMap<u64, u32, ahash::RandomState>,
    /// The second for which expiry has been looked after.
    expired_upto: u32,
    phase: recovery::Phase,
    /// Partitions on their way to another node.
    leaving: partition_set::Leaving,
    /// Changes when the lists are thrown away: answers that were asked for before mean nothing then.
    generation: u64,
    /// Results that are being written: what leaves waits for them.
    writing: usize,
    /// Partitions came while the store was being read: it is read once more.
    read_again: bool,
    /// What was decided while the store was read last: is it in what was read?
    overlap: Option<overlap::Overlap>,
    /// What the store has and the queue did not know when it was asked last.
    missed: seeds::Misses,
    /// The generation of the local lease in which these lists were filled.
    lease_generation: u64,
    /// Since when no session serves this queue, for failover.
    unserved_since: Option<Instant>,
    guard: guard::Guard,
    pace: Pace,
    counters: Counters,
}

struct HeldItem {
    session: u64,
    item: Item,
    /// Sent to try whether the operator works again.
    probe: bool,
}

struct SessionSlot {
    session: u64,
    room: u32,
    /// The most that it has had room for.
    window: u32,
}

#[derive(Debug, Default)]
struct Counters {
    enqueued: u64,
    granted: u64,
    delivered: u64,
    failed: u64,
    retried: u64,
    expired: u64,
}

// === impl Queue ===

impl Queue {
    /// A queue with what the store held for it when the process started.
    pub fn new(node: Arc<NodeContext>, port: Arc<QueuePort>, seeds: Vec<Seed>) -> Self {
        let lease_generation = node.local_lease.generation();
        let lists = Lists::new(port.kind != QueueKind::Account, &node.plan());
        let mut queue = Self {
            node,
            port,
            lists,
            scheduled: scheduled::Scheduled::default(),
            began: Instant::now(),
            held: HashMap::default(),
            sessions: Vec::new(),
            turn: 0,
            reading: false,
            being_read: 0,
            spilling: false,
            next_block: 0,
            fetching: HashMap::new(),
            purging: None,
            tokens: 0,
            tokens_until: None,
            asking: false,
            hold_until: None,
            gone: Default::default(),
            unsure: HashMap::default(),
            replaced_afar: HashMap::default(),
            timed_out: HashMap::default(),
            expired_upto: 0,
            phase: recovery::Phase::Running,
            leaving: partition_set::Leaving::default(),
            generation: 0,
            writing: 0,
            read_again: false,
            overlap: None,
            missed: HashMap::default(),
            lease_generation,
            unserved_since: None,
            guard: guard::Guard::new(),
            pace: Pace::default(),
            counters: Counters::default(),
        };
        seeds.into_iter().for_each(|seed| queue.plant(seed));
        queue.publish();
        queue
    }

    fn len(&self) -> usize {
        self.lists.len()
            + self.being_read
            + self.scheduled.len()
            + self.held.len()
            + self.unsure.len()
    }

    /// Takes a durable message in; its body is kept while the page has room.
    fn take_in(&mut self, queued: QueueItem, now: i64) {
        self.counters.enqueued += 1;
        let item = Item {
            id: queued.id,
            expires: expiry_second(queued.expires_at),
            attempts: queued.attempts as u16,
            priority: queued.priority.min(PRIORITIES as u32 - 1) as u8,
            what: queued.what(),
            part: queued.part as u8,
            sender: queued.sent_by(),
        };
        self.not_missed(item.id, item.what);
        if queued.due_at > now {
            match item.attempts {
                0 => self.schedule(item, queued.due_at),
                _ => self.pause(item, queued.due_at),
            }
            return;
        }
        match queued.message {
            Some(message) => {
                let page = self.node.config().queue.page;
                self.lists.accept(item, message, page);
            }
            None => self.lists.push_back(item),
        }
    }

    fn tick(&mut self, ctx: &mut Context<Self>) {
        let now = clock::now_ms();
        self.lists
            .look_after(&self.node.plan(), self.counters.granted);
        self.pace.look(&self.port.unwritten);
        self.wake_due(now);
        self.overlap.take_if(|overlap| overlap.is_over());
        self.expire(now, ctx);
        self.give_up_unsure(now, ctx);
        self.spill(ctx);
        self.watch_target();
        self.watch_failover(ctx);
        self.check_released(ctx);
        self.pump(ctx);
        self.publish();
    }

    fn is_operator(&self) -> bool {
        self.port.kind != QueueKind::Account
    }

    /// Writes results; partitions that leave wait for it.
    fn finish(&mut self, batch: WriteBatch, finals: Vec<Final>, ctx: &mut Context<Self>) {
        let (node, generation) = (Arc::clone(&self.node), self.lease_generation);
        let counted = Counted::new(&self.port, batch.sent.len());
        self.write(ctx, async move {
            final_state::write_in(&node, generation, batch, finals).await;
            drop(counted);
        });
    }

    /// Runs work that ends in a write; partitions that leave wait for it.
    fn write(&mut self, ctx: &mut Context<Self>, work: impl Future<Output = ()> + 'static) {
        self.writing += 1;
        self.run(ctx, work, |queue, (), ctx| {
            queue.writing = queue.writing.saturating_sub(1);
            queue.check_released(ctx);
        });
    }

    /// Like [`Queue::run`], for work about the lists: without them its result is dropped.
    fn run_on_lists<F, T>(
        &self,
        ctx: &mut Context<Self>,
        work: F,
        then: impl FnOnce(&mut Self, T, &mut Context<Self>) + 'static,
    ) where
        F: Future<Output = T> + 'static,
        T: 'static,
    {
        let generation = self.generation;
        self.run(ctx, work, move |queue, result, ctx| {
            if queue.generation == generation {
                then(queue, result, ctx);
            }
        });
    }

    /// Runs `work` on this arbiter and `then` with its result inside the actor.
    fn run<F, T>(
        &self,
        ctx: &mut Context<Self>,
        work: F,
        then: impl FnOnce(&mut Self, T, &mut Context<Self>) + 'static,
    ) where
        F: Future<Output = T> + 'static,
        T: 'static,
    {
        ctx.spawn(
            work.into_actor(self)
                .map(move |result, queue, ctx| then(queue, result, ctx)),
        );
    }
}

// === messages ===

measured!(Queue: Enqueue, Credit, SettleBatch, SessionDown, Held);

impl Actor for Queue {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        ctx.set_mailbox_capacity(MAILBOX);
        ctx.run_interval(TICK, |queue, ctx| queue.tick(ctx));
        self.begin_recovery(ctx);
    }
}

impl Supervised for Queue {
    fn restarting(&mut self, _: &mut Self::Context) {
        let mut before = self.renew();
        // What was under way has gone with the context.
        self.writing = 0;
        self.phase = recovery::Phase::Wanted(before.phase.take_settled());
    }
}

impl Handler<Enqueue> for Queue {
    type Result = ();

    fn handle(&mut self, batch: Enqueue, ctx: &mut Self::Context) {
        let now = clock::now_ms();
        let local_lease = Arc::clone(&self.node.local_lease);
        let ownership = local_lease.hold();
        for item in batch.items {
            let term = ownership.term(self.port.id, item.part as u8);
            if !self.is_news(&item, term) {
                continue;
            }
            if let Some(message) = &item.message {
                // Moved here after an attempt elsewhere.
                self.trace_wait(item.attempts as u16, item.what(), message, ctx);
            }
            if self.phase.running() {
                self.take_in(item, now);
            } else {
                self.phase.keep(item);
            }
        }
        drop(ownership);
        self.pump(ctx);
    }
}

impl Handler<Credit> for Queue {
    type Result = ();

    fn handle(&mut self, credit: Credit, ctx: &mut Self::Context) {
        if credit.retire {
            self.sessions.retain(|slot| slot.session != credit.session);
            return;
        }
        self.add_room(credit.session, credit.room);
        self.watch_target();
        self.pump(ctx);
    }
}

impl Handler<AttemptsWritten> for Queue {
    type Result = ();

    fn handle(&mut self, _: AttemptsWritten, ctx: &mut Self::Context) {
        self.pump(ctx);
    }
}

impl Handler<SettleBatch> for Queue {
    type Result = ();

    fn handle(&mut self, batch: SettleBatch, ctx: &mut Self::Context) {
        let Some(batch) = self.phase.settled(batch) else {
            return;
        };
        self.settle(batch, ctx);
        self.check_released(ctx);
        self.pump(ctx);
    }
}

impl Handler<SessionDown> for Queue {
    type Result = ();

    fn handle(&mut self, down: SessionDown, ctx: &mut Self::Context) {
        self.session_down(down.session, ctx);
        self.check_released(ctx);
    }
}

impl Handler<Held> for Queue {
    type Result = ();

    fn handle(&mut self, held: Held, ctx: &mut Self::Context) {
        self.held_reported(held, ctx);
    }
}

impl Handler<QueueCommand> for Queue {
    type Result = actix::MessageResult<QueueCommand>;

    fn handle(&mut self, command: QueueCommand, ctx: &mut Self::Context) -> Self::Result {
        let reply = self.command(&command, ctx);
        self.publish();
        actix::MessageResult(reply)
    }
}

#[cfg(test)]
mod tests;
