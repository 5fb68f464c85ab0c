//! Replaces the text or the times of a waiting message.

use bytes::Bytes;

use super::find::Between;
use super::{Asker, find, trouble};
use crate::actors::context::NodeContext;
use crate::actors::ingress::ingest;
use crate::actors::orders;
use crate::actors::receipts::shown_id::{self, IdNotation};
use crate::actors::routing::rewrite;
use crate::clock;
use crate::content;
use crate::content::door;
use crate::content::peer::{self as actors_content, PeerTreatment};
use crate::domain::validity::{self, MessageTimes};
use crate::pb::queue_command::Verb;
use crate::pb::{Message, Replacement};
use crate::smpp::{CommandStatus, ReplaceSm, Tlvs, tag, time};
use crate::store::MessageHistory;

/// The result of a submission with replace_if_present_flag.
pub enum Replaced {
    /// The message that its sender knows by this id has the new content.
    Old(String),
    /// No waiting message can be replaced: it is a new message.
    Nothing(Box<Message>),
}

/// Executes replace_sm.
///
/// # Errors
/// ESME_RINVMSGID for an id of no message, ESME_RREPLACEFAIL for another's message, another source or
/// one that has been handed over or divided, ESME_RINVMSGLEN for a text that would have to be divided or takes more short
/// messages than the old one, what a submission with this content is refused with,
/// ESME_RINVSCHED and ESME_RINVEXPIRY for invalid times, ESME_RTHROTTLED above the account's rate,
/// ESME_RSYSERR when the store does not answer.
pub async fn replace_sm(asker: &Asker, replace: &ReplaceSm) -> Result<(), CommandStatus> {
    asker.admit().await?;
    let fail = CommandStatus::ESME_RREPLACEFAIL;
    let own = find::own(asker, &replace.message_id, &replace.source_addr, fail).await?;
    // All messages of a submit_multi or none: one that was sent has the old text.
    if own.iter().any(is_over) {
        return Err(fail);
    }
    for history in own {
        let id = history.stored.message.id;
        let new = changed(asker, &history, replace)?;
        let ordered = asker.order(id, Verb::Replace, Some(new)).await;
        ordered.map_err(|status| status.unwrap_or(fail))?;
    }
    Ok(())
}

/// Replaces the newest waiting message with the same source, destination and service_type by a
/// submission.
///
/// # Errors
/// What the submission is refused with, ESME_RINVMSGLEN for one that takes more short messages than the old one,
/// ESME_RINVSUBREP when nothing can be searched for, ESME_RTHROTTLED and ESME_RSYSERR as [`replace_sm`].
pub async fn replace_present(
    asker: &Asker,
    mut message: Message,
) -> Result<Replaced, CommandStatus> {
    let node = &asker.node;
    let now = clock::now_ms();
    door::enter(&mut message, ingest::bringer(&node.plan(), asker.account))?;
    let between = Between {
        source: rewrite::original_source(&message),
        destination: rewrite::original_destination(&message),
    };
    let page = find::waiting(asker, &between, None)
        .await
        .map_err(|_| CommandStatus::ESME_RINVSUBREP)?;
    message.set_alphabet(asker.alphabet());
    let service_type = message.service_type.clone();
    let present = page
        .messages
        .iter()
        .filter(|old| old.message.service_type == service_type);
    for old in present {
        asker.admit().await?;
        let wished = |field: &[u8]| time::parse_time(field, now);
        let times = validity::times(
            now,
            wished(&message.schedule_delivery_time).map_err(|_| CommandStatus::ESME_RINVSCHED)?,
            wished(&message.validity_period).map_err(|_| CommandStatus::ESME_RINVEXPIRY)?,
            node.plan().lifetime(),
        )
        .map_err(|error| CommandStatus(error.command_status()))?;
        (message.due_at, message.expires_at) = (times.due_at, times.expires_at);
        door::write_times(&mut message);
        let id = old.message.id;
        if !is_paid_for(node, old.queue, &old.message, &mut message) {
            if is_sent(asker, id).await? {
                continue;
            }
            // The old one stays: the new one might not be accepted.
            return Err(CommandStatus::ESME_RINVMSGLEN);
        }
        let in_place = content::parts(&old.message) == 1 && is_single(node, old.queue, &message);
        let ordered = if in_place {
            let new = replacement(node, message.clone(), times);
            asker.order(id, Verb::Replace, Some(new)).await
        } else {
            // A divided message cannot be replaced in place: it is cancelled, and the new one is a
            // separate message.
            asker.order(id, Verb::Cancel, None).await
        };
        match ordered {
            Ok(()) if in_place => {
                // Another bind of the account may have submitted it; the response must use the form of
                // ids of this bind.
                let form = IdNotation {
                    short: message.short_id,
                    ..IdNotation::of(&old.message)
                };
                return Ok(Replaced::Old(form.text(shown_id::number(&old.message))));
            }
            Ok(()) => break,
            // It was sent meanwhile: perhaps an older message waits.
            Err(None) => {}
            Err(Some(status)) => return Err(status),
        }
    }
    Ok(Replaced::Nothing(Box::new(message)))
}

