//! Messages as their account sees them: without operators, queues and binds, which are not its business.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::actors::ingress::account_api::{MessageStep, MessagesPage, SeenMessage};
use crate::api::{OptOuts, ProblemDetails, StateName};
use crate::domain::moment;

/// `POST /v1/messages`
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct Submitted {
    /// One for each recipient, in the order of the request.
    pub messages: Vec<RecipientOutcome>,
    /// How many were accepted.
    pub accepted: usize,
    /// How many were refused.
    pub refused: usize,
}

/// What became of a message to one recipient.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = Outcome)]
pub(in crate::http) struct RecipientOutcome {
    /// As the request wrote it.
    pub to: String,
    /// Null if it was refused.
    pub id: Option<String>,
    /// Your own name for it.
    pub reference: Option<String>,
    /// Short messages that the handset gets; null if the message cannot be made.
    pub parts: Option<u32>,
    /// The alphabet in words; null if the message cannot be made.
    pub alphabet: Option<&'static str>,
    /// Why it was refused; null if it was accepted.
    pub error: Option<ProblemDetails>,
}

/// `POST /v1/messages/estimate`
#[derive(Debug, Serialize, ToSchema)]
pub(in crate::http) struct Estimates {
    /// One for each recipient, in the order of the request.
    pub messages: Vec<EstimateView>,
    /// Short messages of all that would be accepted.
    pub parts: u32,
    /// Credits for all that would be accepted; null if the account does not pay in advance.
    pub price: Option<i64>,
}

/// What would become of a message to one recipient.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(in crate::http) struct EstimateView {
    /// As the request wrote it.
    pub to: String,
    /// `to` in international form; null if it is no number.
    pub number: Option<String>,
    pub parts: Option<u32>,
    pub alphabet: Option<&'static str>,
    /// Credits; null if the account does not pay in advance.
    pub price: Option<i64>,
    /// Why it would be refused; null if it would be accepted now.
    pub error: Option<ProblemDetails>,
}

/// `GET /v1/messages`
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct MessagePage {
    /// Newest first.
    pub messages: Vec<MessageView>,
    /// `before` of the next page; null on the last one.
    pub next_before: Option<String>,
}

/// A message.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct MessageView {
    pub id: String,
    pub from: String,
    pub to: String,
    #[schema(value_type = StateName)]
    pub state: &'static str,
    /// Short messages that carry it.
    pub parts: u32,
    #[schema(format = DateTime)]
    pub accepted_at: String,
    /// When it is due, if that is not at once.
    #[schema(format = DateTime)]
    pub due_at: Option<String>,
    #[schema(format = DateTime)]
    pub expires_at: String,
    /// When it ended; null while it is under way.
    #[schema(format = DateTime)]
    pub ended_at: Option<String>,
    /// The error of the operator, as its receipt names it; null without one.
    pub error: Option<String>,
    /// Your own name for it.
    pub reference: Option<String>,
    /// What you have attached to it.
    #[schema(value_type = Option<BTreeMap<String, Value>>)]
    pub metadata: Option<Value>,
    /// With `text=true`, if it is a text that was not erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// `GET /v1/messages/{id}`
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct MessageDetails {
    #[serde(flatten)]
    pub message: MessageView,
    /// What happened to it, in order.
    pub timeline: Vec<Moment>,
}

/// A step of a message.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Moment {
    #[schema(format = DateTime)]
    pub at: String,
    /// `accepted`, `sent`, `not sent`, `replaced`, `cancelled`, or a final state.
    pub what: String,
}

/// `GET /v1/opt-outs`
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct OwnOptOuts {
    /// Newest first.
    pub opt_outs: Vec<OwnOptOut>,
    /// `before` of the next page; null on the last one.
    pub next_before: Option<String>,
}

/// A number that wants no messages of the account.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct OwnOptOut {
    /// In international form, without a plus.
    pub number: String,
    /// Since when.
    #[schema(format = DateTime)]
    pub at: String,
}

// === impl OwnOptOuts ===

impl From<OptOuts> for OwnOptOuts {
    fn from(list: OptOuts) -> Self {
        let entries = list.opt_outs.into_iter().map(|entry| OwnOptOut {
            number: entry.number,
            at: entry.at.unwrap_or_default(),
        });
        Self {
            opt_outs: entries.collect(),
            next_before: list.next_before,
        }
    }
}

// === impl MessageView ===

impl From<SeenMessage> for MessageView {
    fn from(seen: SeenMessage) -> Self {
        Self {
            id: seen.id.to_string(),
            from: seen.from,
            to: seen.to,
            state: seen.state,
            parts: seen.parts,
            accepted_at: moment::text(seen.accepted_at),
            due_at: seen.due_at.map(moment::text),
            expires_at: moment::text(seen.expires_at),
            ended_at: seen.ended_at.map(moment::text),
            error: seen.error,
            reference: seen.reference,
            metadata: seen
                .metadata
                .and_then(|text| serde_json::from_str(&text).ok()),
            text: seen.text,
        }
    }
}

impl From<MessagesPage> for MessagePage {
    fn from(page: MessagesPage) -> Self {
        Self {
            messages: page.messages.into_iter().map(MessageView::from).collect(),
            next_before: page.next_before.map(|before| before.to_string()),
        }
    }
}

impl From<(SeenMessage, Vec<MessageStep>)> for MessageDetails {
    fn from((seen, steps): (SeenMessage, Vec<MessageStep>)) -> Self {
        let moment = |(at, what)| Moment {
            at: moment::text(at),
            what,
        };
        Self {
            message: seen.into(),
            timeline: steps.into_iter().map(moment).collect(),
        }
    }
}
