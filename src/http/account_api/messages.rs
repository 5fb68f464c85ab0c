//! `/v1/messages`: submit, price and find messages of the account.

use std::collections::BTreeMap;

use actix_web::{HttpRequest, HttpResponse, web};

use super::auth::caller;
use super::order::{self, DraftResult, SubmissionOrder};
use super::view::{
    EstimateView, Estimates, MessageDetails, MessagePage, RecipientOutcome, Submitted,
};
use super::{State, refusal};
use crate::actors::context::plan::AccountPlan;
use crate::actors::ingress::account_api::{
    AccountApi, Filter, MAX_KEY, NotOnce, NotSubmitted, Refused,
};
use crate::api::StateName;
use crate::clock;
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::peers;
use crate::http::problem::Problem;
use crate::http::query::Query;
use crate::http::v1::messages::{address, destination, message_id, state_of};
use crate::pb::Message;
use crate::telemetry::traces::requests;

pub(super) const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// What a body with an Idempotency-Key is for.
const SUBMISSION: &str = "POST /v1/messages";
/// Filters of a list.
const QUERY: &[&str] = &[
    "to", "from", "since", "until", "state", "received", "text", "limit", "before",
];

/// Submits one message to one or many recipients, or several messages.
///
/// The body is one message, or `{"messages": [...]}`. The answer comes when the accepted messages are durable: they
/// survive a crash from then on. Each recipient has its own result; a wrong one does not harm the others. If all are
/// refused, the answer is the problem of the first.
///
/// With an Idempotency-Key a repeated request submits nothing, and gets the same answer for 48 hours. If all were
/// refused, the key is free again.
#[utoipa::path(post, path = "/v1/messages", tag = "messages", request_body = SubmissionOrder,
    params(("Idempotency-Key" = Option<String>, Header, description = "A value of your own for this request, such as a UUID", max_length = 255)),
    responses((status = 202, description = "Accepted, at least one", body = Submitted),
        (status = 402, description = "The balance does not cover it"),
        (status = 422, description = "All were refused; `field` names the reason of the first"),
        (status = 507, description = "The queue, the account or the disk is full")))]
pub(super) async fn submit(request: ApiRequest<State>, octets: web::Bytes) -> ApiAnswer {
    Query::read(&request, &[])?;
    let caller = caller(&request)?;
    let key = idempotency_key(&request)?;
    refuse_while_draining(&request.state.api)?;
    let drafts = order::read(&octets, clock::now_ms(), &caller.account.numbers)?;
    let once = key.map(|key| Once {
        key,
        target: SUBMISSION,
        body: octets,
    });
    let submitted = accept(&request, &request.state.api, &caller.account, drafts, once).await?;
    Ok(HttpResponse::Accepted().json(submitted))
}

/// What a repetition of a request is recognised by.
pub(in crate::http) struct Once {
    pub key: String,
    /// What the body is for.
    pub target: &'static str,
    pub body: web::Bytes,
}

/// Refuses new messages when the node is about to stop.
pub(in crate::http) fn refuse_while_draining(api: &AccountApi) -> Result<(), Problem> {
    if api.is_draining() {
        Err(Problem::unavailable(
            "this node is about to stop; try again, at another node",
        ))
    } else {
        Ok(())
    }
}

/// Submits the drafts of a request: its answer, or the first problem if all were refused.
pub(in crate::http) async fn accept(
    request: &HttpRequest,
    api: &AccountApi,
    account: &AccountPlan,
    drafts: Vec<DraftResult>,
    once: Option<Once>,
) -> Result<Submitted, Problem> {
    let (messages, first) = outcomes(request, api, account, drafts, once).await?;
    let accepted = messages.iter().filter(|one| one.id.is_some()).count();
    match first {
        Some(problem) if accepted == 0 => Err(problem),
        _ => Ok(Submitted {
            refused: messages.len() - accepted,
            messages,
            accepted,
        }),
    }
}

