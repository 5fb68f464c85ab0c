//! `/v1/queues`: queues and their depth; suspend, resume, purge.

use actix_web::{HttpResponse, web};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{body, call, done, verb};
use crate::actors::control::admin::{command, figures};
use crate::actors::orders::transfer::many;
use crate::api::{Done, Queue, QueueVerb, Queues, Scope};
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::auth::who;
use crate::http::name_page::NamePage;
use crate::http::problem::Problem;
use crate::http::query::{Query, moment};
use crate::pb::queue_command::Verb;
use crate::pb::{CommandQueue, MoveMessages};

/// All queues of the whole cluster.
#[utoipa::path(get, path = "/v1/queues", tag = "queues",
    params(
        ("scope" = Option<Scope>, Query, description = "`node` for the answering node only; without it, the whole cluster"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Entries per page; without it and `after` all of them"),
        ("after" = Option<String>, Query, description = "`next_after` of the previous page"),
        ("find" = Option<String>, Query, description = "Only those with these words in the name; a word with `*` is the whole name, such as `operator:a*`")),
    responses((status = 200, description = "By name", body = Queues)))]
pub(super) async fn list(request: ApiRequest) -> ApiAnswer {
    let query = Query::read(&request, &["scope", "limit", "after", "find"])?;
    let (own, page) = (query.is_of_node()?, NamePage::read(&query)?);
    let mut queues = call(&request, move |admin| figures::queues(admin, own)).await?;
    queues.retain(|queue| page.find.fits(&queue.name, String::new));
    let found = page.cut(queues, |queue| queue.name.as_str());
    Ok(HttpResponse::Ok().json(Queues {
        queues: found.entries.into_iter().map(Queue::from).collect(),
        next_after: found.next_after,
        total: found.total,
    }))
}

/// One queue.
#[utoipa::path(get, path = "/v1/queues/{name}", tag = "queues",
    params(("name" = String, Path, description = "`operator:ID`, `account:SYSTEM_ID` or `test:…`"),
        ("scope" = Option<Scope>, Query, description = "`node` for the answering node only; without it, the whole cluster")),
    responses((status = 200, description = "The queue", body = Queue)))]
pub(super) async fn one(request: ApiRequest, name: web::Path<String>) -> ApiAnswer {
    let own = Query::read(&request, &["scope"])?.is_of_node()?;
    let name = name.into_inner();
    let queues = call(&request, move |admin| figures::queues(admin, own)).await?;
    match queues.into_iter().find(|queue| queue.name == name) {
        Some(queue) => Ok(HttpResponse::Ok().json(Queue::from(queue))),
        None => Err(Problem::no_such("queue", &name, "queues")),
    }
}

/// Commands a queue, on all nodes.
///
/// `suspend` sends nothing until it is resumed; `resume` sends again; `purge` ends every waiting message
/// DELETED, with receipts.
#[utoipa::path(post, path = "/v1/queues/{name}/{verb}", tag = "queues",
    params(("name" = String, Path, description = "`operator:ID`, `account:SYSTEM_ID` or `test:…`"),
        ("verb" = QueueVerb, Path)),
    responses((status = 200, description = "Carried out", body = Done),
        (status = 202, description = "Ordered; its effect was not seen yet", body = Done)))]
pub(super) async fn order(request: ApiRequest, path: web::Path<(String, String)>) -> ApiAnswer {
    Query::read(&request, &[])?;
    let (name, given) = path.into_inner();
    let order = CommandQueue {
        verb: match verb::<QueueVerb>(&given)? {
            QueueVerb::Suspend => Verb::Suspend,
            QueueVerb::Resume => Verb::Resume,
            QueueVerb::Purge => Verb::Purge,
        }
        .into(),
        name,
        by: who(&request),
    };
    done(call(&request, |admin| command::queue(admin, order)).await?)
}

/// Which waiting messages of a queue go where.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MoveOrder {
    /// The queue to move to: `operator:ID` or `test:…`.
    to: String,
    /// Only what this account or operator brought.
    account: Option<String>,
    /// Only messages accepted at this time or later: RFC 3339, a day, or Unix milliseconds.
    since: Option<String>,
    /// Only messages accepted before this time.
    until: Option<String>,
}

/// Moves the messages that wait in a queue to another one, on all nodes.
///
/// Messages that a session holds, or whose outcome is unknown, stay, and so do receipts. Validity and
/// counted attempts do not change; scheduled messages are due at once.
#[utoipa::path(post, path = "/v1/queues/{name}/move", tag = "queues", request_body = MoveOrder,
    params(("name" = String, Path, description = "`operator:ID` or `test:…`")),
    responses((status = 200, description = "No waiting message matches", body = Done),
        (status = 202, description = "The number of messages to move on this node; other nodes move theirs too", body = Done)))]
pub(super) async fn transfer(
    request: ApiRequest,
    name: web::Path<String>,
    octets: web::Bytes,
) -> ApiAnswer {
    Query::read(&request, &[])?;
    let order: MoveOrder = body(&octets)?;
    let time =
        |key: &str, text: &Option<String>| text.as_deref().map_or(Ok(0), |text| moment(key, text));
    let order = MoveMessages {
        queue: name.into_inner(),
        since: time("since", &order.since)?,
        until: time("until", &order.until)?,
        to: order.to,
        sender: order.account.unwrap_or_default(),
        by: who(&request),
    };
    done(call(&request, |admin| many(admin.node.clone(), order)).await?)
}
