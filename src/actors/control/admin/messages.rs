//! Messages in the form of the admin API: the store's rows with names instead of ids.

use std::sync::Arc;

use super::context::AdminContext;
use super::waits::UnheldStage;
use super::{damaged, waits};
use crate::actors::context::remote_command;
use crate::actors::context::traced;
use crate::actors::context::{NodeContext, pages};
use crate::actors::control::export::Records;
use crate::actors::orders;
use crate::api::{
    Attempt, Change, ErasedMessages, ErrorInWords, Final, Message, Messages, Trace, time,
};
use crate::clock;
use crate::domain::address::{mask, printable};
use crate::domain::error_meaning::{self, AttemptAnswer};
use crate::domain::trace::to_hex;
use crate::domain::{bind, command_status};
use crate::pb::order::What;
use crate::pb::{EraseRecords, MessageState, Refusal};
use crate::store::archive::Erased;
use crate::store::failed::FailedSearch;
use crate::store::heard::HeardRow;
use crate::store::{
    ChangeKind, ChangeRow, FinRow, FoundMessages, MessageHistory, Search, SentRow, Stored,
};

pub use crate::store::failed::is_listed_by_end;

/// Which messages are wanted. What is empty, 0 or unspecified fits any.
#[derive(Debug, Clone, Default)]
pub struct MessageFilter {
    /// Destination digits, exact.
    pub to: String,
    /// The first digits of the destination.
    pub to_prefix: String,
    /// ISO 3166-1 code of its country; empty for destinations without one.
    pub country: Option<&'static str>,
    /// The network that was looked up for it.
    pub network: String,
    /// Source address, exact.
    pub from: String,
    /// Name of the account or operator that sent it, with or without its kind.
    pub sender: String,
    /// Name of the operator or queue that it is in, or was in at its end.
    pub operator: String,
    /// Accepted at this time or later, Unix milliseconds.
    pub since: i64,
    /// Accepted before this time, Unix milliseconds.
    pub until: i64,
    /// Ended at this time or later, Unix milliseconds.
    pub ended_since: i64,
    /// Ended before this time, Unix milliseconds.
    pub ended_until: i64,
    /// The latest end first, instead of the latest acceptance; only for states that [`is_listed_by_end`] has.
    pub by_end: bool,
    /// ENROUTE means not final.
    pub state: MessageState,
    /// Only ids below this one.
    pub before: u64,
    pub limit: u32,
}

/// One message with its whole history.
pub async fn find(admin: Arc<AdminContext>, id: u64, with_text: bool) -> Result<Message, Refusal> {
    with_history(&admin.node, id, with_text).await
}

/// One message with its whole history, for whoever has the node and not the actor.
pub(super) async fn with_history(
    node: &Arc<NodeContext>,
    id: u64,
    with_text: bool,
) -> Result<Message, Refusal> {
    let history = match orders::history(node, id).await {
        Ok(history) => history,
        Err(refusal) => return Err(damaged::instead(node, id, refusal).await),
    };
    if history.stored.fin.is_none()
        && let Some(since) = orders::held_since(node, id).await?
    {
        return Ok(Message {
            stage: Some("held".to_owned()),
            due_at: None,
            waits: Some(waits::held(since)),
            ..view(node, history, with_text)
        });
    }
    let stage = stage(&history, clock::now_ms());
    let waits = waits::why(node, &history, stage, history.due_at()).await;
    Ok(Message {
        waits,
        ..view(node, history, with_text)
    })
}

/// A page of messages, newest first, without attempts and changes.
pub async fn search(admin: Arc<AdminContext>, filter: MessageFilter) -> Result<Messages, Refusal> {
    let node = &admin.node;
    let found = page(node, &question(node, filter)?).await?;
    let messages = found.messages.into_iter();
    Ok(Messages {
        messages: messages
            .map(|stored| list_entry(node, stored, false))
            .collect(),
        next_before: found.next_before.map(|before| before.to_string()),
    })
}

/// A search in terms of the store, and the queue that the messages are to be in.
pub(super) struct Question {
    pub(super) search: Search,
    pub(super) queue: Option<u32>,
    pub(super) by_end: bool,
}

