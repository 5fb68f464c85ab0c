//! `/v1/events`: what changes, as it changes (server-sent events, HTML Standard §9.2).

use std::convert::Infallible;

use actix_web::http::Method;
use actix_web::{HttpRequest, HttpResponse, web};
use futures_util::stream;

use crate::http::State;
use crate::http::auth::bearer_of;
use crate::http::live::Kind;
use crate::http::problem::Problem;
use crate::http::query::Query;

const STREAM: &str = "text/event-stream";

/// Live changes, as server-sent events.
///
/// First `hello` and one event of each kind, then `overview` every second and the others when something in
/// them has changed; `end` when the server stops, or the token is no longer valid. Each event is complete.
/// The id is the server's time in Unix milliseconds.
#[utoipa::path(get, path = "/v1/events", tag = "nodes",
    params(
        ("kinds" = Option<String>, Query,
            description = "some of overview, queues, binds, operators, nodes, separated by commas"),
        ("Last-Event-ID" = Option<String>, Header,
            description = "the history of `hello` begins after this event")),
    responses((status = 200, description = "Until the server stops", content_type = "text/event-stream", body = String)))]
pub(super) async fn listen(
    request: HttpRequest,
    state: web::Data<State>,
) -> Result<HttpResponse, Problem> {
    let query = Query::read(&request, &["kinds"])?;
    let kinds = query.text("kinds").map_or_else(all, kinds)?;
    if request.method() == Method::HEAD {
        // No client reads, so nothing would ever end it.
        return Ok(HttpResponse::Ok().content_type(STREAM).finish());
    }
    let last = request.headers().get("last-event-id");
    let since = last.and_then(|id| id.to_str().ok()?.parse().ok());
    let bearer = bearer_of(&request)?;
    let access = std::sync::Arc::clone(&state.access);
    let subscription = state
        .live
        .subscribe(kinds, since.unwrap_or_default(), bearer, access)
        .map_err(|refused| Problem::unavailable(refused.to_string()))?;
    let body = stream::unfold(subscription, |mut subscription| async {
        let octets = subscription.next().await?;
        Some((Ok::<_, Infallible>(octets), subscription))
    });
    Ok(HttpResponse::Ok()
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
    let kinds = text.split(',').map(|name| {
        known(name.trim()).ok_or_else(|| {
            let names = Kind::ALL.map(Kind::name).join(", ");
            Problem::bad_value(
                "kinds",
                format!("there are no events {name:?}; the kinds are {names}"),
            )
        })
    });
    kinds.collect()
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
        // Both are always sent, and cannot be requested.
        assert!(kinds("hello").is_err() && kinds("end").is_err());
    }
}
