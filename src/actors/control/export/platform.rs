//! Mirrors messages in Redis, under the keys of the Redis SMS platform (docs/redis-platform.md).
//!
//! Two readers of the outbox like the others, one of ends and one of what happens before ([`Before`]), and not in the
//! message's path: while Redis is away events wait in the store. A batch that is sent again, because the answer or the node
//! was lost, changes nothing; what comes after the end was mirrored is passed over.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::step::{ABANDONED, Events, ExportError};
use super::told::{EventMessages, ToldMessage};
use crate::actors::context::NodeContext;
use crate::actors::context::plan::Plan;
use crate::actors::orders;
use crate::actors::receipts::just_ended::JustEnded;
use crate::clock;
use crate::config::{Config, RedisPlatform};
use crate::content;
use crate::domain::address::printable;
use crate::domain::{command_status, state};
use crate::pb::{EarlyEvent, EarlyKind, Kind, Message};
use crate::store::outbox::{Outcome, Reader};
use crate::store::redis::{PlatformRow, Redis, RedisError};
use crate::store::sinks::SinkEvent;
use crate::store::{FinRow, History, SentRow, Stored};

/// Before the platform's id in the sender's reference of a message that came from a list of Redis.
pub(in crate::actors::control) const REFERENCE: &str = "MT:";
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
        Some(Self {
            events: Events::new(
                Reader::Platform,
                format!("node:{}", config.node),
                Arc::clone(just_ended),
            ),
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
            let life = config.store.retention;
            let mirrored = self.redis.mirror(rows, life, clock::now_ms()).await;
            count_refused(node, mirrored)?;
        }
        // Another node may have taken these over: it changes nothing.
        (self.events)
            .finish(node, taken.claim, Outcome::Elsewhere, &histories)
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
        let is_leaving = node.local_lease.is_shared() && node.draining.load(Ordering::Relaxed);
        let plan = node.full_plan();
        let (Some(wants), true) = (
            plan.mirror(),
            node.local_lease.is_janitor() && !is_leaving && self.redis.is_up(),
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
            let mirrored = self.redis.mirror_before_end(rows, config.store.retention);
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
            "keys of Redis are of another type than docs/redis-platform.md says: they are not mirrored"
        );
    }
    Ok(())
}

