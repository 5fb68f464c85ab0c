//! `/v1/history`: what was sent, refused and delivered, by the minute and by the hour.

use std::ops::Range;

use tokio::sync::Semaphore;

use super::{HEAVY_AT_ONCE, answer_in_turn};
use crate::actors::control::admin::history::{self, AskedHistory};
use crate::api::{HistoryGrouping, HistoryStep, TrafficHistory};
use crate::clock;
use crate::domain::period::{DAY_MS, HOUR_MS, MINUTE_MS};
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::problem::Problem;
use crate::http::query::Query;

/// What a question may have.
const QUERY: &[&str] = &[
    "since", "until", "step", "operator", "account", "error", "by",
];
/// Minutes are kept a little longer than a day.
const MINUTES_KEPT_MS: i64 = DAY_MS + HOUR_MS;
const MOST_POINTS: i64 = 2_400;

/// Three months are thousands of rows to decode.
static ROOM: Semaphore = Semaphore::const_new(HEAVY_AT_ONCE);

/// What was sent, refused and delivered, by the minute for a day and by the hour for longer, of all nodes.
///
/// Messages count at the time of the answer, and at the time of their end: what was sent in one minute may be delivered in
/// another. With two of `operator`, `account` and `error` only what failed is known, and of groups already with one that is not
/// `by`. `[history]` of the configuration says how long hours are kept. A week before is another question, with `step=hour`.
#[utoipa::path(get, path = "/v1/history", tag = "messages",
    params(
        ("since" = Option<String>, Query, description = "From the minute or hour of this time on: RFC 3339, a day, or Unix milliseconds; 24 hours before `until` without it"),
        ("until" = Option<String>, Query, description = "Until this time; now without it"),
        ("step" = Option<HistoryStep>, Query, description = "How long a point is; without it minute, where these are kept, or else hour"),
        ("operator" = Option<String>, Query, description = "Only of this operator or GSM network"),
        ("account" = Option<String>, Query, description = "Only of this account"),
        ("error" = Option<String>, Query, description = "Only what was refused or failed so, as `by=error` shows it"),
        ("by" = Option<HistoryGrouping>, Query, description = "Divide the total by this, too"),
    ),
    responses((status = 200, description = "At most 2,400 points", body = TrafficHistory),
        (status = 404, description = "There is no such account or operator"),
        (status = 429, description = "Two questions are answered at once, and this one has not had its turn within ten seconds")))]
pub(super) async fn read(request: ApiRequest) -> ApiAnswer {
    let asked = asked(&Query::read(&request, QUERY)?, clock::now_ms())?;
    answer_in_turn(&request, &ROOM, "the history", |admin| {
        history::read(admin, asked)
    })
    .await
}

fn asked(query: &Query, now: i64) -> Result<AskedHistory, Problem> {
    let until = query.time("until")?.unwrap_or(now).min(now);
    let since = query.time("since")?;
    let since = since.unwrap_or(until.saturating_sub(DAY_MS));
    if since <= 0 || since >= until {
        return Err(Problem::bad_value(
            "since",
            "since must be a time before until, which is now without it, and in the past",
        ));
    }
    let times = since..until;
    let step = step(query, &times, now)?;
    let text = |key: &str| query.text(key).unwrap_or_default().to_owned();
    Ok(AskedHistory {
        step,
        operator: text("operator"),
        account: text("account"),
        error: text("error"),
        by: query.word("by")?,
        times,
    })
}

fn step(query: &Query, times: &Range<i64>, now: i64) -> Result<HistoryStep, Problem> {
    let length = times.end - times.start;
    let are_kept = times.start >= now - MINUTES_KEPT_MS;
    let step = query.word("step")?.unwrap_or(if are_kept {
        HistoryStep::Minute
    } else {
        HistoryStep::Hour
    });
    let (unit, points) = match step {
        HistoryStep::Minute => ("minutes", length / MINUTE_MS),
        HistoryStep::Hour => ("hours", length / HOUR_MS),
    };
    if points > MOST_POINTS {
        return Err(Problem::bad_value(
            "since",
            format!(
                "at most {MOST_POINTS} {unit} are shown at once, not {points}: take a later since or, for minutes, step=hour"
            ),
        ));
    }
    Ok(step)
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    const NOW: i64 = 1_700_000_000_000;

    fn ask_for(query: &str) -> Result<AskedHistory, Problem> {
        let request = TestRequest::with_uri(&format!("/v1/history?{query}")).to_http_request();
        asked(&Query::read(&request, QUERY)?, NOW)
    }

    #[test]
    fn minutes_of_a_day_are_asked_for_unless_it_says_otherwise() {
        let asked = ask_for("").unwrap();
        assert_eq!(asked.times, NOW - DAY_MS..NOW);
        assert_eq!((asked.step, asked.by), (HistoryStep::Minute, None));
        for (query, step) in [
            ("since=1699999000000", HistoryStep::Minute),
            ("since=1699999000000&step=hour", HistoryStep::Hour),
            ("since=1699000000000", HistoryStep::Hour),
            ("until=1699900000000", HistoryStep::Hour),
        ] {
            assert_eq!(ask_for(query).unwrap().step, step, "{query}");
        }
        let asked = ask_for("operator=up&error=069&by=account").unwrap();
        assert_eq!((&*asked.operator, &*asked.error), ("up", "069"));
        assert_eq!(asked.by, Some(HistoryGrouping::Account));
        let future = ask_for("until=1800000000000").unwrap();
        assert_eq!(future.times.end, NOW, "nothing is later than now");
    }

    #[test]
    fn names_what_is_wrong() {
        for (query, part) in [
            ("by=country", "by is one of operator, account, error"),
            ("step=day", "step is one of minute, hour"),
            ("since=soon", "since must be"),
            ("since=1700000000001", "before until"),
            ("since=0", "before until"),
            ("since=1600000000000", "at most 2400 hours"),
            ("since=1699000000000&step=minute", "step=hour"),
            ("to=49", "to is not known"),
        ] {
            let problem = ask_for(query).unwrap_err().to_string();
            assert!(problem.contains(part), "{query}: {problem}");
        }
    }
}
