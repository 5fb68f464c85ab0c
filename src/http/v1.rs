//! `/v1`: the admin API, one file per resource.

mod api_keys;
mod archive;
mod audit;
mod balance;
mod binds;
mod callbacks;
mod config;
mod damaged;
mod dead_letters;
mod events;
mod failures;
mod find;
mod gsm;
mod held;
mod history;
mod incidents;
mod logins;
mod lookups;
pub(super) mod messages;
mod mo_rules;
mod nats_sources;
mod node;
mod nodes;
mod notes;
mod operator_tests;
mod operators;
mod opt_outs;
mod queues;
mod receipts;
mod resources;
mod settings;
mod sheets;
mod sinks;
mod subscribers;
mod tags;
mod test_messages;
mod tokens;
mod traces;
mod usage;
mod versions;
mod whoami;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use actix_web::HttpResponse;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::api::{Endpoint, routes};
use super::api_request::{ApiAnswer, ApiRequest};
use super::json;
use super::problem::{LimitName, Problem};
use crate::actors::control::admin::{AdminCall, AdminContext};
use crate::api::{Done, Word};
use crate::pb::{Commanded, Refusal};

/// The Admin actor and the store must answer by then; a search may read far.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);
/// Most heavy questions of one kind that are answered at once: they read much, with the processors and the store that carry messages.
const HEAVY_AT_ONCE: usize = 2;
/// How long a heavy question waits for its turn.
const TURN_WITHIN: Duration = Duration::from_secs(10);

/// All resources, each with the role that it needs. Where two patterns match, the first one wins.
pub(super) fn endpoints() -> Vec<Endpoint> {
    use resources::{
        accounts, event_sinks, gsm as networks, limits, lists, mo_rules as rules,
        nats_sources as sources, number_ranges, operators as operator_settings, policies, routes,
    };
    routes! {
        queues { Read: list, one; Operate: transfer, order }
        binds { Read: list, one, pdus; Operate: disconnect }
        operators { Read: list, one }
        operator_settings { Admin: put, delete; Read: rate; Admin: put_rate }
        // Before the pattern that would take it for a command.
        operator_tests { Admin: test }
        operators { Operate: order }
        nodes { Read: list }
        notes { Read: list; Operate: add, remove }
        archive { Read: show }
        damaged { Read: list; Operate: forget_all, forget_one }
        held { Read: list; Operate: order, order_one }
        incidents { Read: list; Operate: acknowledge }
        events { Read: listen }
        whoami { Read: look }
        find { Read: list }
        subscribers { Admin: erase }
        lookups { Read: list; Operate: forget_all, forget_one }
        opt_outs { Read: list; Operate: put, delete }
        tokens { Admin: list, add, remove }
        audit { Admin: list }
        node { Read: drain; Operate: begin_drain, end_drain; Read: log_level; Operate: set_log_level }
        accounts { Read: list, one; Admin: put, delete; Read: rate; Admin: put_rate }
        sheets { Read: show }
        logins { Read: last }
        balance { Read: read; Admin: add; Read: top_ups }
        usage { Read: read }
        callbacks { Operate: test }
        api_keys { Admin: list, add, remove }
        test_messages { Operate: send, estimate }
        routes { Read: list }
        settings { Read: explain }
        routes { Read: one; Admin: put, delete }
        lists { Read: list, one; Admin: put, delete }
        limits { Read: list, one; Admin: put, delete }
        policies { Read: list, one; Admin: put, delete }
        number_ranges { Read: list, one; Admin: put, delete }
        sinks { Read: list }
        event_sinks { Read: list, one; Admin: put, delete }
        config { Read: read; Admin: replace; Read: diff, schema }
        versions { Read: list, one; Admin: rollback }
        config { Admin: reseal }
        rules { Read: list }
        mo_rules { Admin: put_in_order }
        // Before the pattern that would take it for a name.
        mo_rules { Read: explain }
        rules { Read: one; Admin: put, delete }
        gsm { Read: list, one }
        networks { Admin: put, delete }
        gsm { Operate: order }
        sources { Read: list }
        // Before the pattern that would take it for a name.
        nats_sources { Read: state }
        sources { Read: one; Admin: put, delete }
        messages { Read: search }
        // Before the pattern that would take it for an id.
        dead_letters { Operate: replay_many, cancel_many }
        messages { Read: one }
        traces { Operate: trace }
        messages { Read: trace; Operate: transfer }
        dead_letters { Operate: replay }
        messages { Operate: order }
        dead_letters { Read: list }
        failures { Read: count }
        history { Read: read }
        receipts { Read: given_up; Operate: retell; Read: unmatched; Operate: settle, drop_one }
    }
}

