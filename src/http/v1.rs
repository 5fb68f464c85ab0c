//! `/v1`: the admin API, one file per resource.

mod binds;
mod events;
mod messages;
mod nodes;
mod operators;
mod queues;
mod subscribers;
mod whoami;

use std::time::Duration;

use actix::Message;
use actix::dev::ToEnvelope;
use actix_web::{HttpResponse, web};

use super::State;
use super::guard::{command, read, removal};
use super::problem::Problem;
use super::view::Done;
use crate::actors::admin::Admin;
use crate::pb::{Commanded, Refusal};

/// The Admin actor and the store must answer by then; a search may read far.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);

/// All resources.
pub(super) fn routes(scope: &mut web::ServiceConfig) {
    scope
        .service(read("/queues").to(queues::list))
        .service(read("/queues/{name}").to(queues::one))
        .service(command("/queues/{name}/{verb}").to(queues::order))
        .service(read("/binds").to(binds::list))
        .service(read("/events").to(events::listen))
        .service(read("/operators").to(operators::list))
        .service(read("/operators/{id}").to(operators::one))
        .service(command("/operators/{id}/{verb}").to(operators::order))
        .service(read("/self").to(whoami::look))
        .service(read("/nodes").to(nodes::list))
        .service(read("/messages").to(messages::search))
        .service(read("/messages/{id}").to(messages::one))
        .service(command("/messages/{id}/{verb}").to(messages::order))
        .service(removal("/subscribers/{msisdn}/messages").to(subscribers::erase));
}

/// Asks the Admin actor.
async fn ask<M>(state: &State, question: M) -> Result<M::Result, Problem>
where
    M: Message + Send + 'static,
    M::Result: Send,
    Admin: actix::Handler<M>,
    <Admin as actix::Actor>::Context: ToEnvelope<Admin, M>,
{
    Ok(state.admin.send(question).timeout(ANSWER_WITHIN).await?)
}

/// 200, or 202 when the effect was not seen yet.
fn done(result: Result<Commanded, Refusal>) -> Result<HttpResponse, Problem> {
    let Commanded { count, pending } = result?;
    let mut answer = match pending {
        true => HttpResponse::Accepted(),
        false => HttpResponse::Ok(),
    };
    Ok(answer.json(Done { count, pending }))
}

/// The verb of a command path, or an answer that lists the ones there are.
fn verb<V: Copy>(given: &str, known: &[(&'static str, V)]) -> Result<V, Problem> {
    known
        .iter()
        .find(|(name, _)| *name == given)
        .map(|(_, verb)| *verb)
        .ok_or_else(|| {
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            Problem::not_found(format!(
                "there is no command {given:?} here; the commands are {}",
                names.join(", ")
            ))
        })
}
