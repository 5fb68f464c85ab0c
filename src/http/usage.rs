//! Questions about usage, and their answers as JSON or CSV: what `/v1/usage` of both APIs has in common.

use actix_web::http::header::{self, ContentType};
use actix_web::{HttpRequest, HttpResponse};

use super::problem::Problem;
use super::query::Query;
use crate::actors::billing::usage::AskedUsage;
use crate::api::UsageReport;
use crate::clock;
use crate::domain::period::DAY_MS;
use crate::domain::state;

/// Days of an answer whose question has no `from`.
const DAYS: i64 = 30;
/// Most days of an answer.
const MOST_DAYS: i64 = 366;
/// What sums may be divided by.
pub(super) const BY: [&str; 6] = ["day", "account", "operator", "country", "state", "kind"];
/// What sums of an account may be divided by: it is not shown operators.
pub(super) const BY_OF_ACCOUNT: [&str; 4] = ["day", "country", "state", "kind"];

/// The question of a request; `known` are the keys that it may have, and `divisors` what its sums may be divided by.
pub(super) fn question(
    request: &HttpRequest,
    known: &[&str],
    divisors: &[&str],
) -> Result<AskedUsage, Problem> {
    let query = Query::read(request, known)?;
    let text = |key| query.text(key).unwrap_or_default().to_owned();
    let day = |ms: i64| i32::try_from(ms.div_euclid(DAY_MS)).unwrap_or(i32::MAX);
    let last = query.time("to")?.unwrap_or_else(clock::now_ms);
    let first = query.time("from")?.unwrap_or(last - (DAYS - 1) * DAY_MS);
    if first > last || (last - first) / DAY_MS >= MOST_DAYS {
        let detail = format!("from must not be after to, and at most {MOST_DAYS} days are read");
        return Err(Problem::bad_value("from", detail));
    }
    let wanted = text("state");
    if !wanted.is_empty() && state::from_exact_name(&wanted).is_none() {
        let names: Vec<&str> = state::names().collect();
        let detail = format!("state is one of {}, not {wanted:?}", names.join(", "));
        return Err(Problem::bad_value("state", detail));
    }
    let by: Vec<String> = match query.text("by") {
        Some(by) => by.split(',').map(str::to_owned).collect(),
        None => divisors.iter().map(|one| (*one).to_owned()).collect(),
    };
    if let Some(wrong) = by.iter().find(|one| !divisors.contains(&one.as_str())) {
        let detail = format!(
            "by names some of {}, divided by commas, not {wrong:?}",
            divisors.join(", ")
        );
        return Err(Problem::bad_value("by", detail));
    }
    if let Some(wrong) = query
        .text("format")
        .filter(|one| !["json", "csv"].contains(one))
    {
        let detail = format!("format is json or csv, not {wrong:?}");
        return Err(Problem::bad_value("format", detail));
    }
    Ok(AskedUsage {
        first_day: day(first),
        last_day: day(last),
        account: text("account"),
        operator: text("operator"),
        country: text("country").to_ascii_uppercase(),
        state: wanted,
        by,
    })
}

/// The answer, as CSV if the request has `format=csv` or accepts nothing else.
pub(super) fn answer(request: &HttpRequest, usage: &UsageReport) -> HttpResponse {
    let accepts = request.headers().get(header::ACCEPT);
    let accepts_csv = accepts.is_some_and(|value| value.as_bytes().starts_with(b"text/csv"));
    let format = request
        .query_string()
        .split('&')
        .find_map(|pair| pair.strip_prefix("format="));
    if format.map_or(accepts_csv, |format| format == "csv") {
        HttpResponse::Ok()
            .insert_header(("content-type", "text/csv; charset=utf-8"))
            .insert_header((
                header::CONTENT_DISPOSITION,
                "attachment; filename=\"usage.csv\"",
            ))
            .body(usage.csv())
    } else {
        HttpResponse::Ok()
            .insert_header(ContentType::json())
            .json(usage)
    }
}
