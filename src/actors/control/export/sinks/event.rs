//! What an event of a sink says: its id, its subject or topic, and its body as JSON or protobuf (docs/events.md).
//!
//! Guarantees that an event has the same id however often it is made. Pure, but for the names in the plan.

use data_encoding::HEXLOWER;

use prost::Message as _;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::super::record;
use super::super::told::EventMessages;
use crate::actors::context::plan::{Plan, SinkPlan};
use crate::actors::context::traced;
use crate::config::{SinkEventKind, SinkFormat, SinkMessageId};
use crate::content;
use crate::domain::queue_name::QueueName;
use crate::domain::{address, moment, state};
use crate::pb::events::Event;
use crate::pb::{self, EarlyEvent, EarlyKind, Message, MessageState};
use crate::store::SentRow;
use crate::store::outbox::CdrRow;
use crate::store::sinks::SinkEvent;

/// Name space of the eventId of smpp-connector's events. Part of what is published: never change it.
const EVENTS: Uuid = Uuid::from_u128(0x5d0c_6e0a_8f0e_4f5e_9a55_736d_7363_0002);

/// An event as it is published.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Publication {
    pub(super) id: String,
    /// Its subject or topic.
    pub(super) destination: String,
    /// Events with the same key are published in their order: the message, or the operator.
    pub(super) key: String,
    pub(super) content_type: &'static str,
    pub(super) body: Vec<u8>,
    /// The W3C trace that the message belongs to; empty for none.
    pub(super) trace: String,
}

/// Appends what a sink is told of an event: nothing where it is about something inside.
pub(super) fn publications(
    plan: &Plan,
    sink: &SinkPlan,
    known: &EventMessages,
    event: &SinkEvent,
    out: &mut Vec<Publication>,
) {
    let before = out.len();
    let mut add = |kind: SinkEventKind, event: Event, json: Json<'_>| {
        if sink.config.events.contains(&kind) {
            out.push(publication(sink, kind, event, json));
        }
    };
    match event {
        SinkEvent::Early(0, early) => {
            add(SinkEventKind::Health, health(plan, early), Json::Health);
        }
        SinkEvent::Early(row, early) if early.kind() == EarlyKind::Unmatched => {
            add(SinkEventKind::Dlr, unmatched(plan, *row, early), Json::Dlr);
        }
        SinkEvent::Early(id, early) => {
            for told in known.told_of(*id, early) {
                let from = out.len();
                if let Some((kind, event)) = of_message(plan, &told.stored.message, early)
                    && sink.config.events.contains(&kind)
                {
                    let event = with_ids(event, told.ids);
                    out.push(publication(sink, kind, event, Json::Event));
                    with_trace(&told.stored.message, out, from);
                }
            }
        }
        SinkEvent::Ended(id) => {
            let Some(stored) = known.messages.get(id) else {
                return;
            };
            let Some(row) = record::record(plan, stored) else {
                return;
            };
            let taken = known.taken(plan, &stored.message);
            let is_reported = (taken.as_ref()).is_some_and(|(one, _)| is_reported(plan, &row, one));
            if is_reported || has_failed(&row) {
                let (attempt, ids) = taken.unzip();
                let event = with_ids(dlr(plan, &row, attempt), ids.unwrap_or_default());
                add(SinkEventKind::Dlr, event, Json::Dlr);
            }
            if sink.config.events.contains(&SinkEventKind::Ended) {
                add(SinkEventKind::Ended, ended(&row), Json::Record(&row));
            }
            with_trace(&stored.message, out, before);
        }
    }
}

/// Says to which trace what was added belongs.
fn with_trace(message: &Message, out: &mut [Publication], from: usize) {
    if let Some(trace) = traced::context_of(message) {
        let trace = trace.traceparent(trace.parent);
        out[from..]
            .iter_mut()
            .for_each(|one| one.trace.clone_from(&trace));
    }
}

