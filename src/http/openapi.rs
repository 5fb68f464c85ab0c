//! The OpenAPI 3.1 document of the API, made from the table of [`super::api`]; its pages are in
//! [`pages`].
//!
//! Served at `/v1/openapi.json` and, for people, at `/v1/docs/`; printed by `smsc openapi`.
//! Answers that many paths share (no token, wrong role, bad value) are added here once.

pub(super) mod pages;

use std::sync::LazyLock;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::ContentType;
use utoipa::ToSchema;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::tag::Tag;
use utoipa::openapi::{
    ComponentsBuilder, ContentBuilder, HttpMethod, InfoBuilder, LicenseBuilder, OpenApi,
    OpenApiBuilder, PathsBuilder, Ref, RefOr, ResponseBuilder, Server,
};

use super::api::{self, Endpoint};
use super::problem::CONTENT_TYPE as PROBLEM;
use crate::api::{
    FailureGrouping, HistoryGrouping, HistoryStep, LookupKind, MessageListOrder, MessageVerb,
    OperatorVerb, ProblemDetails, QueueVerb, Scope, StateName,
};

/// Name of the security scheme.
const TOKEN: &str = "token";

const ABOUT: &str = "The admin API of an SMSC.\n\n\
Every path under `/v1` but this document wants `Authorization: Bearer TOKEN`. A token has one of three \
roles, each of which includes the one before: `read` looks, but sees no text of a message; `operate` \
commands queues, binds and messages, and sees texts; `admin` may do everything.\n\n\
Message ids are strings. Times are RFC 3339 in UTC. Every error is `application/problem+json` \
(RFC 9457), of a type that docs/problems.md of the manual explains; every answer has an X-Request-Id. Lists that may be long are read in pages: `limit` says how many entries, and `next_before` of \
the answer goes into `before` of the next request until it is null; where lists are in the order of names, `next_after` into `after`.";

/// What a document says of its API.
pub(super) struct About {
    pub title: &'static str,
    pub text: &'static str,
    /// What stands in `Authorization: Bearer`.
    pub credential: &'static str,
    /// Whether bodies may come without a length.
    pub takes_chunks: bool,
}

/// The document.
pub fn document() -> OpenApi {
    let about = About {
        title: "smsc",
        text: ABOUT,
        credential: "http.admin_token, the file admin-token of the data folder, or a token of POST /v1/tokens",
        takes_chunks: false,
    };
    let words = ComponentsBuilder::new()
        // Words of paths and queries: operations refer to them without bringing them.
        .schema_from::<QueueVerb>()
        .schema_from::<OperatorVerb>()
        .schema_from::<MessageVerb>()
        .schema_from::<MessageListOrder>()
        .schema_from::<FailureGrouping>()
        .schema_from::<HistoryGrouping>()
        .schema_from::<HistoryStep>()
        .schema_from::<LookupKind>()
        .schema_from::<StateName>()
        .schema_from::<Scope>();
    describe(about, words, api::endpoints(true))
}

/// The document of an API with these rows, and the schemas that they refer to without bringing them.
pub(super) fn describe(about: About, schemas: ComponentsBuilder, rows: Vec<Endpoint>) -> OpenApi {
    let mut paths = PathsBuilder::new().build();
    let problem = <ProblemDetails as utoipa::PartialSchema>::schema();
    let mut components = schemas
        .schema(ProblemDetails::name(), problem)
        .security_scheme(
            TOKEN,
            SecurityScheme::Http(
                HttpBuilder::new()
                    .scheme(HttpAuthScheme::Bearer)
                    .description(Some(about.credential))
                    .build(),
            ),
        );
    let mut tags: Vec<Tag> = Vec::new();
    for row in rows {
        for name in row.operation.tags.iter().flatten() {
            if !tags.iter().any(|known| known.name == *name) {
                tags.push(Tag::new(name));
            }
        }
        let operation = complete(&row, about.takes_chunks);
        for (name, schema) in row.schemas {
            components = components.schema(name, schema);
        }
        let item = PathItem::new(row.method, operation);
        match paths.paths.get_mut(&row.path) {
            Some(known) => known.merge_operations(item),
            None => drop(paths.paths.insert(row.path, item)),
        }
    }
    OpenApiBuilder::new()
        .info(
            InfoBuilder::new()
                .title(about.title)
                .version(env!("CARGO_PKG_VERSION"))
                .description(Some(about.text))
                .license(Some(
                    LicenseBuilder::new()
                        .name(env!("CARGO_PKG_LICENSE"))
                        // OpenAPI Generator refuses a licence that has neither this nor a URL.
                        .identifier(Some(env!("CARGO_PKG_LICENSE")))
                        .build(),
                ))
                .build(),
        )
        // Wherever the document comes from: the API has no address of its own.
        .servers(Some([Server::new("/")]))
        .tags(Some(tags))
        .paths(paths)
        .components(Some(components.build()))
        .build()
}

