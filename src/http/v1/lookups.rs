//! `/v1/lookups`: what is looked up about numbers, and forgetting answers.

use actix_web::{HttpResponse, web};

use super::subscribers::digits;
use super::{answer, call};
use crate::actors::control::admin::lookups;
use crate::api::{Forgotten, LookupKind, Lookups, Word};
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::auth::who;
use crate::http::problem::Problem;
use crate::http::query::Query;
use crate::pb::{ForgetLookups, LookupQuestion};

/// The look-ups of the answering node.
#[utoipa::path(get, path = "/v1/lookups", tag = "lookups",
    responses((status = 200, description = "Both look-ups", body = Lookups)))]
pub(super) async fn list(request: ApiRequest) -> ApiAnswer {
    Query::read(&request, &[])?;
    Ok(HttpResponse::Ok().json(call(&request, lookups::list).await?))
}

/// Forgets all answers of a look-up, on all nodes: numbers are looked up anew.
#[utoipa::path(delete, path = "/v1/lookups/{question}", tag = "lookups",
    params(("question" = LookupKind, Path)),
    responses((status = 200, description = "Forgotten", body = Forgotten)))]
pub(super) async fn forget_all(request: ApiRequest, question: web::Path<String>) -> ApiAnswer {
    forget(&request, &question, String::new()).await
}

/// Forgets the answer for a number, on all nodes: it is looked up anew.
#[utoipa::path(delete, path = "/v1/lookups/{question}/{msisdn}", tag = "lookups",
    params(("question" = LookupKind, Path),
        ("msisdn" = String, Path, description = "Digits, with or without a plus", pattern = "^\\+?[0-9]{1,20}$")),
    responses((status = 200, description = "Forgotten", body = Forgotten)))]
pub(super) async fn forget_one(
    request: ApiRequest,
    path: web::Path<(String, String)>,
) -> ApiAnswer {
    let (question, msisdn) = path.into_inner();
    let msisdn = digits("msisdn", &msisdn)?;
    forget(&request, &question, msisdn).await
}

async fn forget(request: &ApiRequest, question: &str, msisdn: String) -> ApiAnswer {
    Query::read(request, &[])?;
    let kind = LookupKind::of(question).ok_or_else(|| {
        Problem::not_found(format!(
            "there is no look-up {question:?}; the look-ups are {}",
            LookupKind::list()
        ))
    })?;
    let order = ForgetLookups {
        question: LookupQuestion::from(kind).into(),
        msisdn,
        by: who(request),
    };
    answer(request, |admin| lookups::forget(admin, order)).await
}
