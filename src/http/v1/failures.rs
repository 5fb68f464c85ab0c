//! `/v1/failures`: how many messages have failed, by what they have in common and over time.

use std::time::Duration;

use tokio::sync::Semaphore;

use super::dead_letters::FailedMessageFilter;
use super::{HEAVY_AT_ONCE, answer_in_turn};
use crate::actors::control::admin::failures::{self, AskedFailures};
use crate::actors::control::admin::messages::is_listed_by_end;
use crate::api::{FailureGrouping, FailureReport, StateName};
use crate::clock;
use crate::config::{parse_duration, show_duration};
use crate::domain::period::{DAY_MS, MINUTE_MS};
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::problem::Problem;
use crate::http::query::Query;
use crate::pb::MessageState;

/// What a question may have.
const QUERY: &[&str] = &[
    "by",
    "to",
    "account",
    "operator",
    "state",
    "error",
    "country",
    "ended_since",
    "ended_until",
    "bucket",
];
/// Lengths of buckets, of which the shortest is chosen that fits.
const LENGTHS: [i64; 7] = [
    MINUTE_MS,
    5 * MINUTE_MS,
    15 * MINUTE_MS,
    60 * MINUTE_MS,
    360 * MINUTE_MS,
    DAY_MS,
    7 * DAY_MS,
];
const MOST_BUCKETS: i64 = 200;

/// Each answer may read 100,000 ends.
static ROOM: Semaphore = Semaphore::const_new(HEAVY_AT_ONCE);

/// How many messages have failed, by error, operator, account, country or hour, and over time.
///
/// Messages count that did not end DELIVERED, by the time of their end; EXPIRED, UNDELIVERABLE, UNKNOWN and REJECTED without
/// `state`. Of a text that was divided here each part counts as well. At most the latest 100,000 ends are looked at:
/// `complete` says whether these were all. `GET /v1/dead-letters` lists the messages of a group with the filter of its name,
/// and those of a bucket with its `since` and `until` as `ended_since` and `ended_until`.
#[utoipa::path(get, path = "/v1/failures", tag = "messages",
    params(
        ("by" = Option<FailureGrouping>, Query, description = "What they are counted by; error without it"),
        ("to" = Option<String>, Query, description = "Destination, exact; first digits and a star, as 49*, for all that begin so"),
        ("account" = Option<String>, Query, description = "The sender: an account or an operator"),
        ("operator" = Option<String>, Query, description = "The operator that reported the final state, or in whose queue the message was"),
        ("state" = Option<StateName>, Query, description = "A final state other than DELIVERED"),
        ("error" = Option<String>, Query, description = "Error code of the final state, as shown, or a command_status by name; `none` for ends without one"),
        ("country" = Option<String>, Query, description = "The destination's country, ISO 3166-1, such as DE; `none` for destinations without one"),
        ("ended_since" = Option<String>, Query, description = "Ended at this time or later: RFC 3339, a day, or Unix milliseconds; 24 hours before `ended_until` without it"),
        ("ended_until" = Option<String>, Query, description = "Ended before this time; now without it"),
        ("bucket" = Option<String>, Query, description = "The length of a bucket, such as 15m or 1h: at most 200 fit into the time; chosen without it"),
    ),
    responses((status = 200, description = "The counts", body = FailureReport),
        (status = 404, description = "There is no such account or operator"),
        (status = 429, description = "Two questions are answered at once, and this one has not had its turn within ten seconds")))]
pub(super) async fn count(request: ApiRequest) -> ApiAnswer {
    let query = Query::read(&request, QUERY)?;
    let asked = asked(&query, clock::now_ms())?;
    answer_in_turn(&request, &ROOM, "failures", |admin| {
        failures::count(admin, asked)
    })
    .await
}

