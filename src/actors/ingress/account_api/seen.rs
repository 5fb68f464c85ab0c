//! A message as its account sees it: without operators, queues and binds, which are not its business.

use std::collections::HashSet;

use crate::actors::receipts::{receipt, shown_id};
use crate::actors::routing::rewrite::{original_destination, original_source};
use crate::clock;
use crate::content;
use crate::domain::state;
use crate::store::{ChangeKind, MessageHistory, SentRow, Stored};

/// A message. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenMessage {
    pub id: u64,
    pub from: String,
    pub to: String,
    /// By the name of the standard (SMPP 3.4 §5.2.28).
    pub state: &'static str,
    /// Short messages that carry it.
    pub parts: u32,
    pub accepted_at: i64,
    /// If that is not at once.
    pub due_at: Option<i64>,
    pub expires_at: i64,
    pub ended_at: Option<i64>,
    /// As the operator's receipt names it.
    pub error: Option<String>,
    /// The sender's own name for it.
    pub reference: Option<String>,
    /// JSON.
    pub metadata: Option<String>,
    /// If it was asked for, and is a text.
    pub text: Option<String>,
}

/// A step of a message, and when it was.
pub type MessageStep = (i64, String);

// === impl SeenMessage ===

impl From<&Stored> for SeenMessage {
    fn from(stored: &Stored) -> Self {
        let message = &stored.message;
        let client = message.client_data.as_deref();
        let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
        let present = |text: String| (!text.is_empty()).then_some(text);
        let fin = stored.fin.as_ref();
        Self {
            id: shown_id::number(message),
            from: text(&original_source(message).digits),
            to: text(&original_destination(message).digits),
            state: state::name(fin.map_or(state::ENROUTE, |fin| i32::from(fin.state) as u8)),
            parts: content::segments(message),
            accepted_at: message.accepted_at,
            due_at: (message.due_at > message.accepted_at).then_some(message.due_at),
            expires_at: message.expires_at,
            ended_at: fin.map(|fin| {
                let sent_at = stored.sent_at.min(fin.at);
                receipt::done_at(message.accepted_at, fin).max(sent_at)
            }),
            error: fin.and_then(|fin| present(text(&fin.error))),
            reference: client.and_then(|client| present(client.reference.clone())),
            metadata: client.and_then(|client| present(client.metadata.clone())),
            text: None,
        }
    }
}

/// The message of a history, and what happened to it, in order. A text that goes as several messages is sent when the last
/// of them is.
pub(super) fn with_steps(
    history: &MessageHistory,
    attempts: &[SentRow],
) -> (SeenMessage, Vec<MessageStep>) {
    let mut seen = SeenMessage::from(&history.stored);
    if history.stored.fin.is_none() {
        let due_at = history.due_at();
        seen.due_at = (due_at > clock::now_ms()).then_some(due_at);
    }
    let mut steps = vec![(seen.accepted_at, "accepted".to_owned())];
    let composition = history.stored.message.composition.as_deref();
    let parts = composition.map_or(0, |composition| composition.sent_as.len());
    let mut sent = HashSet::new();
    steps.extend(attempts.iter().filter_map(|attempt| {
        let what = match attempt.status {
            0 => {
                let is_all = sent.insert(attempt.id) && sent.len() >= parts;
                (is_all || parts == 0).then_some("sent")?
            }
            _ => "not sent",
        };
        Some((attempt.at, what.to_owned()))
    }));
    steps.extend(history.changes.iter().filter_map(|change| {
        let what = match change.kind {
            ChangeKind::Cancel => "cancelled",
            ChangeKind::Replace => "replaced",
            _ => return None,
        };
        Some((change.at, what.to_owned()))
    }));
    steps.sort_by_key(|(at, _)| *at);
    if let Some(ended_at) = seen.ended_at {
        // Operators round the time of the end.
        let last = steps.last().map_or(0, |(at, _)| *at);
        steps.push((ended_at.max(last), seen.state.to_lowercase()));
    }
    (seen, steps)
}
