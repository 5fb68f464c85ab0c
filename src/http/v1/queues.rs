//! `/v1/queues`: what waits where; suspend, resume, purge.

use actix_web::{HttpRequest, HttpResponse, web};

use super::{ask, done, verb};
use crate::http::State;
use crate::http::auth::who;
use crate::http::problem::Problem;
use crate::http::query::Query;
use crate::http::view::{Queue, Queues};
use crate::pb::queue_command::Verb;
use crate::pb::{CommandQueue, ListQueues};

const VERBS: &[(&str, Verb)] = &[
    ("suspend", Verb::Suspend),
    ("resume", Verb::Resume),
    ("purge", Verb::Purge),
];

/// `GET /v1/queues`
pub(super) async fn list(
    request: HttpRequest,
    state: web::Data<State>,
) -> Result<HttpResponse, Problem> {
    Query::read(&request, &[])?;
    let list = ask(&state, ListQueues::default()).await?;
    Ok(HttpResponse::Ok().json(Queues {
        queues: list.queues.into_iter().map(Queue::from).collect(),
    }))
}

/// `GET /v1/queues/{name}`
pub(super) async fn one(
    request: HttpRequest,
    state: web::Data<State>,
    name: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    Query::read(&request, &[])?;
    let name = name.into_inner();
    let list = ask(&state, ListQueues { name: name.clone() }).await?;
    match list.queues.into_iter().next() {
        Some(queue) => Ok(HttpResponse::Ok().json(Queue::from(queue))),
        None => Err(Problem::not_found(format!(
            "there is no queue {name:?}; GET /v1/queues lists them"
        ))),
    }
}

/// `POST /v1/queues/{name}/{verb}`
pub(super) async fn order(
    request: HttpRequest,
    state: web::Data<State>,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, Problem> {
    Query::read(&request, &[])?;
    let (name, given) = path.into_inner();
    let order = CommandQueue {
        verb: verb(&given, VERBS)?.into(),
        name,
        by: who(&request),
    };
    done(ask(&state, order).await?)
}
