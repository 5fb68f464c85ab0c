//! The spans of a message that waited for its network or for its IMSI.

use super::{context_of, submit_span};
use crate::actors::context::NodeContext;
use crate::clock;
use crate::pb::Message;
use crate::telemetry::traces::{Span, SpanSide};

/// The look-up of a destination's network has ended, with or without a result.
pub fn resolved(node: &NodeContext, message: &Message, origin: &str) {
    let Some(context) = context_of(message) else {
        return;
    };
    let (start_us, end_us) = (message.accepted_at * 1_000, clock::now_us());
    let parent = context.below(submit_span(&context, message.id));
    let span = Span::leaf(parent, "resolve", SpanSide::Client, start_us, end_us)
        .with("smsc.network", message.network.clone())
        .with("smsc.network_from", origin.to_owned())
        .with("smsc.queue", node.name_of(message.queue));
    node.traces.emit(span);
}

/// The look-up of a destination's IMSI has found it. The span does not show it: it is personal data.
pub fn found_imsi(node: &NodeContext, message: &Message, origin: &str) {
    let Some(context) = context_of(message) else {
        return;
    };
    let (start_us, end_us) = (message.accepted_at * 1_000, clock::now_us());
    let parent = context.below(submit_span(&context, message.id));
    let span = Span::leaf(parent, "find_imsi", SpanSide::Client, start_us, end_us)
        .with("smsc.imsi_from", origin.to_owned())
        .with("smsc.queue", node.name_of(message.queue));
    node.traces.emit(span);
}
