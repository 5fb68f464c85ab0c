//! `/v1/usage`: how many messages ended, by day, account, operator, country and state.

use super::call;
use crate::actors::billing::usage::read as read_usage;
use crate::api::UsageReport;
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::usage;

/// Sums of messages by day, account, operator, country, state and kind.
///
/// Messages count on the day (UTC) on which their final state became known. Sums are always divided by currency.
#[utoipa::path(get, path = "/v1/usage", tag = "usage",
    params(
        ("from" = Option<String>, Query, description = "The first day, such as 2026-11-01; 29 days before `to` without it"),
        ("to" = Option<String>, Query, description = "The last day; today without it"),
        ("account" = Option<String>, Query, description = "Only this account"),
        ("operator" = Option<String>, Query, description = "Only this operator"),
        ("country" = Option<String>, Query, description = "Only this country, such as GB"),
        ("state" = Option<String>, Query, description = "Only this final state, such as DELIVERED"),
        ("by" = Option<String>, Query, description = "What sums are divided by: some of day, account, operator, country, state and kind, with commas; all of them without it"),
        ("format" = Option<String>, Query, description = "json or csv; without it, csv if the request accepts text/csv"),
    ),
    responses((status = 200, description = "The sums", content((UsageReport = "application/json"), (String = "text/csv"))),
        (status = 404, description = "There is no such account or operator"),
        (status = 409, description = "Nothing is counted (usage.enabled), or there are too many sums")))]
pub(super) async fn read(request: ApiRequest) -> ApiAnswer {
    let known = [
        "from", "to", "account", "operator", "country", "state", "by", "format",
    ];
    let question = usage::question(&request, &known, &usage::BY)?;
    let report = call(&request, |admin| read_usage(admin.node.clone(), question)).await??;
    Ok(usage::answer(&request, &report))
}
