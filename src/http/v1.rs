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
mod gsm;
mod held;
mod lookups;
pub(super) mod messages;
mod mo_rules;
mod nats_sources;
mod node;
mod nodes;
mod operators;
mod opt_outs;
mod queues;
mod receipts;
mod resources;
mod settings;
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
use serde::de::DeserializeOwned;

use super::State;
use super::api::{Endpoint, endpoint};
use super::json;
use super::problem::Problem;
use crate::actors::control::admin::{AdminCall, AdminContext};
use crate::api::{Done, Word};
use crate::domain::access::AccessRole;
use crate::pb::{Commanded, Refusal};

/// The Admin actor and the store must answer by then; a search may read far.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);

/// All resources, each with the role that it needs.
pub(super) fn endpoints() -> Vec<Endpoint> {
    let all = [
        of_work(),
        of_accounts(),
        of_settings(),
        of_mo_rules(),
        of_gsm(),
        of_nats_sources(),
        of_messages(),
        of_receipts(),
    ];
    all.into_iter().flatten().collect()
}

/// Queues, peers, nodes, and who may do what.
fn of_work() -> Vec<Endpoint> {
    use AccessRole::{Admin, Operate, Read};
    vec![
        endpoint(Read, queues::__path_list, queues::list),
        endpoint(Read, queues::__path_one, queues::one),
        endpoint(Operate, queues::__path_transfer, queues::transfer),
        endpoint(Operate, queues::__path_order, queues::order),
        endpoint(Read, binds::__path_list, binds::list),
        endpoint(Read, binds::__path_one, binds::one),
        endpoint(Read, binds::__path_pdus, binds::pdus),
        endpoint(Operate, binds::__path_disconnect, binds::disconnect),
        endpoint(Read, operators::__path_list, operators::list),
        endpoint(Read, operators::__path_one, operators::one),
        endpoint(
            Admin,
            resources::operators::__path_put,
            resources::operators::put,
        ),
        endpoint(
            Admin,
            resources::operators::__path_delete,
            resources::operators::delete,
        ),
        endpoint(
            Read,
            resources::operators::__path_rate,
            resources::operators::rate,
        ),
        endpoint(
            Admin,
            resources::operators::__path_put_rate,
            resources::operators::put_rate,
        ),
        endpoint(Operate, operators::__path_order, operators::order),
        endpoint(Read, nodes::__path_list, nodes::list),
        endpoint(Read, archive::__path_show, archive::show),
        endpoint(Read, damaged::__path_list, damaged::list),
        endpoint(Operate, damaged::__path_forget_all, damaged::forget_all),
        endpoint(Operate, damaged::__path_forget_one, damaged::forget_one),
        endpoint(Read, held::__path_list, held::list),
        endpoint(Operate, held::__path_order, held::order),
        endpoint(Operate, held::__path_order_one, held::order_one),
        endpoint(Read, events::__path_listen, events::listen),
        endpoint(Read, whoami::__path_look, whoami::look),
        endpoint(Admin, subscribers::__path_erase, subscribers::erase),
        endpoint(Read, lookups::__path_list, lookups::list),
        endpoint(Operate, lookups::__path_forget_all, lookups::forget_all),
        endpoint(Operate, lookups::__path_forget_one, lookups::forget_one),
        endpoint(Read, opt_outs::__path_list, opt_outs::list),
        endpoint(Operate, opt_outs::__path_put, opt_outs::put),
        endpoint(Operate, opt_outs::__path_delete, opt_outs::delete),
        endpoint(Admin, tokens::__path_list, tokens::list),
        endpoint(Admin, tokens::__path_add, tokens::add),
        endpoint(Admin, tokens::__path_remove, tokens::remove),
        endpoint(Admin, audit::__path_list, audit::list),
        endpoint(Read, node::__path_drain, node::drain),
        endpoint(Operate, node::__path_begin_drain, node::begin_drain),
        endpoint(Operate, node::__path_end_drain, node::end_drain),
        endpoint(Read, node::__path_log_level, node::log_level),
        endpoint(Operate, node::__path_set_log_level, node::set_log_level),
    ]
}