/// Has the Admin actor run one of its functions.
async fn call<F, A>(request: &ApiRequest, run: F) -> Result<A::Output, Problem>
where
    F: FnOnce(Arc<AdminContext>) -> A + Send + 'static,
    A: Future + 'static,
    A::Output: Send + 'static,
{
    let call = request.state.admin.send(AdminCall(run));
    Ok(call.timeout(ANSWER_WITHIN).await?)
}

/// What one of the functions of the Admin actor answers, as JSON.
async fn answer<F, A, T, E>(request: &ApiRequest, run: F) -> ApiAnswer
where
    F: FnOnce(Arc<AdminContext>) -> A + Send + 'static,
    A: Future<Output = Result<T, E>> + 'static,
    T: Serialize + Send + 'static,
    E: Send + 'static,
    Problem: From<E>,
{
    Ok(HttpResponse::Ok().json(call(request, run).await??))
}

/// As [`answer`], when it is this question's turn: its kind has room for [`HEAVY_AT_ONCE`].
async fn answer_in_turn<F, A, T>(
    request: &ApiRequest,
    room: &'static Semaphore,
    about: &str,
    run: F,
) -> ApiAnswer
where
    F: FnOnce(Arc<AdminContext>) -> A + Send + 'static,
    A: Future<Output = Result<T, Refusal>> + 'static,
    T: Serialize + Send + 'static,
{
    let turn = turn(room, about).await?;
    let in_turn = move |admin| async move {
        // Until the answer is made, also when the client goes away.
        let _turn = turn;
        run(admin).await
    };
    answer(request, in_turn).await
}

/// Waits until one more question may be answered; `about`: the kind of questions, for people.
async fn turn(room: &'static Semaphore, about: &str) -> Result<SemaphorePermit<'static>, Problem> {
    let turn = tokio::time::timeout(TURN_WITHIN, room.acquire()).await;
    turn.ok().and_then(Result::ok).ok_or_else(|| {
        let detail = format!(
            "as many questions about {about} are answered as may be at once; ask again, or for a shorter time"
        );
        Problem::too_many(LimitName::Requests, Duration::from_secs(1), &detail)
    })
}

/// The JSON of a request body.
fn body<T: DeserializeOwned>(octets: &[u8]) -> Result<T, Problem> {
    json::of(octets)
}

/// The JSON of a request body, or the default where there is no body.
fn body_or_default<T: DeserializeOwned + Default>(octets: &[u8]) -> Result<T, Problem> {
    if octets.is_empty() {
        Ok(T::default())
    } else {
        body(octets)
    }
}

/// 200, or 202 when the effect was not seen yet.
pub(super) fn done(result: Result<Commanded, Refusal>) -> ApiAnswer {
    let Commanded { count, pending } = result?;
    let mut answer = if pending {
        HttpResponse::Accepted()
    } else {
        HttpResponse::Ok()
    };
    Ok(answer.json(Done { count, pending }))
}

/// The verb of a command path, or an answer that lists the ones there are.
fn verb<V: Word>(given: &str) -> Result<V, Problem> {
    V::of(given).ok_or_else(|| {
        Problem::not_found(format!(
            "there is no command {given:?} here; the commands are {}",
            V::list()
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::request_in_words;

    #[actix::test]
    async fn a_heavy_question_waits_for_its_turn_but_not_for_ever() {
        static ROOM: Semaphore = Semaphore::const_new(1);
        tokio::time::pause();
        let first = turn(&ROOM, "failures").await.unwrap();
        let refused = turn(&ROOM, "failures").await.unwrap_err().to_string();
        assert!(refused.contains("about failures"), "{refused}");
        let waits = async { turn(&ROOM, "failures").await.is_ok() };
        let ends = async {
            tokio::time::sleep(TURN_WITHIN / 2).await;
            drop(first);
        };
        let (has_turn, ()) = tokio::join!(waits, ends);
        assert!(has_turn);
    }

    #[test]
    fn every_command_has_words_for_the_audit_log() {
        for endpoint in endpoints() {
            let method = serde_json::to_string(&endpoint.method).unwrap();
            let method = method.trim_matches('"').to_uppercase();
            let is_look = method == "GET" || endpoint.path.ends_with("/estimate");
            let path = endpoint.path.replace(['{', '}'], "");
            let said = request_in_words(&method, &path);
            let is_unknown = said == format!("{method} {path}");
            assert!(is_look || !is_unknown, "{method} {path}");
        }
    }
}
