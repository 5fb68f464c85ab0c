//! Starts the queue with what the store holds, and again after a failure.
//!
//! Called when the actor starts, when its lists turn out to be wrong, and with answers of the store and the
//! sessions. Invariants: the store is read after pending results are written to it, and messages that
//! sessions hold are not granted again.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use actix::{AsyncContext, Context};

use crate::actors::context::NodeContext;
use crate::actors::context::addresses::post_to;
use crate::actors::context::item::{Item, Seed};
use crate::actors::queue::Queue;
use crate::actors::queue::backlog::TakenItem;
use crate::actors::queue::recovery::{Recovered, RecoveredItems};
use crate::actors::queue::seeds::Seeds;
use crate::clock;
use crate::config::OutcomePolicy;
use crate::domain::partition::WHOLE;
use crate::pb::{FlushCorrelation, Held, ReportHeld};
use crate::store::StoreError;
use crate::store::cluster::{IsWanted, Partition};

/// How long to wait for a session to report what it holds.
const REPORT_WITHIN: Duration = Duration::from_secs(2);
/// Pause before an unreachable database is asked again.
const READ_AGAIN: Duration = Duration::from_secs(1);

impl Queue {
    /// Puts one recovered item into its list.
    pub(in crate::actors::queue) fn plant(&mut self, seed: Seed) {
        let Seed {
            item,
            due_at,
            unsure,
            ended,
        } = seed;
        self.recovery.came(&item);
        self.suspects.know(&item, ended);
        let now = clock::now_ms();
        if due_at <= now
            && let Some(line) = self.line()
        {
            line.fall_behind(item.part);
        }
        let policy = self.node.plan().outcome_policy(self.port.id);
        if unsure && policy == OutcomePolicy::Fail {
            self.in_flight.wait_for_receipt(item, now);
        } else if unsure && policy == OutcomePolicy::Wait {
            self.wait_for_receipt(item, now);
        } else if due_at > now {
            let longest = self.node.plan().longest_pause_of(self.port.id, ended);
            if item.attempts == 0 || !self.is_first_to_wait() {
                return self.backlog.postpone(item, due_at, longest);
            }
            // In strict order the others wait for it, as they did before.
            let pause = Duration::from_millis((due_at - now).unsigned_abs()).min(longest);
            self.in_order.wait(item.id, pause);
            self.backlog.push_front(item);
        } else {
            self.backlog.push_back(item);
        }
    }

    fn is_first_to_wait(&self) -> bool {
        self.backlog.is_in_order() && !self.in_order.is_waiting()
    }

    /// Discards the lists and returns the earlier state. Pending work for them is dropped, except for
    /// writes, which are waited for.
    pub(in crate::actors::queue) fn renew(&mut self) -> Self {
        let fresh = Self::empty(Arc::clone(&self.node), Arc::clone(&self.port));
        let mut before = std::mem::replace(self, fresh);
        let blocks = self.backlog.begin_after(&mut before.backlog);
        self.forget_blocks(blocks);
        self.under_way.begin_after(&before.under_way);
        std::mem::swap(&mut self.counters, &mut before.counters);
        std::mem::swap(&mut self.timer, &mut before.timer);
        self.in_flight.keep_pace(&mut before.in_flight);
        std::mem::swap(&mut self.passing, &mut before.passing);
        std::mem::swap(&mut self.guard, &mut before.guard);
        self.guard.begin_again();
        std::mem::swap(&mut self.suspects, &mut before.suspects);
        for item in self.suspects.take_all_aside(None) {
            before.in_flight.settle(item.id);
        }
        self.suspects.begin_again();
        // Not before its counters are those of earlier: whoever reads them would take the process for restarted.
        self.publish();
        before
    }

    /// Discards the lists and reads them from the store again.
    pub(in crate::actors::queue) fn recover_again(&mut self, ctx: &mut Context<Self>) {
        let mut before = self.renew();
        std::mem::swap(&mut self.leaving, &mut before.leaving);
        self.purging = before.purging.take();
        self.want_recovery(&mut before);
        self.begin_recovery(ctx);
    }

    /// The lists are empty, and to be read: what sessions have held and settled of those before stays known.
    pub(in crate::actors::queue) fn want_recovery(&mut self, before: &mut Self) {
        let held = before.in_flight.take_held();
        let settled = before.late_holds.take_settled();
        self.recovery.want(&mut before.recovery, settled, held);
    }

    /// Reads lists that grant from the store again, when no attempt is being noted: the store would have one that nobody makes any
    /// more, and its outcome would count as unknown. Nothing is granted meanwhile.
    pub(in crate::actors::queue) fn recover_when_noted(&mut self, ctx: &mut Context<Self>) {
        self.recovery.ask_again();
        self.read_again_when_noted(ctx);
    }

