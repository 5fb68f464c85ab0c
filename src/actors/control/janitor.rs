//! Periodic maintenance: moves the low-water mark, applies the retention of texts, messages, the
//! audit log and answers to requests with an Idempotency-Key, and compares the store with the queues.

mod compare;

use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, Supervised, WrapFuture};

use crate::actors::context::NodeContext;
use crate::actors::control::export;
use crate::actors::control::settings::StoredConfiguration;
use crate::clock;
use crate::domain::id;
use crate::store::Reply;

const LOW_WATER_EVERY: Duration = Duration::from_secs(60);
/// Where other nodes may take over, the mark is moved more often: what is above it is what they read beside the
/// active messages.
const LOW_WATER_EVERY_SHARED: Duration = Duration::from_secs(5);
const RETIRE_EVERY: Duration = Duration::from_secs(60);
/// The rest of the work is half a period away from the mark, which it does not have to wait for.
const RETIRE_AFTER: Duration = Duration::from_millis(32_500);
/// Messages deleted per step; a step is a few commits of milliseconds each.
const RETIRE: usize = 20_000;
/// Entries of the audit log deleted per step.
const FORGET: usize = 1_000;
/// Answers to requests with an Idempotency-Key deleted per step.
const FORGET_KEYS: usize = 2_000;
const DAY_MS: i64 = 86_400_000;
/// Records of the table `cdr`, or sums of usage, deleted per step.
const FORGET_RECORDS: usize = 2_000;
/// Rows of events dropped per step.
const DROP_EVENTS: usize = 1_000;
/// Texts erased per step.
const ERASE: usize = 10_000;

pub struct Janitor {
    node: Arc<NodeContext>,
    configuration: Arc<StoredConfiguration>,
    /// Rounds of comparing the store with the queues.
    rounds: u64,
    /// Days or messages are being removed, which may take longer than a round.
    retiring: bool,
}

// === impl Janitor ===

impl Janitor {
    pub fn new(node: Arc<NodeContext>, configuration: Arc<StoredConfiguration>) -> Self {
        Self {
            node,
            configuration,
            rounds: 0,
            retiring: false,
        }
    }

    /// Compares the store with the queues periodically.
    fn compare_later(&mut self, ctx: &mut Context<Self>) {
        let (node, configuration) = (Arc::clone(&self.node), Arc::clone(&self.configuration));
        self.rounds += 1;
        let round = self.rounds;
        let work = async move {
            tokio::time::sleep(node.config().queue.compare_every).await;
            if !node.local_lease.is_valid() {
                return;
            }
            match compare::compare(&node, &configuration.state, round).await {
                Ok(put_back) => tracing::debug!(put_back, "store and queues compared"),
                Err(error) => tracing::warn!(%error, "store and queues could not be compared"),
            }
        };
        let then = |(), janitor: &mut Self, ctx: &mut _| janitor.compare_later(ctx);
        ctx.spawn(work.into_actor(self).map(then));
    }

    /// Moves the low-water mark periodically, from the end of one move to the begin of the next.
    fn advance_later(&self, ctx: &mut Context<Self>) {
        let node = Arc::clone(&self.node);
        let work = async move {
            let every = match node.cluster {
                Some(_) => LOW_WATER_EVERY_SHARED,
                None => LOW_WATER_EVERY,
            };
            tokio::time::sleep(every).await;
            if !node.local_lease.is_janitor() {
                return;
            }
            match node.store.advance_low_water().await {
                Ok(()) => drop(node.metrics.janitor_rounds.inc()),
                Err(error) => tracing::error!(%error, "the low-water mark could not be moved"),
            }
        };
        let then = |(), janitor: &mut Self, ctx: &mut _| janitor.advance_later(ctx);
        ctx.spawn(work.into_actor(self).map(then));
    }

    /// What is done every minute beside that.
    fn round(&mut self, ctx: &mut Context<Self>) {
        self.retire(ctx);
        self.erase_texts(ctx);
        self.forget_audit(ctx);
        self.forget_keys(ctx);
        self.forget_records(ctx);
        self.forget_usage(ctx);
    }

