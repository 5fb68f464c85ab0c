//! The reader that follows messages after their end: an id goes to the pump when its account has the receipt, and its keys
//! go when the pump has taken it.
//!
//! What it has to look at is in Redis, and whether a receipt was taken is in the store. A step that is done twice, because
//! its answer was lost or two nodes do it, changes nothing.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::count_refused;
use super::rows::is_forwarded;
use crate::actors::context::NodeContext;
use crate::actors::control::export::step::ExportError;
use crate::actors::control::platform_roles::{does, options};
use crate::clock;
use crate::config::{Config, PlatformRole};
use crate::store::redis::{PLATFORM_MOST, RAISED_GID, Redis, RedisError};

/// Messages that are looked at at once.
const BATCH: usize = 512;
/// Shortest and longest time between two looks at a message, in milliseconds: it grows with the time that its receipt has
/// waited.
const SOONEST: i64 = 1_000;
const LATEST: i64 = 60_000;
/// How often the counter of ids is looked at.
const COUNTER_EVERY: Duration = Duration::from_secs(3_600);

pub(in super::super) struct Forwarder {
    redis: Arc<Redis>,
    /// When the counter was looked at.
    counter_seen: Option<Instant>,
}

// === impl Forwarder ===

impl Forwarder {
    /// `None` where there is no mirror.
    pub(in super::super) fn start(config: &Config, redis: Option<Arc<Redis>>) -> Option<Self> {
        let redis = redis.filter(|_| config.redis_platform.enabled)?;
        Some(Self {
            redis,
            counter_seen: None,
        })
    }

    /// Looks once; false when there is no more to do now.
    pub(in super::super) async fn step(&mut self, node: &NodeContext) -> Result<bool, ExportError> {
        if !does(node, PlatformRole::Forwarder) || !self.redis.is_up() {
            return Ok(false);
        }
        let config = node.config();
        let failed = |error: RedisError| ExportError::Platform(error.to_string());
        self.look_at_counter(&config).await.map_err(failed)?;
        let now = clock::now_ms();
        let due = self.redis.forwarding(now, BATCH).await.map_err(failed)?;
        let is_full = due.len() == BATCH;
        let mut forwarded = 0;
        if !due.is_empty() {
            let ids = due.iter().map(|one| one.message).collect();
            let histories = node.store.histories(ids).await?;
            let looked_at = due.into_iter().zip(histories).map(|(one, history)| {
                // What the store has no more will not be forwarded either.
                let waits = history.filter(|history| !is_forwarded(history));
                let ended = waits
                    .as_ref()
                    .and_then(|history| history.stored.fin.as_ref());
                forwarded += usize::from(waits.is_none());
                (one, ended.map(|ended| later(now, ended.at)))
            });
            let looked_at: Vec<_> = looked_at.collect();
            let noted = self.redis.forwarded(&looked_at, options(&config), now);
            count_refused(node, noted.await)?;
        }
        let after = config.redis_platform.keep_taken;
        let removed = self.redis.remove_pumped(after, options(&config), now);
        let (pumped, refused) = removed.await.map_err(failed)?;
        count_refused(node, Ok(refused))?;
        node.metrics.platform_pumped.inc_by(pumped);
        // Of those whose receipts nobody takes, there may always be more.
        Ok(is_full && forwarded * 2 >= BATCH || pumped >= PLATFORM_MOST as u64)
    }

    /// Says that the counter of ids is where builds before have raised it, and what to do.
    async fn look_at_counter(&mut self, config: &Config) -> Result<(), RedisError> {
        let is_new = |seen: Instant| seen.elapsed() < COUNTER_EVERY;
        if !config.redis_platform.aliases || self.counter_seen.is_some_and(is_new) {
            return Ok(());
        }
        let counter = self.redis.platform_counter().await?;
        self.counter_seen = Some(Instant::now());
        if let Some(counter) = counter.filter(|counter| *counter >= RAISED_GID) {
            tracing::warn!(
                counter,
                "MT-gid is as high as builds without redis_platform.aliases raise it: ids of the platform have 19 digits. If no \
                 such node runs any more, stop the programs that use it, SET MT-gid to the highest id that was made before, and \
                 start them again (docs/coming-from.md, \"Ids\")"
            );
        }
        Ok(())
    }
}

/// When a message that has waited since then is looked at again.
fn later(now: i64, since: i64) -> i64 {
    now + ((now - since) / 4).clamp(SOONEST, LATEST)
}
