//! `/v1/config/versions` and `/v1/config/rollback`: the history of the configuration, what lies between two
//! versions, and going back.

use actix_web::{HttpResponse, web};

use super::call;
use super::settings::carry_out;
use crate::actors::control::admin::settings;
use crate::actors::control::settings::{ConfigChange, SettingsVersion, VersionQuery};
use crate::api::{Changed, ResourceChange, Version, Versions};
use crate::domain::settings::{ResourceKey, ResourceUpdate, reversed, together};
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::configured;
use crate::http::problem::Problem;
use crate::http::query::Query;

/// Versions that are listed unless the query says otherwise.
const LISTED: u32 = 50;
/// Versions that are in memory at once: each may hold a list of a mebibyte before and after.
const AT_ONCE: usize = 20;
/// Most versions that one comparison looks through.
const MOST: u64 = 5_000;

/// The history, the newest version first.
#[utoipa::path(get, path = "/v1/config/versions", tag = "configuration",
    params(
        ("resource" = Option<String>, Query, description = "only versions that changed this one, such as `routes/44`, with what they changed of it"),
        ("before" = Option<u64>, Query, description = "only versions below this one"),
        ("limit" = Option<u32>, Query, description = "1 to 1000, 50 by default")),
    responses((status = 200, body = Versions)))]
pub(in crate::http) async fn list(request: ApiRequest) -> ApiAnswer {
    let query = Query::read(&request, &["resource", "before", "limit"])?;
    let limit = query.number("limit", "a number from 1 to 1000", |n| {
        (1..=1000).contains(n)
    })?;
    let before = query.number("before", "a version", |n| *n >= 1)?;
    let (limit, before) = (limit.unwrap_or(LISTED) as usize, before.unwrap_or(u64::MAX));
    let (of, change): (_, fn(&ResourceUpdate) -> ResourceChange) = match resource(&query)? {
        None => (None, ResourceChange::head),
        Some(key) => (Some(key), ResourceChange::new),
    };
    let mut which = VersionQuery {
        below: before,
        of,
        ..VersionQuery::ALL
    };
    let mut versions: Vec<Version> = Vec::new();
    let mut is_last = false;
    while !is_last && versions.len() < limit {
        which.limit = (limit - versions.len()).min(AT_ONCE);
        let mut found = read(&request, which.clone()).await?;
        is_last = found.len() < which.limit;
        which.below = found.last().map_or(which.below, |one| one.version);
        if let Some(key) = &which.of {
            for one in &mut found {
                one.changes.retain(|one| one.key == *key);
            }
        }
        versions.extend(
            found
                .into_iter()
                .map(|one| configured::version(one, change)),
        );
    }
    Ok(HttpResponse::Ok().json(Versions {
        next_before: Some(which.below).filter(|below| !is_last && *below > 1),
        versions,
    }))
}

/// One version: who, when, and what it changed.
#[utoipa::path(get, path = "/v1/config/versions/{version}", tag = "configuration",
    params(("version" = u64, Path),
        ("since" = Option<u64>, Query, description = "what is different from this version, instead of the one before")),
    responses((status = 200, body = Version), (status = 404)))]
pub(in crate::http) async fn one(request: ApiRequest, path: web::Path<String>) -> ApiAnswer {
    let query = Query::read(&request, &["since"])?;
    let number = numbered(&path)?;
    let since = query
        .number("since", "a version", |n| *n >= 1)?
        .unwrap_or(number.saturating_sub(1));
    let which = VersionQuery {
        after: number.saturating_sub(1),
        below: number.saturating_add(1),
        limit: 1,
        ..VersionQuery::ALL
    };
    let mut found = read(&request, which).await?.into_iter().next();
    let newest = VersionQuery {
        limit: 1,
        ..VersionQuery::ALL
    };
    let newest = read(&request, newest).await?;
    let newest = newest.first().map_or(0, |one| one.version);
    if let Some(one) = found.as_mut().filter(|_| since <= newest) {
        one.changes = between(&request, since, number).await?;
        return Ok(HttpResponse::Ok().json(configured::version(one.clone(), ResourceChange::new)));
    }
    let unknown = found.map_or(number, |_| since);
    Err(Problem::not_found(format!(
        "there is no version {unknown}; GET /v1/config/versions lists them"
    )))
}

/// What is different in version `to` from version `from`, whichever is the newer one.
async fn between(request: &ApiRequest, from: u64, to: u64) -> Result<Vec<ResourceUpdate>, Problem> {
    let (older, newer) = (from.min(to), from.max(to));
    if newer - older > MOST {
        let detail = format!("since must be at most {MOST} versions away from {to}, not {from}");
        return Err(Problem::bad_value("since", detail));
    }
    let mut changes = Vec::new();
    let mut below = newer.saturating_add(1);
    loop {
        let which = VersionQuery {
            after: older,
            below,
            limit: AT_ONCE,
            ..VersionQuery::ALL
        };
        let versions = read(request, which).await?;
        let bodies = versions.iter().rev().map(|one| one.changes.as_slice());
        // These are older than what was read before.
        changes = together(bodies.chain([changes.as_slice()]));
        match versions.last() {
            Some(last) if versions.len() == AT_ONCE => below = last.version,
            _ => break,
        }
    }
    Ok(if from <= to {
        changes
    } else {
        changes.into_iter().map(reversed).collect()
    })
}

/// Creates a new version with the content of an old one: all of it, or one resource.
#[utoipa::path(post, path = "/v1/config/rollback/{version}", tag = "configuration",
    params(
        ("version" = u64, Path),
        ("resource" = Option<String>, Query, description = "restores only this one, such as `routes/44`; without it, everything"),
        ("dry_run" = Option<bool>, Query, description = "only say what would change")),
    responses((status = 200, body = Changed), (status = 404), (status = 412), (status = 422)))]
pub(in crate::http) async fn rollback(request: ApiRequest, path: web::Path<String>) -> ApiAnswer {
    let query = Query::read(&request, &["dry_run", "resource"])?;
    let config_change = ConfigChange::Rollback {
        version: numbered(&path)?,
        only: resource(&query)?,
    };
    carry_out(&request, config_change, None, &query).await
}

/// The resource that a query names.
fn resource(query: &Query) -> Result<Option<ResourceKey>, Problem> {
    let key = query.text("resource").map(str::parse).transpose();
    key.map_err(|detail: String| Problem::bad_value("resource", detail))
}

async fn read(request: &ApiRequest, which: VersionQuery) -> Result<Vec<SettingsVersion>, Problem> {
    Ok(call(request, |admin| settings::versions(admin, which)).await??)
}

fn numbered(text: &str) -> Result<u64, Problem> {
    text.parse().map_err(|_| {
        let detail = format!("a version is a number, not {text:?}");
        Problem::bad_value("version", detail)
    })
}
