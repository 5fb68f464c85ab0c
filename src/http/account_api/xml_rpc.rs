//! `POST /RPC2`: the same as `/v1/messages` for programs that speak XML-RPC; docs/xml-rpc.md is its reference.
//!
//! Served on `api.listen` if `api.xml_rpc` is set. What is wrong with a call is a fault, with the status that
//! `/v1/messages` would answer as its code; only what is no call at all (another method, another media type, a body
//! that is too large, no answer in time) has a status of HTTP.

mod aliases;
mod answer;
mod arguments;
mod methods;
mod order;
mod session;
mod sms;

use std::time::Duration;

use actix_web::body::BoxBody;
use actix_web::dev::ServiceRequest;
use actix_web::error::InternalError;
use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::middleware::{Next, from_fn};
use actix_web::{HttpMessage as _, HttpRequest, HttpResponse, web};

use self::answer::Fault;
use self::session::Session;
use super::auth::{Caller, NO_KEYS, counted_for};
use super::messages::IDEMPOTENCY_KEY;
use super::{MAX_BODY, State, counted};
use crate::http::api_request::MiddlewareAnswer;
use crate::http::bodies::{BodyProgress, NoBodyRoom};
use crate::http::problem::{LimitName, Problem};
use crate::http::{api, limit, traced};
use crate::xml_rpc::{Call, XmlRpcValue, read_call};

/// Where it is.
pub(super) const PATH: &str = "/RPC2";

const MEDIA_TYPE: &str = "text/xml; charset=utf-8";
const MULTICALL: &str = "system.multicall";
/// Most calls of one `system.multicall`; each waits for its commit.
const MOST_CALLS: usize = 100;

/// Serves it.
pub(super) fn register(app: &mut web::ServiceConfig) {
    app.service(
        web::resource(PATH)
            .wrap(from_fn(counted_body))
            .wrap(from_fn(authenticated))
            .wrap(from_fn(|request: ServiceRequest, next: Next<BoxBody>| {
                limit::in_time(
                    BodyProgress::of(&request),
                    MAX_BODY as u64,
                    next.call(request),
                )
            }))
            .wrap(from_fn(counted))
            .route(web::post().to(serve))
            .default_service(web::to(|request| {
                api::wrong_method(request, "POST".to_owned())
            })),
    );
}

/// Middleware: refuses a wrong Authorization header before the body is read. Without one, the key is in the body, and
/// the request is not traced: strangers make no spans.
async fn authenticated(request: ServiceRequest, next: Next<BoxBody>) -> MiddlewareAnswer {
    let state = request.app_data::<web::Data<State>>().cloned();
    let state = state.ok_or_else(|| Problem::unavailable(NO_KEYS))?;
    match session::authenticate(request.request(), &state).await {
        Ok(true) => traced::trace_sampled(request, next).await,
        Ok(false) => next.call(request).await,
        Err(problem) => Ok(request.into_response(answer(Err(problem.into())))),
    }
}

/// Middleware: counts the body for the account of the header, and without one for the address.
async fn counted_body(request: ServiceRequest, next: Next<BoxBody>) -> MiddlewareAnswer {
    let state = request.app_data::<web::Data<State>>().cloned();
    let state = state.ok_or_else(|| Problem::unavailable(NO_KEYS))?;
    let caller = request.extensions().get::<Caller>().cloned();
    let served = match caller {
        Some(caller) => counted_for(&state, &caller, request, next).await,
        None => {
            let served = state.strangers.serve_stranger(request, next).await;
            served.map_err(|NoBodyRoom| {
                let said =
                    "this address has as much under way as may be without a key in the header";
                Problem::too_many(LimitName::Memory, Duration::from_secs(1), said)
            })
        }
    };
    served.unwrap_or_else(|problem| {
        let answer = answer(Err(problem.into()));
        Err(InternalError::from_response("no room for a body", answer).into())
    })
}

