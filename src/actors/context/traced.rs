//! The trace of a message: which steps become spans, below which parent, with which attributes.
//!
//! ```text
//! submit ─┬─ route
//!         ├─ store
//!         ├─ resolve         while its network was looked up
//!         ├─ find_imsi       while its IMSI was looked up
//!         ├─ queue           once per time it waited
//!         ├─ attempt ─┬─ answer
//!         │           └─ receipt ─┬─ queue
//!         │                       └─ forward        the receipt to the account
//!         └─ finish               instead of receipt, when no operator reported the end
//! ```
//!
//! Called by the actors when a step is over. The context travels with the message
//! ([`crate::domain::trace`]); for a message that is not traced, each call is one comparison. The spans
//! of a message that was not sampled but fails are made afterwards (`failure.rs`). What somebody watches
//! now is told as it happens (`watched.rs`).

mod attempt;
mod failure;
mod lookup;
mod watched;

use std::net::SocketAddr;

use bytes::Bytes;

pub use self::attempt::TracedAttempt;
pub use self::lookup::{found_imsi, resolved};
pub use self::watched::turned_away;
use crate::actors::context::NodeContext;
use crate::clock;
use crate::content;
use crate::domain::address::{mask_in, printable};
use crate::domain::queue_name::QueueName;
use crate::domain::trace::{Ratio, SpanId, TraceContext, TraceId, TraceStep, span_id};
use crate::domain::{command_status, state};
use crate::pb::{Final, Message, MessageState};
use crate::smpp::CommandStatus;
use crate::telemetry::traces::{Span, SpanSide, TraceReason};

/// When a batch of submissions was read, routed and durable, in Unix microseconds.
#[derive(Debug, Clone, Copy)]
pub struct SubmissionTimes {
    pub read: i64,
    pub routed: i64,
    pub durable: i64,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy)]
pub enum AttemptOutcome {
    Ok,
    Status(u32),
    Unanswered,
}

/// An answer that is being written to the store.
pub struct TracedAnswer {
    context: TraceContext,
    message: u64,
    attempt: u32,
    /// The operator's id.
    theirs: String,
    started: i64,
}

/// The place of a message's end in its trace.
pub struct TracedEnd {
    /// The trace, with the span that led to the end.
    context: TraceContext,
    id: SpanId,
    link: Option<TraceContext>,
    /// Whether tracing began only when the message failed.
    belated: bool,
}

/// The trace of a message, if it is recorded.
pub fn context_of(message: &Message) -> Option<TraceContext> {
    // The usual case first.
    if message.trace_context.is_empty() {
        return None;
    }
    TraceContext::from_octets(&message.trace_context).filter(TraceContext::is_sampled)
}

/// The span of a message's submission.
pub fn submit_span(context: &TraceContext, message: u64) -> SpanId {
    span_id(context.trace_id, message, TraceStep::Submit, 0)
}

/// Decides whether to trace a new message, unless its sender has decided.
pub fn pick(node: &NodeContext, ratio: Ratio, message: &mut Message) {
    if !message.trace_context.is_empty() {
        if context_of(message).is_some() {
            node.traces.count(TraceReason::Parent);
        }
    } else if ratio.takes(message.id) {
        let trace_id = rand::random::<u128>().max(1).to_be_bytes();
        let context = TraceContext::root(trace_id);
        message.trace_context = context.to_octets().to_vec();
        node.traces.count(TraceReason::Head);
    }
}