fn asked(query: &Query, now: i64) -> Result<AskedFailures, Problem> {
    let by = query.word("by")?.unwrap_or(FailureGrouping::Error);
    let mut which = FailedMessageFilter::of_query(query).question(0)?;
    let state = which.which.state;
    if state != MessageState::Unspecified && !is_listed_by_end(state) {
        return Err(Problem::bad_value(
            "state",
            "state must be a final one other than DELIVERED: GET /v1/usage counts what was delivered",
        ));
    }
    // Nothing ends later than now, but for clocks of other nodes.
    let latest = now.saturating_add(DAY_MS);
    let until = query.time("ended_until")?.unwrap_or(now).min(latest);
    let since = query.time("ended_since")?;
    let since = since.unwrap_or(until.saturating_sub(DAY_MS));
    if since <= 0 || since >= until {
        return Err(Problem::bad_value(
            "ended_since",
            "ended_since must be a time before ended_until, which is now without it",
        ));
    }
    (which.which.ended_since, which.which.ended_until) = (since, until);
    let count = |length: i64| (until - 1).div_euclid(length) - since.div_euclid(length) + 1;
    let fits = |length: &i64| count(*length) <= MOST_BUCKETS;
    let bucket_ms = match query.text("bucket") {
        Some(text) => length_of(text).filter(fits).ok_or_else(|| {
            let shortest = (until - since) / MOST_BUCKETS;
            let shortest = Duration::from_secs(shortest.unsigned_abs().div_ceil(1_000).max(1));
            Problem::bad_value(
                "bucket",
                format!(
                    "bucket must be a duration such as 1h, and at most {MOST_BUCKETS} fit into the time: more than {}, not {text:?}",
                    show_duration(shortest)
                ),
            )
        })?,
        None => LENGTHS.into_iter().find(fits).ok_or_else(|| {
            Problem::bad_value(
                "ended_since",
                format!("at most {MOST_BUCKETS} weeks are counted: take a later ended_since"),
            )
        })?,
    };
    Ok(AskedFailures {
        which,
        by,
        bucket_ms,
    })
}

/// The length of a bucket in milliseconds; a second is the shortest.
fn length_of(text: &str) -> Option<i64> {
    let length = parse_duration(text)?.as_millis();
    i64::try_from(length).ok().filter(|ms| *ms >= 1_000)
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    const NOW: i64 = 1_700_000_000_000;

    fn ask_for(query: &str) -> Result<AskedFailures, Problem> {
        let request = TestRequest::with_uri(&format!("/v1/failures?{query}")).to_http_request();
        asked(&Query::read(&request, QUERY)?, NOW)
    }

    #[test]
    fn a_day_is_asked_for_unless_it_says_otherwise() {
        let asked = ask_for("").unwrap();
        let which = &asked.which.which;
        assert_eq!((which.ended_since, which.ended_until), (NOW - DAY_MS, NOW));
        assert_eq!(asked.by, FailureGrouping::Error);
        assert_eq!(asked.bucket_ms, 15 * MINUTE_MS);
        for (query, bucket) in [
            ("ended_since=1699999000000", MINUTE_MS),
            ("ended_since=1690000000000", DAY_MS),
            ("ended_since=1600000000000", 7 * DAY_MS),
            ("bucket=1h", 60 * MINUTE_MS),
        ] {
            assert_eq!(ask_for(query).unwrap().bucket_ms, bucket, "{query}");
        }
        let asked = ask_for("by=country&to=49*&error=none&account=test").unwrap();
        assert_eq!(asked.by, FailureGrouping::Country);
        assert_eq!(asked.which.which.to_prefix, "49");
        assert_eq!(asked.which.error.as_deref(), Some(&b""[..]));
    }

    #[test]
    fn names_what_is_wrong() {
        for (query, part) in [
            ("by=week", "by is one of error, operator"),
            ("ended_since=soon", "ended_since must be"),
            ("ended_since=1700000000001", "before ended_until"),
            ("ended_since=1", "at most 200 weeks"),
            ("ended_since=0", "before ended_until"),
            ("bucket=1s", "more than 432s"),
            ("bucket=soon", "bucket must be"),
            ("state=ENROUTE", "final"),
            ("state=DELIVERED", "other than DELIVERED"),
            ("to=4*9", "to is a number"),
            ("country=XX", "country is a code"),
            ("from=1", "from is not known"),
        ] {
            let problem = ask_for(query).unwrap_err().to_string();
            assert!(problem.contains(part), "{query}: {problem}");
        }
    }
}
