//! What a submission over HTTP says, and the messages that it makes.

mod change;
pub(super) mod fields;
mod shape;

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::Value;

pub(super) use self::change::ChangeOrder;
pub(in crate::http) use self::shape::SubmissionOrder;

use self::fields::{check_reference, destination, hex, period, source, time};
use self::shape::{AlphabetName, MessageOrder, Recipient, RecipientValues, Recipients};
use crate::actors::context::plan::{AccountPlan, form_of, states_in};
use crate::actors::ingress::account_api::{Expiry, MOST};
use crate::content;
use crate::content::compose::{self, ComposedBody, MAX_PRIORITY, TextAlphabet};
use crate::domain::callback::states;
use crate::http::json::{self, kind_of};
use crate::http::problem::Problem;
use crate::numbers::Numbers;
use crate::pb::{ClientData, Message};

const MAX_METADATA: usize = 1_024;
/// Octets of all texts of a request in which values are filled in: those of a thousand full texts of 25 parts.
const MAX_FILLED: usize = 4 * 1024 * 1024;

/// A message to one recipient, ready to be submitted, or why it is not.
pub(in crate::http) struct DraftResult {
    /// As the request wrote it.
    pub to: String,
    pub reference: Option<String>,
    pub message: Result<Draft, Problem>,
}

/// A message, ready to be submitted.
#[derive(Clone)]
pub(in crate::http) struct Draft {
    pub message: Message,
    /// The alphabet in words.
    pub alphabet: &'static str,
    /// Short messages that the handset gets.
    pub parts: u32,
}

/// An order whose common part is checked.
struct PreparedOrder {
    recipients: Vec<Recipient>,
    /// Of recipients without one of their own.
    reference: Option<String>,
    content: OrderContent,
}

/// What the recipients of an order get.
enum OrderContent {
    /// One message for all; the octets are shared.
    Same(Box<Draft>),
    /// A text with each recipient's values, and the message without it.
    Filled(Box<MessageOrder>, Box<Message>),
}

/// What one request may make, so that a small body cannot fill the memory.
struct Room {
    /// Recipients that may still come.
    recipients: usize,
    /// Octets that texts with values may still have.
    octets: usize,
}

/// The messages of a request body, in its order. `numbers`: how the account writes recipients.
///
/// # Errors
/// The body as a whole cannot be read, or has no or too many recipients.
pub(in crate::http) fn read(
    octets: &[u8],
    now: i64,
    numbers: &Numbers,
) -> Result<Vec<DraftResult>, Problem> {
    let body = json::value(octets)?;
    let mut room = Room {
        recipients: MOST,
        octets: MAX_FILLED,
    };
    let mut drafts = Vec::new();
    match body {
        Value::Object(mut members) if members.contains_key("messages") => {
            let orders = members.remove("messages");
            if let Some(other) = members.keys().next() {
                let detail = format!("{other} does not belong beside messages; put it into each");
                return Err(Problem::bad_value(other, detail));
            }
            let Some(Value::Array(orders)) = orders else {
                return Err(Problem::bad_value("messages", "messages must be a list"));
            };
            for order in orders {
                let to = order.get("to").and_then(Value::as_str).unwrap_or_default();
                let to = to.to_owned();
                match MessageOrder::parse(order).and_then(|order| order.prepare(now)) {
                    Ok(prepared) => drafts.extend(prepared.drafts(numbers, &mut room)?),
                    Err(problem) => {
                        room.take(1)?;
                        drafts.push(DraftResult {
                            to,
                            reference: None,
                            message: Err(problem),
                        });
                    }
                }
            }
        }
        // Alone, what is wrong with it is what is wrong with the request.
        single @ Value::Object(_) => {
            drafts = MessageOrder::parse(single)?
                .prepare(now)?
                .drafts(numbers, &mut room)?;
        }
        other => {
            let detail = format!("the body must be a JSON object, not {}", kind_of(&other));
            return Err(Problem::bad_value("body", detail));
        }
    }
    if drafts.is_empty() {
        Err(Problem::bad_value("to", "there is no recipient"))
    } else {
        Ok(drafts)
    }
}

/// Refuses drafts whose callback their account does not allow, or does not have.
pub(super) fn check_callbacks(account: &AccountPlan, drafts: &mut [DraftResult]) {
    for drafted in drafts {
        if let Ok(draft) = &drafted.message
            && let Err(problem) = check_callback(account, &draft.message)
        {
            drafted.message = Err(problem);
        }
    }
}