/// A submission has been answered: it is durable, or refused with a status.
pub fn submitted(
    node: &NodeContext,
    message: &Message,
    times: SubmissionTimes,
    peer: &str,
    refused: Option<u32>,
) {
    watched::submitted(node, message, peer, refused);
    let Some(context) = context_of(message) else {
        return;
    };
    let root = submit_span(&context, message.id);
    let inside = context.below(root);
    let route = Span::leaf(
        inside,
        "route",
        SpanSide::Internal,
        times.read,
        times.routed,
    )
    .with("smsc.queue", node.name_of(message.queue));
    let store = Span::leaf(
        inside,
        "store",
        SpanSide::Internal,
        times.routed,
        times.durable,
    );
    let span = submit(node, &context, message, times.read, times.durable);
    let span = with_peer(span, peer.parse().ok());
    node.traces.emit(route);
    match refused {
        None => {
            node.traces.emit(store);
            node.traces
                .emit(span.with("smsc.command_status", "ESME_ROK"));
        }
        Some(status) => {
            let status = status_name(status);
            node.traces.emit(store.failed(status.clone()));
            node.traces.emit(
                span.with("smsc.command_status", status.clone())
                    .failed(status),
            );
        }
    }
}

/// The span of what an account submitted or an operator delivered.
fn submit(
    node: &NodeContext,
    context: &TraceContext,
    message: &Message,
    start_us: i64,
    end_us: i64,
) -> Span {
    let operation = if node.is_account(message.sender) {
        "submit_sm"
    } else {
        "deliver_sm"
    };
    let id = submit_span(context, message.id);
    let kind = SpanSide::Consumer;
    let span = Span::new(*context, id, "submit", kind, start_us, end_us);
    described(node, span, message)
        .operation(operation, "process")
        .to(node.name_of(message.queue))
}

/// The context for parts of a message: the same trace, below its submission.
pub fn below_submission(message: &Message) -> Vec<u8> {
    let Some(context) = context_of(message) else {
        return message.trace_context.clone();
    };
    let below = context.below(submit_span(&context, message.id));
    below.to_octets().to_vec()
}

/// A part of a message has become durable with the message.
pub fn divided(node: &NodeContext, part: &Message, times: SubmissionTimes) {
    carried(node, part, "part", times.routed, times.durable);
}

/// A message was put together from parts and has become durable.
pub fn assembled(node: &NodeContext, whole: &Message, start_us: i64, end_us: i64) {
    carried(node, whole, "assemble", start_us, end_us);
}

/// The root span of a message that was made from another one.
fn carried(node: &NodeContext, message: &Message, name: &'static str, start_us: i64, end_us: i64) {
    let Some(context) = context_of(message) else {
        return;
    };
    let id = submit_span(&context, message.id);
    let span = Span::new(context, id, name, SpanSide::Internal, start_us, end_us);
    let span = described(node, span, message)
        .to(node.name_of(message.queue))
        .with("smsc.queue", node.name_of(message.queue));
    node.traces.emit(span);
}

/// An operator's ESME_ROK is about to be written; `None` if the message is not traced.
pub fn answer(message: Option<&Message>, attempt: u32, theirs: &Bytes) -> Option<TracedAnswer> {
    let message = message?;
    Some(TracedAnswer {
        context: context_of(message)?,
        message: message.id,
        attempt,
        theirs: without_numbers(theirs, message),
        started: clock::now_us(),
    })
}

/// What an operator says, without the numbers of the message, which it may have put into it.
fn without_numbers(theirs: &[u8], message: &Message) -> String {
    let text = mask_in(&printable(theirs), &message.destination);
    mask_in(&text, &message.source)
}

/// The answer is written.
pub fn answered(node: &NodeContext, answer: TracedAnswer) {
    let attempt = span_id(
        answer.context.trace_id,
        answer.message,
        TraceStep::Attempt,
        answer.attempt,
    );
    let span = Span::leaf(
        answer.context.below(attempt),
        "answer",
        SpanSide::Internal,
        answer.started,
        clock::now_us(),
    )
    .with("messaging.system", "smpp")
    .with("messaging.message.id", answer.message.to_string())
    .with("smsc.attempt", i64::from(answer.attempt))
    .with("smsc.operator_message_id", answer.theirs);
    node.traces.emit(span);
}

/// A message that was tried before and waited again is given to a session.
pub async fn waited_again(node: &NodeContext, message: Message, queue: u32) {
    let Some(context) = context_of(&message) else {
        return;
    };
    let until = clock::now_us();
    let Ok(Some(history)) = node.store.history(message.id).await else {
        return;
    };
    let Some(last) = history.attempts.last() else {
        return;
    };
    waited(node, &message, context, last.at * 1_000, until, queue);
}

