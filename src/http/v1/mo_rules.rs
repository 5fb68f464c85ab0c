//! `/v1/mo-rules/explain`: which rule takes a message that an operator brings; and the order of all rules. The rules
//! themselves are in [`super::resources`].

use actix_web::{HttpResponse, web};

use super::settings::change;
use super::{body, call};
use crate::actors::control::admin::settings;
use crate::actors::control::settings::ConfigChange;
use crate::actors::routing::explain_mo::ExplainMo;
use crate::api::{Changed, MoExplanation, MoOrder};
use crate::domain::settings::ResourceKind;
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::problem::Problem;
use crate::http::query::Query;

/// Explains which rule takes a message that an operator brings, and why those before it do not.
#[utoipa::path(get, path = "/v1/mo-rules/explain", tag = "configuration",
    params(
        ("to" = String, Query, description = "the address that it is sent to, such as a short code"),
        ("operator" = String, Query, description = "the operator that brings it"),
        ("from" = Option<String>, Query, description = "its sender"),
        ("text" = Option<String>, Query, description = "its text; without it, a message that has none")),
    responses((status = 200, body = MoExplanation), (status = 400)))]
pub(in crate::http) async fn explain(request: ApiRequest) -> ApiAnswer {
    let query = Query::read(&request, &["to", "from", "operator", "text"])?;
    let needed = |name: &'static str, cure: &str| {
        let given = query.text(name).map(|text| text.trim().to_owned());
        given.filter(|text| !text.is_empty()).ok_or_else(|| {
            let detail = format!("{name} is missing; write {cure}");
            Problem::bad_value(name, detail)
        })
    };
    // A plus sign that was not percent-encoded arrives as a space.
    let question = ExplainMo {
        to: needed("to", "the destination, such as to=12345")?,
        operator: needed("operator", "who brings it, such as operator=up")?,
        from: query.text("from").unwrap_or_default().trim().to_owned(),
        text: query.text("text").map(str::to_owned),
    };
    let explained = call(&request, |admin| settings::mo_rule(admin, question)).await?;
    Ok(HttpResponse::Ok().json(explained))
}

/// Puts the rules for messages that operators bring into an order, in one change of the configuration. Only `order` of
/// the rules changes.
#[utoipa::path(patch, path = "/v1/mo-rules", tag = "configuration", request_body = MoOrder,
    params(("dry_run" = Option<bool>, Query, description = "only say what would change")),
    responses((status = 200, body = Changed), (status = 412), (status = 422)))]
pub(in crate::http) async fn put_in_order(request: ApiRequest, octets: web::Bytes) -> ApiAnswer {
    let MoOrder { order: names } = body(&octets)?;
    let kind = ResourceKind::MoRule;
    change(&request, ConfigChange::Order { kind, names }, None).await
}
