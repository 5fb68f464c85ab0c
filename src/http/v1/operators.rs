//! `/v1/operators`: whom we bind to, and how that goes; rebind, resume, suspend.

use actix_web::{HttpRequest, HttpResponse, web};

use super::{ask, done, verb};
use crate::http::State;
use crate::http::auth::who;
use crate::http::problem::Problem;
use crate::http::query::Query;
use crate::http::view::{Done, Operator, OperatorVerb, Operators};
use crate::pb::bind_command::Verb;
use crate::pb::{CommandOperator, ListOperators};

/// Every operator with its binds and its queue.
#[utoipa::path(get, path = "/v1/operators", tag = "operators",
    responses((status = 200, description = "By id", body = Operators)))]
pub(super) async fn list(
    request: HttpRequest,
    state: web::Data<State>,
) -> Result<HttpResponse, Problem> {
    Query::read(&request, &[])?;
    let list = ask(&state, ListOperators::default()).await?;
    Ok(HttpResponse::Ok().json(Operators {
        operators: list.operators.into_iter().map(Operator::from).collect(),
    }))
}

/// One operator with its binds and its queue.
#[utoipa::path(get, path = "/v1/operators/{id}", tag = "operators",
    params(("id" = String, Path, description = "As in the configuration")),
    responses((status = 200, description = "The operator", body = Operator)))]
pub(super) async fn one(
    request: HttpRequest,
    state: web::Data<State>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    Query::read(&request, &[])?;
    let id = id.into_inner();
    let list = ask(&state, ListOperators { id: id.clone() }).await?;
    match list.operators.into_iter().next() {
        Some(operator) => Ok(HttpResponse::Ok().json(Operator::from(operator))),
        None => Err(Problem::not_found(format!(
            "there is no operator {id:?}; GET /v1/operators lists them"
        ))),
    }
}

/// Commands every bind of an operator, on all nodes.
///
/// `rebind` unbinds and binds again; `suspend` unbinds until it is resumed; `resume` binds again at once.
#[utoipa::path(post, path = "/v1/operators/{id}/{verb}", tag = "operators",
    params(("id" = String, Path, description = "As in the configuration"),
        ("verb" = OperatorVerb, Path)),
    responses((status = 200, description = "Carried out", body = Done),
        (status = 202, description = "Ordered; the effect was not seen yet", body = Done)))]
pub(super) async fn order(
    request: HttpRequest,
    state: web::Data<State>,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, Problem> {
    Query::read(&request, &[])?;
    let (id, given) = path.into_inner();
    let order = CommandOperator {
        verb: match verb::<OperatorVerb>(&given)? {
            OperatorVerb::Rebind => Verb::Rebind,
            OperatorVerb::Resume => Verb::Resume,
            OperatorVerb::Suspend => Verb::Suspend,
        }
        .into(),
        id,
        by: who(&request),
    };
    done(ask(&state, order).await?)
}
