//! What the operations on resources do, whatever their kind, and `/v1/routes/explain`.
//!
//! The paths are in [`super::resources`]. ETag, If-Match and If-None-Match: see [`super::tags`]. Who changed
//! what is in the history.

use actix_web::HttpResponse;
use serde_json::{Map, Value};

use super::call;
use super::tags::{condition, tagged};
use crate::actors::control::admin::settings::{self, ChangeSettings};
use crate::actors::control::settings::{ConfigChange, StoredSetting};
use crate::actors::routing::explain::ExplainRoute;
use crate::api::{Explanation, Rate, Resource};
use crate::domain::settings::{ResourceKey, ResourceKind, summary};
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::audit;
use crate::http::auth::who;
use crate::http::configured;
use crate::http::json;
use crate::http::key_order::ResourcePage;
use crate::http::name_page::NamedEntries;
use crate::http::problem::Problem;
use crate::http::query::Query;

/// Explains how a message would be routed: every step of the decision, with the current state of
/// the targets.
#[utoipa::path(get, path = "/v1/routes/explain", tag = "configuration",
    params(
        ("to" = String, Query, description = "destination"),
        ("from" = Option<String>, Query, description = "source address"),
        ("account" = Option<String>, Query, description = "system_id of the sender"),
        ("operator" = Option<String>, Query, description = "the operator that sends it, for a mobile-originated message; not together with account"),
        ("network" = Option<String>, Query, description = "network of the destination; without it, the one that this node knows")),
    responses((status = 200, body = Explanation), (status = 400)))]
pub(in crate::http) async fn explain(request: ApiRequest) -> ApiAnswer {
    let query = Query::read(&request, &["to", "from", "account", "operator", "network"])?;
    let Some(to) = query.text("to") else {
        let detail = "to is missing; write the destination, such as to=447700900123";
        return Err(Problem::bad_value("to", detail));
    };
    if query.text("account").is_some() && query.text("operator").is_some() {
        let detail =
            "operator is who brings a message instead of an account; leave one of them out";
        return Err(Problem::bad_value("operator", detail));
    }
    // A plus sign that was not percent-encoded arrives as a space.
    let question = ExplainRoute {
        to: to.trim().to_owned(),
        from: query.text("from").unwrap_or_default().trim().to_owned(),
        account: query.text("account").unwrap_or_default().to_owned(),
        operator: query.text("operator").unwrap_or_default().to_owned(),
        network: query.text("network").unwrap_or_default().to_owned(),
    };
    let explained = call(&request, |admin| settings::route(admin, question)).await?;
    Ok(HttpResponse::Ok().json(explained))
}

/// Every resource of a kind, or a page of them, with the version of the whole.
pub(super) async fn list(
    request: &ApiRequest,
    kind: ResourceKind,
) -> Result<(u64, NamedEntries<Resource>), Problem> {
    let query = Query::read(request, &["limit", "after", "find", "sort"])?;
    let wanted = ResourcePage::read(&query, kind)?;
    let stored = call(request, move |admin| settings::of_kind(admin, kind)).await??;
    let version = stored.version;
    if wanted.is_by_name() && kind != ResourceKind::MoRule {
        // What is on other pages is not written: with a thousand accounts that takes longest.
        let page = &wanted.page;
        let cut = page.cut(stored.settings, |one| one.key.name.as_str());
        let found = NamedEntries {
            entries: cut.entries.iter().map(configured::resource).collect(),
            next_after: cut.next_after,
            total: cut.total,
        };
        return Ok((version, found));
    }
    let all = stored.settings.iter().map(configured::resource);
    let mut list: Vec<Resource> = all.collect();
    if kind == ResourceKind::MoRule {
        // They are in the order of their names, which stays among equals.
        list.sort_by_key(|one| one.settings["order"].as_u64());
    }
    let found = wanted.cut(list, |one| (one.name.as_str(), &one.settings));
    Ok((version, found))
}

/// As [`stored`], for a request without a query.
async fn find(request: &ApiRequest, key: &ResourceKey) -> Result<StoredSetting, Problem> {
    Query::read(request, &[])?;
    stored(request, key).await
}

