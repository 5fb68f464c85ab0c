//! Ends a divided message when its parts have ended.
//!
//! Called after each commit that ended a part, on the node that wrote it. The states of all parts are
//! read from the store each time, after that commit. So the call for the last part finds all of them
//! ended, even if other nodes end parts at the same moment, and the first call writes the message's
//! final state. The sweep checks again messages whose node died in between.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::actors::context::NodeContext;
use crate::actors::receipts::final_state;
use crate::clock;
use crate::config::PartReceipts;
use crate::content;
use crate::pb::queue_command::Verb;
use crate::pb::{Final, Message, MessageState, QueueCommand};
use crate::store::{FinRow, Stored, WriteBatch};

/// States from best to worst: a message is as good as its worst part.
const FROM_GOOD_TO_BAD: [MessageState; 7] = [
    MessageState::Delivered,
    MessageState::Accepted,
    MessageState::Unknown,
    MessageState::Deleted,
    MessageState::Expired,
    MessageState::Undeliverable,
    MessageState::Rejected,
];

/// The result for a message, given the states of its parts.
#[derive(Debug, PartialEq, Eq)]
enum PartsVerdict {
    /// The message is not decided yet.
    Open,
    /// The message ends like this part.
    Ends(FinRow),
}

/// Checks in a separate task whether these ends of parts end their messages.
pub fn conclude_later(node: &Arc<NodeContext>, finals: &[Final]) {
    let parent = |ended: &Final| ended.message.as_deref().and_then(content::parent_of);
    let mut parents: Vec<u64> = finals.iter().filter_map(parent).collect();
    if parents.is_empty() {
        return;
    }
    parents.sort_unstable();
    parents.dedup();
    let node = Arc::clone(node);
    actix::spawn(async move { conclude(&node, parents).await });
}

/// Ends those of these divided messages whose parts have decided them.
pub async fn conclude(node: &Arc<NodeContext>, parents: Vec<u64>) {
    let Some(wholes) = final_state::load(node, parents).await else {
        return;
    };
    let open = wholes
        .into_iter()
        .flatten()
        .filter(|whole| whole.fin.is_none());
    let mut messages: Vec<Message> = open.map(|whole| whole.message).collect();
    messages.retain(|message| !sent_as(message).is_empty());
    if messages.is_empty() {
        return;
    }
    let ids = messages.iter().flat_map(sent_as).copied().collect();
    let Some(parts) = final_state::load(node, ids).await else {
        return;
    };
    let mut parts = parts.into_iter();
    let mut finals = Vec::new();
    for whole in messages {
        let count = sent_as(&whole).len();
        let parts: Vec<Stored> = parts.by_ref().take(count).flatten().collect();
        let mut ends = parts.iter().filter_map(|part| part.fin.as_ref());
        if ends.any(|fin| !is_good(fin.state)) {
            call_back(node, &parts);
        }
        let policy = node.plan().part_receipts(whole.queue);
        if let PartsVerdict::Ends(fin) = verdict(&parts, policy) {
            finals.push(ended(whole, &fin, &parts));
        }
    }
    if !finals.is_empty() {
        final_state::write(node, WriteBatch::default(), finals).await;
    }
}

/// The parts that are sent instead of a message.
fn sent_as(message: &Message) -> &[u64] {
    message.composition.as_ref().map_or(&[], |one| &one.sent_as)
}

fn verdict(parts: &[Stored], policy: PartReceipts) -> PartsVerdict {
    let ends = || parts.iter().filter_map(|part| part.fin.as_ref());
    let is_over = ends().count() == parts.len();
    let badness = |fin: &FinRow| {
        FROM_GOOD_TO_BAD
            .iter()
            .position(|state| *state == fin.state)
    };
    // Of several equally bad parts, the first one.
    let worst = ends().min_by_key(|fin| Reverse(badness(fin)));
    let decides = match policy {
        PartReceipts::All => worst.filter(|_| is_over),
        PartReceipts::Worst => worst.filter(|fin| is_over || !is_good(fin.state)),
        PartReceipts::First => ends().min_by_key(|fin| fin.at),
    };
    decides.map_or(PartsVerdict::Open, |fin| PartsVerdict::Ends(fin.clone()))
}

