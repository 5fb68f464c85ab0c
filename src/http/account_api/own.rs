//! `/v1/balance` and `/v1/usage`: what the account has left, and what it has used.

use actix_web::HttpResponse;

use super::State;
use super::auth::caller;
use crate::api::{Balance, UsageReport};
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::query::Query;
use crate::http::usage;

/// What the account has left: credits if it pays in advance, and its quota of the day.
#[utoipa::path(get, path = "/v1/balance", tag = "account",
    responses((status = 200, description = "Of the account", body = Balance)))]
pub(super) async fn balance(request: ApiRequest<State>) -> ApiAnswer {
    Query::read(&request, &[])?;
    let caller = caller(&request)?;
    Ok(HttpResponse::Ok().json(request.state.api.balance(&caller.account).await?))
}

/// How many of the account's messages ended, by day, country, state and kind.
///
/// Messages count on the day (UTC) on which their final state became known. Sums are always divided by currency.
#[utoipa::path(get, path = "/v1/usage", tag = "account",
    params(
        ("from" = Option<String>, Query, description = "The first day, such as 2026-11-01; 29 days before `to` without it"),
        ("to" = Option<String>, Query, description = "The last day; today without it"),
        ("country" = Option<String>, Query, description = "Only this country, such as GB"),
        ("state" = Option<String>, Query, description = "Only this final state, such as DELIVERED"),
        ("by" = Option<String>, Query, description = "What sums are divided by: some of day, country, state and kind, with commas; all of them without it"),
        ("format" = Option<String>, Query, description = "json or csv; without it, csv if the request accepts text/csv"),
    ),
    responses((status = 200, description = "The sums", content((UsageReport = "application/json"), (String = "text/csv"))),
        (status = 409, description = "Nothing is counted (usage.enabled), or there are too many sums")))]
pub(super) async fn usage(request: ApiRequest<State>) -> ApiAnswer {
    let known = ["from", "to", "country", "state", "by", "format"];
    let question = usage::question(&request, &known, &usage::BY_OF_ACCOUNT)?;
    let caller = caller(&request)?;
    let report = request.state.api.usage(&caller.account, question).await?;
    Ok(usage::answer(&request, &report))
}