/// Submits the drafts that are messages. Returns what became of each draft, in their order, once the accepted ones are
/// durable, and the first problem.
///
/// # Errors
/// A request that may be repeated was not carried out.
pub(super) async fn outcomes(
    request: &HttpRequest,
    api: &AccountApi,
    account: &AccountPlan,
    mut drafts: Vec<DraftResult>,
    once: Option<Once>,
) -> Result<(Vec<RecipientOutcome>, Option<Problem>), Problem> {
    order::check_callbacks(account, &mut drafts);
    let mut last = None;
    // By their places: what was refused as no message, and what as one that may not be sent.
    let mut problems = BTreeMap::new();
    let mut outcomes = Vec::with_capacity(drafts.len());
    let (mut messages, mut places) = (Vec::new(), Vec::new());
    for drafted in drafts {
        let mut outcome = RecipientOutcome {
            to: drafted.to,
            reference: drafted.reference,
            ..RecipientOutcome::default()
        };
        match drafted.message {
            Ok(draft) => {
                outcome.parts = Some(draft.parts);
                outcome.alphabet = Some(draft.alphabet);
                places.push(outcomes.len());
                messages.push(draft.message);
            }
            Err(problem) => {
                outcome.error = Some(problem.details());
                problems.insert(outcomes.len(), problem);
            }
        }
        outcomes.push(outcome);
    }
    if !messages.is_empty() {
        let results = send(request, api, account, messages, once).await?;
        for (place, result) in places.into_iter().zip(results) {
            let outcome = &mut outcomes[place];
            match result {
                Ok(id) => outcome.id = Some(id.to_string()),
                Err(refused) => {
                    let problem = refusal::problem(&refused);
                    outcome.error = Some(problem.details());
                    last = last.max(refused.retry_at);
                    problems.insert(place, problem);
                }
            }
        }
    }
    // All of them pass when the last one does.
    let first = problems.into_values().next();
    let first = first.map(|problem| problem.not_before(last));
    Ok((outcomes, first))
}

/// The Idempotency-Key of a request, if it has one.
fn idempotency_key(request: &HttpRequest) -> Result<Option<String>, Problem> {
    let mut keys = request.headers().get_all(IDEMPOTENCY_KEY);
    let Some(key) = keys.next() else {
        return Ok(None);
    };
    let key = match keys.next() {
        None => key.to_str().unwrap_or_default(),
        Some(_) => "",
    };
    check_key(key)?;
    Ok(Some(key.to_owned()))
}

/// Refuses what is no Idempotency-Key.
pub(super) fn check_key(key: &str) -> Result<(), Problem> {
    if (1..=MAX_KEY).contains(&key.len()) && key.is_ascii() {
        return Ok(());
    }
    let detail = format!("Idempotency-Key must be one value of 1 to {MAX_KEY} ASCII characters");
    Err(Problem::bad_value("Idempotency-Key", detail))
}

/// Why a request was not carried out as a whole.
fn not_submitted(why: NotSubmitted) -> Problem {
    match why {
        NotSubmitted::OverBurst(over) => refusal::over_burst(over),
        NotSubmitted::NotOnce(why) => not_once(why),
    }
}

/// Why a request with an Idempotency-Key was not carried out.
fn not_once(why: NotOnce) -> Problem {
    match why {
        NotOnce::OtherRequest => Problem::key_reused(),
        NotOnce::InProgress => Problem::key_in_progress(),
        NotOnce::Full => Problem::unavailable(
            "no more Idempotency-Keys can be remembered (api.idempotency_keys); send the request without one, or later",
        ),
        NotOnce::Unavailable(error) => Problem::unavailable(error),
        NotOnce::Broken => Problem::unavailable("it has failed by an error of the SMSC; repeat it"),
    }
}

/// Submits messages as parts of this request: with its peer and its trace. Results in their order, once durable.
///
/// # Errors
/// A request that may be repeated was not carried out.
pub(super) async fn send(
    request: &HttpRequest,
    api: &AccountApi,
    account: &AccountPlan,
    mut messages: Vec<Message>,
    once: Option<Once>,
) -> Result<Vec<Result<u64, Refused>>, Problem> {
    let peer = match (request.peer_addr(), peers::client(request)) {
        (Some(socket), Some(client)) if socket.ip() != client => format!("{client}:0"),
        (socket, _) => socket.map_or_else(String::new, |socket| socket.to_string()),
    };
    let trace_context = trace_context(api);
    if !trace_context.is_empty() {
        for message in &mut messages {
            message.trace_context = trace_context.clone();
        }
    }
    let Some(once) = once else {
        let submitted = api.submit(account, peer, messages).await;
        return submitted.map_err(not_submitted);
    };
    let (key, body) = (&once.key, &once.body);
    let submitted = api.submit_once(account, peer, messages, key, once.target, body);
    submitted.await.map_err(not_submitted)
}

/// The span of this request, which becomes the parent of its messages' spans if it is recorded.
fn trace_context(api: &AccountApi) -> Vec<u8> {
    let context = if api.node().traces.is_on() {
        requests::current()
    } else {
        None
    };
    context.map_or_else(Vec::new, |context| context.to_octets().to_vec())
}

