//! A resource as text that people write: `key=value` on a command line, and its table of the file in an editor.
//!
//! Called by `smsc account`, `smsc operator` and `smsc route`. What a key means is in the reference, so a value is
//! read as its type: `password=12345` is a text, `window=50` a number. What the reference does not know is left to
//! the server, which may be of a newer release.

use figment::providers::{Format as _, Toml};
use figment::value::Value;
use figment::{Figment, Provider as _};
use serde_json::{Map, Value as Json};

use super::reference::reference;
use super::setting::{EntryShape, ReferenceEntry};
use super::source::without_excerpt;
use smsc_domain::settings::ResourceKind;

/// What stands in an editor above the keys.
const HEAD: &str = "# Remove the # before a key to set it. Lines that begin with # are ignored.\n";

/// The value that was written for a key, as JSON.
///
/// # Errors
/// It is a list or a table, and no TOML.
pub fn typed(kind: ResourceKind, key: &str, text: &str) -> Result<Json, String> {
    let entry = entries(kind).into_iter().find(|(name, _)| name == key);
    let Some((_, entry)) = entry else {
        return Ok(toml_value(text).unwrap_or_else(|_| text.into()));
    };
    match entry.shape {
        EntryShape::Value => of_kind(&entry.kind, text),
        EntryShape::Table | EntryShape::Tables => toml_value(text),
    }
}

/// Whether a key has the value that it has without being set.
pub fn is_default(kind: ResourceKind, key: &str, value: &Json) -> bool {
    let is_nothing = match value {
        Json::Null => true,
        Json::String(text) => text.is_empty(),
        Json::Array(list) => list.is_empty(),
        Json::Object(map) => map.is_empty(),
        Json::Bool(_) | Json::Number(_) => false,
    };
    let default = || {
        let entry = entries(kind).into_iter().find(|(name, _)| name == key);
        entry.and_then(|(_, entry)| toml_value(&entry.default).ok())
    };
    is_nothing || default().as_ref() == Some(value)
}

/// The table of a resource with every key, its meaning beside it: set ones as they are, others as comments.
pub fn page(kind: ResourceKind, settings: &Json) -> String {
    let mut text = HEAD.to_owned();
    for (key, entry) in entries(kind) {
        // What is below is written in one line with its table.
        if key.contains(['.', '[']) {
            continue;
        }
        text.push_str(&format!("\n# {} ({})\n", entry.doc, entry.kind));
        let value = settings.get(&key).unwrap_or(&Json::Null);
        let set = if is_default(kind, &key, value) {
            None
        } else {
            toml(value)
        };
        text.push_str(&match set {
            Some(value) => format!("{key} = {value}\n"),
            None => format!("# {key} = {}\n", entry.default),
        });
    }
    text
}

/// The keys of a table of the file, or of a JSON object. Where it is the file with one such resource, that one.
///
/// # Errors
/// It is neither.
pub fn read_page(kind: ResourceKind, text: &str) -> Result<Map<String, Json>, String> {
    let json = if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(|error| format!("is no JSON: {error}"))?
    } else {
        toml_json(text)?
    };
    let Json::Object(mut map) = json else {
        return Err("is no table".to_owned());
    };
    // What `GET` answers.
    if let Some(Json::Object(settings)) = map.remove("settings") {
        return Ok(settings);
    }
    match map.get_mut(kind.as_str()) {
        Some(Json::Array(all)) => match all.as_mut_slice() {
            [Json::Object(one)] => Ok(std::mem::take(one)),
            all => Err(format!(
                "has {} of [[{}]]: one is needed",
                all.len(),
                kind.as_str()
            )),
        },
        _ => Ok(map),
    }
}

/// The keys of a kind without its name, in the order of the reference: `window`, `retry.delays`.
fn entries(kind: ResourceKind) -> Vec<(String, ReferenceEntry)> {
    let head = format!("{}[].", kind.as_str());
    let own = reference().into_iter().filter_map(|entry| {
        let key = entry.key.strip_prefix(&head)?.to_owned();
        Some((key, entry))
    });
    own.collect()
}

fn of_kind(kind: &str, text: &str) -> Result<Json, String> {
    if let Some(element) = kind.strip_prefix("list: ") {
        let trimmed = text.trim();
        if trimmed.starts_with('[') {
            return toml_value(trimmed);
        }
        let parts = trimmed
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty());
        return parts.map(|part| of_kind(element, part)).collect();
    }
    if kind.starts_with("table") || text.trim_start().starts_with('{') && kind.contains("table") {
        return toml_value(text);
    }
    let is_plain = kind.contains("number") && !kind.contains("name") || kind == "true or false";
    let plain = || {
        serde_json::from_str(text.trim())
            .ok()
            .filter(|json: &Json| !json.is_object())
    };
    Ok(is_plain
        .then(plain)
        .flatten()
        .unwrap_or_else(|| text.into()))
}

