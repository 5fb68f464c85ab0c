//! `/v1/config`: accounts, operators, routes, policy and the other resources as one document, and what they may
//! contain. Its versions are in [`super::versions`].

use std::sync::LazyLock;

use actix_web::http::header::ContentType;
use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::Value;

use super::settings::change;
use super::tags::tagged;
use super::{answer, call};
use crate::actors::control::admin::settings;
use crate::actors::control::settings::ConfigChange;
use crate::api::{Changed, ConfigSchema, Configuration, Difference, Done};
use crate::config::ConfigProblem;
use crate::domain::settings::ResourceKind;
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::auth::who;
use crate::http::configured;
use crate::http::json::object;
use crate::http::problem::Problem;
use crate::http::query::Query;

/// What `GET` shows beside the lists, and `PUT` leaves alone.
const SHOWN: [&str; 4] = ["version", "applied", "trouble", "unused_file"];

/// The whole configuration as one document.
#[utoipa::path(get, path = "/v1/config", tag = "configuration",
    responses((status = 200, body = Configuration)))]
pub(in crate::http) async fn read(request: ApiRequest) -> ApiAnswer {
    Query::read(&request, &[])?;
    let read = call(&request, settings::read).await??;
    let version = read.settings.version;
    let shown = Configuration {
        unused_file: read.unused_file,
        ..configured::configuration(&read.settings, read.applied, read.trouble)
    };
    Ok(tagged(HttpResponse::Ok(), version).json(shown))
}

/// What accounts, operators, routes and the other resources may contain: every key with its type, its default,
/// its words and what it does.
#[utoipa::path(get, path = "/v1/config/schema", tag = "configuration",
    responses((status = 200, body = ConfigSchema)))]
pub(in crate::http) async fn schema(request: HttpRequest) -> ApiAnswer {
    static JSON: LazyLock<String> =
        LazyLock::new(|| serde_json::to_string(&ConfigSchema::new()).unwrap_or_default());
    Query::read(&request, &[])?;
    Ok(HttpResponse::Ok()
        .content_type(ContentType::json())
        .body(JSON.as_str()))
}

/// Replaces the whole configuration in one transaction. Secrets that are left out do not change.
#[utoipa::path(put, path = "/v1/config", tag = "configuration", request_body = Configuration,
    params(("dry_run" = Option<bool>, Query, description = "only say what would change")),
    responses((status = 200, body = Changed), (status = 412), (status = 422)))]
pub(in crate::http) async fn replace(request: ApiRequest, body: web::Bytes) -> ApiAnswer {
    let mut given = object(&body)?;
    let mut lists = Vec::new();
    let mut found = Vec::new();
    let mut say = |key: &str, message: &str| found.push(ConfigProblem::new(key, message));
    for kind in ResourceKind::ALL {
        match given.remove(kind.plural()) {
            Some(Value::Array(list)) => lists.push((kind, list)),
            // Programs that were written before there were any do not send them.
            None if kind.is_optional() => {}
            None => say(kind.plural(), "is missing; write [] for none at all"),
            Some(_) => say(kind.plural(), "must be a list"),
        }
    }
    for unknown in given.keys().filter(|key| !SHOWN.contains(&key.as_str())) {
        let known = ResourceKind::ALL.map(ResourceKind::plural).join(", ");
        say(unknown, &format!("unknown key; known are: {known}"));
    }
    if !found.is_empty() {
        return Err(Problem::invalid(&found, None));
    }
    change(&request, ConfigChange::Replace(lists), None).await
}

/// What applying the file of the answering node would change.
#[utoipa::path(get, path = "/v1/config/diff", tag = "configuration",
    responses((status = 200, body = Difference), (status = 422)))]
pub(in crate::http) async fn diff(request: ApiRequest) -> ApiAnswer {
    Query::read(&request, &[])?;
    answer(&request, settings::compare_file).await
}

/// Seals every password of the store and its history with the first key of `secrets.key_file`; use it
/// after a key was set or changed. Creates no version.
#[utoipa::path(post, path = "/v1/config/reseal", tag = "configuration",
    responses((status = 200, description = "How many resources and changes were sealed again", body = Done),
        (status = 409, description = "There is no key, or the key of a password is missing")))]
pub(in crate::http) async fn reseal(request: ApiRequest) -> ApiAnswer {
    Query::read(&request, &[])?;
    let by = who(&request);
    let count = call(&request, |admin| settings::reseal(admin, by)).await??;
    let pending = false;
    Ok(HttpResponse::Ok().json(Done { count, pending }))
}