fn check_callback(account: &AccountPlan, message: &Message) -> Result<(), Problem> {
    let client = message.client_data.as_deref();
    if let Some(client) = client.filter(|client| !client.callback.is_empty()) {
        let checked = account
            .callbacks
            .check(&client.callback, client.callback_form());
        return checked.map_err(|why| Problem::bad_value("callback", format!("callback {why}")));
    }
    if !states::any(message.report_states) {
        return Ok(());
    }
    let wrong = |why: &str| {
        let detail = format!("callback_states: {why}");
        Err(Problem::bad_value("callback_states", detail))
    };
    if !account.config.deliver_by.by_callback() {
        return wrong("the account has its receipts on binds; give a callback, too");
    }
    let possible = states_in(form_of(&account.config));
    match message.report_states & !states::CHOSEN & !possible {
        0 => Ok(()),
        _ => wrong("callbacks in the form of Jasmin report only \"sent\""),
    }
}

/// The states that a submission chooses to hear of, if it chooses.
pub(super) fn chosen_states(words: Option<&[String]>) -> Result<u32, Problem> {
    let Some(words) = words else { return Ok(0) };
    let set = states::set(words.iter().map(String::as_str)).map_err(|error| {
        Problem::bad_value("callback_states", format!("callback_states: {error}"))
    })?;
    Ok(states::CHOSEN | set)
}

// === impl Room ===

impl Room {
    /// Lets so many recipients more come.
    fn take(&mut self, recipients: usize) -> Result<(), Problem> {
        let left = self.recipients.checked_sub(recipients);
        self.recipients = left.ok_or_else(|| {
            let count = MOST - self.recipients + recipients;
            let detail = format!("there are {count} recipients; a request may have {MOST}");
            Problem::bad_value("to", detail)
        })?;
        Ok(())
    }

    /// Lets a text with values be so long.
    fn fill(&mut self, octets: usize) -> Result<(), Problem> {
        let left = self.octets.checked_sub(octets);
        self.octets = left.ok_or_else(|| {
            let detail = format!(
                "text: the texts of a request may have {MAX_FILLED} octets together when their values are filled in"
            );
            Problem::bad_value("text", detail)
        })?;
        Ok(())
    }
}

// === impl PreparedOrder ===

impl PreparedOrder {
    /// A message for each recipient.
    fn drafts(self, numbers: &Numbers, room: &mut Room) -> Result<Vec<DraftResult>, Problem> {
        room.take(self.recipients.len())?;
        let recipients = self.recipients.into_iter().map(RecipientValues::from);
        let drafts = recipients.map(|recipient| {
            let message = recipient.draft(&self.content, numbers, room);
            DraftResult {
                to: recipient.number,
                reference: recipient.reference.or_else(|| self.reference.clone()),
                message,
            }
        });
        Ok(drafts.collect())
    }
}

// === impl RecipientValues ===

impl RecipientValues {
    /// The message to this recipient.
    fn draft(
        &self,
        content: &OrderContent,
        numbers: &Numbers,
        room: &mut Room,
    ) -> Result<Draft, Problem> {
        check_reference(self.reference.as_deref())?;
        let destination = destination(&self.number, numbers)?;
        let mut draft = match content {
            OrderContent::Same(draft) => draft.as_ref().clone(),
            OrderContent::Filled(order, template) => {
                let body = order.body(&self.values)?;
                room.fill(body.octets.len())?;
                Draft::new(&body, template.as_ref().clone())
            }
        };
        draft.message.destination = destination;
        if let Some(reference) = &self.reference {
            let client = draft.message.client_data.get_or_insert_default();
            client.reference.clone_from(reference);
        }
        Ok(draft)
    }
}

impl From<Recipient> for RecipientValues {
    fn from(recipient: Recipient) -> Self {
        match recipient {
            Recipient::WithValues(own) => own,
            Recipient::Number(number) => Self {
                number,
                values: BTreeMap::new(),
                reference: None,
            },
        }
    }
}

// === impl Draft ===

impl Draft {
    /// A message with this body.
    pub(super) fn new(body: &ComposedBody, mut message: Message) -> Self {
        body.carry(&mut message);
        Self {
            parts: content::segments(&message),
            alphabet: body.alphabet,
            message,
        }
    }
}

// === impl MessageOrder ===

impl MessageOrder {
    fn parse(value: Value) -> Result<Self, Problem> {
        match value {
            Value::Object(_) => json::of_value(value),
            other => {
                let detail = format!("a message must be an object, not {}", kind_of(&other));
                Err(Problem::bad_value("messages", detail))
            }
        }
    }

    /// Checks what is the same for all recipients.
    fn prepare(mut self, now: i64) -> Result<PreparedOrder, Problem> {
        let template = self.template(now)?;
        let recipients = match self.to.take() {
            None => return Err(Problem::bad_value("to", "to is missing: who shall get it?")),
            Some(Recipients::One(number)) => vec![Recipient::Number(number)],
            Some(Recipients::Many(many)) => many,
        };
        let reference = self.reference.clone();
        let has_values = self.text.as_ref().is_some_and(|text| text.contains("{{"));
        let content = if has_values {
            OrderContent::Filled(Box::new(self), Box::new(template))
        } else {
            let body = self.body(&BTreeMap::new())?;
            OrderContent::Same(Box::new(Draft::new(&body, template)))
        };
        Ok(PreparedOrder {
            recipients,
            reference,
            content,
        })
    }