/// The search in terms of the store.
///
/// # Errors
/// A name that does not exist.
pub(super) fn question(node: &NodeContext, ask: MessageFilter) -> Result<Question, Refusal> {
    let state = match ask.state {
        MessageState::Unspecified => None,
        state => Some(state),
    };
    let sender = named(node, &ask.sender, sender)?;
    let queue = named(node, &ask.operator, operator)?;
    let search = Search {
        to: (!ask.to.is_empty()).then_some(ask.to),
        to_prefix: (!ask.to_prefix.is_empty()).then_some(ask.to_prefix),
        country: ask.country,
        network: (!ask.network.is_empty()).then_some(ask.network),
        from: (!ask.from.is_empty()).then_some(ask.from),
        sender,
        since: (ask.since != 0).then_some(ask.since),
        until: (ask.until != 0).then_some(ask.until),
        ended_since: (ask.ended_since != 0).then_some(ask.ended_since),
        ended_until: (ask.ended_until != 0).then_some(ask.ended_until),
        state,
        before: (ask.before != 0).then_some(ask.before),
        limit: ask.limit as usize,
    };
    Ok(Question {
        search,
        queue,
        by_end: ask.by_end,
    })
}

/// A page of the store, which has no index of queues over time.
pub(super) async fn page(
    node: &NodeContext,
    question: &Question,
) -> Result<FoundMessages, Refusal> {
    let in_queue = |stored: &Stored| question.queue.is_none_or(|queue| stored.queue == queue);
    let read = async |before, limit| {
        let which = question.search.at(before, limit);
        if question.by_end {
            let search = FailedSearch {
                which,
                by_end: true,
                ..FailedSearch::default()
            };
            node.store.failed(search).await
        } else {
            node.store.search(which).await
        }
    };
    let Search { before, limit, .. } = question.search;
    Ok(pages::full_page(before, limit, read, in_queue).await?)
}

/// The id of what has this name, which may be empty: then it is that of any.
pub(super) fn named(
    node: &NodeContext,
    name: &str,
    find: fn(&NodeContext, &str) -> Result<u32, Refusal>,
) -> Result<Option<u32>, Refusal> {
    (!name.is_empty()).then(|| find(node, name)).transpose()
}

/// The id of an account or operator that sends messages.
pub(super) fn sender(node: &NodeContext, name: &str) -> Result<u32, Refusal> {
    node.plan().sender(name).ok_or_else(|| {
        Refusal::not_found(format!(
            "there is no account {name:?} and never was; GET /v1/queues lists accounts and operators"
        ))
    })
}

/// The id of an operator or queue, by its name in routes or in the list of queues.
pub(super) fn operator(node: &NodeContext, name: &str) -> Result<u32, Refusal> {
    let plan = node.plan();
    // An account may have the same name.
    let known = plan.queue_of(name).or_else(|| plan.sender(name));
    known.ok_or_else(|| {
        Refusal::not_found(format!(
            "there is no operator {name:?} and never was; GET /v1/queues lists operators and accounts"
        ))
    })
}

/// Erases a subscriber's number and texts in finished messages.
pub async fn erase(
    admin: Arc<AdminContext>,
    msisdn: String,
    by: String,
) -> Result<ErasedMessages, Refusal> {
    let (node, intake) = (&admin.node, &admin.intake);
    let whom = mask(msisdn.as_bytes());
    let number = Some(msisdn.as_bytes());
    intake.networks.forget_everywhere(node, number).await?;
    intake.imsis.forget_everywhere(node, number).await?;
    let result = node.store.erase_msisdn(msisdn.clone()).await;
    match &result {
        Ok(done) => tracing::info!(
            target: "audit",
            by, command = "erase", what = %whom, count = done.erased, active = done.active,
            "command carried out"
        ),
        Err(error) => tracing::warn!(
            target: "audit",
            by, command = "erase", what = %whom, reason = %error,
            "command refused"
        ),
    }
    let Erased { erased, active } = result?;
    let others = What::EraseRecords(EraseRecords {
        msisdn: msisdn.clone(),
    });
    remote_command::to_others(node, others).await?;
    erase_records(admin.records.clone(), msisdn).await.map_err(|error| {
        Refusal::unavailable(format!(
            "number and text are gone from {erased} messages, but not from all CDRs or the archive: {error}"
        ))
    })?;
    Ok(ErasedMessages { erased, active })
}

