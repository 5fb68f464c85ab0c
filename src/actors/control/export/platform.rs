//! Mirrors messages in Redis, under the keys of the Redis SMS platform (docs/coming-from.md).
//!
//! Two readers of the outbox like the others, one of ends and one of what happens before ([`Before`]), and not in the
//! message's path: while Redis is away events wait in the store. A batch that is sent again, because the answer or the node
//! was lost, changes nothing; what comes after the end was mirrored is passed over. What happens after the end, to reports
//! and keys, is the work of the [`Forwarder`].

mod forwarder;
mod rows;

use std::sync::Arc;

pub(super) use self::forwarder::Forwarder;
pub(in crate::actors::control) use self::rows::REFERENCE;
use self::rows::{row, row_before};
use super::step::{ABANDONED, Events, ExportError};
use super::told::EventMessages;
use crate::actors::context::NodeContext;
use crate::actors::context::plan::Plan;
use crate::actors::control::platform_roles::{does, options};
use crate::actors::orders;
use crate::actors::receipts::just_ended::JustEnded;
use crate::clock;
use crate::config::{Config, PlatformRole};
use crate::store::MessageHistory;
use crate::store::outbox::{EventReader, ReaderOutcome};
use crate::store::redis::{PlatformRow, Redis, RedisError};
use crate::store::sinks::SinkEvent;

/// Messages that are read at once.
const BATCH: usize = 512;
/// Messages of one call: Redis does nothing else meanwhile.
const CALL: usize = 128;

/// The reader that mirrors ends.
pub(super) struct Platform {
    events: Events,
    redis: Arc<Redis>,
}

/// The reader that mirrors what happens before.
pub(super) struct Before {
    redis: Arc<Redis>,
}

// === impl Platform ===

impl Platform {
    /// `None` where there is no mirror.
    pub(super) fn start(
        config: &Config,
        just_ended: &Arc<JustEnded>,
        redis: Option<Arc<Redis>>,
    ) -> Option<Self> {
        let redis = redis.filter(|_| config.redis_platform.enabled)?;
        let holder = format!("node:{}", config.node);
        let events = Events::new(EventReader::Platform, holder, Arc::clone(just_ended));
        Some(Self {
            events: events.read_where(|node| does(node, PlatformRole::Receiver)),
            redis,
        })
    }

    /// Reads events once; false when there are no more.
    pub(super) async fn step(&mut self, node: &NodeContext) -> Result<bool, ExportError> {
        let Some(taken) = self.events.take(node, BATCH, ABANDONED).await? else {
            return Ok(false);
        };
        let mut histories = self.events.histories(node, &taken.ids).await?;
        let (plan, config) = (node.plan(), node.config());
        with_carriers(node, &plan, &mut histories).await?;
        let section = &config.redis_platform;
        let rows: Vec<PlatformRow> = histories
            .iter()
            .flatten()
            .filter_map(|history| row(&plan, history, section))
            .collect();
        for rows in rows.chunks(CALL) {
            let mirrored = self.redis.mirror(rows, options(&config), clock::now_ms());
            count_refused(node, mirrored.await)?;
        }
        // Another node may have taken these over: it changes nothing.
        (self.events)
            .finish(node, taken.claim, ReaderOutcome::Elsewhere, &histories)
            .await?;
        Ok(taken.is_full)
    }
}

// === impl Before ===

impl Before {
    /// `None` where there is no mirror.
    pub(super) fn start(config: &Config, redis: Option<Arc<Redis>>) -> Option<Self> {
        let section = &config.redis_platform;
        let redis = redis.filter(|_| section.enabled && section.states)?;
        Some(Self { redis })
    }

    /// Reads events once; false when there are no more.
    pub(super) async fn step(&mut self, node: &NodeContext) -> Result<bool, ExportError> {
        let plan = node.full_plan();
        let (Some(wants), true) = (
            plan.mirror(),
            does(node, PlatformRole::Receiver) && self.redis.is_up(),
        ) else {
            return Ok(false);
        };
        let Some(read) = node.store.read_sink(wants.reader, BATCH).await? else {
            return Ok(false);
        };
        let store = node.store.as_ref();
        let (messages, _) = EventMessages::read(store, &plan, &read.events, false).await?;
        let config = node.config();
        let early = read.events.iter().filter_map(|event| match event {
            SinkEvent::Early(id, early) => Some((*id, early)),
            SinkEvent::Ended(_) => None,
        });
        let rows = early.flat_map(|(id, early)| {
            let told = messages.told_of(id, early).into_iter();
            let section = &config.redis_platform;
            let rows = told.filter_map(|told| row_before(&plan, told, early, section));
            rows.collect::<Vec<PlatformRow>>()
        });
        let rows: Vec<PlatformRow> = rows.collect();
        for rows in rows.chunks(CALL) {
            let (options, now) = (options(&config), clock::now_ms());
            let mirrored = self.redis.mirror_before_end(rows, options, now);
            count_refused(node, mirrored.await)?;
        }
        node.store.finish_sink(wants.reader, read.rows).await?;
        Ok(read.is_full)
    }
}

/// Counts and tells what keys of another type have made impossible.
fn count_refused(node: &NodeContext, mirrored: Result<u64, RedisError>) -> Result<(), ExportError> {
    let refused = mirrored.map_err(|error| ExportError::Platform(error.to_string()))?;
    if refused > 0 {
        node.metrics.platform_refused.inc_by(refused);
        tracing::warn!(
            refused,
            "keys of Redis are of another type than docs/coming-from.md says: they are not mirrored"
        );
    }
    Ok(())
}

/// Puts the attempts of what carries divided texts, and texts that were put together, into the histories of these.
async fn with_carriers(
    node: &NodeContext,
    plan: &Plan,
    histories: &mut [Option<MessageHistory>],
) -> Result<(), ExportError> {
    let carriers = histories.iter().flatten();
    let carriers: Vec<Vec<u64>> = carriers.map(|one| orders::carriers_of(plan, one)).collect();
    let ids = carriers.concat();
    if ids.is_empty() {
        return Ok(());
    }
    let read = node.store.histories(ids).await?;
    let mut read = read.iter();
    for (history, ids) in histories.iter_mut().flatten().zip(&carriers) {
        let of_this = read.by_ref().take(ids.len()).flatten();
        if !ids.is_empty() {
            history.attempts = orders::joined(plan, history, of_this);
        }
    }
    Ok(())
}
