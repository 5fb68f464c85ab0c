//! The paths, parameters and answers of Kannel and Jasmin, for programs that were written for them.
//!
//! Each behind its switch in `[api]`. They log in as an account with its system_id and the password that it binds
//! with, or an API key in its place, and submit by the same way as `/v1/messages`. docs/coming-from.md has the
//! differences. Invariant: what a request asks for and does not get is refused, unless that page says otherwise.

mod args;
mod jasmin;
mod json;
mod kannel;
mod login;
mod reports;

use actix_web::body::BoxBody;
use actix_web::dev::ServiceRequest;
use actix_web::error::InternalError;
use actix_web::guard::{Any, Get, Post};
use actix_web::http::StatusCode;
use actix_web::http::header::{ContentType, RETRY_AFTER};
use actix_web::middleware::{Next, from_fn};
use actix_web::{FromRequest, Handler, HttpRequest, HttpResponse, Responder, web};
use tokio::time::timeout;

use super::{State, messages};
use crate::actors::context::plan::AccountPlan;
use crate::actors::ingress::account_api::Refused;
use crate::config::Api;
use crate::domain::period::MINUTE_MS;
use crate::http::api_request::MiddlewareAnswer;
use crate::http::bodies::NoBodyRoom;
use crate::http::limit::ANSWER_WITHIN;
use crate::http::traced;
use crate::pb::Message;

/// Most minutes of a validity or a delay: ten years. SMPP writes a year with two digits.
const MAX_MINUTES: i64 = 10 * 366 * 24 * 60;

/// Most octets of a body: the longest text with each octet as three, and a few thousand receivers.
const MAX_FORM: usize = 256 * 1024;
const LATER: &str = "Temporal failure, try again later.";

/// Whose paths are served.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entrances {
    kannel: bool,
    jasmin: bool,
}

impl From<&Api> for Entrances {
    fn from(config: &Api) -> Self {
        Self {
            kannel: config.kannel,
            jasmin: config.jasmin,
        }
    }
}

/// Serves those that are switched on.
pub(super) fn register(app: &mut web::ServiceConfig, entrances: Entrances) {
    if entrances.kannel {
        serve(app, "/cgi-bin/sendsms", kannel::send);
    }
    if entrances.jasmin {
        serve(app, "/send", jasmin::send);
        serve(app, "/rate", jasmin::rate);
        serve(app, "/balance", jasmin::balance);
        serve(app, "/ping", jasmin::ping);
    }
}

fn serve<F, Args>(app: &mut web::ServiceConfig, path: &str, handler: F)
where
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    let route = web::route().guard(Any(Get()).or(Post()));
    let resource = web::resource(path)
        .app_data(web::PayloadConfig::new(MAX_FORM))
        .route(route.to(handler));
    app.service(
        resource
            .wrap(from_fn(traced::trace_sampled))
            .wrap(from_fn(bounded)),
    );
}

/// Middleware: who has not logged in has room and time of his address only.
async fn bounded(request: ServiceRequest, next: Next<BoxBody>) -> MiddlewareAnswer {
    let later = || plain(StatusCode::SERVICE_UNAVAILABLE, LATER.to_owned());
    let Some(state) = request.app_data::<web::Data<State>>().cloned() else {
        return Ok(request.into_response(later()));
    };
    let served = state.strangers.serve_stranger(request, next);
    match timeout(ANSWER_WITHIN, served).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(NoBodyRoom)) | Err(_) => Err(InternalError::from_response(LATER, later()).into()),
    }
}

/// Submits messages; `None` if there is no answer in time, and it is unknown whether they were accepted.
async fn submit(
    request: &HttpRequest,
    state: &State,
    account: &AccountPlan,
    messages: Vec<Message>,
) -> Option<Vec<Result<u64, Refused>>> {
    let sent = messages::send(request, &state.api, account, messages, None);
    timeout(ANSWER_WITHIN, sent).await.ok()?.ok()
}

/// A plain text. It may repeat what the request says, so it is never sent as HTML.
fn plain(status: StatusCode, text: String) -> HttpResponse {
    let mut answer = HttpResponse::build(status);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        answer.insert_header((RETRY_AFTER, "1"));
    }
    answer.content_type(ContentType::plaintext()).body(text)
}

/// That many minutes after `now`, in Unix milliseconds.
fn in_minutes(now: i64, minutes: i64) -> i64 {
    now.saturating_add(minutes.saturating_mul(MINUTE_MS))
}
