//! `/v1/api-keys`: who may submit over HTTP, and for which account.

use actix_web::{HttpResponse, web};
use serde::Deserialize;
use utoipa::ToSchema;

use super::tokens::end;
use super::{answer, body, call};
use crate::actors::control::admin::api_keys::{self, WantedKey};
use crate::api::{ApiKeys, KeyRoleName, NewApiKey};
use crate::domain::access::KeyRole;
use crate::domain::allow::IpNetwork;
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::audit;
use crate::http::auth::who;
use crate::http::problem::Problem;
use crate::http::query::Query;

/// Longest label.
const MAX_LABEL: usize = 100;
/// Most entries of `allow`.
const MAX_ALLOW: usize = 50;

/// What an API key is made from.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ApiKeyOrder {
    /// system_id of the account.
    account: String,
    /// What it is for, such as `web shop`.
    #[serde(default)]
    #[schema(max_length = 100)]
    label: String,
    #[schema(value_type = KeyRoleName)]
    role: String,
    /// IP addresses and CIDR blocks that it may be used from; any if empty.
    #[serde(default)]
    allow: Vec<String>,
    /// When it ends; without it, when it is removed.
    #[schema(format = DateTime)]
    expires_at: Option<String>,
}

/// API keys, without the secrets, which are not stored.
#[utoipa::path(get, path = "/v1/api-keys", tag = "access",
    params(("account" = Option<String>, Query, description = "Only those of this account")),
    responses((status = 200, description = "By account and id", body = ApiKeys),
        (status = 404, description = "There is no such account")))]
pub(super) async fn list(request: ApiRequest) -> ApiAnswer {
    let query = Query::read(&request, &["account"])?;
    let account = query.text("account").map(str::to_owned);
    answer(&request, |admin| api_keys::list(admin, account)).await
}

/// Creates an API key for an account. Only this response contains it.
#[utoipa::path(post, path = "/v1/api-keys", tag = "access", request_body = ApiKeyOrder,
    responses((status = 201, description = "The key and its secret", body = NewApiKey),
        (status = 404, description = "There is no such account")))]
pub(super) async fn add(request: ApiRequest, octets: web::Bytes) -> ApiAnswer {
    Query::read(&request, &[])?;
    let order = checked(body(&octets)?, who(&request))?;
    let what = format!("API key of account {}, role {}", order.account, order.role);
    let made = call(&request, |admin| api_keys::add(admin, order)).await??;
    audit::detail(&request, format!("{what}: {}", made.key.id));
    Ok(HttpResponse::Created().json(made))
}

/// Revokes an API key: on this node at once, on the others within seconds.
#[utoipa::path(delete, path = "/v1/api-keys/{id}", tag = "access",
    params(("id" = String, Path)),
    responses((status = 204, description = "The key is no longer valid")))]
pub(super) async fn remove(request: ApiRequest, id: web::Path<String>) -> ApiAnswer {
    Query::read(&request, &[])?;
    let id = id.into_inner();
    let account = call(&request, |admin| api_keys::remove(admin, id)).await??;
    audit::detail(&request, format!("API key of account {account}"));
    Ok(HttpResponse::NoContent().finish())
}

fn checked(order: ApiKeyOrder, by: String) -> Result<WantedKey, Problem> {
    let is_plain = !order.label.chars().any(char::is_control);
    if order.label.chars().count() > MAX_LABEL || !is_plain {
        let detail = format!("label must be at most {MAX_LABEL} printable characters");
        return Err(Problem::bad_value("label", detail));
    }
    let role = KeyRole::from_name(&order.role).ok_or_else(|| {
        let roles = KeyRole::ALL.map(KeyRole::as_str).join(", ");
        let detail = format!("role must be one of {roles}, not {:?}", order.role);
        Problem::bad_value("role", detail)
    })?;
    if order.allow.len() > MAX_ALLOW {
        let detail = format!("allow has at most {MAX_ALLOW} entries");
        return Err(Problem::bad_value("allow", detail));
    }
    if let Some(error) = order
        .allow
        .iter()
        .find_map(|one| one.parse::<IpNetwork>().err())
    {
        return Err(Problem::bad_value("allow", format!("allow: {error}")));
    }
    Ok(WantedKey {
        expires_at: end(order.expires_at.as_deref())?,
        account: order.account,
        label: order.label,
        role,
        allow: order
            .allow
            .iter()
            .map(|one| one.trim().to_owned())
            .collect(),
        by,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str) -> Result<WantedKey, Problem> {
        checked(body(json.as_bytes())?, "somebody".to_owned())
    }

    #[test]
    fn names_what_is_wrong() {
        let made = check(r#"{"account":"shop","role":"both","allow":["10.0.0.0/8"]}"#).unwrap();
        assert_eq!((made.account.as_str(), made.expires_at), ("shop", 0));
        for (json, part) in [
            (r#"{"role":"send"}"#, "account"),
            (r#"{"account":"shop"}"#, "role"),
            (r#"{"account":"shop","role":"admin"}"#, "send, read, both"),
            (r#"{"account":"shop","role":"send","allow":["x"]}"#, "CIDR"),
            (
                r#"{"account":"shop","role":"send","label":"a\u0007"}"#,
                "label",
            ),
            (r#"{"account":"shop","role":"send","days":1}"#, "days"),
            (
                r#"{"account":"shop","role":"send","expires_at":"soon"}"#,
                "to come",
            ),
        ] {
            let said = check(json).unwrap_err().to_string();
            assert!(said.contains(part), "{json}: {said}");
        }
    }
}
