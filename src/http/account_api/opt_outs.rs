//! `/v1/opt-outs`: numbers that want no messages of the account.

use actix_web::{HttpRequest, HttpResponse, web};

use super::State;
use super::auth::caller;
use super::order::fields;
use super::view::OwnOptOuts;
use crate::api::ChangedOptOut;
use crate::http::problem::Problem;
use crate::http::query::Query;
use crate::numbers::Numbers;

/// A page of the account's opt-out list, newest first.
///
/// Messages of the account to a number on it are refused. A number is put on it by this API, by an opt-out keyword that
/// its owner sends to the account, or by the administrator. The list for all accounts is not shown.
#[utoipa::path(get, path = "/v1/opt-outs", tag = "account",
    params(
        ("number" = Option<String>, Query, description = "Only this number, in international form"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Entries per page; 50 without it"),
        ("before" = Option<String>, Query, pattern = "^[0-9]{1,19}$", description = "`next_before` of the previous page"),
    ),
    responses((status = 200, description = "A page", body = OwnOptOuts)))]
pub(super) async fn list(
    request: HttpRequest,
    state: web::Data<State>,
) -> Result<HttpResponse, Problem> {
    let query = Query::read(&request, &["number", "limit", "before"])?;
    let account = caller(&request)?.account;
    let page = query.page()?;
    let number = query.text("number").map(in_international_form);
    let number = number.transpose()?.unwrap_or_default();
    let list = state
        .api
        .opt_outs(&account, number, page.before, page.limit);
    Ok(HttpResponse::Ok().json(OwnOptOuts::from(list.await?)))
}

/// Puts a number on the account's opt-out list: on this node at once, on others within about a second.
#[utoipa::path(put, path = "/v1/opt-outs/{number}", tag = "account",
    params(("number" = String, Path, description = "In international form, with or without a plus")),
    responses((status = 200, description = "The number is on the list", body = ChangedOptOut)))]
pub(super) async fn put(
    request: HttpRequest,
    state: web::Data<State>,
    number: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    change(&request, &state, &number, true).await
}

/// Takes a number off the account's opt-out list: on this node at once, on others within about a second.
///
/// One that is on the list for all accounts stays there.
#[utoipa::path(delete, path = "/v1/opt-outs/{number}", tag = "account",
    params(("number" = String, Path, description = "In international form, with or without a plus")),
    responses((status = 200, description = "The number is not on the list", body = ChangedOptOut)))]
pub(super) async fn delete(
    request: HttpRequest,
    state: web::Data<State>,
    number: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    change(&request, &state, &number, false).await
}

async fn change(
    request: &HttpRequest,
    state: &State,
    number: &str,
    out: bool,
) -> Result<HttpResponse, Problem> {
    Query::read(request, &[])?;
    let caller = caller(request)?;
    let number = in_international_form(number)?;
    let by = format!("API key {}", caller.key_id());
    let changed = state.api.opt(&caller.account, number, out, by).await?;
    Ok(HttpResponse::Ok().json(ChangedOptOut { changed }))
}

/// As the list shows it: what can be read from it can be taken off it, whatever country the account has.
fn in_international_form(text: &str) -> Result<String, Problem> {
    fields::number("number", text, &Numbers::default())
}
