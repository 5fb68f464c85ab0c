//! `/v1/operators`: operators and the state of their binds; rebind, resume, suspend.

use std::collections::HashMap;
use std::sync::Arc;

use actix_web::{HttpResponse, web};

use super::tags::tagged;
use super::{call, done, verb};
use crate::actors::control::admin::{AdminContext, command, figures, settings};
use crate::api::{Done, Operator, OperatorVerb, Operators, Resource, Scope};
use crate::domain::settings::ResourceKind;
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::auth::who;
use crate::http::configured;
use crate::http::key_order::ResourcePage;
use crate::http::problem::Problem;
use crate::http::query::Query;
use crate::pb::bind_command::Verb;
use crate::pb::{CommandOperator, OperatorView};

/// Every operator with its binds and its queue, in the whole cluster.
#[utoipa::path(get, path = "/v1/operators", tag = "operators",
    params(
        ("scope" = Option<Scope>, Query, description = "`node` for the answering node only; without it, the whole cluster"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Entries per page; without it and `after` all of them"),
        ("after" = Option<String>, Query, description = "`next_after` of the previous page"),
        ("sort" = Option<String>, Query, description = "A key, such as `rate`, or `name`; with `-` in front for the largest first"),
        ("find" = Option<String>, Query, description = "Only those with these words in the id or a value; a word with `*` is the whole name, such as `north-*`")),
    responses((status = 200, description = "By id", body = Operators)))]
pub(super) async fn list(request: ApiRequest) -> ApiAnswer {
    let query = Query::read(&request, &["scope", "limit", "after", "find", "sort"])?;
    let own = query.is_of_node()?;
    let page = ResourcePage::read(&query, ResourceKind::Operator)?;
    let (version, operators) = operators(&request, own).await?;
    let found = page.cut(operators, |one| (one.id.as_str(), &one.settings));
    Ok(tagged(HttpResponse::Ok(), version).json(Operators {
        operators: found.entries,
        next_after: found.next_after,
        total: found.total,
    }))
}

/// One operator with its binds and its queue.
#[utoipa::path(get, path = "/v1/operators/{id}", tag = "operators",
    params(("id" = String, Path, description = "As in the configuration"),
        ("scope" = Option<Scope>, Query, description = "`node` for the answering node only; without it, the whole cluster")),
    responses((status = 200, description = "The operator", body = Operator)))]
pub(super) async fn one(request: ApiRequest, id: web::Path<String>) -> ApiAnswer {
    let own = Query::read(&request, &["scope"])?.is_of_node()?;
    let id = id.into_inner();
    let (_, operators) = operators(&request, own).await?;
    match operators.into_iter().find(|operator| operator.id == id) {
        Some(operator) => Ok(tagged(HttpResponse::Ok(), operator.version).json(operator)),
        None => Err(Problem::no_such("operator", &id, "operators")),
    }
}

async fn operators(request: &ApiRequest, own: bool) -> Result<(u64, Vec<Operator>), Problem> {
    let look = move |admin| figures::operators(admin, own);
    with_state(request, ResourceKind::Operator, look, Operator::new).await
}

/// The version of the configuration, and every resource of a kind with its state: also one that is in the store but not
/// on this node yet.
pub(super) async fn with_state<T, F, A>(
    request: &ApiRequest,
    kind: ResourceKind,
    look: F,
    shown: fn(Resource, Option<OperatorView>) -> T,
) -> Result<(u64, Vec<T>), Problem>
where
    F: FnOnce(Arc<AdminContext>) -> A + Send + 'static,
    A: Future<Output = Vec<OperatorView>> + 'static,
{
    let settings = call(request, move |admin| settings::of_kind(admin, kind)).await??;
    let live = call(request, look).await?.into_iter();
    let mut live: HashMap<String, OperatorView> = live.map(|one| (one.id.clone(), one)).collect();
    let of_kind = settings.settings.iter().map(|setting| {
        let live = live.remove(&setting.key.name);
        shown(configured::resource(setting), live)
    });
    Ok((settings.version, of_kind.collect()))
}

/// Commands every bind of an operator, on all nodes.
///
/// `rebind` unbinds and binds again; `suspend` unbinds until it is resumed; `resume` binds again at once.
/// Windows are finished before the unbind, for at most `smpp.drain_timeout`; repeating the command skips
/// this wait.
#[utoipa::path(post, path = "/v1/operators/{id}/{verb}", tag = "operators",
    params(("id" = String, Path, description = "As in the configuration"),
        ("verb" = OperatorVerb, Path)),
    responses((status = 200, description = "Carried out", body = Done),
        (status = 202, description = "Ordered; its effect was not seen yet", body = Done)))]
pub(super) async fn order(request: ApiRequest, path: web::Path<(String, String)>) -> ApiAnswer {
    let (id, given) = path.into_inner();
    command(&request, id, &given).await
}

/// Commands the binds of an operator, or the connections to a GSM network by the name of its queue.
pub(super) async fn command(request: &ApiRequest, id: String, given: &str) -> ApiAnswer {
    Query::read(request, &[])?;
    let order = CommandOperator {
        verb: match verb::<OperatorVerb>(given)? {
            OperatorVerb::Rebind => Verb::Rebind,
            OperatorVerb::Resume => Verb::Resume,
            OperatorVerb::Suspend => Verb::Suspend,
        }
        .into(),
        id,
        by: who(request),
    };
    done(call(request, |admin| command::operator(admin, order)).await?)
}