/// The document as JSON.
///
/// # Errors
/// It cannot be written, which no document can cause.
pub fn json() -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(&document())
}

/// An operation with what all of its kind have.
fn complete(row: &Endpoint, takes_chunks: bool) -> Operation {
    let mut operation = row.operation.clone();
    if operation.operation_id.is_some() {
        operation.operation_id = Some(operation_id(row));
    }
    let Some(role) = row.role else {
        // No token is required.
        operation.security = Some(Vec::new());
        return operation;
    };
    operation.security = Some(vec![SecurityRequirement::new(TOKEN, [role])]);
    let said = operation.description.take().unwrap_or_default();
    let role = format!("{}\n\nNeeds the role `{role}`.", said.trim());
    operation.description = Some(role.trim().to_owned());
    let mut common = vec![
        ("400", "A value cannot be read; `field` names it"),
        ("401", "No token, or one that is wrong or has ended"),
        ("403", "The token's role does not allow this"),
        (
            "429",
            "Too many requests at once; Retry-After says when to come back",
        ),
        ("503", "The store or an actor does not answer now"),
    ];
    if row.path.contains('{') {
        common.push(("404", "There is no such thing"));
    }
    if !matches!(row.method, HttpMethod::Get) {
        common.push(("409", "The state of things does not allow this"));
        common.push(("408", "The request body did not come to its end"));
        common.push(("413", "The request body is too long"));
        common.push(("415", "The request body is compressed, or not UTF-8"));
        if !takes_chunks {
            common.push(("411", "The request body comes in chunks"));
        }
    }
    let answers = &mut operation.responses.responses;
    for (status, description) in common {
        answers.entry(status.to_owned()).or_insert_with(|| {
            ResponseBuilder::new()
                .description(description)
                .build()
                .into()
        });
    }
    for (status, answer) in answers {
        let RefOr::T(answer) = answer else { continue };
        if answer.description.is_empty() {
            // OpenAPI requires one.
            let known = status
                .parse()
                .ok()
                .and_then(|code| StatusCode::from_u16(code).ok());
            let reason = known.and_then(|status| status.canonical_reason());
            answer.description = reason.unwrap_or(status).to_owned();
        }
        // Every error has the same shape.
        if status.starts_with(['4', '5']) && answer.content.is_empty() {
            let schema = Ref::from_schema_name(ProblemDetails::name());
            let content = ContentBuilder::new().schema(Some(schema)).build();
            answer.content.insert(PROBLEM.to_owned(), content.into());
        }
    }
    operation
}

/// `GET /v1/queues/{name}` is `get_queues_name`: stable, and unique by construction.
fn operation_id(row: &Endpoint) -> String {
    let method = match row.method {
        HttpMethod::Get => "get",
        HttpMethod::Put => "put",
        HttpMethod::Delete => "delete",
        HttpMethod::Patch => "patch",
        _ => "post",
    };
    let words = row
        .path
        .trim_start_matches("/v1")
        .split(|sign: char| !sign.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    std::iter::once(method)
        .chain(words)
        .collect::<Vec<_>>()
        .join("_")
}

/// This document.
#[utoipa::path(get, path = "/v1/openapi.json", tag = "about",
    responses((status = 200, description = "OpenAPI 3.1", body = serde_json::Value)))]
pub(super) async fn serve() -> HttpResponse {
    static JSON: LazyLock<String> = LazyLock::new(|| json().unwrap_or_default());
    HttpResponse::Ok()
        .content_type(ContentType::json())
        .body(JSON.as_str())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_operation_is_described() {
        let document = serde_json::to_value(document()).unwrap();
        assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
        let mut ids = HashSet::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let place = format!("{method} {path}");
                assert!(operation["summary"].is_string(), "{place} has no summary");
                let id = operation["operationId"].as_str().unwrap().to_owned();
                assert!(ids.insert(id), "{place} has the id of another");
                let names: HashSet<&str> = path
                    .split('/')
                    .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
                    .collect();
                let parameters = operation["parameters"].as_array();
                let documented: HashSet<&str> = parameters
                    .into_iter()
                    .flatten()
                    .filter(|parameter| parameter["in"] == "path")
                    .filter_map(|parameter| parameter["name"].as_str())
                    .collect();
                assert_eq!(documented, names, "{place}");
            }
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let text = json().unwrap();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        for part in text.split("\"$ref\": \"#").skip(1) {
            let pointer = part.split('"').next().unwrap();
            assert!(document.pointer(pointer).is_some(), "{pointer}");
        }
    }
}
