//! `/v1/messages`: find, follow, cancel and retry messages.
//!
//! Numbers are shown in full, because the token is required; the text only when it is asked for.

use std::ops::RangeInclusive;

use actix_web::{HttpResponse, web};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{answer, body, call, done, verb};
use crate::actors::control::admin::messages::{self, MessageFilter, is_listed_by_end};
use crate::actors::orders;
use crate::actors::receipts::shown_id;
use crate::api::{Done, Message, MessageListOrder, MessageVerb, Messages, StateName, Trace};
use crate::domain::access::AccessRole;
use crate::domain::address::normalise;
use crate::domain::country;
use crate::domain::state as states;
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::audit;
use crate::http::auth::{permit, who};
use crate::http::problem::Problem;
use crate::http::query::{Query, word};
use crate::numbers::Numbers;
use crate::pb::queue_command::Verb;
use crate::pb::{CommandMessage, MessageState};

/// Filters of a list.
const QUERY: &[&str] = &[
    "to",
    "from",
    "account",
    "operator",
    "since",
    "until",
    "ended_since",
    "ended_until",
    "order",
    "state",
    "country",
    "network",
    "limit",
    "before",
];

/// What is searched for that does not have it: an error, a country.
pub(super) const NONE: &str = "none";
/// First digits of a destination.
const DIGITS: RangeInclusive<usize> = 1..=20;

/// A page of messages, newest first.
///
/// A page has `limit` entries; fewer only if it is the last one, or if looking for them takes long.
#[utoipa::path(get, path = "/v1/messages", tag = "messages",
    params(
        ("to" = Option<String>, Query, description = "Destination, exact, in any form in which a submission takes it; with `account` also as it is dialled in its country. First digits and a star, as 49*, for all that begin so"),
        ("from" = Option<String>, Query, description = "Source address, exact"),
        ("account" = Option<String>, Query, description = "The sender: an account or an operator"),
        ("operator" = Option<String>, Query, description = "The operator, or the queue, that it is in, or was in at its end"),
        ("since" = Option<String>, Query, description = "Accepted at this time or later: RFC 3339, a day, or Unix milliseconds"),
        ("until" = Option<String>, Query, description = "Accepted before this time"),
        ("ended_since" = Option<String>, Query, description = "Ended at this time or later"),
        ("ended_until" = Option<String>, Query, description = "Ended before this time"),
        ("order" = Option<MessageListOrder>, Query, description = "What comes first: the latest acceptance, or, for one final state other than DELIVERED, the latest end"),
        ("state" = Option<StateName>, Query, description = "ENROUTE means not final"),
        ("country" = Option<String>, Query, description = "The destination's country, ISO 3166-1, such as DE; `none` for destinations without one"),
        ("network" = Option<String>, Query, description = "The network that was looked up for the destination, such as 26201"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Entries per page; 50 without it"),
        ("before" = Option<String>, Query, pattern = "^[0-9]{1,19}$", description = "`next_before` of the previous page"),
    ),
    responses((status = 200, description = "A page", body = Messages),
        (status = 404, description = "There is no such account or operator")))]
pub(super) async fn search(request: ApiRequest) -> ApiAnswer {
    let query = Query::read(&request, QUERY)?;
    let account = query
        .text("account")
        .and_then(|name| request.state.api.account(name));
    let numbers = account.map_or_else(Numbers::default, |account| account.numbers);
    let filter = filter(&query, &numbers)?;
    answer(&request, |admin| messages::search(admin, filter)).await
}

/// One message with its history.
#[utoipa::path(get, path = "/v1/messages/{id}", tag = "messages",
    params(("id" = String, Path, pattern = "^[0-9]{1,19}$", description = "As in submit_sm_resp"),
        ("text" = Option<bool>, Query, description = "Show the text; needs the role `operate`")),
    responses((status = 200, description = "The message", body = Message)))]
pub(super) async fn one(request: ApiRequest, id: web::Path<String>) -> ApiAnswer {
    let with_text = Query::read(&request, &["text"])?.flag("text")?;
    if with_text {
        permit(&*request, AccessRole::Operate)?;
        audit::detail(&request, "its text was read");
    }
    let id = message_id(&id)?;
    answer(&request, move |admin| messages::find(admin, id, with_text)).await
}

