//! Finds the messages that an ESME refers to: by id, or by their addresses.

use bytes::Bytes;
use futures_util::future::join_all;

use super::{Asker, trouble};
use crate::actors::orders;
use crate::actors::receipts::shown_id;
use crate::actors::routing::rewrite::{self, original_destination, original_source};
use crate::content;
use crate::domain::address::plain;
use crate::domain::rewrite::TypedAddress;
use crate::pb::{Kind, Message, MessageState};
use crate::smpp::CommandStatus;
use crate::store::{FoundMessages, MessageHistory, Search, StoreError};

/// Messages read per page.
const PAGE: usize = 1_000;
/// How far to search for the next message of a submit_multi if the first does not exist.
const FOLLOWERS: u64 = 64;
/// Octets of a message_id, which the answer repeats (SMPP 3.4 §5.2.23).
const MESSAGE_ID: usize = 64;
/// A short id is searched for among this many messages.
const NEWEST: usize = 10_000;

/// Two addresses as the account writes them.
pub(super) struct Between {
    pub source: TypedAddress,
    pub destination: TypedAddress,
}

/// The message with this id, or all of one submit_multi, if they have this account and source.
pub(super) async fn own(
    asker: &Asker,
    message_id: &[u8],
    source: &Bytes,
    fail: CommandStatus,
) -> Result<Vec<MessageHistory>, CommandStatus> {
    let unknown = CommandStatus::ESME_RINVMSGID;
    if message_id.len() > MESSAGE_ID {
        return Err(unknown);
    }
    let id = match shown_id::parse_short(message_id) {
        // Cannot be told apart without the source.
        Some(_) if asker.any_source => None,
        Some(short) => by_short_id(asker, short, source).await?,
        None => shown_id::parse(message_id),
    };
    let id = id.ok_or(unknown)?;
    let lead = match orders::history(&asker.node, id).await {
        Ok(history) => history,
        Err(refusal) => match trouble(&refusal) {
            Some(status) => return Err(status),
            // It may be the first of a submit_multi, which could not be accepted.
            None => follower_of(asker, id).await?.ok_or(unknown)?,
        },
    };
    let message = &lead.stored.message;
    let is_from = asker.any_source || is_same(&original_source(message).digits, source);
    if message.sender != asker.account || !is_from {
        return Err(fail);
    }
    if shown_id::number(message) != id || content::is_internal(message) {
        // Its sender does not know this id.
        return Err(unknown);
    }
    let others = (id..id + u64::from(message.group_size)).filter(|other| *other != message.id);
    let others = join_all(others.map(|other| orders::history(&asker.node, other))).await;
    let mut own = vec![lead];
    for other in others {
        match other {
            Ok(history) if shown_id::number(&history.stored.message) == id => own.push(history),
            Ok(_) => {}
            // A message that could not be accepted does not exist.
            Err(refusal) => trouble(&refusal).map_or(Ok(()), Err)?,
        }
    }
    Ok(own)
}

/// Another message of a submit_multi with this id.
async fn follower_of(asker: &Asker, id: u64) -> Result<Option<MessageHistory>, CommandStatus> {
    let next = (1..=FOLLOWERS).filter_map(|step| id.checked_add(step));
    let loaded = asker
        .node
        .store
        .load(next.collect())
        .await
        .map_err(failed)?;
    let mut loaded = loaded.into_iter().flatten();
    match loaded.find(|stored| shown_id::number(&stored.message) == id) {
        Some(stored) => Ok(orders::history(&asker.node, stored.message.id).await.ok()),
        None => Ok(None),
    }
}

/// The newest message of this account and source with a short id.
async fn by_short_id(
    asker: &Asker,
    short: u32,
    source: &Bytes,
) -> Result<Option<u64>, CommandStatus> {
    // Without TON and NPI it is unknown how the rules would rewrite the source.
    let is_rewritten = asker.node.plan().rewrite_in(asker.account).is_some();
    let search = Search {
        from: text(source).filter(|_| !is_rewritten),
        sender: Some(asker.account),
        limit: NEWEST,
        ..Search::default()
    };
    let page = asker.node.store.search(search).await.map_err(failed)?;
    Ok(page
        .messages
        .iter()
        .map(|stored| shown_id::number(&stored.message))
        .find(|id| shown_id::shortened(*id) == short))
}

/// Messages of this account that are not final, between two addresses, with ids below `below`.
///
/// # Errors
/// See [`in_state`].
pub(super) async fn waiting(
    asker: &Asker,
    between: &Between,
    below: Option<u64>,
) -> Result<FoundMessages, CommandStatus> {
    let state = Some(MessageState::Enroute);
    let mut page = in_state(asker, between, below, state).await?;
    page.messages
        .retain(|stored| stored.message.kind() == Kind::Mt);
    Ok(page)
}

/// Messages of this account between two addresses, in this state or in any, with ids below `below`; the newest first. The
/// addresses are rewritten first by the current rules of the account or network.
///
/// # Errors
/// ESME_RSYSERR when the store does not answer, or may not search.
pub(super) async fn in_state(
    asker: &Asker,
    between: &Between,
    below: Option<u64>,
    state: Option<MessageState>,
) -> Result<FoundMessages, CommandStatus> {
    let stored = rewrite::stored_as(
        &asker.node.plan(),
        asker.account,
        asker.gsm,
        between.source.clone(),
        between.destination.clone(),
    );
    let search = Search {
        from: text(&stored.0),
        to: text(&stored.1),
        sender: Some(asker.account),
        state,
        before: below,
        limit: PAGE,
        ..Search::default()
    };
    let mut page = asker.node.store.search(search).await.map_err(failed)?;
    page.messages.retain(|stored| {
        let message = &stored.message;
        // Senders do not see parts and wholes that the SMSC has made.
        !content::is_internal(message)
            && message.sender == asker.account
            && is_same(&original_source(message).digits, &between.source.digits)
            && is_same(
                &original_destination(message).digits,
                &between.destination.digits,
            )
    });
    Ok(page)
}

/// An address as the store searches for it; `None` for any.
fn text(address: &Bytes) -> Option<String> {
    let address = String::from_utf8(plain(address).into_owned()).ok();
    address.filter(|address| !address.is_empty())
}

fn failed(error: StoreError) -> CommandStatus {
    tracing::warn!(%error, "messages of an ESME could not be searched for");
    CommandStatus::ESME_RSYSERR
}

/// Whether a message goes to this address, as its sender wrote it. No address stands for any.
pub(super) fn is_to(message: &Message, destination: &[u8]) -> bool {
    destination.is_empty() || is_same(&original_destination(message).digits, destination)
}

/// Addresses are compared without a leading plus and without formatting; TON and NPI are ignored, because many ESMEs omit them
/// in these operations.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    plain(one) == plain(other)
}
