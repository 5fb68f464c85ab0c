//! `/v1/dead-letters`: messages that ended in a failure, and sending them again.

use std::ops::RangeInclusive;
use std::time::Duration;

use actix_web::{HttpRequest, web};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::messages::{
    NONE, address, country_of, exact_or_prefix, list_order, message_id, no_place_by_end, state_of,
};
use super::{answer, body, body_or_default};
use crate::actors::control::admin::cancel;
use crate::actors::control::admin::failed::{self, FailedFilter};
use crate::actors::control::admin::messages::{MessageFilter, is_listed_by_end};
use crate::actors::control::admin::replay::{self as replays, ManyReplays, Replaying};
use crate::api::{CancelReport, MessageListOrder, Messages, ReplayReport, Replayed, StateName};
use crate::domain::{command_status, state as states};
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::audit;
use crate::http::auth::who;
use crate::http::problem::Problem;
use crate::http::query::{ListPage, Query, duration, moment};
use crate::pb::MessageState;

/// Filters of a list.
const QUERY: &[&str] = &[
    "to",
    "from",
    "account",
    "operator",
    "state",
    "error",
    "country",
    "network",
    "since",
    "until",
    "ended_since",
    "ended_until",
    "order",
    "replayed",
    "limit",
    "before",
];
/// Messages sent again by one request without `limit`.
const REPLAYED: u32 = 1_000;
/// Most of them.
const MAX_REPLAYED: u32 = 10_000;
/// Most messages per second of a replay.
const MAX_RATE: u32 = 10_000;
/// How long a message may be valid: shorter is over before it is sent.
const LENGTHS: RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(366 * 24 * 3600);

/// Failed messages, with their attempts, newest first.
///
/// Of a text that was divided or put together here only the message that carries all of it is listed.
/// A page has `limit` entries; fewer only if it is the last one, or if looking for them takes long.
#[utoipa::path(get, path = "/v1/dead-letters", tag = "messages",
    params(
        ("to" = Option<String>, Query, description = "Destination, exact, with or without a plus; first digits and a star, as 49*, for all that begin so"),
        ("from" = Option<String>, Query, description = "Source address, exact"),
        ("account" = Option<String>, Query, description = "The sender: an account or an operator"),
        ("operator" = Option<String>, Query, description = "The operator that reported the final state, or in whose queue the message was"),
        ("state" = Option<StateName>, Query, description = "Any final state; EXPIRED, UNDELIVERABLE, UNKNOWN and REJECTED without it"),
        ("error" = Option<String>, Query, description = "Error code of the final state, as shown, or a command_status by name; `none` for ends without one"),
        ("country" = Option<String>, Query, description = "The destination's country, ISO 3166-1, such as DE; `none` for destinations without one"),
        ("network" = Option<String>, Query, description = "The network that was looked up for the destination, such as 26201"),
        ("since" = Option<String>, Query, description = "Accepted at this time or later: RFC 3339, a day, or Unix milliseconds"),
        ("until" = Option<String>, Query, description = "Accepted before this time"),
        ("ended_since" = Option<String>, Query, description = "Ended at this time or later"),
        ("ended_until" = Option<String>, Query, description = "Ended before this time"),
        ("order" = Option<MessageListOrder>, Query, description = "What comes first, the latest acceptance or the latest end; without it the end if `ended_since` or `ended_until` is given"),
        ("replayed" = Option<bool>, Query, description = "Only those that were, or were not, replayed"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Entries per page; 50 without it"),
        ("before" = Option<String>, Query, pattern = "^[0-9]{1,19}$", description = "`next_before` of the previous page"),
    ),
    responses((status = 200, description = "A page", body = Messages),
        (status = 404, description = "There is no such account or operator")))]
pub(super) async fn list(request: ApiRequest) -> ApiAnswer {
    let query = Query::read(&request, QUERY)?;
    let page = query.page()?;
    let filter = FailedMessageFilter::of_query(&query).failed(&query, page)?;
    answer(&request, |admin| failed::list(admin, filter)).await
}