fn waited(
    node: &NodeContext,
    message: &Message,
    context: TraceContext,
    start_us: i64,
    end_us: i64,
    queue: u32,
) {
    let parent = submit_span(&context, message.id);
    let below = context.below(parent);
    let span = Span::leaf(below, "queue", SpanSide::Internal, start_us, end_us)
        .with("messaging.system", "smpp")
        .with("messaging.message.id", message.id.to_string())
        .to(node.name_of(queue))
        .with("smsc.queue", node.name_of(queue));
    node.traces.emit(span);
}

/// A message has ended. If it failed without being traced, makes its trace now.
pub fn ended(node: &std::sync::Arc<NodeContext>, final_state: &Final, started: i64) {
    let Some(message) = &final_state.message else {
        return;
    };
    watched::ended(node, message, final_state);
    let Some(end) = end_of(node, message, final_state.state(), final_state.at) else {
        return;
    };
    if end.belated {
        return failure::trace(node, message, final_state, end);
    }
    let span = end_span(node, message, final_state, &end, started, clock::now_us());
    node.traces.emit(span);
}

fn end_span(
    node: &NodeContext,
    message: &Message,
    ended: &Final,
    end: &TracedEnd,
    start_us: i64,
    end_us: i64,
) -> Span {
    let (name, kind) = if ended.by_receipt {
        ("receipt", SpanSide::Consumer)
    } else {
        ("finish", SpanSide::Internal)
    };
    let context = match end.link {
        // It is the root of a separate trace.
        Some(_) => end.context,
        None => end.context.below(cause(&end.context, message, ended)),
    };
    let link = end.link.map(|old| old.below(cause(&old, message, ended)));
    let state_name = state::name(ended.state() as i32 as u8);
    let mut span = Span::new(context, end.id, name, kind, start_us, end_us)
        .linked(link)
        .with("smsc.state", state_name)
        .with("smsc.attempts", i64::from(ended.attempts));
    span = described(node, span, message);
    if ended.by_receipt {
        span = span.operation("deliver_sm", "process");
    }
    if ended.operator != 0 {
        let operator = node.name_of(ended.operator);
        span = span.to(operator.clone()).with("smsc.operator", operator);
    }
    if !ended.error.is_empty() {
        span = span.with("smsc.error", without_numbers(&ended.error, message));
    }
    if is_failure(ended.state()) {
        span.failed(state_name)
    } else {
        span
    }
}

/// The span that led to the end: the accepted attempt, or the submission.
fn cause(context: &TraceContext, message: &Message, ended: &Final) -> SpanId {
    let carried = message.composition.as_ref();
    let attempted = carried.is_none_or(|composition| composition.sent_as.is_empty());
    let taken = attempted && (ended.by_receipt || !is_failure(ended.state()));
    if taken && ended.attempts > 0 {
        span_id(
            context.trace_id,
            message.id,
            TraceStep::Attempt,
            ended.attempts,
        )
    } else {
        submit_span(context, message.id)
    }
}

/// The place of a message's end in its trace, the same on every node and after every restart; `None` if
/// the message is not traced.
fn end_of(
    node: &NodeContext,
    message: &Message,
    state: MessageState,
    at: i64,
) -> Option<TracedEnd> {
    let (context, belated) = match context_of(message) {
        Some(context) => (context, false),
        None if is_failure(state) && node.traces.is_on() => {
            let asked = TraceContext::from_octets(&message.trace_context);
            let own = || TraceContext::root(node.traces.of_failure(message.id));
            (asked.map_or_else(own, TraceContext::sampled), true)
        }
        None => return None,
    };
    let old = !belated && is_old(node, message.accepted_at, at);
    let continued = context.go_on(message.id, TraceStep::End, old);
    Some(TracedEnd {
        id: span_id(continued.context.trace_id, message.id, TraceStep::End, 0),
        context: continued.context,
        link: continued.link,
        belated,
    })
}