    /// Deletes old messages, but not those whose events are still to be read.
    fn retire(&mut self, ctx: &mut Context<Self>) {
        if self.retiring || !self.node.local_lease.is_janitor() {
            return;
        }
        self.retiring = true;
        let node = Arc::clone(&self.node);
        let work = async move {
            let (config, now) = (node.config(), clock::now_ms());
            if let Err(error) = node.store.tend_days().await {
                tracing::error!(%error, "the partitions of days could not be made or indexed");
            }
            drop_events(&node, now - config.outbox.hold.as_millis() as i64).await;
            let retention = config.store.retention.as_millis() as i64;
            if retention == 0 {
                return;
            }
            let before = match export::oldest_unread(&node).await {
                Ok(oldest) => oldest.map_or(now - retention, |at| at.min(now - retention)),
                Err(error) => return tracing::error!(%error, "waiting events could not be read"),
            };
            let failed = "old messages could not be deleted";
            steps(RETIRE, failed, || node.store.retire(before, RETIRE)).await;
        };
        let then = |(), janitor: &mut Self, _: &mut _| janitor.retiring = false;
        ctx.spawn(work.into_actor(self).map(then));
    }

    /// Deletes the sums of old days.
    fn forget_usage(&self, ctx: &mut Context<Self>) {
        let retention = self.node.config().usage.retention.as_millis() as i64;
        if retention == 0 || !self.node.local_lease.is_janitor() {
            return;
        }
        let store = Arc::clone(&self.node.store);
        let before = i32::try_from((clock::now_ms() - retention) / DAY_MS).unwrap_or_default();
        let failed = "old sums of usage could not be deleted";
        self.in_steps(ctx, FORGET_RECORDS, failed, move || {
            store.forget_usage(before, FORGET_RECORDS)
        });
    }

    /// Deletes old records of the table `cdr`.
    fn forget_records(&self, ctx: &mut Context<Self>) {
        let retention = self.node.config().cdr.table_retention.as_millis() as i64;
        if retention == 0 || !self.node.local_lease.is_janitor() {
            return;
        }
        let store = Arc::clone(&self.node.store);
        let before = clock::now_ms() - retention;
        let failed = "old CDRs could not be deleted";
        self.in_steps(ctx, FORGET_RECORDS, failed, move || {
            store.forget_records(before, FORGET_RECORDS)
        });
    }

    /// Sweeps the table of correlations for other programs periodically, if it is enabled.
    fn sweep_correlations_later(&self, ctx: &mut Context<Self>) {
        let Some(cluster) = self.node.cluster.clone() else {
            return;
        };
        let node = Arc::clone(&self.node);
        let work = async move {
            let config = node.config();
            tokio::time::sleep(config.correlation.sweep).await;
            if !node.local_lease.is_janitor() {
                return;
            }
            let before = match config.store.retention.as_millis() as i64 {
                0 => 0,
                retention => clock::now_ms() - retention,
            };
            if let Err(error) = cluster.sweep_correlations(before).await {
                tracing::error!(%error, "smpp.message_correlations could not be swept");
            }
        };
        let then = |(), janitor: &mut Self, ctx: &mut _| janitor.sweep_correlations_later(ctx);
        ctx.spawn(work.into_actor(self).map(then));
    }

    fn forget_audit(&self, ctx: &mut Context<Self>) {
        if !self.node.local_lease.is_janitor() {
            return;
        }
        let retention = self.node.config().http.audit_retention.as_millis() as i64;
        let below = id::lowest_at(clock::now_ms() - retention);
        let store = Arc::clone(&self.node.store);
        let failed = "old entries of the audit log could not be deleted";
        self.in_steps(ctx, FORGET, failed, move || {
            store.forget_audit(below, FORGET)
        });
    }

    fn forget_keys(&self, ctx: &mut Context<Self>) {
        let remembered = self.node.store.stats().idempotency_keys;
        let gauge = &self.node.metrics.idempotency_keys;
        gauge.set(i64::try_from(remembered).unwrap_or(i64::MAX));
        if !self.node.local_lease.is_janitor() {
            return;
        }
        let retention = self.node.config().api.idempotency.as_millis() as i64;
        let store = Arc::clone(&self.node.store);
        let before = clock::now_ms() - retention;
        let failed = "old answers to requests with an Idempotency-Key could not be deleted";
        self.in_steps(ctx, FORGET_KEYS, failed, move || {
            store.forget_keys(before, FORGET_KEYS)
        });
    }