/// How the body is written as JSON.
enum Json<'r> {
    /// The fields of the event.
    Event,
    /// DlrInboundEvent 1.0, as smpp-connector publishes it.
    Dlr,
    /// OperatorHealthEvent 1.0.
    Health,
    /// The call detail record.
    Record(&'r CdrRow),
}

fn publication(sink: &SinkPlan, kind: SinkEventKind, event: Event, json: Json<'_>) -> Publication {
    let operator = operator_id(&event);
    let key = if event.id.is_empty() {
        event.operator.clone()
    } else {
        event.id.clone()
    };
    Publication {
        id: event.event_id.clone(),
        destination: sink.config.destination_for(kind, operator, &event.account),
        key,
        content_type: match sink.config.format {
            SinkFormat::Json => "application/json",
            SinkFormat::Protobuf => "application/x-protobuf",
        },
        body: match (sink.config.format, json) {
            (SinkFormat::Protobuf, _) => event.encode_to_vec(),
            (SinkFormat::Json, Json::Event) => fields(&event).to_string().into_bytes(),
            (SinkFormat::Json, Json::Dlr) => dlr_json(&event, sink.config.message_id)
                .to_string()
                .into_bytes(),
            (SinkFormat::Json, Json::Health) => health_json(&event).to_string().into_bytes(),
            (SinkFormat::Json, Json::Record(row)) => with_record(&event, row),
        },
        trace: String::new(),
    }
}

/// What has happened to a message before its end.
fn of_message(
    plan: &Plan,
    message: &Message,
    early: &EarlyEvent,
) -> Option<(SinkEventKind, Event)> {
    if content::is_internal(message) {
        return None;
    }
    let id = message.id;
    let (kind, event_id) = match early.kind() {
        EarlyKind::Accepted => (SinkEventKind::Accepted, format!("{id}.accepted")),
        EarlyKind::Mo => (SinkEventKind::Mo, format!("{id}.mo")),
        EarlyKind::Sent => (SinkEventKind::Sent, format!("{id}.sent.{}", early.at)),
        EarlyKind::Retry => (SinkEventKind::Retry, format!("{id}.retry.{}", early.due_at)),
        _ => return None,
    };
    let taken_by = plan.name_of(early.operator);
    // A text that was divided is "sent" by its parts.
    if kind == SinkEventKind::Sent && QueueName::parse(taken_by).is_internal() {
        return None;
    }
    let is_mo = message.kind() == pb::Kind::Mo;
    let operator = if is_mo {
        plan.name_of(message.sender)
    } else {
        taken_by
    };
    let account = if is_mo {
        plan.account_of(message.queue).unwrap_or_default()
    } else {
        message.sender
    };
    let account = QueueName::parse(plan.name_of(account)).account();
    let mut event = Event {
        event: kind.as_str().to_owned(),
        event_id,
        at: early.at,
        id: id.to_string(),
        state: state::name(MessageState::Enroute as u8).to_owned(),
        kind: if is_mo { "MO" } else { "MT" }.to_owned(),
        account: account.unwrap_or_default().to_owned(),
        operator: operator.to_owned(),
        from: address::printable(&message.source),
        to: address::printable(&message.destination),
        accepted_at: message.accepted_at,
        data_coding: message.data_coding,
        attempt: early.attempt,
        operator_message_id: address::printable(&early.operator_message_id),
        due_at: early.due_at,
        ..Event::default()
    };
    if kind == SinkEventKind::Retry && early.operator != 0 && early.status != SentRow::NO_ANSWER {
        event.status = Some(early.status);
    }
    if kind == SinkEventKind::Mo {
        match content::text_of(message) {
            Some(text) => event.text = text,
            None => event.payload = content::payload(message),
        }
    }
    Some((kind, event))
}

