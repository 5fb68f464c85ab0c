//! `/v1/receipts/unmatched`: operators' receipts that match no message; match or drop them manually.
//! `/v1/receipts/given-up`: accounts' receipts that were given up; send them again.

use actix_web::{HttpResponse, web};
use serde::Deserialize;
use utoipa::ToSchema;

use super::dead_letters::given_up_filter;
use super::messages::message_id;
use super::{answer, body, body_or_default, call};
use crate::actors::control::admin::{failed, given_up as gone, unmatched as parked};
use crate::api::{Message, Messages, Replayed, Unmatched};
use crate::domain::access::AccessRole;
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::audit;
use crate::http::auth::{permit, who};
use crate::http::problem::Problem;
use crate::http::query::Query;

/// A page of receipts that match no message, newest first.
///
/// They are compared with new attempts until `correlation.ttl` after their arrival, and then
/// dropped.
#[utoipa::path(get, path = "/v1/receipts/unmatched", tag = "receipts",
    params(
        ("operator" = Option<String>, Query, description = "Who brought it"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Entries per page; 50 without it"),
        ("before" = Option<String>, Query, pattern = "^[0-9]{1,19}$", description = "`next_before` of the previous page"),
        ("text" = Option<bool>, Query, description = "Show texts; needs the role `operate`"),
    ),
    responses((status = 200, description = "A page", body = Unmatched),
        (status = 404, description = "There is no such operator")))]
pub(super) async fn unmatched(request: ApiRequest) -> ApiAnswer {
    let query = Query::read(&request, &["operator", "limit", "before", "text"])?;
    let page = query.page()?;
    let with_text = query.flag("text")?;
    if with_text {
        permit(&*request, AccessRole::Operate)?;
        audit::detail(&request, "texts of receipts were read");
    }
    let operator = query.text("operator").map(str::to_owned);
    answer(&request, move |admin| {
        parked::list(admin, operator, page.before, page.limit, with_text)
    })
    .await
}

/// Which message a receipt is about.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MatchOrder {
    /// Its id, as in submit_sm_resp.
    #[schema(pattern = "^[0-9]{1,19}$")]
    message: String,
}

/// Ends a message with the state of this receipt.
///
/// The effect is the same as of an automatic match: the final state is written, the account gets its
/// receipt. A message that is final, or was sent to no operator, is refused (409).
#[utoipa::path(post, path = "/v1/receipts/unmatched/{id}/match", tag = "receipts", request_body = MatchOrder,
    params(("id" = String, Path, pattern = "^[0-9]{1,19}$", description = "As in the list")),
    responses((status = 200, description = "The finished message", body = Message)))]
pub(super) async fn settle(
    request: ApiRequest,
    id: web::Path<String>,
    octets: web::Bytes,
) -> ApiAnswer {
    Query::read(&request, &[])?;
    let MatchOrder { message } = body(&octets)?;
    let (id, message) = (receipt_id(&id)?, message_id(&message)?);
    let by = who(&request);
    answer(&request, move |admin| {
        parked::settle(admin, id, message, by)
    })
    .await
}

/// Drops a receipt that matches no message.
#[utoipa::path(delete, path = "/v1/receipts/unmatched/{id}", tag = "receipts",
    params(("id" = String, Path, pattern = "^[0-9]{1,19}$", description = "As in the list")),
    responses((status = 204, description = "It is gone")))]
pub(super) async fn drop_one(request: ApiRequest, id: web::Path<String>) -> ApiAnswer {
    Query::read(&request, &[])?;
    let (id, by) = (receipt_id(&id)?, who(&request));
    call(&request, move |admin| parked::drop_one(admin, id, by)).await??;
    Ok(HttpResponse::NoContent().finish())
}

/// Messages whose receipt was given up, newest first.
///
/// It was not taken within `callback_retry_for` or `validity.receipts`, was refused, or was purged; `changes` says
/// when and why. A page has `limit` entries; fewer only if it is the last one, or if looking for them takes
/// long.
#[utoipa::path(get, path = "/v1/receipts/given-up", tag = "receipts",
    params(
        ("account" = Option<String>, Query, description = "Whose receipt"),
        ("since" = Option<String>, Query, description = "Message accepted at this time or later: RFC 3339, a day, or Unix milliseconds"),
        ("until" = Option<String>, Query, description = "Message accepted before this time"),
        ("replayed" = Option<bool>, Query, description = "Only those that were, or were not, sent again"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Entries per page; 50 without it"),
        ("before" = Option<String>, Query, pattern = "^[0-9]{1,19}$", description = "`next_before` of the previous page"),
    ),
    responses((status = 200, description = "A page", body = Messages),
        (status = 404, description = "There is no such account")))]
pub(super) async fn given_up(request: ApiRequest) -> ApiAnswer {
    let filter = given_up_filter(&request)?;
    answer(&request, |admin| failed::list(admin, filter)).await
}

/// How a receipt is sent again.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Retell {
    /// Although it was sent again before.
    again: bool,
}

/// Sends a receipt again that was given up.
///
/// A message of its own brings it the way that it had; callbacks have the same `webhook-id` as before. 409 for a
/// receipt that was not given up, or was sent again before.
#[utoipa::path(post, path = "/v1/receipts/given-up/{id}/replay", tag = "receipts", request_body = Retell,
    params(("id" = String, Path, pattern = "^[0-9]{1,19}$", description = "The message, as in submit_sm_resp")),
    responses((status = 200, description = "It is durable; `message` brings it", body = Replayed)))]
pub(super) async fn retell(
    request: ApiRequest,
    id: web::Path<String>,
    octets: web::Bytes,
) -> ApiAnswer {
    Query::read(&request, &[])?;
    let Retell { again } = body_or_default(&octets)?;
    let (id, by) = (message_id(&id)?, who(&request));
    answer(&request, move |admin| gone::retell(admin, id, again, by)).await
}

fn receipt_id(text: &str) -> Result<u64, Problem> {
    match text.parse() {
        Ok(id) if id > 0 => Ok(id),
        _ => Err(Problem::bad_value(
            "id",
            format!(
                "the id of a receipt is a decimal number as GET /v1/receipts/unmatched shows it, not {text:?}"
            ),
        )),
    }
}
