//! `/v1/config/versions` and `/v1/config/rollback`: the history of the configuration, what lies between two
//! versions, and going back.

use actix_web::{HttpRequest, HttpResponse, web};

use super::ask;
use super::settings::carry_out;
use crate::actors::control::admin::ReadVersions;
use crate::actors::control::settings::{ConfigChange, SettingsVersion};
use crate::api::{Changed, ResourceChange, Version, Versions};
use crate::domain::settings::{Change, Key, reversed, together};
use crate::http::State;
use crate::http::configured;
use crate::http::problem::Problem;
use crate::http::query::Query;

/// Versions that are listed unless the query says otherwise.
const LISTED: u32 = 50;
/// Versions that are looked through at once for those of a resource.
const AT_ONCE: usize = 500;
/// Most versions that one request looks through.
const MOST: usize = 5_000;

/// The history, the newest version first.
#[utoipa::path(get, path = "/v1/config/versions", tag = "configuration",
    params(
        ("resource" = Option<String>, Query, description = "only versions that changed this one, such as `routes/44`, with what they changed of it"),
        ("before" = Option<u64>, Query, description = "only versions below this one"),
        ("limit" = Option<u32>, Query, description = "1 to 1000, 50 by default")),
    responses((status = 200, body = Versions)))]
pub(in crate::http) async fn list(
    request: HttpRequest,
    state: web::Data<State>,
) -> Result<HttpResponse, Problem> {
    let query = Query::read(&request, &["resource", "before", "limit"])?;
    let limit = query.number("limit", "a number from 1 to 1000", |n| {
        (1..=1000).contains(n)
    })?;
    let before = query.number("before", "a version", |n| *n >= 1)?;
    let (limit, before) = (limit.unwrap_or(LISTED) as usize, before.unwrap_or(u64::MAX));
    let found = match resource(&query)? {
        None => {
            let versions = read(&state, 0, before, limit).await?;
            let next = versions.last().filter(|_| versions.len() == limit);
            Versions {
                next_before: next.map(|last| last.version).filter(|last| *last > 1),
                versions: shown(versions, ResourceChange::head),
            }
        }
        Some(key) => of_resource(&state, &key, before, limit).await?,
    };
    Ok(HttpResponse::Ok().json(found))
}

/// Versions that changed one resource, with only that change.
async fn of_resource(
    state: &State,
    key: &Key,
    before: u64,
    limit: usize,
) -> Result<Versions, Problem> {
    let (mut found, mut below) = (Vec::new(), before);
    for _ in 0..MOST / AT_ONCE {
        let versions = read(state, 0, below, AT_ONCE).await?;
        let is_last = versions.len() < AT_ONCE;
        for mut one in versions {
            below = one.version;
            one.changes.retain(|change| change.key == *key);
            if !one.changes.is_empty() {
                found.push(one);
            }
            if found.len() == limit {
                break;
            }
        }
        if is_last || found.len() == limit {
            break;
        }
    }
    Ok(Versions {
        next_before: Some(below).filter(|below| (2..u64::MAX).contains(below)),
        versions: shown(found, ResourceChange::new),
    })
}

/// One version: who, when, and what it changed.
#[utoipa::path(get, path = "/v1/config/versions/{version}", tag = "configuration",
    params(("version" = u64, Path),
        ("since" = Option<u64>, Query, description = "what is different from this version, instead of the one before")),
    responses((status = 200, body = Version), (status = 404)))]
pub(in crate::http) async fn one(
    request: HttpRequest,
    state: web::Data<State>,
    path: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let query = Query::read(&request, &["since"])?;
    let number = numbered(&path)?;
    let since = query
        .number("since", "a version", |n| *n >= 1)?
        .unwrap_or(number.saturating_sub(1));
    let found = read(
        &state,
        number.saturating_sub(1),
        number.saturating_add(1),
        1,
    )
    .await?;
    let mut found = found.into_iter().find(|one| one.version == number);
    let newest = read(&state, 0, u64::MAX, 1).await?;
    let newest = newest.first().map_or(0, |one| one.version);
    if let Some(one) = found.as_mut().filter(|_| since <= newest) {
        one.changes = between(&state, since, number).await?;
        return Ok(HttpResponse::Ok().json(configured::version(one.clone(), ResourceChange::new)));
    }
    let unknown = found.map_or(number, |_| since);
    Err(Problem::not_found(format!(
        "there is no version {unknown}; GET /v1/config/versions lists them"
    )))
}

/// What is different in version `to` from version `from`, whichever is the newer one.
async fn between(state: &State, from: u64, to: u64) -> Result<Vec<Change>, Problem> {
    let (older, newer) = (from.min(to), from.max(to));
    if newer - older > MOST as u64 {
        let detail = format!("since must be at most {MOST} versions away from {to}, not {from}");
        return Err(Problem::bad_value("since", detail));
    }
    let versions = read(state, older, newer.saturating_add(1), usize::MAX).await?;
    let changes = together(versions.iter().rev().map(|one| one.changes.as_slice()));
    Ok(match from <= to {
        true => changes,
        false => changes.into_iter().map(reversed).collect(),
    })
}

/// Creates a new version with the content of an old one: all of it, or one resource.
#[utoipa::path(post, path = "/v1/config/rollback/{version}", tag = "configuration",
    params(
        ("version" = u64, Path),
        ("resource" = Option<String>, Query, description = "restores only this one, such as `routes/44`; without it, everything"),
        ("dry_run" = Option<bool>, Query, description = "only say what would change")),
    responses((status = 200, body = Changed), (status = 404), (status = 412), (status = 422)))]
pub(in crate::http) async fn rollback(
    request: HttpRequest,
    state: web::Data<State>,
    path: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let query = Query::read(&request, &["dry_run", "resource"])?;
    let config_change = ConfigChange::Rollback {
        version: numbered(&path)?,
        only: resource(&query)?,
    };
    carry_out(&request, &state, config_change, None, &query).await
}

/// The resource that a query names.
fn resource(query: &Query) -> Result<Option<Key>, Problem> {
    let key = query.text("resource").map(str::parse).transpose();
    key.map_err(|detail: String| Problem::bad_value("resource", detail))
}

async fn read(
    state: &State,
    after: u64,
    below: u64,
    limit: usize,
) -> Result<Vec<SettingsVersion>, Problem> {
    let question = ReadVersions {
        after,
        below,
        limit,
    };
    Ok(ask(state, question).await??)
}

fn shown(versions: Vec<SettingsVersion>, change: fn(&Change) -> ResourceChange) -> Vec<Version> {
    let versions = versions.into_iter();
    versions
        .map(|one| configured::version(one, change))
        .collect()
}

fn numbered(text: &str) -> Result<u64, Problem> {
    text.parse().map_err(|_| {
        let detail = format!("a version is a number, not {text:?}");
        Problem::bad_value("version", detail)
    })
}
