//! `POST /v1/traces`: what happens to the messages of one number, account or operator, as it happens.
//!
//! The trace is the answer: it ends with the connection, with its time, or with the token, and nothing of it is kept. So
//! it works behind a load balancer, and no id of a trace can be guessed.

use std::convert::Infallible;
use std::ops::RangeInclusive;
use std::time::Duration;

use actix_web::{HttpResponse, web};
use futures_util::stream;
use serde::Deserialize;
use utoipa::ToSchema;

use super::messages::address;
use super::{body, call};
use crate::actors::control::access::Bearer;
use crate::actors::control::admin::{BeginWatch, Watching, Whom, watching};
use crate::api::{Begun, End, Steps, time};
use crate::clock;
use crate::domain::address::mask;
use crate::http::State;
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::audit;
use crate::http::auth::{bearer_of, who};
use crate::http::problem::Problem;
use crate::http::query::{Query, duration};

const STREAM: &str = "text/event-stream";
/// How long a trace lasts that says nothing else.
const USUAL: Duration = Duration::from_secs(5 * 60);
const LENGTHS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3600);

/// Whom to trace, and for how long. One of `number`, `account` and `operator`.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct TraceOrder {
    /// The source or the destination of messages, exact, with or without a plus.
    number: Option<String>,
    /// Whoever brings messages or is given them: an account, by its system_id.
    account: Option<String>,
    /// An operator, by its id.
    operator: Option<String>,
    /// `"5m"`, which is also the default; from 1 s to 1 h.
    r#for: Option<String>,
}

/// Traces a number, an account or an operator.
///
/// Server-sent events from all nodes: `begun`, then `steps` with what has happened since the one before, and `end`
/// when the time is over, the token is no longer valid or the server stops. Nothing is recorded; messages that were
/// under way before are told of from their next step on. A trace shows no texts. At most 16 at once per node.
#[utoipa::path(post, path = "/v1/traces", tag = "messages", request_body = TraceOrder,
    responses((status = 200, description = "Until its time is over", content_type = "text/event-stream", body = String),
        (status = 404, description = "There is no such account or operator")))]
pub(super) async fn trace(request: ApiRequest, octets: web::Bytes) -> ApiAnswer {
    Query::read(&request, &[])?;
    let order: TraceOrder = body(&octets)?;
    let (whom, lasts) = order.read()?;
    audit::detail(&request, said(&whom));
    watch(&request, whom, lasts, false).await
}

/// Streams what is watched.
pub(super) async fn watch(
    request: &ApiRequest,
    whom: Whom,
    lasts: Duration,
    with_text: bool,
) -> ApiAnswer {
    let bearer = bearer_of(request)?;
    let begin = BeginWatch {
        whom,
        until: clock::now_ms() + lasts.as_millis() as i64,
        token: bearer.name.clone(),
        by: who(request),
    };
    let feed = Feed {
        watching: call(request, |admin| watching::begin(admin, begin)).await??,
        state: request.state.clone(),
        bearer,
        with_text,
        stage: Stage::Begins,
    };
    let events = stream::unfold(feed, |mut feed| async {
        let octets = feed.next().await?;
        Some((Ok::<_, Infallible>(octets), feed))
    });
    Ok(HttpResponse::Ok()
        .content_type(STREAM)
        // nginx would gather the events otherwise.
        .insert_header(("X-Accel-Buffering", "no"))
        .streaming(events))
}

fn said(whom: &Whom) -> String {
    match whom {
        // The audit log outlives the erasure of a subscriber.
        Whom::Number(number) => format!("trace of number {}", mask(number.as_bytes())),
        Whom::Account(name) => format!("trace of account {name}"),
        Whom::Operator(id) => format!("trace of operator {id}"),
        Whom::Bind { node, session } => format!("PDUs of bind {node}/{session}"),
    }
}

enum Stage {
    Begins,
    Runs,
    IsOver,
}

/// One stream.
struct Feed {
    watching: Watching,
    state: web::Data<State>,
    bearer: Bearer,
    with_text: bool,
    stage: Stage,
}

// === impl Feed ===

impl Feed {
    async fn next(&mut self) -> Option<web::Bytes> {
        match self.stage {
            Stage::IsOver => return None,
            Stage::Begins => {
                self.stage = Stage::Runs;
                let until = time(self.watching.until());
                return Some(event("begun", &Begun { until }));
            }
            Stage::Runs => {}
        }
        let seen = self.watching.next().await;
        if !(self.state.access).is_still_good(&self.bearer, clock::now_ms()) {
            return Some(self.end("the token was removed or has ended"));
        }
        if self.state.live.is_closed() {
            return Some(self.end("the server is stopping"));
        }
        let Some((steps, missed)) = seen else {
            return Some(self.end("its time is over"));
        };
        if steps.is_empty() && missed == 0 {
            if self.watching.is_gone() {
                return Some(self.end("the bind is gone"));
            }
            // A comment keeps the connection alive, and shows when the client is gone.
            return Some(web::Bytes::from_static(b":\n\n"));
        }
        Some(event("steps", &Steps::new(steps, missed, self.with_text)))
    }

    fn end(&mut self, reason: &str) -> web::Bytes {
        self.stage = Stage::IsOver;
        let reason = reason.to_owned();
        event("end", &End { reason })
    }
}

fn event(name: &str, what: &impl serde::Serialize) -> web::Bytes {
    // These structs have no map with keys that JSON lacks, the only way to fail.
    let data = serde_json::to_string(what).unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n").into()
}

// === impl TraceOrder ===

impl TraceOrder {
    fn read(self) -> Result<(Whom, Duration), Problem> {
        let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let whom = match (
            given(self.number),
            given(self.account),
            given(self.operator),
        ) {
            (Some(number), None, None) => Whom::Number(address(Some(&number))),
            (None, Some(account), None) => Whom::Account(account),
            (None, None, Some(operator)) => Whom::Operator(operator),
            _ => {
                return Err(Problem::bad_value(
                    "body",
                    "name one of number, account and operator, such as {\"number\": \"447700900123\"}",
                ));
            }
        };
        Ok((whom, lasts(self.r#for.as_deref())?))
    }
}

/// How long something is watched.
pub(super) fn lasts(text: Option<&str>) -> Result<Duration, Problem> {
    text.map_or(Ok(USUAL), |text| duration("for", text, "\"5m\"", LENGTHS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<(Whom, Duration), Problem> {
        body::<TraceOrder>(json.as_bytes())?.read()
    }

    #[test]
    fn one_is_traced_at_a_time() {
        let (whom, lasts) = read(r#"{"number": "+447700", "for": "90s"}"#).unwrap();
        assert_eq!(whom, Whom::Number("447700".to_owned()));
        assert_eq!(lasts, Duration::from_secs(90));
        let (whom, lasts) = read(r#"{"operator": "up"}"#).unwrap();
        assert_eq!((whom, lasts), (Whom::Operator("up".to_owned()), USUAL));
        for wrong in [
            "{}",
            r#"{"number": " "}"#,
            r#"{"number": "1", "account": "a"}"#,
            r#"{"number": "1", "for": "2h"}"#,
            r#"{"number": "1", "for": "0s"}"#,
            r#"{"number": "1", "minutes": 5}"#,
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_audit_log_does_not_keep_a_number() {
        let said = said(&Whom::Number("447700900123".to_owned()));
        assert!(!said.contains("447700900123"), "{said}");
    }
}
