//! What resources of the configuration may contain, as the admin API shows it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use smsc_config::resource_schema;
use smsc_domain::settings::ResourceKind;

/// `GET /v1/config/schema`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ConfigSchema {
    /// Every kind of resource.
    pub kinds: Vec<KindSchema>,
}

/// One kind of resource: its keys with types, defaults, words and the sentence of docs/configuration.md.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct KindSchema {
    /// The name of its table in the file: `account`.
    pub kind: String,
    /// The name of the list of all, and what stands before the name in the history: `accounts`.
    pub plural: String,
    /// Where it is in this API: `/v1/accounts`; one of them is below its name.
    pub path: String,
    /// The key with its name, which is also in the path; null for the policy, which is called `all`.
    pub name_field: Option<String>,
    /// Every key in the order of a form; those of the first group are set by everybody.
    pub groups: Vec<FieldGroup>,
    /// JSON Schema (draft 2020-12) of its settings, where keys with `null` count as absent. `x-required` names keys
    /// that are asked first, `x-refers-to` the kinds whose names a key holds, `x-order` the order of the keys of a
    /// table. Secrets are `writeOnly`: they are never shown, and stay when they are left out.
    #[schema(value_type = Object)]
    pub schema: Value,
}

/// Keys that belong together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldGroup {
    pub title: String,
    pub fields: Vec<String>,
}

// === impl ConfigSchema ===

impl ConfigSchema {
    /// That of this build.
    pub fn new() -> Self {
        Self {
            kinds: ResourceKind::ALL.into_iter().map(KindSchema::of).collect(),
        }
    }
}

impl Default for ConfigSchema {
    fn default() -> Self {
        Self::new()
    }
}

// === impl KindSchema ===

impl KindSchema {
    fn of(kind: ResourceKind) -> Self {
        let found = resource_schema(kind);
        Self {
            kind: kind.as_str().to_owned(),
            plural: kind.plural().to_owned(),
            path: format!("/v1/{}", kind.path()),
            name_field: found.name_field.map(str::to_owned),
            groups: found
                .groups
                .into_iter()
                .map(|group| FieldGroup {
                    title: group.title.to_owned(),
                    fields: group.fields,
                })
                .collect(),
            schema: found.schema,
        }
    }
}