/// Whether what a message was accepted with covers its new content, as rates, quotas and the balance count at the peer of
/// this queue. Notes how many short messages the new one takes.
pub(in crate::actors::ingress) fn is_paid_for(
    node: &NodeContext,
    queue: u32,
    old: &Message,
    new: &mut Message,
) -> bool {
    node.plan().note_segments_at(queue, new);
    content::segments(new) <= content::segments(old)
}

/// Whether a message goes to the peer of a queue as one message.
pub(in crate::actors::ingress) fn is_single(
    node: &NodeContext,
    queue: u32,
    message: &Message,
) -> bool {
    let plan = node.plan();
    plan.peer_encoding_of(queue).is_none_or(|peer_encoding| {
        actors_content::way(message, peer_encoding) == PeerTreatment::Single
    })
}

/// Whether a message is beyond replacement.
async fn is_sent(asker: &Asker, id: u64) -> Result<bool, CommandStatus> {
    match orders::history(&asker.node, id).await {
        Ok(history) => Ok(is_over(&history)),
        Err(refusal) => trouble(&refusal).map_or(Ok(true), Err),
    }
}

fn is_over(history: &MessageHistory) -> bool {
    history.stored.fin.is_some() || history.accepted_attempt().is_some()
}

/// The message with the sender's changes. Empty fields stay as they were, except registered_delivery,
/// which cannot be empty (§4.10.1).
fn changed(
    asker: &Asker,
    history: &MessageHistory,
    replace: &ReplaceSm,
) -> Result<Replacement, CommandStatus> {
    let node = &asker.node;
    let now = clock::now_ms();
    let mut message = history.stored.message.clone();
    let schedule = time::parse_time(&replace.schedule_delivery_time, now)
        .map_err(|_| CommandStatus::ESME_RINVSCHED)?;
    let valid_until = time::parse_time(&replace.validity_period, now)
        .map_err(|_| CommandStatus::ESME_RINVEXPIRY)?;
    let times = times(node, history, schedule, valid_until)?;
    if schedule.is_some() {
        message.schedule_delivery_time = replace.schedule_delivery_time.to_vec();
    }
    if valid_until.is_some() {
        message.validity_period = replace.validity_period.to_vec();
    }
    (message.due_at, message.expires_at) = (times.due_at, times.expires_at);
    door::write_times(&mut message);
    message.registered_delivery = u32::from(replace.registered_delivery);
    if replace.sm_default_msg_id != 0 {
        message.sm_default_msg_id = u32::from(replace.sm_default_msg_id);
    }
    let in_payload = replace.tlvs.get(tag::MESSAGE_PAYLOAD).is_some();
    if in_payload || !replace.short_message.is_empty() {
        message.short_message = replace.short_message.clone();
        let new: Vec<u16> = replace.tlvs.iter().map(|(tag, _)| tag).collect();
        let old = Tlvs::from_raw(message.tlvs.clone());
        let mut tlvs = old.without(&[&new[..], &[tag::MESSAGE_PAYLOAD]].concat());
        for (tag, value) in replace.tlvs.iter() {
            tlvs.push(tag, value);
        }
        message.tlvs = tlvs.raw().clone();
        message.set_alphabet(asker.alphabet());
        door::content(&mut message, ingest::bringer(&node.plan(), asker.account))?;
        let queue = history.stored.queue;
        let is_covered = is_paid_for(node, queue, &history.stored.message, &mut message);
        if !is_covered || !is_single(node, queue, &message) {
            return Err(CommandStatus::ESME_RINVMSGLEN);
        }
    }
    Ok(replacement(node, message, times))
}

/// The times of a message with those that its sender changes, in Unix milliseconds.
pub(in crate::actors::ingress) fn times(
    node: &NodeContext,
    history: &MessageHistory,
    schedule: Option<i64>,
    valid_until: Option<i64>,
) -> Result<MessageTimes, CommandStatus> {
    let old = MessageTimes {
        due_at: history.due_at(),
        expires_at: history.stored.message.expires_at,
    };
    if schedule.is_none() && valid_until.is_none() {
        return Ok(old);
    }
    let due_at = schedule.unwrap_or(old.due_at);
    let expires_at = valid_until.unwrap_or(old.expires_at);
    let lifetime = node.plan().lifetime();
    validity::times(clock::now_ms(), Some(due_at), Some(expires_at), lifetime)
        .map_err(|error| CommandStatus(error.command_status()))
}

/// The values of a message that a replacement changes. Each order has a unique number.
pub(in crate::actors::ingress) fn replacement(
    node: &NodeContext,
    message: Message,
    times: MessageTimes,
) -> Replacement {
    let own = |octets: &[u8]| Bytes::copy_from_slice(octets);
    Replacement {
        order: node.ids.next_anyway(clock::now_ms()),
        short_message: own(&message.short_message),
        tlvs: own(&message.tlvs),
        esm_class: message.esm_class,
        protocol_id: message.protocol_id,
        registered_delivery: message.registered_delivery,
        data_coding: message.data_coding,
        alphabet: message.alphabet,
        sm_default_msg_id: message.sm_default_msg_id,
        schedule_delivery_time: own(&message.schedule_delivery_time),
        validity_period: own(&message.validity_period),
        due_at: times.due_at,
        expires_at: times.expires_at,
        short_messages: message.composition.map_or(0, |one| one.short_messages),
    }
}