async fn serve(
    request: HttpRequest,
    state: web::Data<State>,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let charset = charset(&request)?;
    let result = match Session::open(&request, &state) {
        Ok(mut session) => {
            let body = payload.to_bytes_limited(MAX_BODY).await;
            let too_large = |_| Problem::too_large(MAX_BODY as u64);
            let cut_off = |_| Problem::refused(StatusCode::BAD_REQUEST);
            let octets = body.map_err(too_large)?.map_err(cut_off)?;
            carry_out(&mut session, &octets, charset.as_deref()).await
        }
        Err(problem) => Err(problem.into()),
    };
    Ok(answer(result))
}

fn answer(result: Result<XmlRpcValue, Fault>) -> HttpResponse {
    let text = match result {
        Ok(value) => crate::xml_rpc::response(&value),
        Err(fault) => crate::xml_rpc::fault(&fault.into()),
    };
    HttpResponse::Ok().content_type(MEDIA_TYPE).body(text)
}

/// The charset of the Content-Type, if it names one.
fn charset(request: &HttpRequest) -> Result<Option<String>, Problem> {
    let Some(given) = request.headers().get(CONTENT_TYPE) else {
        return Ok(None);
    };
    let mut parts = given.to_str().unwrap_or_default().split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default();
    let is = |known: &str| media_type.eq_ignore_ascii_case(known);
    if !is("text/xml") && !is("application/xml") {
        return Err(Problem::refused(StatusCode::UNSUPPORTED_MEDIA_TYPE));
    }
    let named = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.eq_ignore_ascii_case("charset").then_some(value)
    });
    Ok(named.map(|named| named.trim_matches('"').to_owned()))
}

async fn carry_out(
    session: &mut Session<'_>,
    octets: &[u8],
    charset: Option<&str>,
) -> Result<XmlRpcValue, Fault> {
    if session.request.headers().contains_key(IDEMPOTENCY_KEY) {
        let detail = "a call has it as the argument idempotency_key";
        return Err(Problem::bad_value(IDEMPOTENCY_KEY, detail).into());
    }
    let call = read_call(octets, charset);
    let call = call.map_err(|error| Problem::bad_value("request", error.to_string()))?;
    match call.method.as_str() {
        MULTICALL => multicall(session, call.params).await,
        _ => one(session, call).await,
    }
}

async fn one(session: &mut Session<'_>, call: Call) -> Result<XmlRpcValue, Fault> {
    let method = methods::find(&call.method)?;
    let mut params = call.params;
    match method.role {
        None => Ok(methods::introspect(method.name, params)?),
        Some(role) => {
            let caller = session.caller(&mut params).await?;
            caller.permit(role)?;
            sms::call(method.name, session, &caller, params).await
        }
    }
}

/// Carries out calls one after another. Each has a result of its own: a list of one value, or a fault.
async fn multicall(
    session: &mut Session<'_>,
    mut params: Vec<XmlRpcValue>,
) -> Result<XmlRpcValue, Fault> {
    session.of_all(&mut params).await?;
    let [calls] = arguments::only(params, ["calls"])?;
    let XmlRpcValue::Array(calls) = calls else {
        return Err(arguments::wrong_type("calls", "array", &calls).into());
    };
    if calls.len() > MOST_CALLS {
        let detail = format!(
            "there are {} calls; {MOST_CALLS} are possible; sms.sendBulk sends more at once",
            calls.len()
        );
        return Err(Problem::bad_value("calls", detail).into());
    }
    let mut results = Vec::with_capacity(calls.len());
    for (at, call) in calls.into_iter().enumerate() {
        let result = match methods::call_of(call, at) {
            Ok(call) if call.method == MULTICALL => {
                let detail = "a system.multicall cannot be in another one";
                Err(Problem::bad_value("methodName", detail).into())
            }
            Ok(call) => one(session, call).await,
            Err(problem) => Err(problem.into()),
        };
        results.push(match result {
            Ok(value) => XmlRpcValue::Array(vec![value]),
            Err(fault) => fault.into(),
        });
    }
    Ok(XmlRpcValue::Array(results))
}

#[cfg(test)]
mod tests;