/// Erases a number in the call detail records of this node.
pub(super) async fn erase_records(records: Records, msisdn: String) -> std::io::Result<()> {
    let count = records.erase(msisdn).await?;
    tracing::info!(target: "audit", count, "a number was taken out of the CDRs");
    Ok(())
}

/// The stage that a message has reached, according to its rows.
fn stage(history: &MessageHistory, now: i64) -> UnheldStage {
    if history.stored.fin.is_some() {
        return UnheldStage::Final;
    }
    if history.accepted_attempt().is_some() {
        return UnheldStage::HandedOver;
    }
    if history.due_at() > now {
        return UnheldStage::Scheduled;
    }
    UnheldStage::Waiting
}

/// A message with its history, without why it waits.
pub(super) fn view(node: &NodeContext, history: MessageHistory, with_text: bool) -> Message {
    let stage = stage(&history, clock::now_ms());
    let due_at = history.due_at();
    let in_words = error_in_words(&history);
    let (mut told, mut given_up) = (history.told, false);
    if history
        .changes
        .iter()
        .any(|change| change.kind == ChangeKind::GiveUp)
    {
        (told, given_up) = (false, told);
    }
    let heard = history.heard.iter().map(|heard| heard_view(node, heard));
    let changes = history.changes.into_iter();
    let mut changes: Vec<(i64, Change)> = heard
        .chain(changes.map(|change| change_view(node, change)))
        .collect();
    changes.sort_by_key(|(at, _)| *at);
    let stage_name = match stage {
        UnheldStage::Waiting => "waiting",
        UnheldStage::Scheduled => "scheduled",
        UnheldStage::HandedOver => "handed over",
        UnheldStage::Final => "final",
    };
    Message {
        stage: Some(stage_name.to_owned()),
        due_at: time(due_at).filter(|_| stage == UnheldStage::Scheduled),
        history: history
            .attempts
            .into_iter()
            .map(|attempt| attempt_view(node, attempt))
            .collect(),
        changes: changes.into_iter().map(|(_, change)| change).collect(),
        fin: history.stored.fin.as_ref().map(|fin| Final {
            receipt_given_up: given_up,
            in_words,
            ..final_view(node, fin, told)
        }),
        ..list_entry(node, history.stored, with_text)
    }
}

/// A message for a list; the stage of an unfinished message is left out, because it would need its
/// attempts.
pub(super) fn list_entry(node: &NodeContext, stored: Stored, with_text: bool) -> Message {
    let fin = stored.fin.as_ref();
    let state = fin.map_or(MessageState::Enroute, |fin| fin.state);
    Message {
        stage: fin.map(|_| "final".to_owned()),
        sender: node.name_of(stored.message.sender),
        queue: node.name_of(stored.queue),
        attempts: stored.attempts,
        replayed_as: (stored.replayed_as != 0).then(|| stored.replayed_as.to_string()),
        fin: fin.map(|fin| final_view(node, fin, false)),
        trace: trace_view(node, &stored),
        ..Message::new(&stored.message, state, with_text)
    }
}

fn trace_view(node: &NodeContext, stored: &Stored) -> Option<Trace> {
    let end = stored.fin.as_ref().map(|fin| (fin.state, fin.at));
    let context = traced::shown(node, &stored.message, end)?;
    let trace_id = to_hex(&context.trace_id);
    let url = node.plan().config.telemetry.trace_url.clone();
    Some(Trace {
        traceparent: context.traceparent(context.parent),
        url: url
            .filter(|url| !url.is_empty())
            .map(|url| url.replace("{trace_id}", &trace_id)),
        trace_id,
    })
}

fn final_view(node: &NodeContext, fin: &FinRow, told: bool) -> Final {
    Final {
        at: time(fin.at),
        done_at: time(fin.done_at),
        error: printable(&fin.error),
        in_words: None,
        reported_by: node.name_of(fin.operator),
        receipt_to: node.name_of(fin.tell),
        receipt_acknowledged: told,
        receipt_given_up: false,
    }
}

