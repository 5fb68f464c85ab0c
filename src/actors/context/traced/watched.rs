//! The steps of messages that somebody watches now, beside their spans.
//!
//! Each is made only if a watch ([`crate::actors::context::watches`]) is about the message. Steps hold numbers and
//! states, and no text.

use crate::actors::context::NodeContext;
use crate::clock;
use crate::domain::address::printable;
use crate::domain::{command_status, state};
use crate::pb::{Final, Message, WatchedStep};

/// A step without what only some have.
pub(super) fn step(node: &NodeContext, message: &Message, what: &str) -> WatchedStep {
    WatchedStep {
        at_us: clock::now_us(),
        node: node.ids.node().into(),
        step: what.to_owned(),
        message: message.id,
        from: printable(&message.source),
        to: printable(&message.destination),
        sender: node.name_of(message.sender),
        queue: node.name_of(message.queue),
        ..WatchedStep::default()
    }
}

/// A submission was answered: it is durable, or refused.
pub(super) fn submitted(node: &NodeContext, message: &Message, peer: &str, refused: Option<u32>) {
    node.watches.see(message, message.queue, || WatchedStep {
        status: command_status::display(refused.unwrap_or_default()),
        by: peer.to_owned(),
        ..step(
            node,
            message,
            if refused.is_some() {
                "refused"
            } else {
                "accepted"
            },
        )
    });
}

/// A submission was refused before it had an id.
pub fn turned_away(node: &NodeContext, message: &Message, sender: u32, peer: &str, status: u32) {
    // What it may be of its sender is not in the message yet.
    node.watches.see(message, sender, || WatchedStep {
        status: command_status::display(status),
        by: peer.to_owned(),
        message: 0,
        sender: node.name_of(sender),
        ..step(node, message, "refused")
    });
}

/// A message has ended.
pub(super) fn ended(node: &NodeContext, message: &Message, ended: &Final) {
    node.watches.see(message, ended.operator, || WatchedStep {
        status: state::name(i32::from(ended.state()) as u8).to_owned(),
        attempt: ended.attempts,
        by: match ended.operator {
            0 => String::new(),
            operator => node.name_of(operator),
        },
        ..step(node, message, "final")
    });
}
