//! The task of periodic maintenance: moves the low-water mark, applies the retention of texts, messages, the
//! audit log and answers to requests with an Idempotency-Key, and compares the store with the queues.

mod compare;

use std::time::Duration;

use crate::actors::context::NodeContext;
use crate::actors::control::export;
use crate::actors::control::settings::StoredConfiguration;
use crate::actors::runtime::supervise::every;
use crate::clock;
use crate::domain::id;
use crate::domain::period::DAY_MS;
use crate::store::Reply;

const LOW_WATER_EVERY: Duration = Duration::from_secs(60);
/// Where other nodes may take over, the mark is moved more often: what is above it is what they read beside the
/// active messages.
const LOW_WATER_EVERY_SHARED: Duration = Duration::from_secs(5);
/// How often logins are stored: what a crash loses of them.
const LOGINS_EVERY: Duration = Duration::from_secs(5);
const RETIRE_EVERY: Duration = Duration::from_secs(60);
/// The rest of the work is half a period away from the mark, which it does not have to wait for.
const RETIRE_AFTER: Duration = Duration::from_millis(32_500);
/// Messages deleted per step; a step is a few commits of milliseconds each.
const RETIRE: usize = 20_000;
/// Entries of the audit log deleted per step.
const FORGET: usize = 1_000;
/// Answers to requests with an Idempotency-Key deleted per step.
const FORGET_KEYS: usize = 2_000;
/// Records of the table `cdr`, or sums of usage, deleted per step.
const FORGET_RECORDS: usize = 2_000;
/// Rows of events dropped per step.
const DROP_EVENTS: usize = 1_000;
/// Texts erased per step.
const ERASE: usize = 10_000;

/// Does all of it, without an end. `rounds`: how often the store was compared with the queues.
pub async fn maintain(node: &NodeContext, configuration: &StoredConfiguration, rounds: &mut u64) {
    tokio::join!(
        compare_later(node, configuration, rounds),
        sweep_correlations_later(node),
        advance_later(node),
        keep_logins_later(node),
        // Texts whose retention ended while no process ran do not wait.
        each_minute(Duration::ZERO, async || erase_texts(node).await),
        each_minute(RETIRE_AFTER, async || retire(node).await),
        each_minute(RETIRE_AFTER, async || forget_audit(node).await),
        each_minute(RETIRE_AFTER, async || forget_keys(node).await),
        each_minute(RETIRE_AFTER, async || forget_records(node).await),
        each_minute(RETIRE_AFTER, async || forget_usage(node).await),
        each_minute(RETIRE_AFTER, async || forget_logins(node).await),
    );
}

/// Compares the store with the queues periodically. Rounds are counted on over a panic: queues remember in which they missed
/// something.
async fn compare_later(node: &NodeContext, configuration: &StoredConfiguration, rounds: &mut u64) {
    loop {
        tokio::time::sleep(node.config().queue.compare_every).await;
        *rounds += 1;
        if !node.local_lease.is_valid() {
            continue;
        }
        match compare::compare(node, &configuration.state, *rounds).await {
            Ok(put_back) => tracing::debug!(put_back, "store and queues compared"),
            Err(error) => tracing::warn!(%error, "store and queues could not be compared"),
        }
    }
}

/// Moves the low-water mark periodically, from the end of one move to the begin of the next.
async fn advance_later(node: &NodeContext) {
    let pause = match node.cluster {
        Some(_) => LOW_WATER_EVERY_SHARED,
        None => LOW_WATER_EVERY,
    };
    let advance = async || {
        if !node.local_lease.is_janitor() {
            return;
        }
        match node.store.advance_low_water().await {
            Ok(()) => drop(node.metrics.janitor_rounds.inc()),
            Err(error) => tracing::error!(%error, "the low-water mark could not be moved"),
        }
    };
    every(pause, advance).await;
}

/// Stores periodically when accounts have bound.
async fn keep_logins_later(node: &NodeContext) {
    let keep = async || {
        if let Err(error) = node.logins.keep(node.store.as_ref()).await {
            tracing::warn!(%error, "the last logins of accounts could not be stored");
        }
    };
    every(LOGINS_EVERY, keep).await;
}

/// Sweeps the table of correlations for other programs periodically, if it is enabled.
async fn sweep_correlations_later(node: &NodeContext) {
    let Some(cluster) = &node.cluster else {
        return;
    };
    loop {
        tokio::time::sleep(node.config().correlation.sweep).await;
        if !node.local_lease.is_janitor() {
            continue;
        }
        let before = match node.config().store.retention.as_millis() as i64 {
            0 => 0,
            retention => clock::now_ms() - retention,
        };
        if let Err(error) = cluster.sweep_correlations(before).await {
            tracing::error!(%error, "smpp.message_correlations could not be swept");
        }
    }
}

