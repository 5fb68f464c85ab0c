//! The span of one attempt to send a traced message or receipt, from its octets to its answer.
//!
//! A session begins it when it writes the request, keeps it in its window, and ends it with the
//! request: by an answer, a timeout, or the end of the bind.

use std::net::SocketAddr;

use super::{
    AttemptOutcome, context_of, described, is_old, submit_span, waited, watched, with_outcome,
    with_peer, with_server,
};
use crate::actors::context::NodeContext;
use crate::clock;
use crate::domain::command_status;
use crate::domain::trace::{TraceContext, TraceId, TraceStep, span_id};
use crate::pb::delivery::What;
use crate::pb::{Message, WatchedStep};
use crate::telemetry::traces::{Span, SpanSide, fresh_id};

/// One attempt: its span, or what those who watch the message are told.
#[derive(Debug, Clone)]
pub struct TracedAttempt {
    message: Message,
    /// `None` if the message is only watched.
    context: Option<TraceContext>,
    what: What,
    number: u32,
    /// Unix microseconds.
    started: i64,
}

// === impl TracedAttempt ===

impl TracedAttempt {
    /// The trace that it is part of; `None` if the message is only watched.
    pub fn trace_id(&self) -> Option<TraceId> {
        self.context.map(|context| context.trace_id)
    }

    /// Begins an attempt of this queue; `None` if the message is neither traced nor watched.
    pub fn begin(
        node: &NodeContext,
        queue: u32,
        message: &Message,
        what: What,
        number: u32,
    ) -> Option<Box<Self>> {
        let context = context_of(message);
        if context.is_none() && !node.watches.wants(message, queue) {
            return None;
        }
        Some(Box::new(Self {
            message: message.clone(),
            context,
            what,
            number,
            started: clock::now_us(),
        }))
    }

    /// Shows the end to those who watch the message: answered with this status, or not at all.
    fn show(
        &self,
        node: &NodeContext,
        queue: u32,
        peer: Option<SocketAddr>,
        status: Option<u32>,
        took_us: i64,
    ) {
        let what = match self.what {
            What::Message => "attempt",
            What::Receipt => "receipt",
        };
        node.watches.see(&self.message, queue, || WatchedStep {
            queue: node.name_of(queue),
            status: status.map_or_else(|| "no answer".to_owned(), command_status::display),
            attempt: self.number,
            latency_ms: u32::try_from(took_us / 1_000).unwrap_or_default(),
            by: peer.map_or_else(String::new, |peer| peer.to_string()),
            ..watched::step(node, &self.message, what)
        });
    }

    /// Ends the attempt. `queue` is the queue that it came from, `peer` the peer that was sent it.
    pub fn end(
        &self,
        node: &NodeContext,
        queue: u32,
        operation: &'static str,
        peer: Option<SocketAddr>,
        outcome: AttemptOutcome,
    ) {
        let ended = clock::now_us();
        let message = &self.message;
        let took = ended - self.started;
        let status = match outcome {
            AttemptOutcome::Ok => Some(0),
            AttemptOutcome::Status(status) => Some(status),
            AttemptOutcome::Unanswered => None,
        };
        self.show(node, queue, peer, status, took);
        let Some(own) = self.context else { return };
        let since = message.waits_since() * 1_000;
        let (name, id, context, link) = match self.what {
            What::Message => {
                if self.number == 1 {
                    waited(node, message, own, since, self.started, queue);
                }
                let context = own.below(submit_span(&own, message.id));
                let id = match outcome {
                    // The span of the receipt finds its parent by this id.
                    AttemptOutcome::Ok => span_id(
                        context.trace_id,
                        message.id,
                        TraceStep::Attempt,
                        self.number,
                    ),
                    _ => fresh_id(),
                };
                ("attempt", id, context, None)
            }
            What::Receipt => {
                let old = is_old(node, message.waits_since(), ended / 1_000);
                let on = own.go_on(message.id, TraceStep::Forward, old);
                let id = fresh_id();
                // Once, however many attempts were made, by this node or an earlier one.
                if matches!(outcome, AttemptOutcome::Ok) {
                    let context = match on.link {
                        // A trace has one root.
                        Some(_) => on.context.below(id),
                        None => on.context,
                    };
                    let kind = SpanSide::Internal;
                    let waited = Span::leaf(context, "queue", kind, since, self.started)
                        .with("messaging.system", "smpp")
                        .with("messaging.message.id", message.id.to_string())
                        .to(node.name_of(queue))
                        .with("smsc.queue", node.name_of(queue));
                    node.traces.emit(waited);
                }
                ("forward", id, on.context, on.link)
            }
        };
        let span = Span::new(context, id, name, SpanSide::Client, self.started, ended);
        let span = described(node, span.linked(link), message)
            .operation(operation, "send")
            .to(node.name_of(queue))
            .with("smsc.queue", node.name_of(queue))
            .with("smsc.attempt", i64::from(self.number));
        let span = with_peer(with_server(node, span, queue), peer);
        node.traces.emit(with_outcome(span, outcome));
    }
}