    /// What the messages have in common.
    fn template(&self, now: i64) -> Result<Message, Problem> {
        let source = source(&self.from)?;
        let priority = u32::from(self.priority.unwrap_or_default());
        if priority > MAX_PRIORITY {
            let detail = format!("priority must be 0 to {MAX_PRIORITY}, not {priority}");
            return Err(Problem::bad_value("priority", detail));
        }
        check_reference(self.reference.as_deref())?;
        if let Some(metadata) = &self.metadata
            && Value::Object(metadata.clone()).to_string().len() > MAX_METADATA
        {
            let detail = format!("metadata has more than {MAX_METADATA} octets as JSON");
            return Err(Problem::bad_value("metadata", detail));
        }
        let send_at = self.send_at.as_deref().map(|text| time("send_at", text));
        let send_at = send_at.transpose()?;
        let report_states = chosen_states(self.callback_states.as_deref())?;
        let wants_receipt = self.receipt || self.callback.is_some() || states::any(report_states);
        let mut message = Message {
            priority,
            registered_delivery: u32::from(wants_receipt),
            report_states,
            client_data: self.client_data(),
            ..compose::between(source, Bytes::new())
        };
        let begins = send_at.unwrap_or(now);
        let valid_until = self.expiry()?.map(|expiry| expiry.from(begins));
        compose::set_times(&mut message, send_at, valid_until);
        Ok(message)
    }

    /// Until when it may be delivered, if it says so.
    fn expiry(&self) -> Result<Option<Expiry>, Problem> {
        match (&self.valid_until, &self.valid_for) {
            (None, None) => Ok(None),
            (Some(until), None) => Ok(Some(Expiry::At(time("valid_until", until)?))),
            (None, Some(text)) => Ok(Some(Expiry::After(period(text)?))),
            (Some(_), Some(_)) => Err(Problem::bad_value(
                "valid_for",
                "valid_for and valid_until say the same; give one of them",
            )),
        }
    }

    fn body(&self, values: &BTreeMap<String, String>) -> Result<ComposedBody, Problem> {
        match (&self.text, &self.data) {
            (Some(text), None) => {
                if self.header.is_some() {
                    let detail = "header belongs to data; a text gets its own";
                    return Err(Problem::bad_value("header", detail));
                }
                let text = filled(text, values)?;
                if text.is_empty() {
                    return Err(Problem::bad_value(
                        "text",
                        "text is empty: there is nothing to send",
                    ));
                }
                let alphabet = match self.alphabet {
                    None => TextAlphabet::Auto,
                    Some(AlphabetName::Gsm) => TextAlphabet::Gsm,
                    Some(AlphabetName::Ucs2) => TextAlphabet::Ucs2,
                    Some(AlphabetName::Latin1) => TextAlphabet::Latin1,
                };
                compose::text(&text, alphabet, self.flash)
                    .map_err(|refused| Problem::bad_value("text", format!("text: {refused}")))
            }
            (None, Some(data)) => {
                if self.alphabet.is_some() {
                    let detail = "alphabet belongs to text; data has none";
                    return Err(Problem::bad_value("alphabet", detail));
                }
                let header = hex("header", self.header.as_deref().unwrap_or_default())?;
                compose::data(hex("data", data)?, header, self.flash)
                    .map_err(|refused| Problem::bad_value("header", format!("header: {refused}")))
            }
            (Some(_), Some(_)) => Err(Problem::bad_value(
                "data",
                "a message has either text or data",
            )),
            (None, None) => Err(Problem::bad_value("text", "text is missing, and data too")),
        }
    }

    /// What comes back with the message.
    fn client_data(&self) -> Option<Box<ClientData>> {
        if self.reference.is_none() && self.metadata.is_none() && self.callback.is_none() {
            return None;
        }
        let metadata = self.metadata.clone().map(Value::Object);
        Some(Box::new(ClientData {
            reference: self.reference.clone().unwrap_or_default(),
            metadata: metadata.map_or_else(String::new, |metadata| metadata.to_string()),
            callback: self.callback.clone().unwrap_or_default(),
            ..ClientData::default()
        }))
    }
}

/// The text with the recipient's values in it. Values are not looked through again.
fn filled(text: &str, values: &BTreeMap<String, String>) -> Result<String, Problem> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let (name, after) = after
            .split_once("}}")
            .ok_or_else(|| Problem::bad_value("text", "text has {{ without }}; write {{name}}"))?;
        let name = name.trim();
        let value = values.get(name).ok_or_else(|| {
            let detail = format!("there is no value for {{{{{name}}}}}");
            Problem::bad_value("values", detail)
        })?;
        out.push_str(value);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests;