/// The event of a message that is sent as several, with the ids of all of them.
fn with_ids(event: Event, ids: Vec<String>) -> Event {
    match ids.len() {
        ..2 => event,
        count => Event {
            parts: u32::try_from(count).unwrap_or(u32::MAX),
            operator_message_ids: ids,
            ..event
        },
    }
}

fn ended(row: &CdrRow) -> Event {
    Event {
        operator: row.operator.clone(),
        from: row.from.clone(),
        to: row.to.clone(),
        accepted_at: row.accepted_at,
        attempts: row.attempts,
        data_coding: row.data_coding,
        octets: row.octets,
        parts: row.parts,
        network: row.network.clone(),
        price: row.price,
        currency: row.currency.clone(),
        replay_of: match row.replay_of {
            0 => String::new(),
            id => id.to_string(),
        },
        ..of_end(row, SinkEventKind::Ended)
    }
}

/// What all events of the end of a message say.
fn of_end(row: &CdrRow, kind: SinkEventKind) -> Event {
    Event {
        event: kind.as_str().to_owned(),
        event_id: format!("{}.{}", row.id, kind.as_str()),
        at: row.final_at,
        id: row.id.to_string(),
        state: state::name(row.state as u8).to_owned(),
        kind: row.kind().to_owned(),
        account: row.account.clone(),
        error: row.error.clone(),
        done_at: row.done_at,
        client_reference: row.client_reference.clone(),
        ..Event::default()
    }
}

/// Whether the operator that took a message has reported its end, rather than the answer being all there is.
fn is_reported(plan: &Plan, row: &CdrRow, attempt: &SentRow) -> bool {
    let taken_by = plan.name_of(attempt.operator);
    let is_by_answer = row.state == MessageState::Accepted && row.done_at == 0;
    !row.is_mo
        && QueueName::parse(taken_by).is_connected()
        && row.operator == taken_by
        && !is_by_answer
}

/// Whether a message for an operator has ended without arriving, and without a report: it was refused for good, or has
/// expired here, or nobody knows.
fn has_failed(row: &CdrRow) -> bool {
    let arrived = [MessageState::Delivered, MessageState::Accepted].contains(&row.state);
    !row.is_mo && !arrived && QueueName::parse(meant_for(row)).is_connected()
}

/// Who had it last, or was to have it.
fn meant_for(row: &CdrRow) -> &str {
    if QueueName::parse(&row.operator).is_connected() {
        &row.operator
    } else {
        &row.queue
    }
}

/// The report of a message that has ended; `attempt` is the one that an operator has accepted.
fn dlr(plan: &Plan, row: &CdrRow, attempt: Option<&SentRow>) -> Event {
    let taken_by = attempt.map(|attempt| plan.name_of(attempt.operator));
    let taken_by = taken_by.filter(|name| QueueName::parse(name).is_connected());
    Event {
        operator: taken_by.unwrap_or(meant_for(row)).to_owned(),
        operator_message_id: attempt
            .map(|attempt| address::printable(&attempt.operator_message_id))
            .unwrap_or_default(),
        ..of_end(row, SinkEventKind::Dlr)
    }
}

/// The report that a receipt is which matches no message: `row` keeps it.
fn unmatched(plan: &Plan, row: u64, early: &EarlyEvent) -> Event {
    Event {
        event: SinkEventKind::Dlr.as_str().to_owned(),
        event_id: format!("{row}.dlr"),
        at: early.at,
        state: state::name(early.state() as u8).to_owned(),
        operator: plan.name_of(early.operator).to_owned(),
        operator_message_id: address::printable(&early.operator_message_id),
        error: address::printable(&early.error),
        done_at: early.done_at,
        ..Event::default()
    }
}

