//! `/v1/opt-outs`: numbers that want no messages, of one account or of anybody.

use actix_web::web;

use super::answer;
use super::subscribers::digits;
use crate::actors::control::admin::opt_outs;
use crate::actors::routing::policy;
use crate::api::{ChangedOptOut, OptOuts};
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::audit;
use crate::http::auth::who;
use crate::http::problem::Problem;
use crate::http::query::Query;
use crate::numbers::Numbers;

/// A page of the opt-out lists, newest first.
#[utoipa::path(get, path = "/v1/opt-outs", tag = "opt-outs",
    params(
        ("account" = Option<String>, Query, description = "Only the list of this account; without it, all lists"),
        ("number" = Option<String>, Query, description = "Only this number, in any form in which a submission takes it"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Entries per page; 50 without it"),
        ("before" = Option<String>, Query, pattern = "^[0-9]{1,19}$", description = "`next_before` of the previous page"),
    ),
    responses((status = 200, description = "A page", body = OptOuts)))]
pub(super) async fn list(request: ApiRequest) -> ApiAnswer {
    let query = Query::read(&request, &["account", "number", "limit", "before"])?;
    let page = query.page()?;
    let account = query.text("account").map(str::to_owned);
    let number = query.text("number").map(listed).transpose()?;
    answer(&request, move |admin| {
        policy::list_opt_outs(admin.node.clone(), account, number, page.before, page.limit)
    })
    .await
}

/// A number as the lists have it. A plus sign that was not percent-encoded arrives as a space, which is trimmed.
fn listed(text: &str) -> Result<String, Problem> {
    let read = Numbers::default().read(text);
    read.or_else(|_| digits("number", text))
}

/// Puts a number on a list: here at once, on other nodes within about a second.
#[utoipa::path(put, path = "/v1/opt-outs/{number}", tag = "opt-outs",
    params(
        ("number" = String, Path, description = "Digits, with or without a plus", pattern = "^\\+?[0-9]{1,20}$"),
        ("account" = Option<String>, Query, description = "Only messages of this account; without it, of any account"),
        ("reason" = Option<String>, Query, min_length = 1, max_length = 200, description = "Why, for the audit log"),
    ),
    responses((status = 200, description = "The number is on the list", body = ChangedOptOut)))]
pub(super) async fn put(request: ApiRequest, number: web::Path<String>) -> ApiAnswer {
    change(&request, &number, true).await
}

/// Takes a number off a list: here at once, on other nodes within about a second.
#[utoipa::path(delete, path = "/v1/opt-outs/{number}", tag = "opt-outs",
    params(
        ("number" = String, Path, description = "Digits, with or without a plus", pattern = "^\\+?[0-9]{1,20}$"),
        ("account" = Option<String>, Query, description = "From the list of this account; without it, from the list for all accounts"),
        ("reason" = Option<String>, Query, min_length = 1, max_length = 200, description = "Why, for the audit log"),
    ),
    responses((status = 200, description = "The number is not on that list", body = ChangedOptOut)))]
pub(super) async fn delete(request: ApiRequest, number: web::Path<String>) -> ApiAnswer {
    change(&request, &number, false).await
}

async fn change(request: &ApiRequest, number: &str, out: bool) -> ApiAnswer {
    let query = Query::read(request, &["account", "reason"])?;
    let account = query.text("account").unwrap_or_default();
    let reason = query.reason()?.unwrap_or_default();
    audit::detail(request, audit::of_opt_out(account, number, reason));
    let number = if out {
        listed(number)?
    } else {
        // As it is on the list: a subscriber's own STOP may have put it there in another form.
        digits("number", number).or_else(|_| listed(number))?
    };
    let (account, by) = (account.to_owned(), who(request));
    answer(request, move |admin| {
        opt_outs::change(admin, account, number, out, by)
    })
    .await
}