/// The trace of a message: ids, W3C traceparent, and its URL.
#[utoipa::path(get, path = "/v1/messages/{id}/trace", tag = "messages",
    params(("id" = String, Path, pattern = "^[0-9]{1,19}$", description = "As in submit_sm_resp")),
    responses((status = 200, description = "Its trace", body = Trace)))]
pub(super) async fn trace(request: ApiRequest, id: web::Path<String>) -> ApiAnswer {
    Query::read(&request, &[])?;
    let id = message_id(&id)?;
    let found = call(&request, move |admin| messages::find(admin, id, false)).await??;
    match found.trace {
        Some(trace) => Ok(HttpResponse::Ok().json(trace)),
        None => Err(Problem::not_found(format!(
            "message {id} is not traced; telemetry.trace_ratio or trace_ratio of its account says \
             how many are"
        ))),
    }
}

/// Commands a message that waits.
///
/// `cancel` ends it DELETED, with a receipt; `retry` makes it due now.
#[utoipa::path(post, path = "/v1/messages/{id}/{verb}", tag = "messages",
    params(("id" = String, Path, pattern = "^[0-9]{1,19}$", description = "As in submit_sm_resp"),
        ("verb" = MessageVerb, Path)),
    responses((status = 200, description = "Carried out", body = Done),
        (status = 202, description = "Ordered; its effect was not seen yet", body = Done)))]
pub(super) async fn order(request: ApiRequest, path: web::Path<(String, String)>) -> ApiAnswer {
    Query::read(&request, &[])?;
    let (id, given) = path.into_inner();
    let order = CommandMessage {
        id: message_id(&id)?,
        verb: match verb::<MessageVerb>(&given)? {
            MessageVerb::Cancel => Verb::Cancel,
            MessageVerb::Retry => Verb::Retry,
        }
        .into(),
        by: who(&request),
        ..CommandMessage::default()
    };
    let ordered = call(&request, |admin| {
        orders::message::order(admin.node.clone(), order)
    });
    done(ordered.await?)
}

/// Where a message shall go.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MoveMessageOrder {
    /// The queue to move to: `operator:ID` or `test:…`.
    to: String,
}

/// Moves a message that waits to another queue.
#[utoipa::path(post, path = "/v1/messages/{id}/move", tag = "messages", request_body = MoveMessageOrder,
    params(("id" = String, Path, pattern = "^[0-9]{1,19}$", description = "As in submit_sm_resp")),
    responses((status = 200, description = "Carried out", body = Done),
        (status = 202, description = "Ordered on the node that has it", body = Done)))]
pub(super) async fn transfer(
    request: ApiRequest,
    id: web::Path<String>,
    octets: web::Bytes,
) -> ApiAnswer {
    Query::read(&request, &[])?;
    let MoveMessageOrder { to } = body(&octets)?;
    let order = CommandMessage {
        id: message_id(&id)?,
        verb: Verb::Move.into(),
        by: who(&request),
        to,
        ..CommandMessage::default()
    };
    let ordered = call(&request, |admin| {
        orders::message::order(admin.node.clone(), order)
    });
    done(ordered.await?)
}

fn filter(query: &Query, numbers: &Numbers) -> Result<MessageFilter, Problem> {
    let page = query.page()?;
    let state = query.text("state").map(state_of).transpose()?;
    let state = state.unwrap_or_default();
    let by_end = list_order(query.text("order"))? == Some(MessageListOrder::Ended);
    if by_end && !is_listed_by_end(state) {
        return Err(no_place_by_end());
    }
    let ended_since = query.time("ended_since")?.unwrap_or_default();
    let ended_until = query.time("ended_until")?.unwrap_or_default();
    if state == MessageState::Enroute && (ended_since, ended_until) != (0, 0) {
        return Err(Problem::bad_value(
            "state",
            "ENROUTE is what has not ended: leave it out, or ended_since and ended_until",
        ));
    }
    let (to, to_prefix) = exact_or_prefix(query.text("to"), |text| destination(text, numbers))?;
    Ok(MessageFilter {
        to,
        to_prefix,
        country: country_of(query.text("country"))?,
        network: query.text("network").unwrap_or_default().to_owned(),
        from: address(query.text("from")),
        sender: query.text("account").unwrap_or_default().to_owned(),
        operator: query.text("operator").unwrap_or_default().to_owned(),
        since: query.time("since")?.unwrap_or_default(),
        until: query.time("until")?.unwrap_or_default(),
        ended_since,
        ended_until,
        by_end,
        state,
        before: page.before,
        limit: page.limit,
    })
}