    /// Does what [`Queue::recover_when_noted`] has left to be done.
    pub(super) fn read_again_when_noted(&mut self, ctx: &mut Context<Self>) {
        if self.recovery.is_running()
            && !self.under_way.is_noting()
            && self.recovery.take_read_again()
        {
            self.recover_again(ctx);
        }
    }

    /// After a restart, asks the sessions what they hold and reads the store.
    pub(in crate::actors::queue) fn begin_recovery(&mut self, ctx: &mut Context<Self>) {
        if !self.recovery.is_wanted() {
            return;
        }
        if let Some(line) = self.line() {
            line.fall_behind(WHOLE);
        }
        let sessions = self.port.sessions();
        let sessions = sessions.iter().map(|(session, _)| *session).collect();
        let term = self.node.local_lease.begin_term(self.port.id);
        self.recovery.begin(term, sessions);
        self.ask_sessions(term, &[]);
        let lists = self.under_way.lists();
        ctx.run_later(REPORT_WITHIN, move |queue, ctx| {
            if lists.are_there() {
                queue.recovery.stop_waiting();
                queue.finish_recovery(ctx);
            }
        });
        self.read_when_written(ctx);
    }

    /// Reads the store after pending results are written.
    pub(super) fn read_when_written(&mut self, ctx: &mut Context<Self>) {
        if self.under_way.is_writing() || !self.recovery.asks_store() {
            return;
        }
        let (lists, filled_in) = (self.under_way.lists(), self.under_way.lease());
        let lease = Arc::clone(&self.node.local_lease);
        let is_wanted: IsWanted =
            Arc::new(move || lists.are_there() && lease.generation() == filled_in);
        let reading = read_queue(self.node(), self.port.id, is_wanted);
        self.run_on_lists(ctx, reading, |queue, read, ctx| match read {
            Ok(seeds) => {
                queue.recovery.read(seeds);
                queue.finish_recovery(ctx);
            }
            Err(error) if queue.node.cluster.is_some() => {
                tracing::warn!(queue = %queue.port.name, %error, "the queue could not be read and is read again");
                let lists = queue.under_way.lists();
                ctx.run_later(READ_AGAIN, move |queue, ctx| {
                    if lists.are_there() {
                        queue.recover_again(ctx);
                    }
                });
            }
            Err(error) => panic!("queue {} cannot read the store: {error}", queue.port.name),
        });
    }

    /// Asks sessions what they hold, by this number, or to give back what they hold of these partitions, which they do
    /// without a report.
    pub(super) fn ask_sessions(&self, question: u64, give_back: &[u32]) {
        for (_, port) in &self.port.sessions() {
            let ask = ReportHeld {
                queue: self.port.id,
                give_back: give_back.to_vec(),
                question,
            };
            post_to(&port.report, ask);
        }
    }

    pub(in crate::actors::queue) fn held_reported(
        &mut self,
        report: Held,
        ctx: &mut Context<Self>,
    ) {
        let Held {
            session,
            ids,
            room,
            question,
            joined,
        } = report;
        if !self.recovery.is_answer(question) {
            return;
        }
        let is_awaited = self.recovery.awaits(session);
        let is_late = self.recovery.reported_late(session);
        let is_in_time = self.recovery.reported(session, &ids);
        if !is_in_time && !is_late {
            return;
        }
        // It says its whole room. What it has had here before, it gave when it joined. One that is not waited for and has had
        // some was asked twice, or has joined since.
        let more = match self.sessions.window_of(session) {
            None => room,
            Some(had) if is_awaited => room.saturating_sub(had),
            Some(_) => 0,
        };
        self.sessions.add_room(&self.port, session, joined, more);
        self.sessions.widen(session, room + ids.len() as u32);
        if is_in_time {
            return self.finish_recovery(ctx);
        }
        // It was waited for in vain. Without its room it would be given nothing any more.
        self.hold_after_all(session, &ids, ctx);
        self.pump(ctx);
    }

    /// A session holds these: those that nobody else has been given are with it from now on, or as soon as the lists
    /// have them.
    fn hold_after_all(&mut self, session: u64, ids: &[u64], ctx: &mut Context<Self>) {
        for id in ids {
            if self.hold_if_here(session, *id) || self.in_flight.is_held(*id) {
                continue;
            }
            let blocks = self.backlog.blocks_with(*id);
            if self.backlog.is_reading() || !blocks.is_empty() {
                self.late_holds.add(session, *id);
                self.fetch_blocks(blocks, ctx);
            }
        }
    }