/// Which receipts are wanted that were given up.
pub(super) fn given_up_filter(request: &HttpRequest) -> Result<FailedFilter, Problem> {
    let keys = ["account", "since", "until", "replayed", "limit", "before"];
    let query = Query::read(request, &keys)?;
    let page = query.page()?;
    Ok(FailedFilter {
        receipts: true,
        ..FailedMessageFilter::of_query(&query).failed(&query, page)?
    })
}

/// How a message is sent again.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ReplayOne {
    /// Send it there: an operator, `operator:ID` or `test:…`. By its route without it.
    to: Option<String>,
    /// How long it is valid: `"1h"`. As long as its sender had wished without it, else the default.
    validity: Option<String>,
    /// The sender gets a receipt with the new id, if it had asked for one. It already got the
    /// receipt of the old one's failure.
    receipt: bool,
    /// Although it was sent again before.
    again: bool,
}

/// Replays a failed message as a new one.
///
/// The new message has a new id, the same content and sender, and passes the checks and routes of any
/// submission, but not the rate of its account. 409 for a message that has not failed, a part of a
/// divided text (replay the whole), an erased text, or a message that was replayed before.
#[utoipa::path(post, path = "/v1/messages/{id}/replay", tag = "messages", request_body = ReplayOne,
    params(("id" = String, Path, pattern = "^[0-9]{1,19}$", description = "As in submit_sm_resp")),
    responses((status = 200, description = "The new message is durable", body = Replayed)))]
pub(super) async fn replay(
    request: ApiRequest,
    id: web::Path<String>,
    octets: web::Bytes,
) -> ApiAnswer {
    Query::read(&request, &[])?;
    let asked: ReplayOne = body_or_default(&octets)?;
    let id = message_id(&id)?;
    let how = asked.how(who(&request))?;
    answer(&request, move |admin| replays::one(admin, id, how)).await
}

/// Which failed messages: each criterion that is given must fit.
#[derive(Debug, Default, Deserialize, Serialize, ToSchema)]
#[schema(as = Filter)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FailedMessageFilter {
    /// Destination, exact; first digits and a star, as `49*`, for all that begin so.
    to: Option<String>,
    /// Source address, exact.
    from: Option<String>,
    /// Who brought it: an account or an operator.
    account: Option<String>,
    /// Who reported the end, or in whose queue it was.
    operator: Option<String>,
    /// A final state; EXPIRED, UNDELIVERABLE, UNKNOWN and REJECTED without it.
    state: Option<String>,
    /// Error code of the end, as it is shown, or a command_status by name; `none` for ends without one.
    error: Option<String>,
    /// The destination's country, ISO 3166-1; `none` for destinations without one.
    country: Option<String>,
    /// The network that was looked up for the destination.
    network: Option<String>,
    /// Accepted then or later: RFC 3339, a day, or Unix milliseconds.
    since: Option<String>,
    /// Accepted before then.
    until: Option<String>,
    /// Ended then or later.
    ended_since: Option<String>,
    /// Ended before then.
    ended_until: Option<String>,
    /// What comes first: `accepted` or `ended`; the end if `ended_since` or `ended_until` is given without it.
    order: Option<String>,
    /// Older than this message: `next_before` of the answer before.
    #[schema(pattern = "^[0-9]{1,19}$")]
    before: Option<String>,
}

/// Which failed messages are sent again, and how.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReplayMany {
    filter: FailedMessageFilter,
    #[serde(default)]
    to: Option<String>,
    #[serde(default)]
    validity: Option<String>,
    #[serde(default)]
    receipt: bool,
    #[serde(default)]
    again: bool,
    /// At most so many, the newest first; 1000 without it.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 10000)]
    limit: Option<u32>,
    /// At most so many messages per second; as fast as it goes without it.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 10000)]
    rate: Option<u32>,
    /// Only count what fits.
    #[serde(default)]
    dry_run: bool,
}

/// Replays failed messages, the oldest of those found first.
///
/// `to`, `validity`, `receipt` and `again` are as for one message; the filter must have at least
/// one condition. Messages that were replayed before are left out unless `again` is true, so a
/// request that ended early (`left` above 0) is repeated, with the sum of `left` and `refused` as its `limit`; for messages
/// older than those within `limit`, use `before`. With `rate` a request sends for some seconds, and leaves the rest to the next one.
#[utoipa::path(post, path = "/v1/messages/replay", tag = "messages", request_body = ReplayMany,
    responses((status = 200, description = "What was done", body = ReplayReport),
        (status = 404, description = "There is no such account, operator or queue"),
        (status = 409, description = "Other orders replay")))]
