//! States before the final one, for accounts that hear of them by callback.
//!
//! Whoever writes the row that a state follows from (Ingest, a queue, Correlation) has a copy made in the same commit,
//! as for receipts of accounts with two ways ([`super::copies`]). It waits in the queue of the message's final callback,
//! behind what was written before. A message that asks for no state costs one comparison.
//!
//! Of a text that was divided, the last part speaks for the whole; of one that was put together, each message that was
//! submitted hears what becomes of the whole.

use crate::actors::context::NodeContext;
use crate::actors::context::plan::{form_of, states_in};
use crate::actors::context::traced;
use crate::actors::receipts::{receipt, wanted};
use crate::clock;
use crate::config::DeliverBy;
use crate::domain::callback::states::{QUEUED, RETRYING, SENT};
use crate::pb::{Copied, EarlyState, Kind, Message, MessageState, Sent, StateReport};

/// A message has reached a state before its final one.
#[derive(Debug, Clone)]
pub struct MessageReached {
    pub message: Box<Message>,
    pub report: StateReport,
}

/// The bit of a state.
pub fn bit(state: EarlyState) -> u32 {
    match state {
        EarlyState::Unspecified => 0,
        EarlyState::Queued => QUEUED,
        EarlyState::Sent => SENT,
        EarlyState::Retrying => RETRYING,
    }
}

/// The queue that brings a state of a message to its account, that of its final callback; `None` if nobody hears of it.
pub fn queue_for(node: &NodeContext, message: &Message, state: EarlyState) -> Option<u32> {
    // The usual case, and looked up for each attempt.
    if message.report_states & bit(state) == 0 {
        return None;
    }
    let replay = message.replay_of.as_deref();
    if replay.is_some_and(|replay| !replay.receipt) {
        return None;
    }
    let plan = node.plan();
    let account = plan.account_by_id(message.sender)?;
    let queue = wanted::receipt_queue(node, message);
    let (queue, form) = match (queue == account.id, account.config.deliver_by) {
        (false, _) => {
            let client = message.client_data.as_deref()?;
            (queue, client.callback_form())
        }
        (true, DeliverBy::Callback) => (queue, form_of(&account.config)),
        (true, DeliverBy::Both) => (plan.copies_of(queue)?, form_of(&account.config)),
        (true, DeliverBy::Smpp) => return None,
    };
    (states_in(form) & bit(state) != 0).then_some(queue)
}

/// An operator has accepted a message; `None` if its sender does not hear of it.
pub fn sent(node: &NodeContext, operator: u32, sent: &Sent, at: i64) -> Option<MessageReached> {
    let message = sent.message.as_ref()?;
    if message.report_states & SENT == 0 {
        return None;
    }
    // It ends with this answer, and its end says the same.
    let is_end = !sent.receipt_expected && sent.state() == MessageState::Accepted;
    if is_end && wanted::requests_receipt(node, message, MessageState::Accepted) {
        return None;
    }
    let report = StateReport {
        state: EarlyState::Sent.into(),
        at,
        attempt: sent.attempt,
        operator,
        operator_message_id: sent.operator_message_id.clone(),
        ..StateReport::default()
    };
    let message = message.clone();
    Some(MessageReached { message, report })
}

/// The copy that says that a message waits for its first attempt; `None` if its sender does not hear of it.
pub fn queued(node: &NodeContext, message: &Message) -> Option<Message> {
    let queue = queue_for(node, message, EarlyState::Queued)?;
    let [(of, carrier)] = about(message)[..] else {
        return None;
    };
    if of != message.id {
        // It was put together of messages that were queued before.
        return None;
    }
    let report = StateReport {
        state: EarlyState::Queued.into(),
        at: message.accepted_at,
        carrier,
        ..StateReport::default()
    };
    Some(copy(node, queue, message, of, report))
}

/// The messages that a state of this one is about, each with what carries it (0 for itself).
pub fn about(message: &Message) -> Vec<(u64, u64)> {
    let id = message.id;
    let Some(composition) = message.composition.as_deref() else {
        return vec![(id, 0)];
    };
    if composition.parent != 0 {
        return vec![(composition.parent, id)];
    }
    if !composition.made_of.is_empty() {
        let parts = composition.made_of.iter();
        return parts.map(|part| (*part, id)).collect();
    }
    let last = composition.sent_as.last().copied();
    vec![(id, last.unwrap_or_default())]
}

/// A message that brings a state of the message `of`, as far as `message` tells of it.
pub fn copy(
    node: &NodeContext,
    queue: u32,
    message: &Message,
    of: u64,
    report: StateReport,
) -> Message {
    let shown = Message {
        id: of,
        ..message.clone()
    };
    let copied = Copied {
        of,
        receipt: true,
        report: Some(report),
    };
    let content = receipt::enroute_for(node, &shown, clock::now_ms());
    Message {
        sender: if queue == message.sender {
            message.queue
        } else {
            queue
        },
        trace_context: traced::below_submission(message),
        ..bringing(node, queue, copied, content)
    }
}

/// A message of its own in a queue, accepted now, that brings this content.
pub fn bringing(node: &NodeContext, queue: u32, copied: Copied, content: Message) -> Message {
    let now = clock::now_ms();
    let id = node.ids.take_anyway(now, 1).next();
    Message {
        // There is always one.
        id: id.unwrap_or_default(),
        // The account did not submit it: it counts against no limit of the account.
        sender: queue,
        kind: Kind::Mo.into(),
        queue,
        accepted_at: now,
        due_at: 0,
        expires_at: node.plan().config.validity.of_receipt(now),
        copied: Some(Box::new(copied)),
        ..content
    }
}

/// A copy as its queue gets it straight from its commit (`is`), or as the store keeps it.
pub fn in_order(mut copy: Message, is: bool) -> Message {
    let copied = copy.copied.as_deref_mut();
    if let Some(report) = copied.and_then(|copied| copied.report.as_mut()) {
        report.in_order = is;
    }
    copy
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pb::Composition;

    fn composed(composition: Composition) -> Message {
        Message {
            id: 7,
            composition: Some(Box::new(composition)),
            ..Message::default()
        }
    }

    #[test]
    fn a_state_is_about_what_was_submitted() {
        let whole = Message {
            id: 7,
            ..Message::default()
        };
        assert_eq!(about(&whole), [(7, 0)]);
        let divided = composed(Composition {
            sent_as: vec![8, 9],
            ..Composition::default()
        });
        assert_eq!(about(&divided), [(7, 9)], "the last part speaks for it");
        let part = composed(Composition {
            parent: 5,
            ..Composition::default()
        });
        assert_eq!(about(&part), [(5, 7)]);
        let gathered = composed(Composition {
            made_of: vec![3, 4],
            ..Composition::default()
        });
        assert_eq!(about(&gathered), [(3, 7), (4, 7)]);
    }
}
