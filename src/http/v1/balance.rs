//! `/v1/accounts/{name}/balance`: the balance of an account, and top-ups.

use actix_web::web;
use serde::Deserialize;
use utoipa::ToSchema;

use super::{answer, body};
use crate::actors::billing::balance::{self, WantedTopUp};
use crate::api::{Balance, TopUps, ToppedUp};
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::auth::who;
use crate::http::problem::Problem;
use crate::http::query::Query;

/// Longest reference, in characters.
const MAX_REFERENCE: usize = 128;
/// Most credits at once: far from where sums would end.
const MAX_CREDITS: u64 = 1_000_000_000_000_000;

/// What is put into a balance.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TopUpOrder {
    /// Credits; below zero takes some back.
    add: i64,
    /// Such as `invoice 7`: an order that comes again with the same one changes nothing.
    #[schema(max_length = 128)]
    reference: Option<String>,
}

/// The remaining balance of an account, and the quota it has used today.
#[utoipa::path(get, path = "/v1/accounts/{name}/balance", tag = "balances",
    params(("name" = String, Path, description = "its system_id")),
    responses((status = 200, description = "On all nodes", body = Balance)))]
pub(super) async fn read(request: ApiRequest, name: web::Path<String>) -> ApiAnswer {
    Query::read(&request, &[])?;
    let name = name.into_inner();
    answer(&request, |admin| balance::read(admin.node.clone(), name)).await
}

/// Adds to a balance, or takes from it; it is never below zero.
///
/// A request with a `reference` can be repeated until it is answered: it is carried out once. The
/// same reference with another amount is refused.
#[utoipa::path(post, path = "/v1/accounts/{name}/balance", tag = "balances",
    request_body = TopUpOrder,
    params(("name" = String, Path, description = "its system_id")),
    responses((status = 200, description = "The top-up was made", body = ToppedUp)))]
pub(super) async fn add(
    request: ApiRequest,
    name: web::Path<String>,
    octets: web::Bytes,
) -> ApiAnswer {
    Query::read(&request, &[])?;
    let order = checked(body(&octets)?, name.into_inner(), who(&request))?;
    answer(&request, |admin| {
        balance::add(admin.node.clone(), admin.intake.balance.clone(), order)
    })
    .await
}

/// The top-ups of a balance, newest first.
#[utoipa::path(get, path = "/v1/accounts/{name}/balance/top-ups", tag = "balances",
    params(("name" = String, Path, description = "its system_id"),
        ("limit" = Option<u32>, Query, description = "Entries on the page, at most 1000; 50 without it"),
        ("before" = Option<u64>, Query, description = "Only ids below this one: `next_before` of the page before")),
    responses((status = 200, body = TopUps)))]
pub(super) async fn top_ups(request: ApiRequest, name: web::Path<String>) -> ApiAnswer {
    let page = Query::read(&request, &["limit", "before"])?.page()?;
    let name = name.into_inner();
    answer(&request, move |admin| {
        balance::top_ups(admin.node.clone(), name, page.before, page.limit)
    })
    .await
}

fn checked(order: TopUpOrder, account: String, by: String) -> Result<WantedTopUp, Problem> {
    let TopUpOrder { add, reference } = order;
    if add == 0 || add.unsigned_abs() > MAX_CREDITS {
        return Err(Problem::bad_value(
            "add",
            format!(
                "add must be a number of credits other than 0, at most {MAX_CREDITS}, not {add}"
            ),
        ));
    }
    let is_text = |text: &str| {
        let length = text.chars().count();
        (1..=MAX_REFERENCE).contains(&length) && !text.chars().any(char::is_control)
    };
    if let Some(text) = reference.as_deref().filter(|text| !is_text(text)) {
        return Err(Problem::bad_value(
            "reference",
            format!("reference must be 1 to {MAX_REFERENCE} printable characters, not {text:?}"),
        ));
    }
    Ok(WantedTopUp {
        account,
        amount: add,
        reference,
        by,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str) -> Result<WantedTopUp, Problem> {
        checked(body(json.as_bytes())?, "acme".to_owned(), "me".to_owned())
    }

    #[test]
    fn names_what_is_wrong() {
        let order = check(r#"{"add": -5, "reference": "invoice 7"}"#).unwrap();
        assert_eq!(order.amount, -5);
        assert_eq!(order.reference.as_deref(), Some("invoice 7"));
        assert_eq!(check(r#"{"add": 1}"#).unwrap().reference, None);
        for (json, part) in [
            ("{}", "add"),
            (r#"{"add": 0}"#, "other than 0"),
            (r#"{"add": 1.5}"#, "1.5"),
            (r#"{"add": 9000000000000000}"#, "at most"),
            (r#"{"add": 1, "reference": ""}"#, "reference must be"),
            (r#"{"add": 1, "reference": "a\nb"}"#, "reference must be"),
            (r#"{"add": 1, "ref": "x"}"#, "ref"),
        ] {
            let problem = check(json).unwrap_err().to_string();
            assert!(problem.contains(part), "{json}: {problem}");
        }
    }
}
