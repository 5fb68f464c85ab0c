//! `/v1/opt-outs`: numbers that want no messages of the account.

use actix_web::{HttpResponse, web};

use super::State;
use super::auth::{Caller, caller};
use super::order::fields;
use super::view::OwnOptOuts;
use crate::actors::context::audit::AuditNote;
use crate::actors::context::plan::AccountPlan;
use crate::api::ChangedOptOut;
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::audit;
use crate::http::problem::Problem;
use crate::http::query::Query;
use crate::numbers::Numbers;

/// A page of the account's opt-out list, newest first.
///
/// Messages of the account to a number on it are refused. A number is put on it by this API, by an opt-out keyword that
/// its owner sends to the account, or by the administrator. The list for all accounts is not shown.
#[utoipa::path(get, path = "/v1/opt-outs", tag = "account",
    params(
        ("number" = Option<String>, Query, description = "Only this number, in international form or with the zero of the account's country before it"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Entries per page; 50 without it"),
        ("before" = Option<String>, Query, pattern = "^[0-9]{1,19}$", description = "`next_before` of the previous page"),
    ),
    responses((status = 200, description = "A page", body = OwnOptOuts)))]
pub(super) async fn list(request: ApiRequest<State>) -> ApiAnswer {
    let query = Query::read(&request, &["number", "limit", "before"])?;
    let account = caller(&request)?.account;
    let page = query.page()?;
    let number = query
        .text("number")
        .map(|text| in_international_form(text, &account));
    let list = request
        .state
        .api
        .opt_outs(&account, number.transpose()?, page.before, page.limit);
    Ok(HttpResponse::Ok().json(OwnOptOuts::from(list.await?)))
}

/// Puts a number on the account's opt-out list: on this node at once, on others within about a second.
#[utoipa::path(put, path = "/v1/opt-outs/{number}", tag = "account",
    params(("number" = String, Path, description = "In international form, with or without a plus")),
    responses((status = 200, description = "The number is on the list", body = ChangedOptOut)))]
pub(super) async fn put(request: ApiRequest<State>, number: web::Path<String>) -> ApiAnswer {
    Query::read(&request, &[])?;
    let caller = caller(&request)?;
    let changed = change(&request.state, &caller, &number, true).await?;
    Ok(HttpResponse::Ok().json(changed))
}

/// Takes a number off the account's opt-out list: on this node at once, on others within about a second.
///
/// One that is on the list for all accounts stays there. The audit log has who did it, and why.
#[utoipa::path(delete, path = "/v1/opt-outs/{number}", tag = "account",
    params(
        ("number" = String, Path, description = "In international form, with or without a plus"),
        ("reason" = String, Query, min_length = 1, max_length = 200,
            description = "Why it may get messages again, for the audit log"),
    ),
    responses((status = 200, description = "The number is not on the list", body = ChangedOptOut)))]
pub(super) async fn delete(request: ApiRequest<State>, number: web::Path<String>) -> ApiAnswer {
    let query = Query::read(&request, &["reason"])?;
    let caller = caller(&request)?;
    let reason = query.reason()?.ok_or_else(|| {
        let said = "reason is missing; it says why the number may get messages again";
        Problem::bad_value("reason", said)
    })?;
    let changed = change(&request.state, &caller, &number, false).await?;
    let note = AuditNote {
        token: name_of(&caller),
        role: caller.role().to_string(),
        status: 200,
        detail: audit::of_opt_out(&caller.account.config.system_id, &number, reason),
        ..audit::note_of(&request)
    };
    audit::tell(&note);
    request.state.api.audit(note).await?;
    Ok(HttpResponse::Ok().json(changed))
}

async fn change(
    state: &State,
    caller: &Caller,
    number: &str,
    out: bool,
) -> Result<ChangedOptOut, Problem> {
    let number = in_international_form(number, &caller.account)?;
    let changed = state.api.opt(&caller.account, number, out, name_of(caller));
    Ok(ChangedOptOut {
        changed: changed.await?,
    })
}

/// Who is named in the list and in the audit log.
fn name_of(caller: &Caller) -> String {
    format!("API key {}", caller.key_id())
}

/// As the list shows it: what can be read from it can be taken off it, whatever country the account has. A single zero
/// begins no international number, so such a one is national.
fn in_international_form(text: &str, account: &AccountPlan) -> Result<String, Problem> {
    let digits = text.trim().trim_start_matches('(');
    let is_national = digits.starts_with('0') && !digits.starts_with("00");
    let numbers = if is_national {
        account.numbers.unchecked()
    } else {
        Numbers::default()
    };
    fields::number("number", text, &numbers)
}