/// What belongs to one account.
fn of_accounts() -> Vec<Endpoint> {
    use AccessRole::{Admin, Operate, Read};
    use resources::accounts;
    vec![
        endpoint(Read, accounts::__path_list, accounts::list),
        endpoint(Read, accounts::__path_one, accounts::one),
        endpoint(Admin, accounts::__path_put, accounts::put),
        endpoint(Admin, accounts::__path_delete, accounts::delete),
        endpoint(Read, accounts::__path_rate, accounts::rate),
        endpoint(Admin, accounts::__path_put_rate, accounts::put_rate),
        endpoint(Read, balance::__path_read, balance::read),
        endpoint(Admin, balance::__path_add, balance::add),
        endpoint(Read, balance::__path_top_ups, balance::top_ups),
        endpoint(Read, usage::__path_read, usage::read),
        endpoint(Operate, callbacks::__path_test, callbacks::test),
        endpoint(Admin, api_keys::__path_list, api_keys::list),
        endpoint(Admin, api_keys::__path_add, api_keys::add),
        endpoint(Admin, api_keys::__path_remove, api_keys::remove),
        endpoint(Operate, test_messages::__path_send, test_messages::send),
        endpoint(
            Operate,
            test_messages::__path_estimate,
            test_messages::estimate,
        ),
    ]
}

/// The configuration, and its resources that are not peers.
fn of_settings() -> Vec<Endpoint> {
    use AccessRole::{Admin, Read};
    use resources::{event_sinks, limits, lists, number_ranges, policies, routes};
    vec![
        endpoint(Read, routes::__path_list, routes::list),
        endpoint(Read, settings::__path_explain, settings::explain),
        endpoint(Read, routes::__path_one, resources::routes::one),
        endpoint(Admin, routes::__path_put, resources::routes::put),
        endpoint(Admin, routes::__path_delete, routes::delete),
        endpoint(Read, lists::__path_list, resources::lists::list),
        endpoint(Read, lists::__path_one, resources::lists::one),
        endpoint(Admin, lists::__path_put, resources::lists::put),
        endpoint(Admin, lists::__path_delete, lists::delete),
        endpoint(Read, limits::__path_list, limits::list),
        endpoint(Read, limits::__path_one, resources::limits::one),
        endpoint(Admin, limits::__path_put, resources::limits::put),
        endpoint(Admin, limits::__path_delete, limits::delete),
        endpoint(Read, policies::__path_list, policies::list),
        endpoint(Read, policies::__path_one, policies::one),
        endpoint(Admin, policies::__path_put, policies::put),
        endpoint(Admin, policies::__path_delete, policies::delete),
        endpoint(Read, number_ranges::__path_list, number_ranges::list),
        endpoint(Read, number_ranges::__path_one, number_ranges::one),
        endpoint(Admin, number_ranges::__path_put, number_ranges::put),
        endpoint(Admin, number_ranges::__path_delete, number_ranges::delete),
        endpoint(Read, sinks::__path_list, sinks::list),
        endpoint(Read, event_sinks::__path_list, event_sinks::list),
        endpoint(Read, event_sinks::__path_one, event_sinks::one),
        endpoint(Admin, event_sinks::__path_put, event_sinks::put),
        endpoint(Admin, event_sinks::__path_delete, event_sinks::delete),
        endpoint(Read, config::__path_read, config::read),
        endpoint(Admin, config::__path_replace, config::replace),
        endpoint(Read, config::__path_diff, config::diff),
        endpoint(Read, config::__path_schema, config::schema),
        endpoint(Read, versions::__path_list, versions::list),
        endpoint(Read, versions::__path_one, versions::one),
        endpoint(Admin, versions::__path_rollback, versions::rollback),
        endpoint(Admin, config::__path_reseal, config::reseal),
    ]
}

