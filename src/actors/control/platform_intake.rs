//! The task of the platform intake: takes in the ids that programs of the Redis SMS platform put into pending lists.
//!
//! On the node that has the role of the sender (`platform_roles.rs`), once a second, or at once when there is more. An id moves from its list
//! to `list:Processing`, its message is submitted as `redis_platform.account` in a batch with others, and the id
//! leaves `list:Processing` when that is durable. What a kill leaves there is taken first after it, and submitted with
//! the same idempotency key: it becomes the same message, on whichever node (docs/coming-from.md). An entry that
//! is no id, or whose message cannot be read, goes to `smsc:dead-letters` and stops nothing.
//!
//! In: nothing. Out: submissions, and calls to Redis.

mod text;

use std::str;
use std::time::Duration;

use self::text::{NoFields, fields_in};
use super::export::REFERENCE;
use super::platform_roles::{does, options};
use crate::actors::context::NodeContext;
use crate::actors::context::plan::AccountPlan;
use crate::actors::ingress::account_api::{
    AccountApi, Command, CommandOutcome, Ids, NotOnce, Reason,
};
use crate::clock;
use crate::config::PlatformRole;
use crate::content::compose::{self, TextAlphabet};
use crate::pb::{ClientData, Message};
use crate::store::redis::{
    PendingEntry, PendingFields, PendingMessage, Redis, RedisError, SettledId,
};

/// Ids that are taken at once.
const BATCH: usize = 256;
/// Between two looks at the lists, unless there is more.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest id of a platform, in octets.
const LONGEST_ID: usize = 40;
/// Where messages come from, for traces.
const PEER: &str = "redis_platform";