pub(super) async fn replay_many(request: ApiRequest, octets: web::Bytes) -> ApiAnswer {
    Query::read(&request, &[])?;
    let order = many(body(&octets)?, who(&request))?;
    if order.dry_run {
        audit::is_dry_run(&request);
    }
    answer(&request, |admin| replays::many(admin, order)).await
}

/// Which waiting messages are cancelled.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CancelMany {
    /// As for a replay, without `state` and `error`, which waiting messages do not have.
    filter: FailedMessageFilter,
    /// At most so many, the newest first; 1000 without it.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 10000)]
    limit: Option<u32>,
    /// Only count what fits.
    #[serde(default)]
    dry_run: bool,
}

/// Cancels messages that wait, the newest first.
///
/// Each ends DELETED, with a receipt, as if it was cancelled alone; what an operator has, or a session holds, is left
/// alone. The filter must have at least one condition. A request that ended early (`left` above 0) is simply repeated.
#[utoipa::path(post, path = "/v1/messages/cancel", tag = "messages", request_body = CancelMany,
    responses((status = 200, description = "What was done", body = CancelReport),
        (status = 404, description = "There is no such account or operator")))]
pub(super) async fn cancel_many(request: ApiRequest, octets: web::Bytes) -> ApiAnswer {
    Query::read(&request, &[])?;
    let order: CancelMany = body(&octets)?;
    let (dry_run, by) = (order.dry_run, who(&request));
    if dry_run {
        audit::is_dry_run(&request);
    }
    let which = cancelled(order)?;
    answer(&request, move |admin| {
        cancel::many(admin, which, dry_run, by)
    })
    .await
}

fn cancelled(order: CancelMany) -> Result<MessageFilter, Problem> {
    let limit = at_most(order.limit)?;
    let filter = order.filter;
    filter.names_something("cancel all that waits")?;
    for (name, value) in [
        ("state", &filter.state),
        ("error", &filter.error),
        ("ended_since", &filter.ended_since),
        ("ended_until", &filter.ended_until),
        ("order", &filter.order),
    ] {
        if given(value).is_some() {
            return Err(Problem::bad_value(
                name,
                format!(
                    "{name} is of messages that have ended; those cannot be cancelled: leave it out"
                ),
            ));
        }
    }
    Ok(filter.question(limit)?.which)
}

fn at_most(limit: Option<u32>) -> Result<u32, Problem> {
    let limit = limit.unwrap_or(REPLAYED);
    if (1..=MAX_REPLAYED).contains(&limit) {
        Ok(limit)
    } else {
        Err(Problem::bad_value(
            "limit",
            format!("limit must be a number from 1 to {MAX_REPLAYED}, not {limit}"),
        ))
    }
}

fn many(order: ReplayMany, by: String) -> Result<ManyReplays, Problem> {
    let limit = at_most(order.limit)?;
    if let Some(rate) = order.rate.filter(|rate| !(1..=MAX_RATE).contains(rate)) {
        return Err(Problem::bad_value(
            "rate",
            format!("rate must be a number from 1 to {MAX_RATE} messages per second, not {rate}"),
        ));
    }
    order
        .filter
        .names_something("send again all that has failed")?;
    let how = ReplayOne {
        to: order.to,
        validity: order.validity,
        receipt: order.receipt,
        again: order.again,
    };
    Ok(ManyReplays {
        which: order.filter.question(limit)?,
        how: how.how(by)?,
        rate: order.rate,
        dry_run: order.dry_run,
    })
}

// === impl ReplayOne ===

impl ReplayOne {
    fn how(self, by: String) -> Result<Replaying, Problem> {
        let validity_ms = match &self.validity {
            None => 0,
            Some(text) => {
                let length = duration("validity", text, "\"1h\" or \"30m\"", LENGTHS)?;
                length.as_millis() as i64
            }
        };
        Ok(Replaying {
            to: self.to.unwrap_or_default(),
            validity_ms,
            receipt: self.receipt,
            again: self.again,
            by,
        })
    }
}

// === impl FailedMessageFilter ===