fn of_mo_rules() -> Vec<Endpoint> {
    use AccessRole::{Admin, Read};
    use resources::mo_rules as rules;
    vec![
        endpoint(Read, rules::__path_list, rules::list),
        endpoint(Admin, mo_rules::__path_put_in_order, mo_rules::put_in_order),
        // Before the pattern that would take it for a name.
        endpoint(Read, mo_rules::__path_explain, mo_rules::explain),
        endpoint(Read, rules::__path_one, rules::one),
        endpoint(Admin, rules::__path_put, rules::put),
        endpoint(Admin, rules::__path_delete, rules::delete),
    ]
}

/// GSM networks.
fn of_gsm() -> Vec<Endpoint> {
    use AccessRole::{Admin, Operate, Read};
    use resources::gsm as networks;
    vec![
        endpoint(Read, gsm::__path_list, gsm::list),
        endpoint(Read, gsm::__path_one, gsm::one),
        endpoint(Admin, networks::__path_put, networks::put),
        endpoint(Admin, networks::__path_delete, networks::delete),
        endpoint(Operate, gsm::__path_order, gsm::order),
    ]
}

/// Sources of commands on NATS.
fn of_nats_sources() -> Vec<Endpoint> {
    use AccessRole::{Admin, Read};
    use resources::nats_sources as sources;
    vec![
        endpoint(Read, sources::__path_list, sources::list),
        // Before the pattern that would take it for a name.
        endpoint(Read, nats_sources::__path_state, nats_sources::state),
        endpoint(Read, sources::__path_one, sources::one),
        endpoint(Admin, sources::__path_put, sources::put),
        endpoint(Admin, sources::__path_delete, sources::delete),
    ]
}

fn of_messages() -> Vec<Endpoint> {
    use AccessRole::{Operate, Read};
    vec![
        endpoint(Read, messages::__path_search, messages::search),
        // Before the pattern that would take it for an id.
        endpoint(
            Operate,
            dead_letters::__path_replay_many,
            dead_letters::replay_many,
        ),
        endpoint(
            Operate,
            dead_letters::__path_cancel_many,
            dead_letters::cancel_many,
        ),
        endpoint(Read, messages::__path_one, messages::one),
        endpoint(Operate, traces::__path_trace, traces::trace),
        endpoint(Read, messages::__path_trace, messages::trace),
        endpoint(Operate, messages::__path_transfer, messages::transfer),
        endpoint(Operate, dead_letters::__path_replay, dead_letters::replay),
        endpoint(Operate, messages::__path_order, messages::order),
        endpoint(Read, dead_letters::__path_list, dead_letters::list),
    ]
}

/// Receipts of operators that match no message, and those of accounts that were given up.
fn of_receipts() -> Vec<Endpoint> {
    use AccessRole::{Operate, Read};
    vec![
        endpoint(Read, receipts::__path_given_up, receipts::given_up),
        endpoint(Operate, receipts::__path_retell, receipts::retell),
        endpoint(Read, receipts::__path_unmatched, receipts::unmatched),
        endpoint(Operate, receipts::__path_settle, receipts::settle),
        endpoint(Operate, receipts::__path_drop_one, receipts::drop_one),
    ]
}

/// Has the Admin actor run one of its functions.
async fn call<F, A>(state: &State, run: F) -> Result<A::Output, Problem>
where
    F: FnOnce(Arc<AdminContext>) -> A + Send + 'static,
    A: Future + 'static,
    A::Output: Send + 'static,
{
    let call = state.admin.send(AdminCall(run));
    Ok(call.timeout(ANSWER_WITHIN).await?)
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
pub(super) fn done(result: Result<Commanded, Refusal>) -> Result<HttpResponse, Problem> {
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
