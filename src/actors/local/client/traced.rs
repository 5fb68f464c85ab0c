//! The span of a submission whose program traces it (W3C Trace Context), with its messages below it.
//!
//! Others cost nothing here; whether their messages are traced is decided in Ingest. Names are those of
//! OpenTelemetry's semantic conventions for RPC.

use bytes::Bytes;
use tracing::field::Empty;
use tracing::{Instrument as _, Span, info_span};

use super::submit as carry_out;
use crate::actors::context::plan::AccountPlan;
use crate::actors::ingress::account_api::AccountApi;
use crate::domain::trace::TraceContext;
use crate::pb::local::from_smsc::What;
use crate::pb::local::{Failure, Reason, Submit};
use crate::telemetry::traces::requests::{self, TARGET};

/// Submits, inside a span if the caller's trace is recorded.
pub(super) async fn submit(
    api: &AccountApi,
    account: &AccountPlan,
    order: Submit,
) -> Result<What, Failure> {
    let context = TraceContext::parse(&order.traceparent);
    if !context.is_some_and(|context| context.is_sampled()) {
        return carry_out(api, account, order, Bytes::new()).await;
    }
    let span = info_span!(
        target: TARGET,
        "request",
        otel.name = "smsc.local.v1/Submit",
        otel.kind = "server",
        rpc.system = "smsc",
        rpc.service = "smsc.local.v1",
        rpc.method = "Submit",
        network.transport = "unix",
        otel.status_code = Empty,
        "error.type" = Empty,
    );
    requests::continue_from(&span, &order.traceparent);
    async move {
        let messages = match api.node().traces.is_on() {
            true => requests::current(),
            false => None,
        };
        let octets = messages.map_or_else(Bytes::new, |context| {
            Bytes::copy_from_slice(&context.to_octets())
        });
        let answer = carry_out(api, account, order, octets).await;
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
