//! `/v1/incidents`: operators and accounts that are not well; show and acknowledge them.

use actix_web::web;

use super::{answer, call, done};
use crate::actors::control::admin::incidents;
use crate::api::{Done, Incidents};
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::auth::who;
use crate::http::problem::Problem;
use crate::http::query::Query;

/// Operators and accounts that are not well, of all nodes, and the last ones that were not.
///
/// Those that need a look come first: they go on, and nobody has acknowledged them. Then come those that somebody has
/// acknowledged, then those that have ended. The last 200 of these are kept. `[incidents]` of the configuration says what is found.
#[utoipa::path(get, path = "/v1/incidents", tag = "incidents",
    responses((status = 200, description = "All that go on, and the last ones that have ended", body = Incidents)))]
pub(super) async fn list(request: ApiRequest) -> ApiAnswer {
    Query::read(&request, &[])?;
    answer(&request, incidents::list).await
}

/// Acknowledges an incident: it needs no look any more until it ends, and begins anew.
#[utoipa::path(post, path = "/v1/incidents/{id}/acknowledge", tag = "incidents",
    params(("id" = String, Path, pattern = "^[0-9]{1,19}$", description = "As in the list")),
    responses((status = 200, description = "So many nodes had found it and nobody had acknowledged it", body = Done),
        (status = 404), (status = 409, description = "It has ended")))]
pub(super) async fn acknowledge(request: ApiRequest, id: web::Path<String>) -> ApiAnswer {
    Query::read(&request, &[])?;
    let (id, by) = (id.into_inner(), who(&request));
    if id.parse::<u64>().is_err() {
        return Err(Problem::bad_value(
            "id",
            format!("id is a number as GET /v1/incidents shows it, not {id:?}"),
        ));
    }
    done(call(&request, |admin| incidents::acknowledge(admin, id, by)).await?)
}