/// Does `work`, first after `begin` and then a minute after each end, however long others take.
async fn each_minute(begin: Duration, mut work: impl AsyncFnMut()) {
    tokio::time::sleep(begin).await;
    loop {
        work().await;
        tokio::time::sleep(RETIRE_EVERY).await;
    }
}

/// Deletes old messages, but not those whose events are still to be read.
async fn retire(node: &NodeContext) {
    if !node.local_lease.is_janitor() {
        return;
    }
    let (config, now) = (node.config(), clock::now_ms());
    if let Err(error) = node.store.tend_days().await {
        tracing::error!(%error, "the partitions of days could not be made or indexed");
    }
    drop_events(node, now - config.outbox.hold.as_millis() as i64).await;
    let retention = config.store.retention.as_millis() as i64;
    if retention == 0 {
        return;
    }
    let before = match export::oldest_unread(node).await {
        Ok(oldest) => oldest.map_or(now - retention, |at| at.min(now - retention)),
        Err(error) => return tracing::error!(%error, "waiting events could not be read"),
    };
    let failed = "old messages could not be deleted";
    steps(RETIRE, failed, || node.store.retire(before, RETIRE)).await;
}

/// Deletes the sums of old days.
async fn forget_usage(node: &NodeContext) {
    let retention = node.config().usage.retention.as_millis() as i64;
    if retention == 0 || !node.local_lease.is_janitor() {
        return;
    }
    let before = i32::try_from((clock::now_ms() - retention) / DAY_MS).unwrap_or_default();
    let failed = "old sums of usage could not be deleted";
    let forget = || node.store.forget_usage(before, FORGET_RECORDS);
    steps(FORGET_RECORDS, failed, forget).await;
}

/// Deletes old records of the table `cdr`.
async fn forget_records(node: &NodeContext) {
    let retention = node.config().cdr.table_retention.as_millis() as i64;
    if retention == 0 || !node.local_lease.is_janitor() {
        return;
    }
    let before = clock::now_ms() - retention;
    let failed = "old CDRs could not be deleted";
    let forget = || node.store.forget_records(before, FORGET_RECORDS);
    steps(FORGET_RECORDS, failed, forget).await;
}

/// Forgets the logins of accounts that are gone: one is removed with others by a roll-back or a file, or by a node of a release
/// that knows no logins, and another node may have stored a login after that.
async fn forget_logins(node: &NodeContext) {
    if !node.local_lease.is_janitor() {
        return;
    }
    if let Err(error) = node.store.sweep_logins().await {
        tracing::error!(%error, "logins of removed accounts could not be forgotten");
    }
}

async fn forget_audit(node: &NodeContext) {
    if !node.local_lease.is_janitor() {
        return;
    }
    let retention = node.config().http.audit_retention.as_millis() as i64;
    let below = id::lowest_at(clock::now_ms() - retention);
    let failed = "old entries of the audit log could not be deleted";
    steps(FORGET, failed, || node.store.forget_audit(below, FORGET)).await;
}

async fn forget_keys(node: &NodeContext) {
    let remembered = node.store.stats().idempotency_keys;
    let gauge = &node.metrics.idempotency_keys;
    gauge.set(i64::try_from(remembered).unwrap_or(i64::MAX));
    if !node.local_lease.is_janitor() {
        return;
    }
    let retention = node.config().api.idempotency.as_millis() as i64;
    let before = clock::now_ms() - retention;
    let failed = "old answers to requests with an Idempotency-Key could not be deleted";
    let forget = || node.store.forget_keys(before, FORGET_KEYS);
    steps(FORGET_KEYS, failed, forget).await;
}

async fn erase_texts(node: &NodeContext) {
    let Some(retention) = node.config().store.text_retention else {
        return;
    };
    if !node.local_lease.is_janitor() {
        return;
    }
    let before = clock::now_ms() - retention.as_millis() as i64;
    let failed = "old texts could not be erased";
    steps(ERASE, failed, || node.store.erase_text(before, ERASE)).await;
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

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
        let (context, configuration) = (Arc::clone(&node.context), Arc::clone(&node.configuration));
        actix::spawn(async move { maintain(&context, &configuration, &mut 0).await });
        let shown = &node.context.metrics.idempotency_keys;
        test_support::until("a key is forgotten", || shown.get() == 1).await;
        let kept = store.claim_key(claim(0)).await;
        assert_eq!(kept, Ok(Claimed::Done(b"answer".as_slice().into())));
        assert_eq!(store.claim_key(claim(2)).await, Ok(Claimed::New));
    }
}