/// One resource as the store has it, or an answer that there is none.
pub(super) async fn stored(
    request: &ApiRequest,
    key: &ResourceKey,
) -> Result<StoredSetting, Problem> {
    let kind = key.kind;
    let of_kind = call(request, move |admin| settings::of_kind(admin, kind)).await??;
    let found = of_kind.get(key).cloned();
    found.ok_or_else(|| Problem::no_such(key.kind.as_str(), &key.name, key.kind.path()))
}

pub(super) async fn one(request: &ApiRequest, key: ResourceKey) -> ApiAnswer {
    let setting = find(request, &key).await?;
    Ok(tagged(HttpResponse::Ok(), setting.version).json(configured::resource(&setting)))
}

pub(super) async fn rate(request: &ApiRequest, key: ResourceKey) -> ApiAnswer {
    let setting = find(request, &key).await?;
    let settings = configured::resource(&setting).settings;
    let rate = Rate {
        rate: settings["rate"].as_f64(),
        burst: settings["burst"]
            .as_u64()
            .and_then(|one| one.try_into().ok()),
    };
    Ok(tagged(HttpResponse::Ok(), setting.version).json(rate))
}

pub(super) async fn put(request: &ApiRequest, key: ResourceKey, body: &[u8]) -> ApiAnswer {
    let config_change = ConfigChange::Put {
        key: key.clone(),
        given: given_settings(body)?,
    };
    change(request, config_change, Some(&key)).await
}

/// The settings in a body: it is them, or what GET gives, which has them below and the state beside them.
pub(super) fn given_settings(body: &[u8]) -> Result<Value, Problem> {
    let mut given = json::object(body)?;
    Ok(match given.remove("settings") {
        Some(settings @ Value::Object(_)) => settings,
        _ => Value::Object(given),
    })
}

pub(super) async fn put_rate(request: &ApiRequest, key: ResourceKey, body: &[u8]) -> ApiAnswer {
    let rate: Rate = json::of(body)?;
    let given = Map::from_iter([
        ("rate".to_owned(), serde_json::json!(rate.rate)),
        ("burst".to_owned(), serde_json::json!(rate.burst)),
    ]);
    let config_change = ConfigChange::Merge {
        key: key.clone(),
        given,
    };
    change(request, config_change, Some(&key)).await
}

pub(super) async fn delete(request: &ApiRequest, key: ResourceKey) -> ApiAnswer {
    change(request, ConfigChange::Delete(key.clone()), Some(&key)).await
}

/// Carries a configuration change out and returns its result.
pub(super) async fn change(
    request: &ApiRequest,
    config_change: ConfigChange,
    own: Option<&ResourceKey>,
) -> ApiAnswer {
    let query = Query::read(request, &["dry_run"])?;
    carry_out(request, config_change, own, &query).await
}

/// Changes the configuration as asked; the query was read already.
pub(super) async fn carry_out(
    request: &ApiRequest,
    config_change: ConfigChange,
    own: Option<&ResourceKey>,
    query: &Query,
) -> ApiAnswer {
    let question = ChangeSettings {
        config_change,
        condition: condition(request)?,
        dry_run: query.flag("dry_run")?,
        by: who(request),
    };
    let dry_run = question.dry_run;
    if dry_run {
        audit::is_dry_run(request);
    }
    let changed = call(request, |admin| settings::change(admin, question))
        .await?
        .map_err(|error| Problem::settings(error, own))?;
    let is_new = own.is_some_and(|own| {
        let mut changes = changed.changes.iter();
        changes.any(|change| change.key == *own && change.before.is_none())
    });
    let answer = if is_new && !dry_run {
        HttpResponse::Created()
    } else {
        HttpResponse::Ok()
    };
    if !dry_run {
        let version = if changed.changes.is_empty() {
            0
        } else {
            changed.version
        };
        audit::changed(request, summary(&changed.changes), version);
    }
    let tag = changed.tag;
    Ok(tagged(answer, tag).json(configured::changed(changed, own)))
}