    /// Takes out what is in the lists, was read with an unknown outcome, or is set aside until it is tried.
    fn hold_if_here(&mut self, session: u64, id: u64) -> bool {
        let unsure = self.in_flight.take_unsure(id);
        let kept = unsure.or_else(|| self.suspects.take_aside(id));
        let item = kept.or_else(|| match self.backlog.remove(id, None) {
            TakenItem::Item(item) => Some(item),
            TakenItem::Away | TakenItem::NotHere => None,
        });
        if let Some(item) = item {
            self.in_flight.hold_reported(session, item);
        }
        item.is_some()
    }

    /// The lists have got more, and of what sessions have reported too late these, each with its session: that is with them
    /// now, and what they have settled of it is settled. When nothing more comes, the others have ended, or gone
    /// elsewhere, unless the lists are wrong.
    pub(in crate::actors::queue) fn hold_what_came(
        &mut self,
        came: Vec<(u64, u64)>,
        ctx: &mut Context<Self>,
    ) {
        let is_over = self.backlog.is_all_here() && !self.recovery.is_to_read_again();
        // To look for each whenever some come would take long for many.
        let late = if is_over { self.late_holds.all() } else { came };
        for (id, session) in late {
            let is_here = self.hold_if_here(session, id);
            if (is_here || is_over)
                && let Some(settled) = self.late_holds.take(id)
            {
                self.settle(settled, ctx);
            }
        }
    }

    /// A partition that is given to another node was not read, and waits for what sessions hold of it.
    fn hold_what_has_left(&mut self, held_before: Vec<(u64, Item)>, known: &RecoveredItems) {
        let ownership = self.node.local_lease.hold();
        for (session, item) in held_before {
            let has_left = !ownership.owns(self.port.id, item.part);
            if has_left && !known.contains(&(item.id, item.what)) {
                self.in_flight.hold_reported(session, item);
            }
        }
    }

    /// Resumes once the store is read and every session has answered, ended or timed out.
    pub(super) fn finish_recovery(&mut self, ctx: &mut Context<Self>) {
        let Some(recovered) = self.recovery.finish() else {
            return;
        };
        let Recovered {
            term,
            seeds,
            held,
            held_before,
            arrived,
            settled,
        } = recovered;
        let mut known: RecoveredItems =
            HashSet::with_capacity_and_hasher(seeds.len(), Default::default());
        for seed in seeds {
            known.insert((seed.item.id, seed.item.what));
            match held.get(&seed.item.id) {
                Some(session) => {
                    self.suspects.know(&seed.item, seed.ended);
                    self.in_flight.hold_reported(*session, seed.item);
                }
                None => self.plant(seed),
            }
        }
        self.hold_what_has_left(held_before, &known);
        tracing::info!(queue = %self.port.name, messages = known.len(), "queue recovered");
        let now = clock::now_ms();
        for item in arrived {
            if !known.contains(&(item.id, item.what())) && !held.contains_key(&item.id) {
                self.take_in(item, now);
            }
        }
        self.node.local_lease.begin_term(self.port.id);
        self.recovery.remember(term, known);
        for batch in settled {
            self.settle(batch, ctx);
        }
        if self.recovery.take_read_again() {
            return self.recover_again(ctx);
        }
        self.wait_for_subscribers(ctx);
        self.pump(ctx);
    }
}

/// Reads what waits in this node's partitions of a queue.
async fn read_queue(
    node: Arc<NodeContext>,
    own: u32,
    is_wanted: IsWanted,
) -> Result<Vec<Seed>, StoreError> {
    // Writes first the answers that sessions have reported, so that the reading includes them.
    let _ = node.correlation.recipient().send(FlushCorrelation {}).await;
    node.store.barrier().await?;
    let mut seeds = Seeds::new(&node.config());
    match &node.cluster {
        Some(cluster) => {
            let partitions: Vec<Partition> = node
                .local_lease
                .hold()
                .parts_of(own)
                .into_iter()
                .map(|part| Partition { queue: own, part })
                .collect();
            if partitions.is_empty() {
                return Ok(Vec::new());
            }
            let active = cluster.take_over(partitions, is_wanted).await?;
            active.into_iter().for_each(|active| seeds.add(active));
        }
        None => {
            let store = Arc::clone(&node.store);
            let read = move || {
                store.recover(Some(own), &mut |active| seeds.add(active))?;
                Ok(seeds)
            };
            seeds = tokio::task::spawn_blocking(read)
                .await
                .unwrap_or_else(|error| Err(StoreError::Failed(error.to_string())))?;
        }
    }
    Ok(seeds.queues.remove(&own).unwrap_or_default())
}
