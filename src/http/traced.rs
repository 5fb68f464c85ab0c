//! Middleware: a span for each request that commands something, or whose caller traces it.
//!
//! The span has the names of OpenTelemetry's semantic conventions for HTTP servers, and the caller's
//! span as its parent (W3C Trace Context). Reads are not traced by default: the console reads all
//! the time.

use actix_web::body::BoxBody;
use actix_web::dev::ServiceRequest;
use actix_web::http::Method;
use actix_web::http::header::HeaderMap;
use actix_web::middleware::Next;
use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::field::Empty;
use tracing::{Instrument as _, Span, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use super::api_request::MiddlewareAnswer;
use super::audit::shown_path;
use super::request_ids;
use crate::domain::trace::TraceContext;
use crate::telemetry::traces::requests::TARGET;

const TRACEPARENT: &str = "traceparent";

/// Traces the request.
pub(super) async fn trace(request: ServiceRequest, next: Next<BoxBody>) -> MiddlewareAnswer {
    let looks = [Method::GET, Method::HEAD].contains(request.method());
    if looks && !request.headers().contains_key(TRACEPARENT) {
        return next.call(request).await;
    }
    in_span(request, next).await
}

/// Traces the request if its caller's trace is recorded: others cost nothing.
pub(super) async fn trace_sampled(
    request: ServiceRequest,
    next: Next<BoxBody>,
) -> MiddlewareAnswer {
    let traceparent = request.headers().get(TRACEPARENT);
    let context = traceparent.and_then(|value| TraceContext::parse(value.to_str().ok()?));
    if context.is_some_and(|context| context.is_sampled()) {
        in_span(request, next).await
    } else {
        next.call(request).await
    }
}

async fn in_span(request: ServiceRequest, next: Next<BoxBody>) -> MiddlewareAnswer {
    let span = span_of(&request);
    let parent = TraceContextPropagator::new().extract(&Headers(request.headers()));
    // Without a collector there is no trace.
    let _ = span.set_parent(parent);
    async move {
        let answer = next.call(request).await;
        let status = match &answer {
            Ok(answer) => answer.status(),
            Err(error) => error.as_response_error().status_code(),
        };
        let span = Span::current();
        span.record("http.response.status_code", i64::from(status.as_u16()));
        if status.is_server_error() {
            span.record("otel.status_code", "ERROR");
            span.record("error.type", status.as_str());
        }
        answer
    }
    .instrument(span)
    .await
}

fn span_of(request: &ServiceRequest) -> Span {
    let route = request.match_pattern().unwrap_or_default();
    let peer = request.peer_addr();
    let address = peer.map(|peer| peer.ip().to_string());
    let port = peer.map(|peer| i64::from(peer.port()));
    let scheme = if request.app_config().secure() {
        "https"
    } else {
        "http"
    };
    let host = request.connection_info().host().to_owned();
    let (server, server_port) = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => (name, port.parse::<i64>().ok()),
        _ => (host.as_str(), None),
    };
    info_span!(
        target: TARGET,
        "request",
        otel.name = format!("{} {route}", request.method()),
        otel.kind = "server",
        http.request.method = request.method().as_str(),
        http.route = route,
        url.path = shown_path(request.request()),
        url.scheme = scheme,
        server.address = server,
        server.port = server_port,
        client.address = address,
        network.peer.address = address,
        network.peer.port = port,
        http.response.status_code = Empty,
        smsc.request_id = request_ids::current(),
        otel.status_code = Empty,
        "error.type" = Empty,
    )
}

/// What the propagator reads from.
struct Headers<'r>(&'r HeaderMap);

// === impl Headers ===

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(|name| name.as_str()).collect()
    }
}
