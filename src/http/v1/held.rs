//! `/v1/held`: messages that may have been sent before the database went back in time; show, release or cancel them.

use actix_web::web;

use super::messages::message_id;
use super::{answer, call, done};
use crate::actors::control::admin::held::{self, HeldDecision};
use crate::api::{Done, HeldMessages};
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::auth::who;
use crate::http::problem::Problem;
use crate::http::query::Query;

/// A page of held messages, the lowest ids first.
///
/// The database went back in time further than the nodes had kept, or a node died with it: these messages wait in the
/// database, and may have been sent. They are in no queue until somebody releases or cancels them.
#[utoipa::path(get, path = "/v1/held", tag = "damage",
    params(
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Entries per page; 50 without it"),
        ("after" = Option<String>, Query, pattern = "^[0-9]{1,20}$", description = "`next_after` of the previous page"),
    ),
    responses((status = 200, description = "A page", body = HeldMessages)))]
pub(super) async fn list(request: ApiRequest) -> ApiAnswer {
    let query = Query::read(&request, &["limit", "after"])?;
    let after = query.number("after", "next_after of the page before", |_| true)?;
    let (after, limit) = (after.unwrap_or_default(), query.limit()?);
    answer(&request, move |admin| held::list(admin, after, limit)).await
}

/// Releases all held messages, which are sent then, and no partition is doubtful any more; or cancels them: they end DELETED.
#[utoipa::path(post, path = "/v1/held/{order}", tag = "damage",
    params(("order" = String, Path, pattern = "^(release|cancel)$", description = "`release` or `cancel`")),
    responses((status = 200, description = "So many were held", body = Done)))]
pub(super) async fn order(request: ApiRequest, path: web::Path<String>) -> ApiAnswer {
    carry_out(&request, None, &path).await
}

/// Releases or cancels one held message.
#[utoipa::path(post, path = "/v1/held/{id}/{order}", tag = "damage",
    params(("id" = String, Path, pattern = "^[0-9]{1,19}$", description = "As in submit_sm_resp"),
        ("order" = String, Path, pattern = "^(release|cancel)$", description = "`release` or `cancel`")),
    responses((status = 200, description = "It was held", body = Done)))]
pub(super) async fn order_one(request: ApiRequest, path: web::Path<(String, String)>) -> ApiAnswer {
    let (id, order) = path.into_inner();
    carry_out(&request, Some(message_id(&id)?), &order).await
}

async fn carry_out(request: &ApiRequest, id: Option<u64>, order: &str) -> ApiAnswer {
    Query::read(request, &[])?;
    let cancel = match order {
        "release" => false,
        "cancel" => true,
        other => {
            return Err(Problem::bad_value(
                "order",
                format!("order is release or cancel, not {other:?}"),
            ));
        }
    };
    let order = HeldDecision {
        id,
        cancel,
        by: who(request),
    };
    done(call(request, |admin| held::order(admin, order)).await?)
}