/// Puts the attempts of what carries divided texts, and texts that were put together, into the histories of these.
async fn with_carriers(
    node: &NodeContext,
    plan: &Plan,
    histories: &mut [Option<History>],
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

/// What the platform says of a message that was accepted or sent; `None` for one that it has not.
fn row_before(
    plan: &Plan,
    told: ToldMessage<'_>,
    early: &EarlyEvent,
    section: &RedisPlatform,
) -> Option<PlatformRow> {
    let stored = told.stored;
    let message = &stored.message;
    if content::is_internal(message) {
        return None;
    }
    let is_mo = message.kind() == Kind::Mo;
    let sent = PlatformRow {
        id: id_on_platform(plan, stored, section),
        is_mo,
        at: early.at,
        ..PlatformRow::default()
    };
    match early.kind() {
        EarlyKind::Sent if is_mo => None,
        EarlyKind::Sent => {
            let theirs = printable(&early.operator_message_id);
            // A text that was divided is sent by its parts.
            let is_whole = !plan.name_of(early.operator).starts_with("internal:");
            let row = PlatformRow {
                submitted: Some((theirs, early.at)),
                parts: told.ids,
                ..sent
            };
            is_whole.then_some(row)
        }
        _ => {
            let mut fields = fields_of(plan, stored, section);
            let state = state::name(crate::pb::MessageState::Enroute as u8);
            fields.push(("state", state.to_owned()));
            Some(PlatformRow { fields, ..sent })
        }
    }
}

/// What the platform says of a message; `None` for one that it has not: a part that was made here.
fn row(plan: &Plan, history: &History, section: &RedisPlatform) -> Option<PlatformRow> {
    let stored = &history.stored;
    let message = &stored.message;
    let ended = stored
        .fin
        .as_ref()
        .filter(|_| !content::is_internal(message))?;
    let is_mo = message.kind() == Kind::Mo;
    let mut fields = fields_of(plan, stored, section);
    fields.extend([
        ("finished", ended.at.to_string()),
        ("state", state::name(ended.state as u8).to_owned()),
        ("attempts", stored.attempts.to_string()),
        ("operator", operator(plan, history).to_owned()),
    ]);
    let taken = history.accepted_attempt();
    let composition = message.composition.as_deref();
    let is_divided = composition.is_some_and(|composition| !composition.sent_as.is_empty());
    let parts = history
        .attempts
        .iter()
        .filter(|one| is_divided && one.status == 0);
    Some(PlatformRow {
        id: id_on_platform(plan, stored, section),
        is_mo,
        at: ended.at,
        fields,
        submitted: taken.map(|one| (printable(&one.operator_message_id), one.at)),
        parts: parts
            .map(|one| printable(&one.operator_message_id))
            .collect(),
        failed: match (is_mo, taken) {
            (false, None) => Some(why(history)),
            _ => None,
        },
        report: (!is_mo && taken.is_some() && ended.operator != 0).then(|| report(ended)),
    })
}

/// The fields that a message has from the beginning.
fn fields_of(plan: &Plan, stored: &Stored, section: &RedisPlatform) -> Vec<(&'static str, String)> {
    let message = &stored.message;
    let mut fields = vec![
        ("account", account_of(plan, stored).to_owned()),
        ("from", printable(&message.source)),
        ("to", printable(&message.destination)),
        ("accepted", message.accepted_at.to_string()),
        ("coding", message.data_coding.to_string()),
    ];
    if section.text
        && let Some(text) = content::text_of(message)
    {
        fields.push(("text", text));
    }
    if let Some(client) = message.client_data.as_deref() {
        fields.push(("reference", client.reference.clone()));
    }
    fields
}

/// Whose message it is.
fn account_of<'p>(plan: &'p Plan, stored: &Stored) -> &'p str {
    let account = match stored.message.kind() {
        Kind::Mo => plan.account_of(stored.queue).unwrap_or_default(),
        Kind::Mt => stored.message.sender,
    };
    let account = plan.name_of(account);
    account.strip_prefix("account:").unwrap_or(account)
}

/// The id on the platform: that of the list it came from, else its own.
fn id_on_platform(plan: &Plan, stored: &Stored, section: &RedisPlatform) -> String {
    let message = &stored.message;
    match section.account.as_deref() {
        Some(theirs) if message.kind() == Kind::Mt && theirs == account_of(plan, stored) => {
            id_of_list(message)
        }
        _ => message.id.to_string(),
    }
}

/// The id of the list that a message came from, if it came from one.
fn id_of_list(message: &Message) -> String {
    let client = message.client_data.as_deref();
    let theirs = client.and_then(|client| client.reference.strip_prefix(REFERENCE));
    theirs.map_or_else(|| message.id.to_string(), str::to_owned)
}

/// Who has the message, or had it last.
fn operator<'p>(plan: &'p Plan, history: &History) -> &'p str {
    let taken = history.accepted_attempt().or(history.attempts.last());
    taken.map_or("", |attempt| plan.name_of(attempt.operator))
}

/// The status of the last attempt; the final state if there was none.
fn why(history: &History) -> String {
    match (history.attempts.last(), &history.stored.fin) {
        (Some(attempt), _) if attempt.status == SentRow::NO_ANSWER => "no answer".to_owned(),
        (Some(attempt), _) => command_status::display(attempt.status),
        (None, fin) => {
            let ended = fin.as_ref().map_or(0, |fin| fin.state as u8);
            state::name(ended).to_owned()
        }
    }
}

fn report(ended: &FinRow) -> Vec<(&'static str, String)> {
    vec![
        ("state", state::name(ended.state as u8).to_owned()),
        ("error", printable(&ended.error)),
        ("at", ended.at.to_string()),
        ("done", ended.done_at.to_string()),
    ]
}
