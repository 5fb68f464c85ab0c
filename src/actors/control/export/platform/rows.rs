//! What the platform says of a message: rows for its keys, made of what the store knows.

use crate::actors::context::plan::Plan;
use crate::actors::control::export::told::ToldMessage;
use crate::actors::egress::carrier;
use crate::config::{OperatorProtocol, RedisPlatform};
use crate::content;
use crate::domain::address::printable;
use crate::domain::queue_name::QueueName;
use crate::domain::{command_status, state};
use crate::pb::{ClientData, EarlyEvent, EarlyKind, Kind, MessageState};
use crate::store::redis::{PlatformRow, SubmittedAs};
use crate::store::{FinRow, MessageHistory, SentRow, Stored};

/// Before the platform's id in the sender's reference of a message that came from a list of Redis.
pub(in crate::actors::control) const REFERENCE: &str = "MT:";

/// What the platform says of a message that was accepted or sent; `None` for one that it has not.
pub(super) fn row_before(
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
        message: message.id,
        id: id_on_platform(plan, stored, section),
        is_mo,
        at: early.at,
        ..PlatformRow::default()
    };
    match early.kind() {
        EarlyKind::Sent if is_mo => None,
        EarlyKind::Sent => {
            let theirs = printable(&early.operator_message_id);
            let submitted = |id| submitted_as(plan, early.operator, id, early.at);
            // A text that was divided is sent by its parts.
            let is_whole = !QueueName::parse(plan.name_of(early.operator)).is_internal();
            let row = PlatformRow {
                submitted: Some(submitted(theirs)),
                parts: told.ids.into_iter().map(submitted).collect(),
                ..sent
            };
            is_whole.then_some(row)
        }
        _ => {
            let mut fields = fields_of(plan, stored, section);
            let state = state::name(MessageState::Enroute as u8);
            fields.push(("state", state.to_owned()));
            Some(PlatformRow { fields, ..sent })
        }
    }
}

/// What the platform says of a message; `None` for one that it has not: a part that was made here.
pub(super) fn row(
    plan: &Plan,
    history: &MessageHistory,
    section: &RedisPlatform,
) -> Option<PlatformRow> {
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
    // All of them are told with the time of the text, except where the operator tells its own.
    let at = taken.map_or(0, |one| one.at);
    let submitted =
        |one: &SentRow| submitted_as(plan, one.operator, printable(&one.operator_message_id), at);
    Some(PlatformRow {
        message: message.id,
        id: id_on_platform(plan, stored, section),
        is_mo,
        at: ended.at,
        fields,
        submitted: taken.map(submitted),
        parts: parts.map(submitted).collect(),
        failed: match (is_mo, taken) {
            (false, None) => Some(why(history)),
            _ => None,
        },
        report: (!is_mo && taken.is_some() && ended.operator != 0).then(|| report(ended)),
        is_forwarded: is_forwarded(history),
    })
}

/// Whether its account has the receipt, or waits for none.
pub(super) fn is_forwarded(history: &MessageHistory) -> bool {
    let waits = |ended: &FinRow| ended.tell != 0 && !history.told;
    !history.stored.fin.as_ref().is_some_and(waits)
}

/// How an operator that took a message names it: by SGIP the counter and the time of its Submit, otherwise by its id and when
/// that was.
fn submitted_as(plan: &Plan, operator: u32, id: String, at: i64) -> SubmittedAs {
    let operator = plan.operator(operator);
    let is_sgip = operator.is_some_and(|one| one.config.protocol == OperatorProtocol::Sgip);
    match carrier::sequence_in(&id).filter(|_| is_sgip) {
        Some(sequence) => SubmittedAs {
            seqno: sequence.counter.to_string(),
            ts: sequence.time.to_string(),
        },
        None => SubmittedAs {
            seqno: id,
            ts: at.to_string(),
        },
    }
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
    QueueName::parse(account).account().unwrap_or(account)
}

/// The id on the platform that a message was given before it was accepted: by the list that it came from, or by MT-gid.
fn id_on_platform(plan: &Plan, stored: &Stored, section: &RedisPlatform) -> Option<String> {
    let message = &stored.message;
    let client = message.client_data.as_deref()?;
    let is_theirs =
        message.kind() == Kind::Mt && section.account.as_deref() == Some(account_of(plan, stored));
    let of_list = |client: &ClientData| client.reference.strip_prefix(REFERENCE).map(str::to_owned);
    match is_theirs.then(|| of_list(client)).flatten() {
        Some(id) => Some(id),
        None => Some(client.platform_id.clone()).filter(|id| !id.is_empty()),
    }
}

/// Who has the message, or had it last.
fn operator<'p>(plan: &'p Plan, history: &MessageHistory) -> &'p str {
    let taken = history.accepted_attempt().or(history.attempts.last());
    taken.map_or("", |attempt| plan.name_of(attempt.operator))
}

/// The status of the last attempt; the final state if there was none.
fn why(history: &MessageHistory) -> String {
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
