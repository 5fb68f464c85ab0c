//! Starting with what the store holds, and starting again after a failure.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use actix::{AsyncContext, Context};

use super::overlap::Overlap;
use super::seeds::{Seed, Seeds};
use super::{HeldItem, Queue};
use crate::actors::context::NodeContext;
use crate::actors::context::addresses::post_to;
use crate::clock;
use crate::config::OutcomePolicy;
use crate::pb::delivery::What;
use crate::pb::{FlushCorrelation, Held, QueueItem, ReportHeld, SettleBatch};
use crate::store::StoreError;
use crate::store::cluster::Partition;

/// How long a session may take to say what it holds.
const REPORT_WITHIN: Duration = Duration::from_secs(2);
/// Pause before a database that is away is asked again.
const READ_AGAIN: Duration = Duration::from_secs(1);

/// Whether a queue may grant.
#[derive(Debug)]
pub(super) enum Phase {
    Running,
    /// Restarted; the lists are empty. Settlements of before that are not dealt with yet.
    Wanted(Vec<SettleBatch>),
    /// The store is being read and sessions are being asked; what arrives meanwhile is kept.
    Reading {
        /// What is handed over in it may be in what is read.
        term: u64,
        /// The store has been asked.
        asked: bool,
        arrived: Vec<QueueItem>,
        held: HashMap<u64, u64>,
        waiting_for: HashSet<u64>,
        seeds: Option<Vec<Seed>>,
        /// Settled meanwhile.
        settled: Vec<SettleBatch>,
    },
}

// === impl Phase ===

impl Phase {
    pub(super) fn running(&self) -> bool {
        matches!(self, Self::Running)
    }

    /// Keeps a settlement that came while the store was being read; gives it back otherwise. Room
    /// that a session gave before its report is in the report.
    pub(super) fn settled(&mut self, mut batch: SettleBatch) -> Option<SettleBatch> {
        let Self::Reading {
            settled,
            waiting_for,
            ..
        } = self
        else {
            return Some(batch);
        };
        if waiting_for.contains(&batch.session) {
            batch.room = 0;
        }
        settled.push(batch);
        None
    }

    /// Settlements that were kept: nobody will say them again.
    pub(super) fn take_settled(&mut self) -> Vec<SettleBatch> {
        match self {
            Self::Running => Vec::new(),
            Self::Wanted(settled) | Self::Reading { settled, .. } => std::mem::take(settled),
        }
    }

    /// Keeps an item that arrived while the store was being read.
    pub(super) fn keep(&mut self, item: QueueItem) {
        if let Self::Reading { arrived, .. } = self {
            arrived.push(item);
        }
    }
}

// === impl Queue ===

impl Queue {
    /// Puts one recovered item where it belongs.
    pub(super) fn plant(&mut self, seed: Seed) {
        self.not_missed(seed.item.id, seed.item.what);
        let now = clock::now_ms();
        let policy = self.node.plan().outcome_policy(self.port.id);
        if seed.unsure && policy == OutcomePolicy::Fail {
            self.unsure.insert(seed.item.id, (now, seed.item));
        } else if seed.unsure && policy == OutcomePolicy::Wait {
            self.wait_for_receipt(seed.item, now);
        } else if seed.due_at > now {
            match seed.item.attempts {
                0 => self.schedule(seed.item, seed.due_at),
                _ => self.pause(seed.item, seed.due_at),
            }
        } else {
            self.lists.push_back(seed.item);
        }
    }

    /// Throws the lists away; gives back how it was. What is under way for them means nothing any
    /// more, except for writes, which are waited for.
    pub(super) fn renew(&mut self) -> Self {
        let fresh = Self::new(Arc::clone(&self.node), Arc::clone(&self.port), Vec::new());
        let mut before = std::mem::replace(self, fresh);
        self.generation = before.generation + 1;
        self.next_block = before.next_block;
        self.forget_blocks(0..before.next_block);
        self.writing = before.writing;
        std::mem::swap(&mut self.counters, &mut before.counters);
        std::mem::swap(&mut self.guard, &mut before.guard);
        self.guard.breaker.forget_calls();
        before
    }

    /// Throws the lists away and reads them from the store again.
    pub(super) fn recover_again(&mut self, ctx: &mut Context<Self>) {
        let mut before = self.renew();
        std::mem::swap(&mut self.leaving, &mut before.leaving);
        self.purging = before.purging.take();
        self.phase = Phase::Wanted(before.phase.take_settled());
        self.begin_recovery(ctx);
    }

    /// Asks the sessions what they hold and reads the store, when a restart wants it.
    pub(super) fn begin_recovery(&mut self, ctx: &mut Context<Self>) {
        let Phase::Wanted(settled) = &mut self.phase else {
            return;
        };
        let mut settled = std::mem::take(settled);
        // The reports of the sessions count all the room that they have.
        settled.iter_mut().for_each(|batch| batch.room = 0);
        let sessions = self.port.sessions();
        self.phase = Phase::Reading {
            term: self.node.local_lease.begin_term(self.port.id),
            asked: false,
            arrived: Vec::new(),
            held: HashMap::new(),
            waiting_for: sessions.iter().map(|(session, _)| *session).collect(),
            seeds: None,
            settled,
        };
        self.ask_sessions(Vec::new());
        let generation = self.generation;
        ctx.run_later(REPORT_WITHIN, move |queue, ctx| {
            if queue.generation != generation {
                return;
            }
            if let Phase::Reading { waiting_for, .. } = &mut queue.phase {
                waiting_for.clear();
            }
            queue.finish_recovery(ctx);
        });
        self.read_when_written(ctx);
    }

