//! `/v1/balance`: what the account has left.

use actix_web::{HttpRequest, HttpResponse, web};

use super::State;
use super::auth::caller;
use crate::api::Balance;
use crate::http::problem::Problem;
use crate::http::query::Query;

/// What the account has left: credits if it pays in advance, and its quota of the day.
#[utoipa::path(get, path = "/v1/balance", tag = "account",
    responses((status = 200, description = "Of the account", body = Balance)))]
pub(super) async fn balance(
    request: HttpRequest,
    state: web::Data<State>,
) -> Result<HttpResponse, Problem> {
    Query::read(&request, &[])?;
    let caller = caller(&request)?;
    let balance = state.api.balance(&caller.account).await?;
    Ok(HttpResponse::Ok().json(Balance::from(balance)))
}
