//! `/v1/operators`: whom we bind to, and how that goes; rebind, resume, suspend.

use actix_web::{HttpRequest, HttpResponse, web};

use super::{ask, done, verb};
use crate::http::State;
use crate::http::auth::who;
use crate::http::problem::Problem;
use crate::http::query::Query;
use crate::http::view::{Operator, Operators};
use crate::pb::bind_command::Verb;
use crate::pb::{CommandOperator, ListOperators};

const VERBS: &[(&str, Verb)] = &[
    ("rebind", Verb::Rebind),
    ("resume", Verb::Resume),
    ("suspend", Verb::Suspend),
];

/// `GET /v1/operators`
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

/// `GET /v1/operators/{id}`
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

/// `POST /v1/operators/{id}/{verb}`
pub(super) async fn order(
    request: HttpRequest,
    state: web::Data<State>,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, Problem> {
    Query::read(&request, &[])?;
    let (id, given) = path.into_inner();
    let order = CommandOperator {
        verb: verb(&given, VERBS)?.into(),
        id,
        by: who(&request),
    };
    done(ask(&state, order).await?)
}