/// What the end of a message means; `None` where only its operator knows, and where it has not failed.
pub(super) fn error_in_words(history: &MessageHistory) -> Option<ErrorInWords> {
    let fin = history.stored.fin.as_ref()?;
    let last = history.attempts.last();
    let last = last.map_or(AttemptAnswer::NotSent, answer_of);
    let error = printable(&fin.error);
    error_meaning::of_end(i32::from(fin.state) as u8, &error, last).map(ErrorInWords::from)
}

fn answer_of(attempt: &SentRow) -> AttemptAnswer {
    match attempt.status {
        SentRow::NO_ANSWER => AttemptAnswer::NoAnswer,
        status => AttemptAnswer::Status(status),
    }
}

fn change_view(node: &NodeContext, change: ChangeRow) -> (i64, Change) {
    let shown = Change {
        at: time(change.at),
        kind: change.name().to_owned(),
        queue: match change.kind {
            ChangeKind::Move => node.name_of(change.queue),
            _ => String::new(),
        },
        by: change.by,
    };
    (change.at, shown)
}

/// What an operator said of a message without ending it: its word, and its error.
fn heard_view(node: &NodeContext, heard: &HeardRow) -> (i64, Change) {
    let word = String::from_utf8_lossy(&heard.word);
    let error = String::from_utf8_lossy(&heard.error);
    let shown = Change {
        at: time(heard.at),
        kind: "heard".to_owned(),
        queue: node.name_of(heard.operator),
        by: if error.is_empty() {
            word.into_owned()
        } else {
            format!("{word} err:{error}")
        },
    };
    (heard.at, shown)
}

fn attempt_view(node: &NodeContext, attempt: SentRow) -> Attempt {
    Attempt {
        in_words: error_meaning::of_answer(answer_of(&attempt)).map(ErrorInWords::from),
        attempt: attempt.attempt,
        at: time(attempt.at),
        queue: node.name_of(attempt.operator),
        status: match attempt.status {
            SentRow::NO_ANSWER => "no answer".to_owned(),
            status => command_status::display(status),
        },
        operator_message_id: printable(&attempt.operator_message_id),
        latency_ms: attempt.latency_ms,
        bind: bind::display(attempt.bind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pb;
    use crate::store::RetryRow;

    fn fresh() -> MessageHistory {
        MessageHistory {
            stored: Stored {
                message: pb::Message::default(),
                queue: 1,
                fin: None,
                attempts: 0,
                replayed_as: 0,
                sent_at: 0,
            },
            attempts: Vec::new(),
            retry: None,
            told: false,
            changes: Vec::new(),
            heard: Vec::new(),
        }
    }

    fn attempt(status: u32) -> SentRow {
        SentRow {
            id: 1,
            attempt: 1,
            at: 0,
            operator: 1,
            status,
            operator_message_id: bytes::Bytes::new(),
            latency_ms: 0,
            correlation: 0,
            bind: 0,
            known_as: None,
        }
    }

    #[test]
    fn the_stage_follows_from_the_rows() {
        let mut history = fresh();
        assert_eq!(stage(&history, 1_000), UnheldStage::Waiting);
        history.stored.message.due_at = 2_000;
        assert_eq!(stage(&history, 1_000), UnheldStage::Scheduled);
        // A retry row replaces the time of the submission.
        history.attempts.push(attempt(0x58));
        history.retry = Some(RetryRow {
            id: 1,
            due_at: 900,
            attempts: 1,
        });
        assert_eq!(stage(&history, 1_000), UnheldStage::Waiting);
        history.attempts.push(attempt(SentRow::NO_ANSWER));
        assert_eq!(stage(&history, 1_000), UnheldStage::Waiting);
        history.attempts.push(attempt(0));
        assert_eq!(stage(&history, 1_000), UnheldStage::HandedOver);
        history.stored.fin = Some(FinRow {
            id: 1,
            at: 950,
            state: MessageState::Delivered,
            error: bytes::Bytes::new(),
            operator: 1,
            tell: 0,
            done_at: 0,
            remote_item: bytes::Bytes::new(),
            remote_part: 0,
        });
        assert_eq!(stage(&history, 1_000), UnheldStage::Final);
    }
}