impl FailedMessageFilter {
    /// The filter of a query; what the query may not have is absent.
    pub(super) fn of_query(query: &Query) -> Self {
        let text = |key: &str| query.text(key).map(str::to_owned);
        // A plus sign that was not percent-encoded arrives as a space.
        let time = |key: &str| text(key).map(|time| time.replace(' ', "+"));
        Self {
            to: text("to"),
            from: text("from"),
            account: text("account"),
            operator: text("operator"),
            state: text("state"),
            error: text("error"),
            country: text("country"),
            network: text("network"),
            since: time("since"),
            until: time("until"),
            ended_since: time("ended_since"),
            ended_until: time("ended_until"),
            order: text("order"),
            before: None,
        }
    }

    fn is_empty(&self) -> bool {
        let given = serde_json::to_value(self).unwrap_or_default();
        let given = given.as_object().into_iter().flatten();
        // An order leaves nothing out.
        let mut conditions = given.filter(|(key, _)| *key != "order");
        conditions.all(|(_, one)| one.as_str().unwrap_or_default().is_empty())
    }

    /// Refuses a filter without any condition, which would do this.
    fn names_something(&self, otherwise: &str) -> Result<(), Problem> {
        if self.is_empty() {
            Err(Problem::bad_value(
                "filter",
                format!(
                    "filter must name something, such as {{\"since\": \"2026-11-21T09:00:00Z\"}}: nothing would {otherwise}"
                ),
            ))
        } else {
            Ok(())
        }
    }

    /// The question of a list.
    fn failed(self, query: &Query, page: ListPage) -> Result<FailedFilter, Problem> {
        let mut question = self.question(page.limit)?;
        question.which.before = page.before;
        question.replayed = match query.text("replayed") {
            None => None,
            Some(_) => Some(query.flag("replayed")?),
        };
        Ok(question)
    }

    /// Which messages it asks for, at most so many.
    pub(super) fn question(self, limit: u32) -> Result<FailedFilter, Problem> {
        let time = |key: &str, text| given(text).map_or(Ok(0), |text| moment(key, text));
        let state = given(&self.state).map_or(Ok(MessageState::Unspecified), final_state)?;
        let before = given(&self.before).map_or(Ok(0), message_id)?;
        let (ended_since, ended_until) = (
            time("ended_since", &self.ended_since)?,
            time("ended_until", &self.ended_until)?,
        );
        let has_place = state == MessageState::Unspecified || is_listed_by_end(state);
        let by_end = match list_order(self.order.as_deref())? {
            None => has_place && (ended_since, ended_until) != (0, 0),
            Some(MessageListOrder::Accepted) => false,
            Some(MessageListOrder::Ended) if has_place => true,
            Some(MessageListOrder::Ended) => return Err(no_place_by_end()),
        };
        let (to, to_prefix) = exact_or_prefix(self.to.as_deref(), |text| address(Some(text)))?;
        Ok(FailedFilter {
            which: MessageFilter {
                to,
                to_prefix,
                country: country_of(self.country.as_deref())?,
                network: self.network.unwrap_or_default(),
                from: address(self.from.as_deref()),
                sender: self.account.unwrap_or_default(),
                since: time("since", &self.since)?,
                until: time("until", &self.until)?,
                ended_since,
                ended_until,
                by_end,
                state,
                before,
                limit,
                operator: self.operator.unwrap_or_default(),
            },
            error: self.error.map(|error| error_code(&error).into()),
            replayed: None,
            receipts: false,
        })
    }
}

fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

fn final_state(text: &str) -> Result<MessageState, Problem> {
    let state = state_of(text)?;
    if states::is_final(i32::from(state) as u8) {
        Ok(state)
    } else {
        Err(Problem::bad_value(
            "state",
            "state must be a final one; GET /v1/messages lists what is not final",
        ))
    }
}