/// What an entry of a list is.
#[derive(Debug, PartialEq)]
enum ListEntry<'p> {
    /// An id with its message.
    Message(&'p str, Box<Message>),
    /// An id of which no message can be made, and why.
    Refused(&'p str, String),
    /// No id, or one that nobody could be told of by its keys.
    Dead(String),
}

/// Takes ids, without an end.
pub async fn take_in(node: &NodeContext, api: &AccountApi, redis: &Redis) {
    let mut told = Vec::new();
    loop {
        match step(node, api, redis, &mut told).await {
            Ok(true) => continue,
            Ok(false) => {}
            Err(error) => tracing::warn!(%error, "pending lists cannot be read"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Takes ids once; true when there may be more that can be taken now. `told`: the pending lists that are none, as was said
/// last.
async fn step(
    node: &NodeContext,
    api: &AccountApi,
    redis: &Redis,
    told: &mut Vec<String>,
) -> Result<bool, RedisError> {
    let config = node.config();
    let section = &config.redis_platform;
    let Some(account) = section
        .account
        .as_deref()
        .and_then(|name| api.account(name))
    else {
        return Ok(false);
    };
    if !does(node, PlatformRole::Sender) || api.is_draining() || !redis.is_up() {
        return Ok(false);
    }
    let taken = redis.take_pending(section.pending_lists, BATCH).await?;
    if taken.no_lists != *told {
        let keys = taken.no_lists.join(", ");
        tracing::warn!(keys, "pending lists of another type are passed over");
        told.clone_from(&taken.no_lists);
    }
    node.metrics.platform_dead.inc_by(taken.buried);
    let (mut commands, mut settled, mut dead) = (Vec::new(), Vec::new(), Vec::new());
    for pending in &taken.ids {
        match read(&account, pending) {
            ListEntry::Message(id, message) => commands.push(Command {
                id: id.to_owned(),
                message,
            }),
            ListEntry::Refused(id, why) => settled.push(SettledId {
                id: id.to_owned(),
                became: Err(why),
            }),
            ListEntry::Dead(why) => dead.push((&pending.id[..], why)),
        }
    }
    let ids: Vec<String> = commands.iter().map(|one| one.id.clone()).collect();
    let outcomes = if commands.is_empty() {
        Vec::new()
    } else {
        let taken = api.take_commands(&account, Ids::RedisPlatform, 0, PEER, commands);
        taken.await
    };
    let known = ids.into_iter().zip(outcomes);
    settled.extend(known.filter_map(|(id, outcome)| {
        let became = became(outcome)?;
        Some(SettledId { id, became })
    }));
    if !settled.is_empty() {
        let refused = redis.settle_pending(&settled, options(&config), clock::now_ms());
        node.metrics.platform_refused.inc_by(refused.await?);
    }
    if !dead.is_empty() || taken.buried > 0 {
        redis.bury_pending(&dead).await?;
        node.metrics.platform_dead.inc_by(dead.len() as u64);
        tracing::warn!(
            entries = dead.len() as u64 + taken.buried,
            "entries of pending lists go to smsc:dead-letters, each with the reason"
        );
    }
    Ok(settled.len() + dead.len() == BATCH)
}

/// What became of an id; `None` when it is to be tried again.
fn became(outcome: CommandOutcome) -> Option<Result<u64, String>> {
    match outcome {
        Ok(Ok(taken)) => Some(Ok(taken.id)),
        Ok(Err(refused)) if is_passing(refused.reason) => None,
        Ok(Err(refused)) => Some(Err(refused.command_status)),
        Err(NotOnce::OtherRequest) => Some(Err("the id was used before".to_owned())),
        Err(NotOnce::InProgress | NotOnce::Full | NotOnce::Unavailable(_) | NotOnce::Broken) => {
            None
        }
    }
}

fn is_passing(reason: Reason) -> bool {
    matches!(reason, Reason::Rate | Reason::Full | Reason::Unavailable)
}

/// What an entry of a list is.
fn read<'p>(account: &AccountPlan, pending: &'p PendingEntry) -> ListEntry<'p> {
    let is_plain = |octet: &u8| octet.is_ascii_alphanumeric() || b"-_.".contains(octet);
    let id = &pending.id;
    let is_id = (1..=LONGEST_ID).contains(&id.len()) && id.iter().all(is_plain);
    let Some(id) = str::from_utf8(id).ok().filter(|_| is_id) else {
        return ListEntry::Dead("the id must be 1 to 40 letters, digits, -, _ and .".to_owned());
    };
    let of_text;
    let fields = match &pending.what {
        PendingMessage::Fields(fields) => fields,
        PendingMessage::Text(text) => {
            of_text = match fields_in(text) {
                Ok(fields) => fields,
                Err(NoFields::NotJson) => {
                    return ListEntry::Dead(format!("MT:{id} is a string, and no JSON object"));
                }
                Err(NoFields::Value(field)) => {
                    return ListEntry::Refused(id, format!("{field} of MT:{id} is not one text"));
                }
            };
            &of_text
        }
        PendingMessage::OtherType => {
            return ListEntry::Dead(format!("MT:{id} is neither a hash nor a string"));
        }
        PendingMessage::TooLong(field) => {
            return ListEntry::Refused(id, format!("{field} of MT:{id} is too long to be read"));
        }
    };
    match message(account, id, fields) {
        Ok(message) => ListEntry::Message(id, Box::new(message)),
        Err(why) => ListEntry::Refused(id, why),
    }
}

/// The message of an id; why there is none otherwise.
fn message(account: &AccountPlan, id: &str, fields: &PendingFields) -> Result<Message, String> {
    let text_of = |name: &str, octets: &[u8]| match str::from_utf8(octets) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(format!("{name} is not in UTF-8")),
    };
    let (from, to) = (text_of("from", &fields.from)?, text_of("to", &fields.to)?);
    let text = text_of("text", &fields.text)?;
    if to.is_empty() {
        return Err(format!("MT:{id} has no field to"));
    }
    let destination = (account.numbers.read(&to)).map_err(|wrong| format!("to {wrong}"))?;
    let source = compose::sender(&from).map_err(|wrong| format!("from {wrong}"))?;
    let body = compose::text(&text, TextAlphabet::Auto, false)
        .map_err(|wrong| format!("text: {wrong}"))?;
    let mut message = Message {
        client_data: Some(Box::new(ClientData {
            reference: format!("{REFERENCE}{id}"),
            ..ClientData::default()
        })),
        ..compose::between(source, destination.into())
    };
    body.carry(&mut message);
    Ok(message)
}
