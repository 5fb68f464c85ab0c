//! `/v1/gsm`: GSM networks and how this SMSC is connected to them; reconnect, resume, suspend. What changes them is in
//! [`super::resources`].

use actix_web::{HttpResponse, web};

use super::operators;
use super::tags::tagged;
use crate::actors::context::plan::gsm_name;
use crate::actors::control::admin::figures;
use crate::api::{Done, GsmNetwork, GsmNetworks, OperatorVerb, Scope};
use crate::domain::settings::ResourceKind;
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::key_order::ResourcePage;
use crate::http::problem::Problem;
use crate::http::query::Query;

/// Every GSM network with its connections and its queue, in the whole cluster.
#[utoipa::path(get, path = "/v1/gsm", tag = "gsm",
    params(
        ("scope" = Option<Scope>, Query, description = "`node` for the answering node only; without it, the whole cluster"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 1000, description = "Entries per page; without it and `after` all of them"),
        ("after" = Option<String>, Query, description = "`next_after` of the previous page"),
        ("sort" = Option<String>, Query, description = "A key, such as `address`, or `name`; with `-` in front for the largest first"),
        ("find" = Option<String>, Query, description = "Only those with these words in the name or a value; a word with `*` is the whole name, such as `north-*`")),
    responses((status = 200, description = "By name", body = GsmNetworks)))]
pub(super) async fn list(request: ApiRequest) -> ApiAnswer {
    let query = Query::read(&request, &["scope", "limit", "after", "find", "sort"])?;
    let own = query.is_of_node()?;
    let page = ResourcePage::read(&query, ResourceKind::Gsm)?;
    let (version, networks) = networks(&request, own).await?;
    let found = page.cut(networks, |one| (one.name.as_str(), &one.settings));
    Ok(tagged(HttpResponse::Ok(), version).json(GsmNetworks {
        version,
        gsm: found.entries,
        next_after: found.next_after,
        total: found.total,
    }))
}

/// One GSM network with its connections and its queue.
#[utoipa::path(get, path = "/v1/gsm/{name}", tag = "gsm",
    params(("name" = String, Path, description = "as in `gsm:NAME`"),
        ("scope" = Option<Scope>, Query, description = "`node` for the answering node only; without it, the whole cluster")),
    responses((status = 200, description = "The network", body = GsmNetwork), (status = 404)))]
pub(super) async fn one(request: ApiRequest, name: web::Path<String>) -> ApiAnswer {
    let name = name.into_inner();
    let own = Query::read(&request, &["scope"])?.is_of_node()?;
    let (_, networks) = networks(&request, own).await?;
    match networks.into_iter().find(|network| network.name == name) {
        Some(network) => Ok(tagged(HttpResponse::Ok(), network.version).json(network)),
        None => Err(Problem::no_such("gsm", &name, "gsm")),
    }
}

async fn networks(request: &ApiRequest, own: bool) -> Result<(u64, Vec<GsmNetwork>), Problem> {
    let look = move |admin| figures::gsms(admin, own);
    operators::with_state(request, ResourceKind::Gsm, look, GsmNetwork::new).await
}

/// Commands the connections to a GSM network, on all nodes.
///
/// `rebind` connects anew; `suspend` disconnects until it is resumed; `resume` connects again at once.
#[utoipa::path(post, path = "/v1/gsm/{name}/{verb}", tag = "gsm",
    params(("name" = String, Path, description = "as in `gsm:NAME`"), ("verb" = OperatorVerb, Path)),
    responses((status = 200, description = "Carried out", body = Done),
        (status = 202, description = "Ordered; its effect was not seen yet", body = Done)))]
pub(super) async fn order(request: ApiRequest, path: web::Path<(String, String)>) -> ApiAnswer {
    let (name, given) = path.into_inner();
    operators::command(&request, gsm_name(&name), &given).await
}
