//! `/v1/accounts/{name}/last-login`: when and from where an account has bound last.

use actix_web::web;

use super::answer;
use super::settings::stored;
use crate::actors::control::admin::logins;
use crate::api::LastLogin;
use crate::domain::settings::{ResourceKey, ResourceKind};
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::query::Query;

/// When and from where an account has bound last, on any node.
///
/// Kept over restarts; a crash loses the last seconds. Requests over HTTP are no login: `used_at` of an API key says when it
/// was used.
#[utoipa::path(get, path = "/v1/accounts/{name}/last-login", tag = "binds",
    params(("name" = String, Path, description = "its system_id")),
    responses((status = 200, description = "The last bind", body = LastLogin)))]
pub(super) async fn last(request: ApiRequest, name: web::Path<String>) -> ApiAnswer {
    Query::read(&request, &[])?;
    let key = ResourceKey::new(ResourceKind::Account, name.into_inner());
    stored(&request, &key).await?;
    answer(&request, |admin| logins::last(admin, key.name)).await
}