fn health(plan: &Plan, early: &EarlyEvent) -> Event {
    let state = match early.kind() {
        EarlyKind::Bound => "BOUND",
        EarlyKind::Failback => "FAILBACK",
        _ => "UNBOUND",
    };
    let operator = plan.name_of(early.operator);
    Event {
        event: SinkEventKind::Health.as_str().to_owned(),
        event_id: format!("{operator}.{}.{}", state.to_lowercase(), early.at),
        at: early.at,
        state: state.to_owned(),
        operator: operator.to_owned(),
        node: early.node,
        ..Event::default()
    }
}

/// The id of an operator, without what it is.
fn operator_id(event: &Event) -> &str {
    QueueName::parse(&event.operator).id()
}

fn some(text: &str) -> Value {
    if text.is_empty() {
        Value::Null
    } else {
        text.into()
    }
}

/// Version 5 of what identifies the event, so that it is the same whenever the event is published.
fn event_uuid(event: &Event) -> String {
    Uuid::new_v5(&EVENTS, event.event_id.as_bytes()).to_string()
}

fn dlr_json(event: &Event, message_id: SinkMessageId) -> Value {
    let by_reference = message_id == SinkMessageId::Reference && !event.client_reference.is_empty();
    let id = if by_reference {
        &event.client_reference
    } else {
        &event.id
    };
    let is_delivered = event.state == "DELIVERED";
    let at = match event.done_at {
        0 => event.at,
        done => done,
    };
    let mut body = json!({
        "version": "1.0",
        "eventId": event_uuid(event),
        "occurredAt": moment::show(event.at),
        "operatorMessageId": some(&event.operator_message_id),
        "operatorId": operator_id(event),
        "status": event.state,
        "deliveredAt": is_delivered.then(|| moment::show(at)).flatten(),
        "smppErrorCode": some(&event.error),
    });
    // Of a receipt that matches nothing there is none.
    if !id.is_empty() {
        body["messageId"] = id.as_str().into();
    }
    if !event.operator_message_ids.is_empty() {
        body["operatorMessageIds"] = json!(event.operator_message_ids);
    }
    body
}

fn health_json(event: &Event) -> Value {
    json!({
        "version": "1.0",
        "eventId": event_uuid(event),
        "occurredAt": moment::show(event.at),
        "operatorId": operator_id(event),
        "status": event.state,
        "node": event.node,
    })
}

/// The fields of an event that say something.
fn fields(event: &Event) -> Value {
    let mut map = Map::new();
    let mut add = |key: &str, value: Value| {
        let says_nothing = value.is_null() || value == "" || value == 0;
        if !says_nothing {
            map.insert(key.to_owned(), value);
        }
    };
    add("event", event.event.as_str().into());
    add("event_id", event.event_id.as_str().into());
    add("at", event.at.into());
    add("id", event.id.as_str().into());
    add("state", event.state.as_str().into());
    add("kind", event.kind.as_str().into());
    add("account", event.account.as_str().into());
    add("operator", event.operator.as_str().into());
    add("from", event.from.as_str().into());
    add("to", event.to.as_str().into());
    add("accepted_at", event.accepted_at.into());
    add("attempt", event.attempt.into());
    add(
        "operator_message_id",
        event.operator_message_id.as_str().into(),
    );
    if !event.operator_message_ids.is_empty() {
        add("parts", event.parts.into());
        add("operator_message_ids", json!(event.operator_message_ids));
    }
    add("due_at", event.due_at.into());
    add("status", event.status.map_or(Value::Null, Value::from));
    if event.event == SinkEventKind::Mo.as_str() {
        add("data_coding", event.data_coding.into());
        add("text", event.text.as_str().into());
        add("payload", HEXLOWER.encode(&event.payload).into());
    }
    Value::Object(map)
}

/// The call detail record, behind what all events begin with.
fn with_record(event: &Event, row: &CdrRow) -> Vec<u8> {
    let mut body = format!(
        "{{\"event\":\"{}\",\"event_id\":\"{}\",\"at\":{},",
        event.event, event.event_id, event.at
    )
    .into_bytes();
    body.extend_from_slice(&record::object(row)[1..]);
    body
}