/// One value as TOML has it.
fn toml_value(text: &str) -> Result<Json, String> {
    let json = toml_json(&format!("value = {text}"))?;
    json.get("value")
        .cloned()
        .ok_or_else(|| "is no value".to_owned())
}

fn toml_json(text: &str) -> Result<Json, String> {
    let said =
        |error: figment::Error| format!("is no TOML: {}", without_excerpt(&error.to_string()));
    let data = Toml::string(text).data().map_err(said)?;
    let dict = data.into_values().next().unwrap_or_default();
    let read = Figment::new().merge(("value", Value::from(dict)));
    read.extract_inner("value").map_err(said)
}

/// JSON as TOML, in one line; `None` for nothing.
pub(super) fn toml(value: &Json) -> Option<String> {
    Some(match value {
        Json::Null => return None,
        // JSON's escapes are TOML's, but for this one.
        Json::String(_) => value.to_string().replace('\u{7f}', "\\u007f"),
        Json::Array(list) => {
            let all: Vec<String> = list.iter().filter_map(toml).collect();
            format!("[{}]", all.join(", "))
        }
        Json::Object(map) => {
            let all: Vec<String> = map
                .iter()
                .filter_map(|(key, value)| {
                    let key = Json::from(key.as_str()).to_string();
                    Some(format!("{key} = {}", toml(value)?))
                })
                .collect();
            format!("{{ {} }}", all.join(", "))
        }
        Json::Bool(_) | Json::Number(_) => value.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_has_the_type_of_its_key() {
        for (kind, key, text, json) in [
            (ResourceKind::Account, "password", "12345", json!("12345")),
            (ResourceKind::Account, "window", "50", json!(50)),
            (ResourceKind::Account, "rate", "0.5", json!(0.5)),
            (ResourceKind::Account, "prepaid", "true", json!(true)),
            (
                ResourceKind::Account,
                "addresses",
                "12345, 4477*",
                json!(["12345", "4477*"]),
            ),
            (ResourceKind::Account, "addresses", "", json!([])),
            (
                ResourceKind::Account,
                "prices",
                "{ default = 1 }",
                json!({"default": 1}),
            ),
            (
                ResourceKind::Account,
                "callback_retry_for",
                "1h",
                json!("1h"),
            ),
            (ResourceKind::Operator, "binds", "2", json!(2)),
            (
                ResourceKind::Operator,
                "reconnect",
                "1s,2s",
                json!(["1s", "2s"]),
            ),
            (ResourceKind::Operator, "retry.max_attempts", "3", json!(3)),
            (
                ResourceKind::Route,
                "to",
                "up,backup",
                json!(["up", "backup"]),
            ),
            (
                ResourceKind::Route,
                "to",
                "[{ a = 70, b = 30 }]",
                json!([{"a": 70, "b": 30}]),
            ),
            (ResourceKind::Route, "prefix", "44", json!("44")),
            // Of the wrong type, or of a newer release: the server says so.
            (ResourceKind::Account, "window", "many", json!("many")),
            (ResourceKind::Account, "unheard_of", "3", json!(3)),
            (ResourceKind::Account, "unheard_of", "a b", json!("a b")),
        ] {
            assert_eq!(typed(kind, key, text), Ok(json), "{key}={text}");
        }
        assert!(typed(ResourceKind::Account, "prices", "{ default").is_err());
    }

    #[test]
    fn what_stands_in_an_editor_is_read_again() {
        let settings = json!({
            "system_id": "shop", "password": "a\"b\\\u{7f}ü", "window": 10, "rate": 50.5, "addresses": ["1", "2"],
            "prices": {"default": 1, "4477": 2}, "callback_url": null,
        });
        let text = page(ResourceKind::Account, &settings);
        assert!(
            text.contains("\nrate = 50.5\n") && text.contains("\n# window = 10\n"),
            "{text}"
        );
        let mut expected = settings.as_object().unwrap().clone();
        // It is the default, and nothing.
        expected.remove("window");
        expected.remove("callback_url");
        assert_eq!(read_page(ResourceKind::Account, &text), Ok(expected));
    }

    #[test]
    fn a_file_may_be_json_or_the_configuration_itself() {
        let wanted = json!({"rate": 5}).as_object().unwrap().clone();
        for text in [
            "rate = 5",
            "{\"rate\": 5}",
            "{\"settings\": {\"rate\": 5}}",
            "[[account]]\nrate = 5",
        ] {
            assert_eq!(
                read_page(ResourceKind::Account, text).as_ref(),
                Ok(&wanted),
                "{text}"
            );
        }
        let two = read_page(ResourceKind::Account, "[[account]]\n[[account]]").unwrap_err();
        assert_eq!(two, "has 2 of [[account]]: one is needed");
        assert!(
            read_page(ResourceKind::Account, "rate = ")
                .unwrap_err()
                .contains("TOML")
        );
        assert!(
            read_page(ResourceKind::Account, "{")
                .unwrap_err()
                .contains("JSON")
        );
    }
}
