//! The span of a request whose program traces it (W3C Trace Context), with its messages below it.
//!
//! Others cost nothing here; whether their messages are traced is decided in Ingest. Names are those of
//! OpenTelemetry's semantic conventions for RPC.

use tracing::field::Empty;
use tracing::{Instrument as _, Span, info_span};

use crate::actors::context::NodeContext;
use crate::domain::trace::TraceContext;
use crate::pb::local::{Failure, Reason};
use crate::telemetry::traces::requests::{self, TARGET};

/// Carries out a request, inside a span if the caller's trace is recorded. It is given the trace context of its messages,
/// empty without one.
pub(super) async fn in_span<T, F>(
    method: &'static str,
    traceparent: &str,
    node: &NodeContext,
    request: impl FnOnce(Vec<u8>) -> F,
) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let context = TraceContext::parse(traceparent);
    if !context.is_some_and(|context| context.is_sampled()) {
        return request(Vec::new()).await;
    }
    let span = info_span!(
        target: TARGET,
        "request",
        otel.name = format!("smsc.local.v1/{method}"),
        otel.kind = "server",
        rpc.system = "smsc",
        rpc.service = "smsc.local.v1",
        rpc.method = method,
        network.transport = "unix",
        otel.status_code = Empty,
        "error.type" = Empty,
    );
    requests::continue_from(&span, traceparent);
    async move {
        let of_messages = if node.traces.is_on() {
            requests::current()
        } else {
            None
        };
        let octets = of_messages.map_or_else(Vec::new, |context| context.to_octets().to_vec());
        let answer = request(octets).await;
        if let Err(failure) = &answer
            && matches!(failure.reason(), Reason::Unavailable | Reason::Stopping)
        {
            let span = Span::current();
            span.record("otel.status_code", "ERROR");
            span.record("error.type", failure.reason().as_str_name());
        }
        answer
    }
    .instrument(span)
    .await
}