    fn erase_texts(&self, ctx: &mut Context<Self>) {
        let Some(retention) = self.node.config().store.text_retention else {
            return;
        };
        if !self.node.local_lease.is_janitor() {
            return;
        }
        let store = Arc::clone(&self.node.store);
        let before = clock::now_ms() - retention.as_millis() as i64;
        let failed = "old texts could not be erased";
        self.in_steps(ctx, ERASE, failed, move || store.erase_text(before, ERASE));
    }

    /// Takes steps of at most `most` until one finds less or fails.
    fn in_steps(
        &self,
        ctx: &mut Context<Self>,
        most: usize,
        failed: &'static str,
        step: impl Fn() -> Reply<u64> + 'static,
    ) {
        let work = async move { steps(most, failed, step).await };
        ctx.spawn(work.into_actor(self));
    }
}

/// Takes steps of at most `most` until one finds less or fails.
async fn steps(most: usize, failed: &'static str, step: impl Fn() -> Reply<u64>) {
    loop {
        match step().await {
            Ok(count) if count as usize >= most => {}
            Ok(_) => break,
            Err(error) => {
                tracing::error!(%error, "{failed}");
                break;
            }
        }
    }
}

/// Drops events that nobody has read for too long, and says so.
async fn drop_events(node: &NodeContext, before: i64) {
    let mut dropped = 0;
    loop {
        match node.store.drop_events(before, DROP_EVENTS).await {
            Ok(0) => break,
            Ok(messages) => dropped += messages,
            Err(error) => {
                tracing::error!(%error, "old events could not be dropped");
                break;
            }
        }
    }
    if dropped > 0 {
        node.metrics.outbox_dropped.inc_by(dropped);
        tracing::error!(
            dropped,
            "nobody has read these events within outbox.hold: they are dropped"
        );
    }
}

impl Actor for Janitor {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        // Texts whose retention ended while no process ran do not wait another minute.
        self.erase_texts(ctx);
        self.compare_later(ctx);
        self.sweep_correlations_later(ctx);
        self.advance_later(ctx);
        ctx.run_later(RETIRE_AFTER, |janitor, ctx| {
            janitor.round(ctx);
            ctx.run_interval(RETIRE_EVERY, Self::round);
        });
    }
}

impl Supervised for Janitor {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::test_support;
    use crate::store::WriteBatch;
    use crate::store::idempotency::{Claimed, KeyClaim};

    #[actix::test]
    async fn answers_to_requests_go_when_their_time_is_over() {
        // Much longer than what passes of the paused clock while the store works.
        let week = Duration::from_secs(7 * 24 * 3600);
        let node = test_support::node_with(1, None, |config| config.api.idempotency = week).await;
        let store = &node.context.store;
        let now = clock::now_ms();
        let claim = |weeks: u8| KeyClaim {
            account: node.account,
            key: [weeks; 32],
            request: [0; 32],
            at: now - i64::from(weeks) * week.as_millis() as i64,
            since: 0,
        };
        for weeks in [0, 2] {
            let one = claim(weeks);
            assert_eq!(store.claim_key(one.clone()).await, Ok(Claimed::New));
            let batch = WriteBatch {
                idempotency: vec![one.answered(b"answer".as_slice().into())],
                ..WriteBatch::default()
            };
            store.write(batch).await.expect("written");
        }
        tokio::time::pause();
        Janitor::new(Arc::clone(&node.context), Arc::clone(&node.configuration)).start();
        let shown = &node.context.metrics.idempotency_keys;
        test_support::until("a key is forgotten", || shown.get() == 1).await;
        let kept = store.claim_key(claim(0)).await;
        assert_eq!(kept, Ok(Claimed::Done(b"answer".as_slice().into())));
        assert_eq!(store.claim_key(claim(2)).await, Ok(Claimed::New));
    }
}