/// Parts, alphabet and price of messages, and why they would be refused. Sends nothing.
///
/// The body is that of a submission. Rates, quotas and the balance are not looked at.
#[utoipa::path(post, path = "/v1/messages/estimate", tag = "messages", request_body = SubmissionOrder,
    responses((status = 200, description = "What would become of them", body = Estimates)))]
pub(super) async fn estimate(request: ApiRequest<State>, octets: web::Bytes) -> ApiAnswer {
    Query::read(&request, &[])?;
    let caller = caller(&request)?;
    let drafts = order::read(&octets, clock::now_ms(), &caller.account.numbers)?;
    Ok(HttpResponse::Ok().json(estimates(&request.state.api, &caller.account, drafts)))
}

/// What would become of the drafts.
pub(in crate::http) fn estimates(
    api: &AccountApi,
    account: &AccountPlan,
    mut drafts: Vec<DraftResult>,
) -> Estimates {
    order::check_callbacks(account, &mut drafts);
    let (mut parts, mut price) = (0, None);
    let messages = drafts.into_iter().map(|drafted| {
        let mut view = EstimateView {
            to: drafted.to,
            ..EstimateView::default()
        };
        match drafted.message {
            Err(problem) => view.error = Some(problem.details()),
            Ok(draft) => {
                let number = String::from_utf8_lossy(&draft.message.destination);
                view.number = Some(number.into_owned());
                let estimate = api.estimate(account, draft.message);
                view.parts = Some(estimate.segments);
                view.alphabet = Some(draft.alphabet);
                view.price = estimate.price;
                match estimate.refused {
                    Some(refused) => {
                        let problem = refusal::problem(&refused);
                        view.error = Some(problem.details());
                    }
                    None => {
                        parts += estimate.segments;
                        price = estimate.price.map(|one| price.unwrap_or(0) + one);
                    }
                }
            }
        }
        view
    });
    let messages = messages.collect();
    Estimates {
        messages,
        parts,
        price,
    }
}

/// A page of the account's messages, newest first.
///
/// A page has `limit` entries; fewer only if it is the last one, or if looking for them takes long.
#[utoipa::path(get, path = "/v1/messages", tag = "messages",
    params(
        ("to" = Option<String>, Query, description = "Destination, exact, in any form in which a submission takes it"),
        ("from" = Option<String>, Query, description = "Source address, exact"),
        ("since" = Option<String>, Query, description = "Accepted at this time or later: RFC 3339, a day, or Unix milliseconds"),
        ("until" = Option<String>, Query, description = "Accepted before this time"),
        ("state" = Option<StateName>, Query, description = "ENROUTE means not final"),
        ("received" = Option<bool>, Query, description = "Messages that came to a number of the account, instead of those that it has submitted. The number is `to`, which may be left out if the account has one number"),
        ("text" = Option<bool>, Query, description = "With the texts"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Entries per page; 50 without it"),
        ("before" = Option<String>, Query, pattern = "^[0-9]{1,19}$", description = "`next_before` of the previous page"),
    ),
    responses((status = 200, description = "A page", body = MessagePage)))]
pub(super) async fn list(request: ApiRequest<State>) -> ApiAnswer {
    let query = Query::read(&request, QUERY)?;
    let caller = caller(&request)?;
    let page = query.page()?;
    let numbers = &caller.account.numbers;
    let received = query.flag("received")?;
    let mut to = query.text("to").map(|text| destination(text, numbers));
    if received && to.is_none() {
        let number = caller.account.only_number();
        to = Some(number.map_err(|why| Problem::bad_value("to", why))?);
    }
    let filter = Filter {
        to,
        received,
        texts: query.flag("text")?,
        from: query.text("from").map(|text| address(Some(text))),
        since: query.time("since")?,
        until: query.time("until")?,
        state: query.text("state").map(state_of).transpose()?,
        before: (page.before != 0).then_some(page.before),
        limit: page.limit as usize,
    };
    let page = request.state.api.search(&caller.account, filter).await?;
    Ok(HttpResponse::Ok().json(MessagePage::from(page)))
}

/// A message of the account, and what happened to it.
#[utoipa::path(get, path = "/v1/messages/{id}", tag = "messages",
    params(("id" = String, Path, pattern = "^[0-9]{1,19}$", description = "As the submission was answered")),
    responses((status = 200, description = "The message", body = MessageDetails)))]
pub(super) async fn one(request: ApiRequest<State>, id: web::Path<String>) -> ApiAnswer {
    Query::read(&request, &[])?;
    let caller = caller(&request)?;
    let found = request
        .state
        .api
        .find(&caller.account, message_id(&id)?)
        .await?;
    Ok(HttpResponse::Ok().json(MessageDetails::from(found)))
}