fn is_good(state: MessageState) -> bool {
    matches!(state, MessageState::Delivered | MessageState::Accepted)
}

fn ended(whole: Message, fin: &FinRow, parts: &[Stored]) -> Final {
    let at = clock::now_ms();
    let ends = parts.iter().filter_map(|part| part.fin.as_ref());
    // It is done when its last part is, and not before it was sent.
    let mut last = match fin.done_at {
        0 => 0,
        done_at => ends.map(|fin| fin.done_at).fold(done_at, i64::max),
    };
    if last != 0 {
        let sent_at = parts.iter().map(|part| part.sent_at).max();
        last = last.max(sent_at.unwrap_or_default()).min(at);
    }
    Final {
        id: whole.id,
        state: fin.state.into(),
        error: fin.error.clone(),
        at,
        done_at: last,
        operator: fin.operator,
        attempts: parts.iter().map(|part| part.attempts).max().unwrap_or(0),
        message: Some(Box::new(whole)),
        ..Final::default()
    }
}

/// Without all its parts a text is useless: parts that have not been sent yet are cancelled. All parts
/// have one destination, so they wait in one queue of one node. If that is another node, they are sent
/// nevertheless.
fn call_back(node: &NodeContext, parts: &[Stored]) {
    for part in parts.iter().filter(|part| part.fin.is_none()) {
        if let Some(port) = node.queue(part.queue) {
            let order = QueueCommand {
                verb: Verb::Cancel.into(),
                id: part.message.id,
                sender: part.message.sender,
                by: "a part of the same message failed".to_owned(),
                ..QueueCommand::default()
            };
            // A part that is with a session cannot be cancelled: its operator decides how it ends.
            let _ = port.try_send(order);
        }
    }
}

/// Whether the sweep checks a message that was divided at this time (Unix ms) again.
pub fn is_due(divided_at: i64) -> bool {
    /// Longer than the normal handling of the last part's end takes.
    const SETTLED: i64 = 60_000;
    clock::now_ms() - divided_at > SETTLED
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(state: Option<MessageState>, at: i64) -> Stored {
        Stored {
            message: Message::default(),
            queue: 1,
            fin: state.map(|state| FinRow {
                id: at as u64,
                at,
                state,
                error: bytes::Bytes::new(),
                operator: 2,
                tell: 0,
                done_at: 0,
                remote_item: bytes::Bytes::new(),
                remote_part: 0,
            }),
            attempts: 1,
            replayed_as: 0,
            sent_at: 0,
        }
    }

    fn says(parts: &[Stored], policy: PartReceipts) -> Option<(MessageState, i64)> {
        match verdict(parts, policy) {
            PartsVerdict::Open => None,
            PartsVerdict::Ends(fin) => Some((fin.state, fin.at)),
        }
    }

    #[test]
    fn each_policy_decides_by_its_own_rule() {
        use MessageState::{Accepted, Delivered, Expired, Rejected, Undeliverable};
        use PartReceipts::{All, First, Worst};
        let good = [
            part(Some(Delivered), 3),
            part(Some(Accepted), 1),
            part(None, 0),
        ];
        assert_eq!(says(&good, All), None);
        assert_eq!(says(&good, Worst), None);
        assert_eq!(says(&good, First), Some((Accepted, 1)));
        assert_eq!(says(&good[..2], All), Some((Accepted, 1)));
        let bad = [
            part(Some(Delivered), 1),
            part(Some(Expired), 2),
            part(None, 0),
        ];
        assert_eq!(says(&bad, All), None);
        assert_eq!(says(&bad, Worst), Some((Expired, 2)));
        assert_eq!(says(&bad, First), Some((Delivered, 1)));
        let worse = [
            part(Some(Undeliverable), 5),
            part(Some(Rejected), 7),
            part(Some(Rejected), 6),
        ];
        assert_eq!(says(&worse, All), Some((Rejected, 7)));
        assert_eq!(says(&[part(None, 0), part(None, 0)], First), None);
    }
}
