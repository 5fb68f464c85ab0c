//! `/v1/tokens`: who may use this API.

use actix_web::{HttpResponse, web};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{answer, body, call};
use crate::actors::control::admin::access::{self, WantedToken};
use crate::api::{NewToken, RoleName, Tokens};
use crate::clock;
use crate::domain::access::AccessRole;
use crate::domain::moment;
use crate::domain::settings::wrong_in_a_path;
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::audit;
use crate::http::auth::who;
use crate::http::problem::Problem;
use crate::http::query::Query;

/// Longest name.
const MAX_NAME: usize = 64;

/// What a token is made from.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TokenOrder {
    /// Letters, digits, `.`, `_` and `-`.
    #[schema(pattern = "^[A-Za-z0-9._-]{1,64}$")]
    name: String,
    #[schema(value_type = RoleName)]
    role: String,
    /// When it ends; without it, when it is removed.
    #[schema(format = DateTime)]
    expires_at: Option<String>,
}

/// Every token except the configured one, without the secrets, which are not stored.
#[utoipa::path(get, path = "/v1/tokens", tag = "access",
    responses((status = 200, description = "By name", body = Tokens)))]
pub(super) async fn list(request: ApiRequest) -> ApiAnswer {
    Query::read(&request, &[])?;
    answer(&request, access::tokens).await
}

/// Creates a token. Only this response contains it.
#[utoipa::path(post, path = "/v1/tokens", tag = "access", request_body = TokenOrder,
    responses((status = 201, description = "The token and its secret", body = NewToken)))]
pub(super) async fn add(request: ApiRequest, octets: web::Bytes) -> ApiAnswer {
    Query::read(&request, &[])?;
    let order: TokenOrder = body(&octets)?;
    let order = checked(order, who(&request))?;
    audit::detail(
        &request,
        format!("token {}, role {}", order.name, order.role),
    );
    let made = call(&request, |admin| access::add(admin, order)).await??;
    Ok(HttpResponse::Created().json(made))
}

/// Removes a token: on this node at once, on the others within seconds.
#[utoipa::path(delete, path = "/v1/tokens/{name}", tag = "access",
    params(("name" = String, Path)),
    responses((status = 204, description = "The token is no longer valid")))]
pub(super) async fn remove(request: ApiRequest, name: web::Path<String>) -> ApiAnswer {
    Query::read(&request, &[])?;
    let name = name.into_inner();
    call(&request, |admin| access::remove(admin, name)).await??;
    Ok(HttpResponse::NoContent().finish())
}

fn checked(order: TokenOrder, by: String) -> Result<WantedToken, Problem> {
    let sign = |octet: u8| octet.is_ascii_alphanumeric() || b"._-".contains(&octet);
    if order.name.is_empty() || order.name.len() > MAX_NAME || !order.name.bytes().all(sign) {
        return Err(Problem::bad_value(
            "name",
            format!(
                "name must be 1 to {MAX_NAME} letters, digits, dots, underscores and hyphens, not {:?}",
                order.name
            ),
        ));
    }
    if let Some(wrong) = wrong_in_a_path(&order.name) {
        return Err(Problem::bad_value("name", format!("name {wrong}")));
    }
    let role = AccessRole::from_name(&order.role).ok_or_else(|| {
        let roles = AccessRole::ALL.map(AccessRole::as_str).join(", ");
        let detail = format!("role must be one of {roles}, not {:?}", order.role);
        Problem::bad_value("role", detail)
    })?;
    Ok(WantedToken {
        expires_at: end(order.expires_at.as_deref())?,
        name: order.name,
        role,
        by,
    })
}

/// When a token or key ends, in Unix milliseconds; 0 for never.
pub(super) fn end(expires_at: Option<&str>) -> Result<i64, Problem> {
    let Some(text) = expires_at else {
        return Ok(0);
    };
    moment::parse(text)
        .filter(|at| *at > clock::now_ms())
        .ok_or_else(|| {
            Problem::bad_value(
                "expires_at",
                format!(
                    "expires_at must be a time to come such as 2036-11-21T09:00:00Z, not {text:?}"
                ),
            )
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str) -> Result<WantedToken, Problem> {
        checked(body(json.as_bytes())?, "somebody".to_owned())
    }

    #[test]
    fn names_what_is_wrong() {
        let made = check(r#"{"name":"ci.read-1","role":"read"}"#).unwrap();
        assert_eq!((made.name.as_str(), made.expires_at), ("ci.read-1", 0));
        for (json, part) in [
            ("", "JSON"),
            ("[]", "JSON"),
            (r#"{"name":"a"}"#, "role"),
            (r#"{"name":"a","role":"root"}"#, "read, operate, admin"),
            (r#"{"name":"a b","role":"read"}"#, "name must be"),
            (r#"{"name":"","role":"read"}"#, "name must be"),
            (r#"{"name":"..","role":"read"}"#, "name \"..\" cannot be"),
            (r#"{"name":"a","role":"read","until":1}"#, "until"),
            (
                r#"{"name":"a","role":"read","expires_at":"2001-01-01T00:00:00Z"}"#,
                "to come",
            ),
            (
                r#"{"name":"a","role":"read","expires_at":"soon"}"#,
                "to come",
            ),
        ] {
            let said = check(json).unwrap_err().to_string();
            assert!(said.contains(part), "{json}: {said}");
        }
    }
}
