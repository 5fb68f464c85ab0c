//! `/v1/events`: what changes, as it changes (server-sent events, HTML Standard §9.2).

use std::convert::Infallible;

use actix_web::HttpResponse;
use actix_web::http::Method;
use actix_web::http::header::{CONTENT_ENCODING, VARY};
use futures_util::stream;

use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::auth::bearer_of;
use crate::http::gzip::{self, GzipStream};
use crate::http::live::{Kind, ShownLists};
use crate::http::problem::Problem;
use crate::http::query::Query;

const STREAM: &str = "text/event-stream";

/// Live changes, as server-sent events.
///
/// First `hello` and one event of each kind, then `overview` every second and the others when something in
/// them has changed; `end` when the server stops, or the token is no longer valid. Each event is complete.
/// The id is the server's time in Unix milliseconds.
///
/// With `list` that list comes in pages, and of the others only what belongs to the page: the queues and binds of the
/// operators on it, the queues of the binds on it. The stream is compressed for clients that accept gzip.
#[utoipa::path(get, path = "/v1/events", tag = "nodes",
    params(
        ("kinds" = Option<String>, Query,
            description = "some of overview, queues, binds, operators, nodes, separated by commas"),
        ("list" = Option<String>, Query, description = "The list that comes in pages: `queues`, `operators` or `binds`"),
        ("find" = Option<String>, Query,
            description = "Only entries with these words in the name, address or peer; a word with `*` is the whole name, such as `shop*`"),
        ("name" = Option<String>, Query, description = "Only entries with exactly this name"),
        ("direction" = Option<String>, Query, description = "Only binds of this direction, such as `out`, or of several: `in,callback`"),
        ("sort" = Option<String>, Query, description = "A figure of the list, such as `waiting`, with `-` in front for the largest first"),
        ("page" = Option<u32>, Query, minimum = 1, description = "1 is the first one; behind the last page comes the last one"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 256, description = "Entries per page; 50 without it"),
        ("busiest" = Option<u32>, Query, minimum = 1, maximum = 256, description = "So many of the busiest queues come besides"),
        ("attention" = Option<u32>, Query, minimum = 1, maximum = 256, description = "An overview has so many entries of what needs a look"),
        ("Last-Event-ID" = Option<String>, Header,
            description = "the history of `hello` begins after this event")),
    responses((status = 200, description = "Until the server stops", content_type = "text/event-stream", body = String)))]
pub(super) async fn listen(request: ApiRequest) -> ApiAnswer {
    let mut known = vec!["kinds"];
    known.extend(ShownLists::PARAMETERS);
    let query = Query::read(&request, &known)?;
    let kinds = query.text("kinds").map_or_else(all, kinds)?;
    let shown = ShownLists::read(&query)?;
    if request.method() == Method::HEAD {
        // No client reads, so nothing would ever end it.
        return Ok(HttpResponse::Ok().content_type(STREAM).finish());
    }
    let last = request.headers().get("last-event-id");
    let since = last.and_then(|id| id.to_str().ok()?.parse().ok());
    let bearer = bearer_of(&request)?;
    let access = std::sync::Arc::clone(&request.state.access);
    let subscription = request
        .state
        .live
        .subscribe(kinds, shown, since.unwrap_or_default(), bearer, access)
        .map_err(|refused| Problem::unavailable(refused.to_string()))?;
    let mut answer = HttpResponse::Ok();
    answer.insert_header((VARY, "Accept-Encoding"));
    let pressed = gzip::is_taken(request.headers()).then(GzipStream::begin);
    if pressed.is_some() {
        answer.insert_header((CONTENT_ENCODING, gzip::GZIP));
    }
    let body = stream::unfold(Some((subscription, pressed)), |open| async move {
        let (mut subscription, mut pressed) = open?;
        let Some(octets) = subscription.next().await else {
            let last = pressed?.end();
            return Some((Ok::<_, Infallible>(last), None));
        };
        let octets = match &mut pressed {
            Some(gzip) => gzip.press(&octets),
            None => octets,
        };
        Some((Ok(octets), Some((subscription, pressed))))
    });
    Ok(answer
        .content_type(STREAM)
        // nginx would gather the events otherwise.
        .insert_header(("X-Accel-Buffering", "no"))
        .streaming(body))
}

fn all() -> Result<Vec<Kind>, Problem> {
    Ok(Kind::ALL.to_vec())
}

fn kinds(text: &str) -> Result<Vec<Kind>, Problem> {
    let known = |name: &str| Kind::ALL.into_iter().find(|kind| kind.name() == name);
    let mut kinds = Vec::new();
    for name in text.split(',') {
        let kind = known(name.trim()).ok_or_else(|| {
            let names = Kind::ALL.map(Kind::name).join(", ");
            Problem::bad_value(
                "kinds",
                format!("there are no events {name:?}; the kinds are {names}"),
            )
        })?;
        // An event is made for each, so that one that is named a thousand times comes once.
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    Ok(kinds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_named_and_mistakes_are_told() {
        assert_eq!(kinds("queues, binds").unwrap(), [Kind::Queues, Kind::Binds]);
        let problem = kinds("queues,bind").unwrap_err().to_string();
        assert!(
            problem.ends_with(
                "there are no events \"bind\"; the kinds are overview, queues, binds, operators, nodes"
            ),
            "{problem}"
        );
        let often = "queues,".repeat(9_000) + "binds";
        assert_eq!(kinds(&often).unwrap(), [Kind::Queues, Kind::Binds]);
        // Both are always sent, and cannot be requested.
        assert!(kinds("hello").is_err() && kinds("end").is_err());
    }
}
