//! The resources as JSON Schema (draft 2020-12), for programs that make forms and check what they send.
//!
//! Made from the declarations that read files and bodies, so that keys, types, defaults and words are the
//! same. JSON Schema keeps no order of properties: it is in the groups of a kind, and in `x-order` of a table
//! in a table. Called by the admin API. What only a whole configuration can tell (an account that a route
//! names) is not in it: that is what a dry run is for.

mod groups;

use serde_json::{Map, Value as Json, json};

use super::resource::{ConfiguredResource as _, for_kind};
use super::setting::Setting;
use smsc_domain::settings::ResourceKind;

/// A resource: its keys, what they may be and what they mean.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourceSchema {
    /// The key that is its name, which is also in its path; `None` for the policy, of which there is one.
    pub name_field: Option<&'static str>,
    /// Every key, in the order in which a form shows them; what is asked first is in the first group.
    pub groups: Vec<SchemaGroup>,
    /// JSON Schema of the settings; a key that is `null` counts as absent.
    pub schema: Json,
}

/// Keys that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaGroup {
    pub title: &'static str,
    pub fields: Vec<String>,
}

/// One key of a table.
pub(super) struct SchemaField {
    pub name: &'static str,
    pub schema: Json,
    pub doc: String,
    pub required: bool,
}

/// What `[[account]]`, `[[operator]]`, … take.
pub fn resource_schema(kind: ResourceKind) -> ResourceSchema {
    let mut schema = for_kind!(kind, One => One::schema());
    for (field, kinds) in groups::references(kind) {
        let names: Vec<&str> = kinds.iter().map(|kind| kind.plural()).collect();
        schema["properties"][*field]["x-refers-to"] = json!(names);
    }
    for field in groups::long_texts(kind) {
        schema["properties"][*field]["x-multiline"] = json!(true);
    }
    let order = schema.as_object_mut().and_then(|one| one.remove("x-order"));
    ResourceSchema {
        name_field: for_kind!(kind, One => One::NAME_FIELD),
        groups: grouped(kind, &order.unwrap_or_default()),
        schema,
    }
}

/// The groups of a kind; keys that no group names come last, so that none is missing.
fn grouped(kind: ResourceKind, order: &Json) -> Vec<SchemaGroup> {
    let group = |title, fields: Vec<&str>| SchemaGroup {
        title,
        fields: fields.into_iter().map(str::to_owned).collect(),
    };
    let lines = groups::groups(kind).iter();
    let titled = lines.filter_map(|line| line.split_once(": "));
    let mut all: Vec<SchemaGroup> = titled
        .map(|(title, fields)| group(title, fields.split(' ').collect()))
        .collect();
    let is_left = |name: &&str| {
        !all.iter()
            .any(|one| one.fields.iter().any(|key| key == name))
    };
    let order = order.as_array().into_iter().flatten();
    let left: Vec<&str> = order.filter_map(Json::as_str).filter(is_left).collect();
    if !left.is_empty() {
        all.push(group("More", left));
    }
    all
}

/// JSON Schema of a table, from its keys and its defaults.
pub(super) fn table(doc: &str, fields: Vec<SchemaField>, default: Option<Json>) -> Json {
    let order: Vec<&str> = fields.iter().map(|field| field.name).collect();
    let required = fields.iter().filter(|field| field.required);
    let required: Vec<&str> = required.map(|field| field.name).collect();
    let properties: Map<String, Json> = fields
        .into_iter()
        .map(|field| {
            let mut schema = field.schema;
            schema["description"] = Json::from(field.doc);
            let default = default.as_ref().and_then(|table| table.get(field.name));
            if let Some(default) = default.filter(|one| !one.is_null() && !field.required) {
                schema["default"] = default.clone();
            }
            (field.name.to_owned(), schema)
        })
        .collect();
    json!({
        "type": "object",
        "description": doc,
        "properties": properties,
        "additionalProperties": false,
        // Asked first. Not `required`: a password may be in a file, and one that is left out stays.
        "x-required": required,
        "x-order": order,
    })
}

/// JSON Schema of a choice between words, each with what it means.
pub(super) fn choice(words: &[(&str, String)]) -> Json {
    let words: Vec<Json> = words
        .iter()
        .map(|(word, doc)| json!({ "const": word, "description": doc }))
        .collect();
    json!({ "type": "string", "oneOf": words })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::shown;

    #[test]
    fn every_key_is_in_one_group_and_no_group_names_another() {
        for kind in ResourceKind::ALL {
            let found = resource_schema(kind);
            let keys = found.schema["properties"].as_object().unwrap();
            let keys: BTreeSet<&str> = keys.keys().map(String::as_str).collect();
            let all = found.groups.iter().flat_map(|group| &group.fields);
            let named: Vec<&str> = all.map(String::as_str).collect();
            let once: BTreeSet<&str> = named.iter().copied().collect();
            assert_eq!(
                once.len(),
                named.len(),
                "{kind:?} has a key twice: {named:?}"
            );
            assert_eq!(once, keys, "{kind:?}");
            // What GET shows has the same keys, but for secrets.
            for key in shown(kind, "{}").as_object().unwrap().keys() {
                assert!(keys.contains(key.as_str()), "{kind:?} {key}");
            }
            if let Some(name) = found.name_field {
                assert!(
                    found.groups[0].fields.iter().any(|one| one == name),
                    "{kind:?}"
                );
            }
            for required in found.schema["x-required"].as_array().unwrap() {
                let first = &found.groups[0].fields;
                assert!(
                    first.iter().any(|one| one == required),
                    "{kind:?} {required}"
                );
            }
        }
    }

    #[test]
    fn a_key_has_its_type_default_words_and_sentence() {
        let account = resource_schema(ResourceKind::Account).schema;
        let keys = &account["properties"];
        assert_eq!(keys["max_binds"]["default"], 10);
        assert_eq!(keys["max_binds"]["type"], "integer");
        assert_eq!(keys["max_binds"]["minimum"], 1);
        assert_eq!(keys["window"]["maximum"], 65_535);
        let max_binds = keys["max_binds"]["description"].as_str().unwrap();
        assert!(max_binds.ends_with(" At least 1."), "{max_binds}");
        assert_eq!(keys["password"]["writeOnly"], true);
        assert!(keys["password"]["default"].is_null());
        assert!(keys["system_id"]["default"].is_null());
        let full = &keys["on_full"];
        assert_eq!(full["default"], "refuse");
        assert_eq!(full["oneOf"][0]["const"], "refuse");
        assert!(
            full["oneOf"][0]["description"]
                .as_str()
                .unwrap()
                .contains("ESME_RALYBND")
        );
        assert_eq!(keys["addresses"]["items"]["type"], "string");
        assert_eq!(
            keys["rewrite_in"]["items"]["properties"]["strip"]["default"],
            0
        );
        assert_eq!(keys["prices"]["additionalProperties"]["type"], "integer");
        let route = resource_schema(ResourceKind::Route).schema;
        assert_eq!(
            route["properties"]["account"]["x-refers-to"],
            json!(["accounts"])
        );
    }
}
