//! `/v1/find`: what has a name that is like a word: the box of the console.

use std::sync::LazyLock;

use actix_web::HttpResponse;

use super::call;
use crate::actors::control::admin::settings;
use crate::api::{ConfigSchema, FoundName, FoundNames};
use crate::domain::error_meaning;
use crate::domain::settings::{ResourceKey, ResourceKind};
use crate::http::api_request::{ApiAnswer, ApiRequest};
use crate::http::name_page::{LONGEST, NamePattern};
use crate::http::problem::Problem;
use crate::http::query::Query;
use crate::manual;

/// Of each kind, unless the query says otherwise.
const USUAL: usize = 5;
/// Most of each kind.
const MOST: usize = 20;

/// A key of a resource: `accounts.max_binds`, and its sentence.
type KeyWords = (String, String);

/// The keys of all resources.
static KEYS: LazyLock<Vec<KeyWords>> = LazyLock::new(|| {
    let mut keys = Vec::new();
    for kind in ConfigSchema::new().kinds {
        let properties = kind.schema["properties"].as_object();
        for (key, schema) in properties.into_iter().flatten() {
            let said = schema["description"].as_str().unwrap_or_default();
            keys.push((format!("{}.{key}", kind.plural), said.to_owned()));
        }
    }
    keys
});

/// What has a name like a word: accounts, operators and other resources, errors, keys of the configuration, and sections of
/// the manual.
///
/// Upper and lower case are the same. Several words must all be in a name; one with `*` is the whole name, such as `shop*`.
/// The name that is the text comes first, then those that begin with it.
#[utoipa::path(get, path = "/v1/find", tag = "about",
    params(
        ("text" = String, Query, max_length = 256, description = "A part of a name, or several"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 20, description = "Most of each kind; 5 without it")),
    responses((status = 200, description = "By kind", body = FoundNames)))]
pub(super) async fn list(request: ApiRequest) -> ApiAnswer {
    let query = Query::read(&request, &["text", "limit"])?;
    let text = query.text("text").unwrap_or_default().trim();
    if text.is_empty() || text.chars().count() > LONGEST {
        let detail = format!("text must be 1 to {LONGEST} characters");
        return Err(Problem::bad_value("text", detail));
    }
    let range = format!("a number from 1 to {MOST}");
    let limit = query.number("limit", &range, |count: &usize| (1..=MOST).contains(count))?;
    let names = call(&request, settings::names).await??;
    let found = found(text, limit.unwrap_or(USUAL), &names);
    Ok(HttpResponse::Ok().json(FoundNames { found }))
}

/// The best ones of each kind.
fn found(text: &str, limit: usize, names: &[ResourceKey]) -> Vec<FoundName> {
    let pattern = NamePattern::new(text);
    let fits = |name: &str| pattern.fits(name, String::new);
    let mut all = Vec::new();
    // In the order of their kinds: accounts and operators come first.
    for kind in ResourceKind::ALL {
        let of_kind = names.iter().filter(|key| key.kind == kind);
        let names = of_kind
            .map(|key| key.name.as_str())
            .filter(|name| fits(name));
        let entry = |name: &str| entry(kind.plural(), name, "", None);
        all.extend(best(text, names.map(entry), limit));
    }
    let errors = error_meaning::named_like(text);
    let errors = errors.map(|one| entry("error", one.name, one.meaning, None));
    all.extend(best(text, errors, limit));
    let keys = KEYS.iter().filter(|(key, _)| fits(key));
    let keys = keys.map(|(key, said)| entry("key", key, said, None));
    all.extend(best(text, keys, limit));
    // These are in order already.
    let sections = manual::search(text).into_iter().take(limit);
    all.extend(sections.map(|hit| {
        let page = format!("{}#{}", hit.page.name, hit.section.anchor);
        let name = &hit.section.title;
        entry("manual", name, &hit.page.title, Some(page))
    }));
    all
}

fn entry(kind: &str, name: &str, text: &str, page: Option<String>) -> FoundName {
    FoundName {
        kind: kind.to_owned(),
        name: name.to_owned(),
        text: text.to_owned(),
        page,
    }
}

/// The one that is the text, those that begin with it, then the others.
fn best(text: &str, entries: impl Iterator<Item = FoundName>, limit: usize) -> Vec<FoundName> {
    let lower = text.to_lowercase();
    let mut all: Vec<FoundName> = entries.collect();
    all.sort_by_cached_key(|one| {
        let name = one.name.to_lowercase();
        let is_begin = name.starts_with(&lower);
        (one.name != text, name != lower, !is_begin)
    });
    all.truncate(limit);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str, kind: &str) -> Vec<String> {
        let found = found(text, 3, &[]);
        let of_kind = found.into_iter().filter(|one| one.kind == kind);
        of_kind.map(|one| one.name).collect()
    }

    #[test]
    fn errors_keys_and_the_manual_are_found_by_a_word() {
        assert_eq!(names("throttled", "error"), ["ESME_RTHROTTLED"]);
        assert_eq!(names("max_binds", "key"), ["accounts.max_binds"]);
        assert_eq!(names("ESME", "error").len(), 3, "no more than asked for");
        assert!(!names("backup", "manual").is_empty());
        assert!(names("no such word anywhere", "error").is_empty());
    }

    #[test]
    fn what_begins_so_comes_first() {
        let all = ["a-shop", "shop", "shop2"].map(|name| entry("accounts", name, "", None));
        let all = best("SHOP", all.into_iter(), 2);
        let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["shop", "shop2"]);
        let all = ["SHOP1", "SHOP", "shop", "shop1"].map(|name| entry("accounts", name, "", None));
        let all = best("shop", all.into_iter(), 3);
        let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(
            names,
            ["shop", "SHOP", "SHOP1"],
            "not behind others that begin so"
        );
    }
}
