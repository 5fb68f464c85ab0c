//! `/v1/operators`: whom we bind to, and how that goes; rebind, resume, suspend.

use std::collections::HashMap;

use actix_web::{HttpRequest, HttpResponse, web};

use super::tags::tagged;
use super::{ask, done, verb};
use crate::actors::admin::ReadSettings;
use crate::actors::settings::Settings;
use crate::domain::settings::Kind;
use crate::http::State;
use crate::http::auth::who;
use crate::http::problem::Problem;
use crate::http::query::Query;
use crate::http::view::{Operator, Operators, Resource};
use crate::pb::bind_command::Verb;
use crate::pb::{CommandOperator, ListOperators, OperatorView};

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
    let settings = ask(&state, ReadSettings).await??.settings;
    let list = ask(&state, ListOperators::default()).await?;
    let operators = merged(&settings, list.operators);
    Ok(tagged(HttpResponse::Ok(), settings.version).json(Operators { operators }))
}

/// `GET /v1/operators/{id}`
pub(super) async fn one(
    request: HttpRequest,
    state: web::Data<State>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    Query::read(&request, &[])?;
    let id = id.into_inner();
    let settings = ask(&state, ReadSettings).await??.settings;
    let list = ask(&state, ListOperators { id: id.clone() }).await?;
    let operators = merged(&settings, list.operators);
    match operators.into_iter().find(|operator| operator.id == id) {
        Some(operator) => Ok(tagged(HttpResponse::Ok(), operator.version).json(operator)),
        None => Err(Problem::not_found(format!(
            "there is no operator {id:?}; GET /v1/operators lists them"
        ))),
    }
}

/// What is configured with how it goes; both, of what the store has and this node has not yet.
fn merged(settings: &Settings, live: Vec<OperatorView>) -> Vec<Operator> {
    let mut live: HashMap<String, Operator> = live
        .into_iter()
        .map(|operator| (operator.id.clone(), Operator::from(operator)))
        .collect();
    settings
        .settings
        .iter()
        .filter(|setting| setting.key.kind == Kind::Operator)
        .map(|setting| {
            let resource = Resource::new(setting);
            match live.remove(&setting.key.name) {
                Some(operator) => operator.with(resource),
                None => Operator::disabled(resource),
            }
        })
        .collect()
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
