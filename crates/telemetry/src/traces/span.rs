//! One step of a message as a span of OpenTelemetry, with the names of its semantic conventions for messaging.
//!
//! A span about a destination is named "operation destination", such as `submit_sm operator:up`; others have the name of
//! their step. Every span has its step in `smsc.step`, which is the same whatever the destination.

use std::time::{Duration, UNIX_EPOCH};

use opentelemetry::trace::{
    Link, SpanContext, SpanId as OtelSpanId, SpanKind, Status, TraceFlags, TraceId as OtelTraceId,
    TraceState,
};
use opentelemetry::{InstrumentationScope, KeyValue, Value};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use smsc_domain::trace::{SpanId, TraceContext};

/// Which side of a conversation a span is (OpenTelemetry's span kinds).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanSide {
    /// Waits for a peer's answer.
    Client,
    /// Takes what a peer sent.
    Consumer,
    /// Inside this process.
    Internal,
}

/// One step that is over.
#[derive(Debug)]
pub struct Span {
    pub(super) id: SpanId,
    pub(super) context: TraceContext,
    pub(super) step: &'static str,
    operation: &'static str,
    destination: Option<String>,
    kind: SpanSide,
    pub(super) start_us: i64,
    pub(super) end_us: i64,
    attributes: Vec<KeyValue>,
    link: Option<TraceContext>,
    pub(super) error: Option<String>,
}

// === impl Span ===

impl Span {
    /// The step `step` with this id, below the span that the context names, from and to the
    /// given Unix microseconds.
    pub fn new(
        context: TraceContext,
        id: SpanId,
        step: &'static str,
        kind: SpanSide,
        start_us: i64,
        end_us: i64,
    ) -> Self {
        let mut attributes = Vec::with_capacity(18);
        attributes.push(KeyValue::new("smsc.step", step));
        Self {
            id,
            context,
            step,
            operation: step,
            destination: None,
            kind,
            // Clocks of two nodes differ, and any clock may step back.
            start_us: start_us.min(end_us),
            end_us,
            attributes,
            link: None,
            error: None,
        }
    }

    /// With a random id: no other span refers to it.
    pub fn leaf(
        context: TraceContext,
        step: &'static str,
        kind: SpanSide,
        start_us: i64,
        end_us: i64,
    ) -> Self {
        Self::new(context, fresh_id(), step, kind, start_us, end_us)
    }

    /// With an attribute.
    pub fn with(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.attributes.push(KeyValue::new(key, value));
        self
    }

    /// What is done, as its protocol names it (submit_sm), and which type of operation that is (send, process).
    pub fn operation(mut self, name: &'static str, of_type: &'static str) -> Self {
        self.operation = name;
        self.with("messaging.operation.name", name)
            .with("messaging.operation.type", of_type)
    }

    /// The queue that the message is for or comes from.
    pub fn to(mut self, destination: String) -> Self {
        self.destination = Some(destination.clone());
        self.with("messaging.destination.name", destination)
    }

    /// Linked with the trace that it continues.
    pub fn linked(mut self, link: Option<TraceContext>) -> Self {
        self.link = link;
        self
    }

    /// Failed, for a reason out of few (`error.type`).
    pub fn failed(mut self, reason: impl Into<String>) -> Self {
        let reason = reason.into();
        self.attributes
            .push(KeyValue::new("error.type", reason.clone()));
        self.error = Some(reason);
        self
    }

    pub(super) fn into_data(self, scope: &InstrumentationScope) -> SpanData {
        let mut links = SpanLinks::default();
        links.links.extend(self.link.map(|link| {
            Link::new(
                span_context(&link, link.parent),
                vec![KeyValue::new("smsc.link", "message")],
                0,
            )
        }));
        SpanData {
            span_context: span_context(&self.context, self.id),
            parent_span_id: OtelSpanId::from_bytes(self.context.parent),
            parent_span_is_remote: false,
            span_kind: match self.kind {
                SpanSide::Client => SpanKind::Client,
                SpanSide::Consumer => SpanKind::Consumer,
                SpanSide::Internal => SpanKind::Internal,
            },
            name: match &self.destination {
                Some(destination) => format!("{} {destination}", self.operation).into(),
                None => self.operation.into(),
            },
            start_time: moment(self.start_us),
            end_time: moment(self.end_us),
            attributes: self.attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links,
            status: match self.error {
                Some(reason) => Status::error(reason),
                None => Status::Unset,
            },
            instrumentation_scope: scope.clone(),
        }
    }
}

/// The id of a span that is not derived elsewhere.
pub fn fresh_id() -> SpanId {
    rand::random::<u64>().max(1).to_be_bytes()
}

fn span_context(context: &TraceContext, span: SpanId) -> SpanContext {
    SpanContext::new(
        OtelTraceId::from_bytes(context.trace_id),
        OtelSpanId::from_bytes(span),
        TraceFlags::new(context.flags),
        false,
        TraceState::NONE,
    )
}

fn moment(us: i64) -> std::time::SystemTime {
    UNIX_EPOCH + Duration::from_micros(us.max(0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use smsc_domain::trace::{TraceStep, span_id};

    fn read(span: Span) -> SpanData {
        span.into_data(&InstrumentationScope::builder("test").build())
    }

    #[test]
    fn a_span_says_what_it_was_told() {
        let old = TraceContext::root([9; 16]).below([1; 8]);
        let context = TraceContext::root([7; 16]).below([2; 8]);
        let id = span_id([7; 16], 5, TraceStep::End, 0);
        let span = Span::new(context, id, "receipt", SpanSide::Consumer, 1_000, 3_500)
            .operation("deliver_sm", "process")
            .to("operator:up".to_owned())
            .with("smsc.parts", 2)
            .linked(Some(old))
            .failed("UNDELIVERABLE");
        let data = read(span);
        assert_eq!(data.name, "deliver_sm operator:up");
        assert_eq!(data.span_context.span_id().to_bytes(), id);
        assert_eq!(data.parent_span_id.to_bytes(), [2; 8]);
        assert_eq!(data.status, Status::error("UNDELIVERABLE"));
        let link = &data.links.links[0].span_context;
        assert_eq!(link.trace_id().to_bytes(), [9; 16]);
        assert_eq!(link.span_id().to_bytes(), [1; 8]);
        let took = data.end_time.duration_since(data.start_time);
        assert_eq!(took.ok(), Some(Duration::from_micros(2_500)));
        for attribute in [
            KeyValue::new("error.type", "UNDELIVERABLE"),
            KeyValue::new("smsc.step", "receipt"),
            KeyValue::new("smsc.parts", 2),
            KeyValue::new("messaging.operation.name", "deliver_sm"),
            KeyValue::new("messaging.operation.type", "process"),
            KeyValue::new("messaging.destination.name", "operator:up"),
        ] {
            assert!(data.attributes.contains(&attribute), "{attribute:?}");
        }
    }

    #[test]
    fn a_step_inside_has_its_own_name_and_never_a_negative_length() {
        let context = TraceContext::root([7; 16]);
        let data = read(Span::leaf(
            context,
            "store",
            SpanSide::Internal,
            2_000,
            1_000,
        ));
        assert_eq!(data.name, "store");
        assert!(data.start_time <= data.end_time);
    }
}