/// The trace that tells of a message's end; `None` if it is not traced.
pub fn trace_of_end(node: &NodeContext, ended: &Final) -> Option<TraceId> {
    let message = ended.message.as_ref()?;
    let end = end_of(node, message, ended.state(), ended.at)?;
    Some(end.context.trace_id)
}

/// The context that a receipt carries to the account's session.
pub fn receipt_context(
    node: &NodeContext,
    message: &Message,
    state: MessageState,
    at: i64,
) -> Vec<u8> {
    match end_of(node, message, state, at) {
        Some(end) => end.context.below(end.id).to_octets().to_vec(),
        None => Vec::new(),
    }
}

/// The trace to show for a message: its own, or that of its failure.
pub fn shown(
    node: &NodeContext,
    message: &Message,
    end: Option<(MessageState, i64)>,
) -> Option<TraceContext> {
    let context = match (context_of(message), end) {
        (Some(context), _) => context,
        (None, Some((state, at))) => end_of(node, message, state, at)?.context,
        (None, None) => return None,
    };
    Some(context.below(submit_span(&context, message.id)))
}

/// Whether this state is a failure worth a trace; an administrator's order is not.
fn is_failure(state: MessageState) -> bool {
    matches!(
        state,
        MessageState::Expired
            | MessageState::Undeliverable
            | MessageState::Unknown
            | MessageState::Rejected
    )
}

fn is_old(node: &NodeContext, began: i64, now: i64) -> bool {
    let limit = node.plan().config.telemetry.trace_link_after;
    now - began > limit.as_millis() as i64
}

/// Adds the attributes that every span of a message has.
fn described(node: &NodeContext, span: Span, message: &Message) -> Span {
    let sender = node.name_of(message.sender);
    let key = if QueueName::parse(&sender).account().is_some() {
        "smsc.account"
    } else {
        "smsc.operator"
    };
    let span = span
        .with("messaging.system", "smpp")
        .with("messaging.message.id", message.id.to_string())
        .with(key, sender)
        .with("smsc.source", node.traces.number(&message.source))
        .with("smsc.destination", node.traces.number(&message.destination));
    let span = match message.ruled_by.as_deref() {
        Some(ruled) if !ruled.rule.is_empty() => span.with("smsc.mo_rule", ruled.rule.clone()),
        _ => span,
    };
    match content::part_of(message) {
        Some(part) => span
            .with("smsc.part", i64::from(part.sequence))
            .with("smsc.parts", i64::from(part.total)),
        None => span.with("smsc.parts", 1),
    }
}

fn with_peer(span: Span, peer: Option<SocketAddr>) -> Span {
    match peer {
        Some(peer) => span
            .with("network.peer.address", peer.ip().to_string())
            .with("network.peer.port", i64::from(peer.port()))
            .with("network.transport", "tcp"),
        None => span,
    }
}

/// The operator's address as it is configured; ESMEs connect to us and have none.
fn with_server(node: &NodeContext, span: Span, queue: u32) -> Span {
    let plan = node.plan();
    let Some((host, port)) = plan
        .operator(queue)
        .and_then(|operator| operator.config.address.rsplit_once(':'))
    else {
        return span;
    };
    let span = span.with("server.address", host.trim_matches(['[', ']']).to_owned());
    match port.parse::<u16>() {
        Ok(port) => span.with("server.port", i64::from(port)),
        Err(_) => span,
    }
}

fn status_name(status: u32) -> String {
    command_status::name(status).map_or_else(|| CommandStatus(status).to_string(), str::to_owned)
}

fn with_outcome(span: Span, outcome: AttemptOutcome) -> Span {
    match outcome {
        AttemptOutcome::Ok => span.with("smsc.command_status", "ESME_ROK"),
        AttemptOutcome::Status(status) => {
            let status = status_name(status);
            span.with("smsc.command_status", status.clone())
                .failed(status)
        }
        AttemptOutcome::Unanswered => span.failed("no_answer"),
    }
}