    /// Reads the store, once results that are on their way to it are there.
    pub(super) fn read_when_written(&mut self, ctx: &mut Context<Self>) {
        if self.writing > 0 {
            return;
        }
        let Phase::Reading { asked, .. } = &mut self.phase else {
            return;
        };
        if std::mem::replace(asked, true) {
            return;
        }
        let reading = read_queue(self.node(), self.port.id);
        self.run_on_lists(ctx, reading, |queue, read, ctx| match read {
            Ok(read) => {
                if let Phase::Reading { seeds, .. } = &mut queue.phase {
                    *seeds = Some(read);
                }
                queue.finish_recovery(ctx);
            }
            Err(error) if queue.node.cluster.is_some() => {
                tracing::warn!(queue = %queue.port.name, %error, "the queue is read again in a moment");
                let generation = queue.generation;
                ctx.run_later(READ_AGAIN, move |queue, ctx| {
                    if queue.generation == generation {
                        queue.recover_again(ctx);
                    }
                });
            }
            Err(error) => panic!("queue {} cannot read the store: {error}", queue.port.name),
        });
    }

    /// Asks what the sessions hold, or to give back what they hold of partitions.
    pub(super) fn ask_sessions(&self, give_back: Vec<u32>) {
        for (_, port) in &self.port.sessions() {
            let ask = ReportHeld {
                queue: self.port.id,
                give_back: give_back.clone(),
            };
            post_to(&port.report, ask);
        }
    }

    pub(super) fn held_reported(&mut self, report: Held, ctx: &mut Context<Self>) {
        if let Phase::Reading {
            held, waiting_for, ..
        } = &mut self.phase
        {
            waiting_for.remove(&report.session);
            held.extend(report.ids.iter().map(|id| (*id, report.session)));
            self.add_room(report.session, report.room);
            let window = report.room + report.ids.len() as u32;
            let slot = (self.sessions.iter_mut()).find(|slot| slot.session == report.session);
            if let Some(slot) = slot {
                slot.window = slot.window.max(window);
            }
            self.finish_recovery(ctx);
        }
    }

    /// Runs again once the store is read and every session has answered or had its time.
    fn finish_recovery(&mut self, ctx: &mut Context<Self>) {
        let ready = matches!(
            &self.phase,
            Phase::Reading { waiting_for, seeds: Some(_), .. } if waiting_for.is_empty()
        );
        if !ready {
            return;
        }
        let Phase::Reading {
            term,
            arrived,
            mut held,
            seeds: Some(seeds),
            settled,
            ..
        } = std::mem::replace(&mut self.phase, Phase::Running)
        else {
            return;
        };
        // What a session has settled since it was asked it had before.
        for batch in &settled {
            let failed = batch.failed.iter().map(|failed| failed.id);
            let ids = batch.done.iter().copied().chain(failed);
            held.extend(ids.map(|id| (id, batch.session)));
        }
        let mut known = HashSet::with_capacity_and_hasher(seeds.len(), Default::default());
        for seed in seeds {
            known.insert((seed.item.id, seed.item.what));
            match held.get(&seed.item.id) {
                Some(session) => {
                    self.held.insert(
                        seed.item.id,
                        HeldItem {
                            session: *session,
                            item: seed.item,
                            probe: false,
                        },
                    );
                }
                None => self.plant(seed),
            }
        }
        tracing::info!(queue = %self.port.name, messages = known.len(), "queue recovered");
        let now = clock::now_ms();
        for item in arrived {
            if !known.contains(&(item.id, item.what())) && !held.contains_key(&item.id) {
                self.take_in(item, now);
            }
        }
        self.end_reading(term, known);
        for batch in settled {
            self.settle(batch, ctx);
        }
        if std::mem::take(&mut self.read_again) {
            return self.recover_again(ctx);
        }
        self.pump(ctx);
    }

    /// Whether an item that was dispatched is not in the lists by a reading of the store. `term` is
    /// that of its partition now; without one its owner has found it in the store.
    pub(super) fn is_news(&self, item: &QueueItem, term: Option<u64>) -> bool {
        let Some(term) = term else { return false };
        let came_after = |overlap: &Overlap| overlap.lacks(item);
        item.term == term || self.overlap.as_ref().is_some_and(came_after)
    }

    /// The reading that began with `term` is over, and has found `known`.
    fn end_reading(&mut self, term: u64, known: HashSet<(u64, What), ahash::RandomState>) {
        self.node.local_lease.begin_term(self.port.id);
        self.overlap = Some(Overlap::new(term, known));
    }
}

/// What waits in this node's part of a queue.
async fn read_queue(node: Arc<NodeContext>, own: u32) -> Result<Vec<Seed>, StoreError> {
    // Answers that sessions have reported are in what is read then.
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
            let active = cluster.take_over(partitions).await?;
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