/// The order that is asked for.
pub(super) fn list_order(text: Option<&str>) -> Result<Option<MessageListOrder>, Problem> {
    let text = text.filter(|text| !text.is_empty());
    text.map(|text| word("order", text)).transpose()
}

/// The answer to a list by ends of messages that the index of ends does not have.
pub(super) fn no_place_by_end() -> Problem {
    Problem::bad_value(
        "order",
        "order=ended lists what did not end DELIVERED, in one state that `state` names, such as EXPIRED; \
         GET /v1/dead-letters has all failures by their ends, and ended_since and ended_until work without order",
    )
}

/// A destination in any form in which a submission takes it, as messages have it.
pub(in crate::http) fn destination(text: &str, numbers: &Numbers) -> String {
    // A plus sign that was not percent-encoded arrives as a space.
    let written = match text.strip_prefix(' ') {
        Some(rest) => format!("+{rest}"),
        None => text.to_owned(),
    };
    // What a check refuses now may have been sent before, and networks have codes that are no numbers.
    let read = numbers.unchecked().read(&written);
    read.unwrap_or_else(|_| address(Some(text)))
}

/// The destination of a search: exact, as `exact` reads it, or the first digits that stand before a star.
pub(super) fn exact_or_prefix(
    text: Option<&str>,
    exact: impl FnOnce(&str) -> String,
) -> Result<(String, String), Problem> {
    let text = text.unwrap_or_default();
    if !text.contains('*') {
        let exact = (!text.is_empty()).then(|| exact(text));
        return Ok((exact.unwrap_or_default(), String::new()));
    }
    let prefix = text
        .trim_end()
        .strip_suffix('*')
        .map(|one| address(Some(one)));
    let is_prefix = |digits: &String| {
        DIGITS.contains(&digits.len()) && digits.bytes().all(|octet| octet.is_ascii_digit())
    };
    match prefix.filter(is_prefix) {
        Some(prefix) => Ok((String::new(), prefix)),
        None => Err(Problem::bad_value(
            "to",
            format!("to is a number, or its first digits and a star such as 49*, not {text:?}"),
        )),
    }
}

/// The country of a search; empty for destinations without one.
pub(super) fn country_of(text: Option<&str>) -> Result<Option<&'static str>, Problem> {
    let Some(text) = text.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    if text == NONE {
        return Ok(Some(""));
    }
    let known = country::of_code(&text.to_ascii_uppercase());
    known.map(Some).ok_or_else(|| {
        Problem::bad_value(
            "country",
            format!(
                "country is a code of ISO 3166-1 such as DE, or {NONE} for numbers without one, not {text:?}"
            ),
        )
    })
}

/// As messages have it; empty when none is given. A plus sign that was not percent-encoded arrives as a space.
pub(in crate::http) fn address(text: Option<&str>) -> String {
    let text = text.unwrap_or_default().trim();
    String::from_utf8_lossy(normalise(text.as_bytes())).into_owned()
}

pub(in crate::http) fn state_of(text: &str) -> Result<MessageState, Problem> {
    states::from_name(text)
        .and_then(|number| MessageState::try_from(i32::from(number)).ok())
        .ok_or_else(|| {
            let names: Vec<&str> = states::names().collect();
            Problem::bad_value(
                "state",
                format!(
                    "state {text:?} is not known; the states are {}",
                    names.join(", ")
                ),
            )
        })
}