/// What an operator refused has the number of the command_status as its error.
fn error_code(text: &str) -> String {
    if text == NONE {
        String::new()
    } else if text.starts_with("ESME_") {
        command_status::parse(text).map_or_else(|| text.to_owned(), |one| one.to_string())
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<ManyReplays, Problem> {
        many(body(json.as_bytes())?, "somebody".to_owned())
    }

    #[test]
    fn reads_a_replay() {
        let order = read(
            r#"{"filter": {"operator": "up", "state": "rejected", "error": "ESME_RINVDSTADR",
                "to": "+4179", "since": "2023-11-14T22:13:20Z"},
                "to": "operator-b", "validity": "90m", "receipt": true, "limit": 7, "rate": 20}"#,
        )
        .unwrap();
        let ManyReplays {
            which,
            how,
            rate,
            dry_run,
        } = order;
        let search = which.which;
        assert_eq!((search.to.as_str(), search.limit), ("4179", 7));
        assert_eq!(search.since, 1_700_000_000_000);
        assert_eq!(search.state, MessageState::Rejected);
        assert_eq!(which.error.as_deref(), Some(&b"11"[..]));
        assert_eq!(
            (how.to.as_str(), how.validity_ms),
            ("operator-b", 5_400_000)
        );
        assert!(how.receipt && !how.again && !dry_run);
        assert_eq!(rate, Some(20));
    }

    #[test]
    fn ends_are_in_their_own_order_unless_asked_otherwise() {
        for (filter, by_end) in [
            (r#"{"ended_since": "2023-11-14"}"#, true),
            (r#"{"ended_until": "2023-11-14", "state": "DELETED"}"#, true),
            (
                r#"{"ended_since": "2023-11-14", "state": "DELIVERED"}"#,
                false,
            ),
            (
                r#"{"ended_since": "2023-11-14", "order": "accepted"}"#,
                false,
            ),
            (r#"{"since": "2023-11-14"}"#, false),
            (r#"{"since": "2023-11-14", "order": "ended"}"#, true),
        ] {
            let order = read(&format!(r#"{{"filter": {filter}}}"#)).unwrap();
            assert_eq!(order.which.which.by_end, by_end, "{filter}");
        }
    }

    #[test]
    fn every_condition_names_something_and_an_order_does_not() {
        let none = serde_json::to_value(FailedMessageFilter::default()).unwrap();
        let keys = none.as_object().unwrap().keys();
        let empty = keys.filter(|key| {
            let only = serde_json::json!({ key.as_str(): "1" });
            let filter: FailedMessageFilter = serde_json::from_value(only).unwrap();
            filter.is_empty()
        });
        assert_eq!(empty.collect::<Vec<_>>(), ["order"]);
    }

    #[test]
    fn names_what_is_wrong() {
        for (json, part) in [
            ("{}", "filter"),
            (r#"{"filter": {}}"#, "filter must name something"),
            (r#"{"filter": {"state": ""}}"#, "filter must name something"),
            (r#"{"filter": {"state": "ENROUTE"}}"#, "final"),
            (r#"{"filter": {"state": "SENT"}}"#, "the states are"),
            (r#"{"filter": {"since": "soon"}}"#, "since must be"),
            (r#"{"filter": {"before": "x"}}"#, "message id"),
            (
                r#"{"filter": {"ended_since": "soon"}}"#,
                "ended_since must be",
            ),
            (
                r#"{"filter": {"order": "ended"}}"#,
                "filter must name something",
            ),
            (
                r#"{"filter": {"to": "1", "order": "size"}}"#,
                "order is one of",
            ),
            (
                r#"{"filter": {"state": "DELIVERED", "order": "ended"}}"#,
                "did not end DELIVERED",
            ),
            (r#"{"filter": {"when": "now"}}"#, "when"),
            (r#"{"filter": {"to": "1"}, "limit": 0}"#, "1 to 10000"),
            (r#"{"filter": {"to": "1"}, "limit": 10001}"#, "1 to 10000"),
            (r#"{"filter": {"to": "1"}, "rate": 0}"#, "rate must be"),
            (r#"{"filter": {"to": "1*2"}}"#, "to is a number"),
            (r#"{"filter": {"country": "XX"}}"#, "country is a code"),
            (
                r#"{"filter": {"to": "1"}, "validity": "long"}"#,
                "validity must be",
            ),
            (
                r#"{"filter": {"to": "1"}, "validity": "0"}"#,
                "validity must be",
            ),
        ] {
            let said = read(json).unwrap_err().to_string();
            assert!(said.contains(part), "{json}: {said}");
        }
    }
}
