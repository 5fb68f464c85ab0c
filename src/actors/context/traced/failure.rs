//! The trace of a message that failed without having been sampled: made when it fails, from its history
//! in the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{
    AttemptOutcome, TracedEnd, described, end_span, is_failure, submit, submit_span, waited,
    with_outcome, with_server,
};
use crate::actors::context::NodeContext;
use crate::clock;
use crate::domain::trace::{TraceContext, TraceStep, span_id};
use crate::pb::{Final, Message};
use crate::store::{MessageHistory, SentRow};
use crate::telemetry::traces::{Span, SpanSide, TraceReason};

/// Most histories read at once: during an outage, traces must not overload the store.
const AT_ONCE: usize = 64;

static READING: AtomicUsize = AtomicUsize::new(0);

/// One of these readings; counted while it exists.
struct ReadingPlace;

/// Reads the history and emits the spans; counts the trace as dropped if too many are being read.
pub(super) fn trace(node: &Arc<NodeContext>, message: &Message, ended: &Final, end: TracedEnd) {
    if !node.traces.has_room() {
        return;
    }
    let Some(place) = ReadingPlace::take() else {
        return node.traces.too_busy();
    };
    let (node, message, ended) = (Arc::clone(node), message.clone(), ended.clone());
    actix::spawn(async move {
        let history = node.store.history(message.id).await;
        drop(place);
        if let Ok(Some(history)) = history {
            emit(&node, &message, &ended, &end, &history);
        }
    });
}

fn emit(
    node: &NodeContext,
    message: &Message,
    ended: &Final,
    end: &TracedEnd,
    history: &MessageHistory,
) {
    node.traces.count(TraceReason::Failure);
    let context = end.context;
    let accepted = message.accepted_at * 1_000;
    let submit =
        submit(node, &context, message, accepted, accepted).with("smsc.sampled_by", "failure");
    node.traces.emit(submit);
    let mut since = message.waits_since();
    for attempt in &history.attempts {
        let started = attempt.at - i64::from(attempt.latency_ms);
        let (start_us, end_us) = (since * 1_000, started.max(since) * 1_000);
        waited(node, message, context, start_us, end_us, attempt.operator);
        node.traces
            .emit(attempted(node, message, context, attempt, started));
        since = attempt.at;
    }
    let now = clock::now_us();
    if history.attempts.is_empty() && is_failure(ended.state()) {
        // It never left its queue.
        let queue = history.stored.queue;
        waited(
            node,
            message,
            context,
            since * 1_000,
            ended.at * 1_000,
            queue,
        );
    }
    let span = end_span(node, message, ended, end, ended.at * 1_000, now);
    node.traces.emit(span);
}

fn attempted(
    node: &NodeContext,
    message: &Message,
    context: TraceContext,
    attempt: &SentRow,
    started: i64,
) -> Span {
    let below = context.below(submit_span(&context, message.id));
    let (start_us, end_us) = (started * 1_000, attempt.at * 1_000);
    let (span, outcome) = match attempt.status {
        0 => {
            let id = span_id(
                context.trace_id,
                message.id,
                TraceStep::Attempt,
                attempt.attempt,
            );
            let span = Span::new(below, id, "attempt", SpanSide::Client, start_us, end_us);
            (span, AttemptOutcome::Ok)
        }
        SentRow::NO_ANSWER => (
            Span::leaf(below, "attempt", SpanSide::Client, start_us, end_us),
            AttemptOutcome::Unanswered,
        ),
        status => (
            Span::leaf(below, "attempt", SpanSide::Client, start_us, end_us),
            AttemptOutcome::Status(status),
        ),
    };
    let operation = if node.is_account(attempt.operator) {
        "deliver_sm"
    } else {
        "submit_sm"
    };
    let span = described(node, span, message)
        .operation(operation, "send")
        .to(node.name_of(attempt.operator))
        .with("smsc.queue", node.name_of(attempt.operator))
        .with("smsc.attempt", i64::from(attempt.attempt));
    with_outcome(with_server(node, span, attempt.operator), outcome)
}

// === impl ReadingPlace ===

impl ReadingPlace {
    fn take() -> Option<Self> {
        if READING.fetch_add(1, Ordering::Relaxed) < AT_ONCE {
            return Some(Self);
        }
        READING.fetch_sub(1, Ordering::Relaxed);
        None
    }
}

impl Drop for ReadingPlace {
    fn drop(&mut self) {
        READING.fetch_sub(1, Ordering::Relaxed);
    }
}
