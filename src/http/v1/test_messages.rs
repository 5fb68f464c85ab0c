//! `/v1/accounts/{name}/messages`: messages that an administrator submits for an account, to try its way.
//!
//! They are those of the HTTP API for accounts: the account's rate, quota, balance and policies hold.

use std::sync::Arc;

use actix_web::{HttpResponse, web};

use crate::actors::context::plan::AccountPlan;
use crate::clock;
use crate::http::account_api::messages::{accept, estimates, refuse_while_draining};
use crate::http::account_api::order::{self, SubmissionOrder};
use crate::http::account_api::view::{Estimates, Submitted};
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::audit;
use crate::http::problem::Problem;
use crate::http::query::Query;

/// Submits messages as the account, which pays for them.
///
/// The body and the answer are those of `POST /v1/messages` of the HTTP API for accounts.
#[utoipa::path(post, path = "/v1/accounts/{name}/messages", tag = "messages", request_body = SubmissionOrder,
    params(("name" = String, Path, description = "its system_id")),
    responses((status = 202, description = "Accepted, at least one", body = Submitted),
        (status = 402, description = "The balance does not cover it"),
        (status = 422, description = "All were refused; `field` names the reason of the first"),
        (status = 507, description = "The queue, the account or the disk is full")))]
pub(super) async fn send(
    request: ApiRequest,
    name: web::Path<String>,
    octets: web::Bytes,
) -> ApiAnswer {
    Query::read(&request, &[])?;
    let account = account(&request, &name)?;
    refuse_while_draining(&request.state.api)?;
    let drafts = order::read(&octets, clock::now_ms(), &account.numbers)?;
    let submitted = accept(&request, &request.state.api, &account, drafts, None).await?;
    let ids = submitted.messages.iter().filter_map(|one| one.id.clone());
    let ids: Vec<String> = ids.collect();
    audit::detail(&request, format!("submitted {}", ids.join(" ")));
    Ok(HttpResponse::Accepted().json(submitted))
}

/// Parts, alphabet and price of messages of the account, and why they would be refused. Sends nothing.
#[utoipa::path(post, path = "/v1/accounts/{name}/messages/estimate", tag = "messages", request_body = SubmissionOrder,
    params(("name" = String, Path, description = "its system_id")),
    responses((status = 200, description = "What would become of them", body = Estimates)))]
pub(super) async fn estimate(
    request: ApiRequest,
    name: web::Path<String>,
    octets: web::Bytes,
) -> ApiAnswer {
    Query::read(&request, &[])?;
    let account = account(&request, &name)?;
    let drafts = order::read(&octets, clock::now_ms(), &account.numbers)?;
    Ok(HttpResponse::Ok().json(estimates(&request.state.api, &account, drafts)))
}

fn account(request: &ApiRequest, name: &str) -> Result<Arc<AccountPlan>, Problem> {
    request.state.api.account(name).ok_or_else(|| {
        let detail =
            format!("there is no account {name:?}, or it is disabled; GET /v1/accounts lists them");
        Problem::not_found(detail)
    })
}
