//! Mirrors messages that have ended in Redis, under the keys of the Redis SMS platform (docs/redis-platform.md).
//!
//! A reader of the outbox like the others, and not in the message's path: while Redis is away events wait in the store.
//! A batch that is sent again, because the answer or the node was lost, changes nothing.

use std::sync::Arc;

use super::step::{ABANDONED, Events, ExportError};
use crate::actors::context::NodeContext;
use crate::actors::context::plan::Plan;
use crate::actors::receipts::just_ended::JustEnded;
use crate::clock;
use crate::config::{Config, RedisPlatform};
use crate::content;
use crate::domain::address::printable;
use crate::domain::{command_status, state};
use crate::pb::{Kind, Message};
use crate::store::outbox::{Outcome, Reader};
use crate::store::redis::{PlatformRow, Redis};
use crate::store::{FinRow, History, SentRow};

/// Before the platform's id in the sender's reference of a message that came from a list of Redis.
pub(in crate::actors::control) const REFERENCE: &str = "MT:";
/// Messages that are read at once.
const BATCH: usize = 512;
/// Messages of one call: Redis does nothing else meanwhile.
const CALL: usize = 128;

/// The reader that mirrors.
pub(super) struct Platform {
    events: Events,
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
        let histories = self.events.histories(node, &taken.ids).await?;
        let (plan, config) = (node.plan(), node.config());
        let section = &config.redis_platform;
        let rows: Vec<PlatformRow> = histories
            .iter()
            .flatten()
            .filter_map(|history| row(&plan, history, section))
            .collect();
        for rows in rows.chunks(CALL) {
            let life = config.store.retention;
            let mirrored = self.redis.mirror(rows, life, clock::now_ms()).await;
            mirrored.map_err(|error| ExportError::Platform(error.to_string()))?;
        }
        // Another node may have taken these over: it changes nothing.
        (self.events)
            .finish(node, taken.claim, Outcome::Elsewhere, &histories)
            .await?;
        Ok(taken.is_full)
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
    let account = match is_mo {
        true => plan.account_of(stored.queue).unwrap_or_default(),
        false => message.sender,
    };
    let account = plan.name_of(account);
    let account = account.strip_prefix("account:").unwrap_or(account);
    let name = state::name(ended.state as u8).to_owned();
    let mut fields = vec![
        ("account", account.to_owned()),
        ("from", printable(&message.source)),
        ("to", printable(&message.destination)),
        ("accepted", message.accepted_at.to_string()),
        ("finished", ended.at.to_string()),
        ("state", name),
        ("coding", message.data_coding.to_string()),
        ("attempts", stored.attempts.to_string()),
        ("operator", operator(plan, history).to_owned()),
    ];
    if section.text
        && let Some(text) = content::text_of(message)
    {
        fields.push(("text", text));
    }
    if let Some(client) = message.client_data.as_deref() {
        fields.push(("reference", client.reference.clone()));
    }
    let taken = history.accepted_attempt();
    Some(PlatformRow {
        id: match section.account.as_deref() {
            Some(theirs) if theirs == account && !is_mo => id_of(message),
            _ => message.id.to_string(),
        },
        is_mo,
        at: ended.at,
        fields,
        submitted: taken.map(|one| (printable(&one.operator_message_id), one.at)),
        failed: match (is_mo, taken) {
            (false, None) => Some(why(history)),
            _ => None,
        },
        report: (!is_mo && taken.is_some() && ended.operator != 0).then(|| report(ended)),
    })
}

/// The id on the platform: that of the list it came from, else its own.
fn id_of(message: &Message) -> String {
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
