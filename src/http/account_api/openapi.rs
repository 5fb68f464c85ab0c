//! The OpenAPI document of the HTTP API for accounts.

use std::sync::LazyLock;

use actix_web::HttpResponse;
use actix_web::http::header::ContentType;
use utoipa::openapi::{ComponentsBuilder, OpenApi};

use super::endpoints;
use crate::api::StateName;
use crate::http::openapi::{About, describe};

const ABOUT: &str = "The HTTP API of an SMSC for accounts: submit messages and follow them.\n\n\
Every path under `/v1` but this document requires `Authorization: Bearer KEY` with an API key of the account, \
which `smsc key add ACCOUNT` creates. A key has a role: `send` submits and cancels, `read` sees, `both`, `consent` is both and takes numbers off the opt-out list.\n\n\
Message ids are strings. Times are RFC 3339 in UTC. Every error is `application/problem+json` (RFC 9457), of a type \
that docs/problems.md of the manual explains; every answer has an X-Request-Id, and those that submit or change something \
RateLimit and RateLimit-Policy. Lists \
are read in pages: `next_before` of a response is `before` of the next request until it is null.";

fn whole() -> OpenApi {
    describe(
        About {
            title: "smsc for accounts",
            text: ABOUT,
            credential: "an API key, made by `smsc key add ACCOUNT` or POST /v1/api-keys of the admin API",
            takes_chunks: true,
        },
        ComponentsBuilder::new().schema_from::<StateName>(),
        endpoints(),
    )
}

/// This document.
#[utoipa::path(get, path = "/v1/openapi.json", tag = "about",
    responses((status = 200, description = "OpenAPI 3.1", body = serde_json::Value)))]
pub(super) async fn document() -> HttpResponse {
    static JSON: LazyLock<String> = LazyLock::new(|| whole().to_pretty_json().unwrap_or_default());
    HttpResponse::Ok()
        .content_type(ContentType::json())
        .body(JSON.as_str())
}
