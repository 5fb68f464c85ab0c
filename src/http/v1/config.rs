//! `/v1/config`: accounts, operators, routes, policy and the other resources as one document, its versions, rollback.

use actix_web::{HttpRequest, HttpResponse, web};
use serde_json::Value;

use super::ask;
use super::settings::{change, object};
use super::tags::tagged;
use crate::actors::control::admin::{CompareFile, ReadSettings, ReadVersions, Reseal};
use crate::actors::control::settings::ConfigChange;
use crate::api::{Changed, Configuration, Difference, Done, ResourceChange, Version, Versions};
use crate::config;
use crate::domain::settings::Kind;
use crate::http::State;
use crate::http::auth::who;
use crate::http::configured;
use crate::http::problem::Problem;
use crate::http::query::Query;

/// Versions that are listed unless the query says otherwise.
const LISTED: u32 = 50;
/// What `GET` shows beside the lists, and `PUT` leaves alone.
const SHOWN: [&str; 3] = ["version", "applied", "trouble"];

/// The whole configuration as one document.
#[utoipa::path(get, path = "/v1/config", tag = "configuration",
    responses((status = 200, body = Configuration)))]
pub(in crate::http) async fn read(
    request: HttpRequest,
    state: web::Data<State>,
) -> Result<HttpResponse, Problem> {
    Query::read(&request, &[])?;
    let read = ask(&state, ReadSettings).await??;
    let version = read.settings.version;
    let shown = configured::configuration(&read.settings, read.applied, read.trouble);
    Ok(tagged(HttpResponse::Ok(), version).json(shown))
}

/// Replaces the whole configuration in one transaction. Secrets that are left out do not change.
#[utoipa::path(put, path = "/v1/config", tag = "configuration", request_body = Configuration,
    params(("dry_run" = Option<bool>, Query, description = "only say what would change")),
    responses((status = 200, body = Changed), (status = 412), (status = 422)))]
pub(in crate::http) async fn replace(
    request: HttpRequest,
    state: web::Data<State>,
    body: web::Bytes,
) -> Result<HttpResponse, Problem> {
    let mut given = object(&body)?;
    let mut lists = Vec::new();
    let mut found = Vec::new();
    let mut say = |key: &str, message: &str| {
        found.push(config::Problem {
            key: key.to_owned(),
            message: message.to_owned(),
            origin: None,
        });
    };
    for kind in Kind::ALL {
        match given.remove(kind.plural()) {
            Some(Value::Array(list)) => lists.push((kind, list)),
            // Programs that were written before there were any do not send them.
            None if kind.is_optional() => {}
            None => say(kind.plural(), "is missing; write [] for none at all"),
            Some(_) => say(kind.plural(), "must be a list"),
        }
    }
    for unknown in given.keys().filter(|key| !SHOWN.contains(&key.as_str())) {
        let known = Kind::ALL.map(Kind::plural).join(", ");
        say(unknown, &format!("unknown key; known are: {known}"));
    }
    if !found.is_empty() {
        return Err(Problem::invalid(&found, None));
    }
    change(&request, &state, ConfigChange::Replace(lists), None).await
}

/// What applying the file of the answering node would change.
#[utoipa::path(get, path = "/v1/config/diff", tag = "configuration",
    responses((status = 200, body = Difference), (status = 422)))]
pub(in crate::http) async fn diff(
    request: HttpRequest,
    state: web::Data<State>,
) -> Result<HttpResponse, Problem> {
    Query::read(&request, &[])?;
    let compared = ask(&state, CompareFile).await??;
    Ok(HttpResponse::Ok().json(Difference::from(compared)))
}

/// The history, the newest version first.
#[utoipa::path(get, path = "/v1/config/versions", tag = "configuration",
    params(
        ("before" = Option<u64>, Query, description = "only versions below this one"),
        ("limit" = Option<u32>, Query, description = "1 to 1000, 50 by default")),
    responses((status = 200, body = Versions)))]
pub(in crate::http) async fn versions(
    request: HttpRequest,
    state: web::Data<State>,
) -> Result<HttpResponse, Problem> {
    let query = Query::read(&request, &["before", "limit"])?;
    let limit = query.number("limit", "a number from 1 to 1000", |n| {
        (1..=1000).contains(n)
    })?;
    let before = query.number("before", "a version", |n| *n >= 1)?;
    let question = ReadVersions {
        after: 0,
        below: before.unwrap_or(u64::MAX),
        limit: limit.unwrap_or(LISTED) as usize,
    };
    let versions = ask(&state, question).await??;
    Ok(HttpResponse::Ok().json(Versions {
        versions: versions
            .into_iter()
            .map(|one| configured::version(one, ResourceChange::head))
            .collect(),
    }))
}

/// One version: who, when, and what it changed.
#[utoipa::path(get, path = "/v1/config/versions/{version}", tag = "configuration",
    params(("version" = u64, Path)), responses((status = 200, body = Version), (status = 404)))]
pub(in crate::http) async fn version(
    request: HttpRequest,
    state: web::Data<State>,
    path: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    Query::read(&request, &[])?;
    let number = numbered(&path)?;
    let question = ReadVersions {
        after: number.saturating_sub(1),
        below: number.saturating_add(1),
        limit: 1,
    };
    let found = ask(&state, question).await??.into_iter().next();
    let found = found.filter(|one| one.version == number).ok_or_else(|| {
        Problem::not_found(format!(
            "there is no version {number}; GET /v1/config/versions lists them"
        ))
    })?;
    Ok(HttpResponse::Ok().json(configured::version(found, ResourceChange::new)))
}

/// Creates a new version with the content of an old one.
#[utoipa::path(post, path = "/v1/config/rollback/{version}", tag = "configuration",
    params(
        ("version" = u64, Path),
        ("dry_run" = Option<bool>, Query, description = "only say what would change")),
    responses((status = 200, body = Changed), (status = 404), (status = 412), (status = 422)))]
pub(in crate::http) async fn rollback(
    request: HttpRequest,
    state: web::Data<State>,
    path: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    change(
        &request,
        &state,
        ConfigChange::Rollback(numbered(&path)?),
        None,
    )
    .await
}

/// Seals every password of the store and its history with the first key of `secrets.key_file`; use it
/// after a key was set or changed. Creates no version.
#[utoipa::path(post, path = "/v1/config/reseal", tag = "configuration",
    responses((status = 200, description = "How many resources and changes were sealed again", body = Done),
        (status = 409, description = "There is no key, or the key of a password is missing")))]
pub(in crate::http) async fn reseal(
    request: HttpRequest,
    state: web::Data<State>,
) -> Result<HttpResponse, Problem> {
    Query::read(&request, &[])?;
    let by = who(&request);
    let count = ask(&state, Reseal { by }).await??;
    let pending = false;
    Ok(HttpResponse::Ok().json(Done { count, pending }))
}

fn numbered(text: &str) -> Result<u64, Problem> {
    text.parse().map_err(|_| {
        let detail = format!("a version is a number, not {text:?}");
        Problem::bad_value("version", detail)
    })
}
