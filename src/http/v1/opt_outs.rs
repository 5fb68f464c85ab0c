//! `/v1/opt-outs`: numbers that want no messages, of one account or of anybody.

use actix_web::{HttpRequest, HttpResponse, web};

use super::ask;
use super::subscribers::digits;
use crate::api::{ChangedOptOut, OptOuts};
use crate::http::State;
use crate::http::auth::who;
use crate::http::problem::Problem;
use crate::http::query::Query;
use crate::pb::{ChangeOptOut, ListOptOuts};

/// A page of the opt-out lists, newest first.
#[utoipa::path(get, path = "/v1/opt-outs", tag = "opt-outs",
    params(
        ("account" = Option<String>, Query, description = "Only the list of this account; without it, all lists"),
        ("number" = Option<String>, Query, description = "Digits, with or without a plus", pattern = "^\\+?[0-9]{1,20}$"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Entries per page; 50 without it"),
        ("before" = Option<String>, Query, pattern = "^[0-9]{1,19}$", description = "`next_before` of the previous page"),
    ),
    responses((status = 200, description = "A page", body = OptOuts)))]
pub(super) async fn list(
    request: HttpRequest,
    state: web::Data<State>,
) -> Result<HttpResponse, Problem> {
    let query = Query::read(&request, &["account", "number", "limit", "before"])?;
    let page = query.page()?;
    // A plus sign that was not percent-encoded arrives as a space, which is trimmed.
    let number = query.text("number").map(|text| digits("number", text));
    let question = ListOptOuts {
        account: query.text("account").unwrap_or_default().to_owned(),
        number: number.transpose()?.unwrap_or_default(),
        before: page.before,
        limit: page.limit,
    };
    let list = ask(&state, question).await??;
    Ok(HttpResponse::Ok().json(OptOuts::from(list)))
}

/// Puts a number on a list: here at once, on other nodes within about a second.
#[utoipa::path(put, path = "/v1/opt-outs/{number}", tag = "opt-outs",
    params(
        ("number" = String, Path, description = "Digits, with or without a plus", pattern = "^\\+?[0-9]{1,20}$"),
        ("account" = Option<String>, Query, description = "Only messages of this account; without it, of any account"),
    ),
    responses((status = 200, description = "The number is on the list", body = ChangedOptOut)))]
pub(super) async fn put(
    request: HttpRequest,
    state: web::Data<State>,
    number: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    change(&request, &state, &number, true).await
}

/// Takes a number off a list: here at once, on other nodes within about a second.
#[utoipa::path(delete, path = "/v1/opt-outs/{number}", tag = "opt-outs",
    params(
        ("number" = String, Path, description = "Digits, with or without a plus", pattern = "^\\+?[0-9]{1,20}$"),
        ("account" = Option<String>, Query, description = "From the list of this account; without it, from the list for all accounts"),
    ),
    responses((status = 200, description = "The number is not on that list", body = ChangedOptOut)))]
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
    let query = Query::read(request, &["account"])?;
    let order = ChangeOptOut {
        account: query.text("account").unwrap_or_default().to_owned(),
        number: digits("number", number)?,
        out,
        by: who(request),
    };
    let changed = ask(state, order).await??.changed;
    Ok(HttpResponse::Ok().json(ChangedOptOut { changed }))
}
