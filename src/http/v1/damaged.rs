//! `/v1/damaged`: rows of the store that are not as they were written; show and forget them.

use actix_web::web;

use super::{answer, call, done};
use crate::actors::control::admin::damaged::{self, DamagedKey};
use crate::api::{DamagedRows, Done};
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::auth::who;
use crate::http::problem::Problem;
use crate::http::query::Query;

/// Longest name of a table.
const MAX_TABLE: usize = 32;

/// A page of damaged rows, the last ids first.
///
/// Nothing of such a row is used: a message without an end ends UNKNOWN with the error `damaged`, and is not sent. A row
/// stays listed until somebody forgets it.
#[utoipa::path(get, path = "/v1/damaged", tag = "damage",
    params(
        ("id" = Option<String>, Query, pattern = "^[0-9]{1,20}$", description = "Only the rows of this message, or the row with this number"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Entries per page; 50 without it"),
        ("before" = Option<String>, Query, pattern = "^[a-z_]{1,32}/[0-9]{1,20}$", description = "`next_before` of the previous page"),
    ),
    responses((status = 200, description = "A page", body = DamagedRows)))]
pub(super) async fn list(request: ApiRequest) -> ApiAnswer {
    let query = Query::read(&request, &["id", "limit", "before"])?;
    let id = query.text("id").map(id_of).transpose()?;
    let after = query.text("before").map(cursor).transpose()?;
    let limit = query.limit()?;
    answer(&request, move |admin| {
        damaged::list(admin, id, after, limit)
    })
    .await
}

/// Forgets all damaged rows: they are no longer listed, and stay damaged.
#[utoipa::path(delete, path = "/v1/damaged", tag = "damage",
    responses((status = 200, description = "So many were listed", body = Done)))]
pub(super) async fn forget_all(request: ApiRequest) -> ApiAnswer {
    forget(&request, None).await
}

/// Forgets a damaged row: it is no longer listed, and stays damaged.
#[utoipa::path(delete, path = "/v1/damaged/{table}/{id}", tag = "damage",
    params(("table" = String, Path, pattern = "^[a-z_]{1,32}$", description = "As in the list"),
        ("id" = String, Path, pattern = "^[0-9]{1,20}$", description = "As in the list")),
    responses((status = 200, description = "Forgotten", body = Done)))]
pub(super) async fn forget_one(
    request: ApiRequest,
    path: web::Path<(String, String)>,
) -> ApiAnswer {
    let (table, id) = path.into_inner();
    let row = (table_of(&table)?, id_of(&id)?);
    forget(&request, Some(row)).await
}

async fn forget(request: &ApiRequest, row: Option<DamagedKey>) -> ApiAnswer {
    Query::read(request, &[])?;
    let by = who(request);
    done(call(request, |admin| damaged::forget(admin, row, by)).await?)
}

fn table_of(text: &str) -> Result<String, Problem> {
    let is_name = |octet| matches!(octet, b'a'..=b'z' | b'_');
    if (1..=MAX_TABLE).contains(&text.len()) && text.bytes().all(is_name) {
        Ok(text.to_owned())
    } else {
        Err(Problem::bad_value(
            "table",
            format!("table is the name of one, as GET /v1/damaged shows it, not {text:?}"),
        ))
    }
}

fn id_of(text: &str) -> Result<u64, Problem> {
    text.parse().map_err(|_| {
        Problem::bad_value(
            "id",
            format!("id is a decimal number as GET /v1/damaged shows it, not {text:?}"),
        )
    })
}

/// Behind which row a page begins.
fn cursor(text: &str) -> Result<DamagedKey, Problem> {
    let key = text
        .split_once('/')
        .and_then(|(table, id)| Some((table_of(table).ok()?, id_of(id).ok()?)));
    key.ok_or_else(|| {
        Problem::bad_value(
            "before",
            format!("before must be next_before of the page before, not {text:?}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_begins_behind_a_row() {
        let (table, id) = cursor("msg/18446744073709551615").unwrap();
        assert_eq!((&*table, id), ("msg", u64::MAX));
        for wrong in [
            "msg",
            "msg/",
            "/7",
            "msg/7/8",
            "msg/-7",
            "Msg/7",
            "m\0g/7",
            "msg/18446744073709551616",
        ] {
            assert!(cursor(wrong).is_err(), "{wrong:?}");
        }
        assert!(table_of(&"a".repeat(MAX_TABLE)).is_ok());
        assert!(table_of(&"a".repeat(MAX_TABLE + 1)).is_err());
    }
}