/// In decimal, or as an account with hexadecimal ids writes it, which then has 16 digits or more.
pub(in crate::http) fn message_id(text: &str) -> Result<u64, Problem> {
    let id = match text.len() {
        16.. => shown_id::parse(text.as_bytes()),
        _ if text.starts_with('+') => None,
        _ => text.parse().ok().filter(|id| *id > 0),
    };
    id.ok_or_else(|| {
        Problem::bad_value(
            "id",
            format!("a message id is a number as in submit_sm_resp, not {text:?}"),
        )
    })
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;
    use crate::http::query::PAGE;

    fn ask_for(query: &str) -> Result<MessageFilter, Problem> {
        let request = TestRequest::with_uri(&format!("/v1/messages?{query}")).to_http_request();
        filter(&Query::read(&request, QUERY)?, &Numbers::default())
    }

    #[test]
    fn reads_a_search() {
        let found = ask_for("to=+447700900123&state=delivered&limit=7&before=12").unwrap();
        assert_eq!(found.to, "447700900123");
        assert_eq!(found.state, MessageState::Delivered);
        assert_eq!((found.limit, found.before), (7, 12));
        let wide = "from=%2B41&account=test&since=2023-11-14T22:13:20Z&until=1700000000001";
        let wide = ask_for(wide).unwrap();
        assert_eq!((wide.from.as_str(), wide.sender.as_str()), ("41", "test"));
        assert_eq!(
            (wide.since, wide.until),
            (1_700_000_000_000, 1_700_000_000_001)
        );
        let all = ask_for("").unwrap();
        assert_eq!(
            (all.to.as_str(), all.state, all.limit),
            ("", MessageState::Unspecified, PAGE)
        );
    }

    #[test]
    fn a_star_stands_for_the_other_digits() {
        for (query, prefix) in [
            ("to=49*", "49"),
            ("to=+49*", "49"),
            ("to=%2B49170*", "49170"),
        ] {
            let found = ask_for(query).unwrap();
            assert_eq!((found.to.as_str(), found.to_prefix.as_str()), ("", prefix));
        }
        let found = ask_for("to=49&country=de&network=26201").unwrap();
        assert_eq!((found.to.as_str(), found.to_prefix.as_str()), ("49", ""));
        assert_eq!(
            (found.country, found.network.as_str()),
            (Some("DE"), "26201")
        );
        assert_eq!(ask_for("country=none").unwrap().country, Some(""));
        for (query, field) in [
            ("to=*", "to"),
            ("to=4*9", "to"),
            ("to=49**", "to"),
            ("to=ACME*", "to"),
            ("country=Germany", "country"),
            ("country=XX", "country"),
        ] {
            let problem = ask_for(query).unwrap_err().to_string();
            assert!(
                problem.contains(&format!("{field} is a")),
                "{query}: {problem}"
            );
        }
    }

    #[test]
    fn names_the_valid_states() {
        let problem = ask_for("state=SENT").unwrap_err().to_string();
        assert!(
            problem.ends_with(
                "state \"SENT\" is not known; the states are ENROUTE, DELIVERED, EXPIRED, DELETED, UNDELIVERABLE, ACCEPTED, UNKNOWN, REJECTED"
            ),
            "{problem}"
        );
        for wrong in [
            "limit=abc",
            "limit=0",
            "limit=1001",
            "before=x",
            "before=0",
            "form=1",
            "since=yesterday",
            "until=2026-13-01T00:00:00Z",
        ] {
            assert!(ask_for(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ids_are_as_senders_know_them() {
        assert_eq!(message_id("17").unwrap(), 17);
        let id = 1_900_000_000_000_000_123;
        for known in [
            "1900000000000000123",
            "01900000000000000123",
            "1A5E27EEF13E007B",
        ] {
            assert_eq!(message_id(known).unwrap(), id, "{known}");
        }
        for wrong in ["", "0", "abc", "-1", "+1", "0x11", "99999999999999999999"] {
            assert!(message_id(wrong).is_err(), "{wrong}");
        }
    }
}
