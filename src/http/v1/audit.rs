//! `/v1/audit`: what was commanded and changed, by whom.

use actix_web::{HttpRequest, HttpResponse, web};

use super::call;
use crate::actors::control::admin::access::{self, AuditQuestion};
use crate::api::Audit;
use crate::http::State;
use crate::http::problem::Problem;
use crate::http::query::Query;

/// A page of the audit log, newest first.
///
/// Every request with a valid token that did more than read, with the status of its answer. Refused
/// requests are included; of one token, those beyond twenty in a minute are one entry. Reading the text
/// of a message is an entry too. A dry run is none, unless its role was refused.
#[utoipa::path(get, path = "/v1/audit", tag = "access",
    params(
        ("token" = Option<String>, Query, description = "Name of the token; the configured one is `admin token`"),
        ("path" = Option<String>, Query, description = "Paths that begin so"),
        ("since" = Option<String>, Query, description = "At this time or later: RFC 3339, a day, or Unix milliseconds"),
        ("until" = Option<String>, Query, description = "Before then"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Entries per page; 50 without it"),
        ("before" = Option<String>, Query, pattern = "^[0-9]{1,19}$", description = "`next_before` of the previous page"),
    ),
    responses((status = 200, description = "A page", body = Audit)))]
pub(super) async fn list(
    request: HttpRequest,
    state: web::Data<State>,
) -> Result<HttpResponse, Problem> {
    let query = Query::read(
        &request,
        &["token", "path", "since", "until", "limit", "before"],
    )?;
    let page = query.page()?;
    let question = AuditQuestion {
        token: query.text("token").map(str::to_owned),
        path: query.text("path").map(str::to_owned),
        since: query.time("since")?.unwrap_or_default(),
        until: query.time("until")?.unwrap_or_default(),
        before: page.before,
        limit: page.limit,
    };
    let page = call(&state, |admin| access::audited(admin, question)).await??;
    Ok(HttpResponse::Ok().json(page))
}
