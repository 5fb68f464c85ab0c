//! Accounts, operators, routes, policy and the configuration as a whole, as the admin API shows them.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::gsm::GsmNetwork;
use smsc_config as config;
use smsc_domain::settings::{ResourceKey, ResourceUpdate};

/// Declares lists of resources, which come in pages.
macro_rules! resource_lists {
    ($($(#[$about:meta])+ $List:ident { $(#[$doc:meta])* $field:ident: $One:ident })+) => {$(
        $(#[$about])+
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
        pub struct $List {
            /// Of the whole configuration.
            pub version: u64,
            $(#[$doc])*
            pub $field: Vec<$One>,
            /// `after` of the next page; absent on the last one, and where no page was asked for.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub next_after: Option<String>,
            /// How many there are on all pages, where one was asked for.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub total: Option<u64>,
        }
    )+};
}

resource_lists! {
    /// `GET /v1/accounts`
    Accounts { accounts: Resource }

    /// `GET /v1/routes`
    Routes { routes: Resource }

    /// `GET /v1/lists`
    AddressLists { lists: Resource }

    /// `GET /v1/limits`
    Limits { limits: Resource }

    /// `GET /v1/number-ranges`
    NumberRanges { number_ranges: Resource }

    /// `GET /v1/event-sinks`
    EventSinks { event_sinks: Resource }

    /// `GET /v1/nats-sources`
    NatsSources { nats_sources: Resource }

    /// `GET /v1/policies`
    Policies {
        /// At most one.
        policies: Resource
    }

    /// `GET /v1/mo-rules`
    MoRules {
        /// In the order in which they are tried.
        mo_rules: Resource
    }

    /// `GET /v1/gsm`
    GsmNetworks {
        /// By name.
        gsm: GsmNetwork
    }
}

/// One account, route, list, limit, policy, MO rule or GSM network. `PUT` takes the same, or `settings` alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Resource {
    /// Of an account its system_id; of a route its name, or its conditions without one; of the policy
    /// `all`.
    pub name: String,
    /// The version of the configuration that last changed it; its ETag.
    pub version: u64,
    /// Every key of its table in the file, without secrets; what is not set is `null`.
    #[schema(value_type = Object)]
    pub settings: Value,
}

/// The rate of an account or operator.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// Messages per second; `null` for no limit.
    pub rate: Option<f64>,
    /// Messages at once; `null` for one second's worth.
    #[serde(default)]
    pub burst: Option<u32>,
}

/// `GET /v1/config`: everything as one document, which `PUT` takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Configuration {
    /// Its ETag.
    pub version: u64,
    /// The version that the node which answers works with.
    pub applied: u64,
    /// Why that is another one.
    pub trouble: Option<String>,
    /// That the store was made by the demo or from another file than this node's, of which accounts or operators are therefore
    /// not used, and the command that cures it; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unused_file: Option<String>,
    /// As in the file, every key, without secrets. A secret that is left out of a `PUT` stays.
    #[schema(value_type = Vec<Object>)]
    pub accounts: Vec<Value>,
    #[schema(value_type = Vec<Object>)]
    pub operators: Vec<Value>,
    #[schema(value_type = Vec<Object>)]
    pub routes: Vec<Value>,
    #[schema(value_type = Vec<Object>)]
    pub lists: Vec<Value>,
    #[schema(value_type = Vec<Object>)]
    pub limits: Vec<Value>,
    /// At most one.
    #[schema(value_type = Vec<Object>)]
    pub policies: Vec<Value>,
    /// A `PUT` without them removes them all.
    #[schema(value_type = Vec<Object>)]
    #[serde(default)]
    pub mo_rules: Vec<Value>,
    /// A `PUT` without them removes them all.
    #[schema(value_type = Vec<Object>)]
    #[serde(default)]
    pub gsm: Vec<Value>,
    /// A `PUT` without them removes them all.
    #[schema(value_type = Vec<Object>)]
    #[serde(default)]
    pub number_ranges: Vec<Value>,
    #[schema(value_type = Vec<Object>)]
    #[serde(default)]
    pub event_sinks: Vec<Value>,
    /// A `PUT` without them removes them all.
    #[schema(value_type = Vec<Object>)]
    #[serde(default)]
    pub nats_sources: Vec<Value>,
}

/// The answer to a change of the configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Changed {
    /// The version of the configuration now.
    pub version: u64,
    /// What was changed, or would be with `dry_run=true`.
    pub changes: Vec<ResourceChange>,
    /// What works but is probably not meant.
    pub warnings: Vec<Finding>,
    /// Where nothing was to be changed: keys of files with secrets that have another content, which is used from now on.
    #[serde(default)]
    pub secrets: Vec<String>,
}

/// What became of one resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ResourceChange {
    /// `accounts/test`, `operators/up`, `routes/44`, `lists/friends`, `limits/bulk`, `policies/all`,
    /// `mo_rules/info`, `gsm/home`, `number_ranges/home`, `event_sinks/billing`, `nats_sources/up`.
    pub resource: String,
    /// `added`, `changed` or `removed`.
    pub action: String,
    /// Key by key; secrets only by that they changed.
    pub fields: Vec<FieldChange>,
}

