//! `/v1/accounts/{name}/callback/test`: a test callback.

use actix_web::{HttpResponse, web};

use super::call;
use crate::actors::control::admin::callback;
use crate::api::CallbackAttempt;
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::auth::who;
use crate::http::query::Query;

/// Sends a callback of type `test` to the `callback_url` of an account, and waits for its answer.
///
/// Also when its `deliver_by` is not `callback` (yet), and while its queue is suspended. It is sent once.
#[utoipa::path(post, path = "/v1/accounts/{name}/callback/test", tag = "callbacks",
    params(("name" = String, Path, description = "its system_id")),
    responses((status = 200, description = "What came of it", body = CallbackAttempt)))]
pub(super) async fn test(request: ApiRequest, name: web::Path<String>) -> ApiAnswer {
    Query::read(&request, &[])?;
    let (name, by) = (name.into_inner(), who(&request));
    let attempt = call(&request, |admin| callback::test(admin, name, by)).await??;
    Ok(HttpResponse::Ok().json(CallbackAttempt::from(attempt)))
}