/// One key of a resource.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FieldChange {
    pub field: String,
    /// `null` when it was not set.
    pub before: Value,
    /// `null` when it is not set any more.
    pub after: Value,
}

/// One thing that is wrong or odd.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Finding {
    /// The key, below its resource when that is another one: `routes/44.to[0]`.
    pub field: String,
    /// What is wrong and what to write instead.
    pub message: String,
}

/// `GET /v1/config/diff`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Difference {
    /// Of the store.
    pub version: u64,
    /// The file of the node that answers; `null` for a node without one.
    pub file: Option<String>,
    /// False for a file without accounts, operators, routes and policy, which leaves them to the store.
    pub compared: bool,
    /// What `smsc apply` of that file would do.
    pub changes: Vec<ResourceChange>,
}

/// `GET /v1/config/versions`, the newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Versions {
    pub versions: Vec<Version>,
    /// `before` of the next page; null on the last one.
    #[serde(default)]
    pub next_before: Option<u64>,
}

/// One version of the configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Version {
    pub version: u64,
    pub at: Option<String>,
    /// Who changed it.
    pub who: String,
    /// In words.
    pub what: String,
    /// From the version before, or from that of `since`; in the list, without their fields unless `resource` asks
    /// for one.
    pub changes: Vec<ResourceChange>,
}

/// `GET /v1/routes/explain`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Explanation {
    /// As it is compared: without a leading plus.
    pub to: String,
    pub from: String,
    pub account: String,
    /// Who brings it, instead of an account; null for a message of an account.
    #[serde(default)]
    pub operator: Option<String>,
    /// Of the destination, as it was given or as this node knows it; null when it does not.
    #[serde(default)]
    pub network: Option<String>,
    /// What the number plan says of the destination; null without a number plan.
    #[serde(default)]
    pub number_plan: Option<Planned>,
    /// A message would wait for the look-up of its number.
    #[serde(default)]
    pub looked_up: bool,
    /// What is known about the IMSI of the destination, which is not shown; null when no target needs it.
    #[serde(default)]
    pub imsi: Option<ImsiState>,
    /// Whether there is such an account that may bind, or such an operator.
    pub account_is_known: bool,
    /// Routes that fit, the one that is used first.
    pub matching: Vec<Considered>,
    /// Routes for the destination that do not fit all the same.
    pub not_matching: Vec<Considered>,
    /// How many more routes there are.
    pub others: u64,
    /// Targets of the route that is used, in order of failover.
    pub targets: Vec<Target>,
    /// Where a message would go now; by weight when there is more than one. Empty without a route.
    pub goes_to: Vec<String>,
    /// The account that has this number as its address: mobile-originated messages go there.
    pub mobile_originated_to: Option<String>,
    /// The answer to submit_sm when no route fits.
    pub no_route_status: String,
}

/// The place of a number in the number plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Planned {
    /// `local`, `downstream`, `short_code` or `outside`.
    pub class: String,
    /// The name of its range; null for a number in none.
    pub range: Option<String>,
    /// Whether there is such a number. A message to one that does not exist is refused with ESME_RINVDSTADR.
    pub exists: bool,
}

/// What is known about the IMSI of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImsiState {
    Known,
    /// A message would wait for the look-up.
    LookedUp,
    /// Nobody has the number: a message ends UNDELIVERABLE.
    Unknown,
}

/// One route and what speaks for or against it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Considered {
    pub name: String,
    pub route: String,
    pub why: String,
}

/// One target of a route.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Target {
    /// From 1; the next step is for when nothing of this one is available.
    pub step: u64,
    pub target: String,
    pub weight: u32,
    /// Whether a message would be sent soon.
    pub available: bool,
    pub state: String,
    /// How likely the message goes here, in per cent.
    pub chance: f64,
}

// === conversions ===

impl ResourceChange {
    pub fn new(change: &ResourceUpdate) -> Self {
        Self {
            fields: config::fields(change)
                .into_iter()
                .map(|one| FieldChange {
                    field: one.field,
                    before: one.before,
                    after: one.after,
                })
                .collect(),
            ..Self::head(change)
        }
    }

    /// Without its fields.
    pub fn head(change: &ResourceUpdate) -> Self {
        Self {
            resource: change.key.to_string(),
            action: change.action().to_owned(),
            fields: Vec::new(),
        }
    }
}

/// What is wrong, by key.
pub fn findings(problems: &[config::ConfigProblem], own: Option<&ResourceKey>) -> Vec<Finding> {
    let prefix = own.map(|key| format!("{key}."));
    problems
        .iter()
        .map(|problem| Finding {
            field: prefix
                .as_deref()
                .and_then(|prefix| problem.key.strip_prefix(prefix))
                .unwrap_or(&problem.key)
                .to_owned(),
            message: problem.message.clone(),
        })
        .collect()
}
