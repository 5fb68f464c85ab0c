//! The configuration of the store, and explanations of routes, as the admin API shows them: from what
//! actors answer to the JSON of [`crate::api`].

use serde_json::Value;

use crate::actors::control::settings as live;
use crate::actors::routing::{explain, explain_mo};
use crate::api::{
    AskedRule, Changed, Configuration, Considered, Difference, Explanation, ImsiState,
    MoExplanation, Planned, Resource, ResourceChange, Target, Version, findings, time,
};
use crate::config;
use crate::domain::settings::{ResourceKey, ResourceKind, ResourceUpdate};

/// One resource.
pub(super) fn resource(setting: &live::StoredSetting) -> Resource {
    Resource {
        name: setting.key.name.clone(),
        version: setting.version,
        settings: config::shown(setting.key.kind, &setting.body),
    }
}

/// All resources, and how far this node is.
pub(super) fn configuration(
    settings: &live::StoredSettings,
    applied: u64,
    trouble: Option<String>,
) -> Configuration {
    let of = |kind: ResourceKind| {
        let of_kind = settings.settings.iter().filter(|one| one.key.kind == kind);
        of_kind
            .map(|one| config::shown(kind, &one.body))
            .collect::<Vec<Value>>()
    };
    Configuration {
        version: settings.version,
        applied,
        trouble,
        unused_file: None,
        accounts: of(ResourceKind::Account),
        operators: of(ResourceKind::Operator),
        routes: of(ResourceKind::Route),
        lists: of(ResourceKind::List),
        limits: of(ResourceKind::Limit),
        policies: of(ResourceKind::Policy),
        mo_rules: of(ResourceKind::MoRule),
        gsm: of(ResourceKind::Gsm),
        number_ranges: of(ResourceKind::NumberRange),
        event_sinks: of(ResourceKind::EventSink),
        nats_sources: of(ResourceKind::NatsSource),
    }
}

/// `own`: the requested resource, whose keys are named without it.
pub(super) fn changed(changed: live::ConfigChangeResult, own: Option<&ResourceKey>) -> Changed {
    Changed {
        version: changed.version,
        changes: changed.changes.iter().map(ResourceChange::new).collect(),
        warnings: findings(&changed.warnings, own),
        secrets: changed.secrets,
    }
}

/// A version, with its changes as `change` shows each.
pub(super) fn version(
    version: live::SettingsVersion,
    change: fn(&ResourceUpdate) -> ResourceChange,
) -> Version {
    Version {
        version: version.version,
        at: time(version.at),
        who: version.who,
        what: version.what,
        changes: version.changes.iter().map(change).collect(),
    }
}

impl From<live::Comparison> for Difference {
    fn from(comparison: live::Comparison) -> Self {
        Self {
            version: comparison.version,
            file: comparison.file,
            compared: comparison.compared,
            changes: comparison.changes.iter().map(ResourceChange::new).collect(),
        }
    }
}

impl From<explain::RouteExplanation> for Explanation {
    fn from(from: explain::RouteExplanation) -> Self {
        let considered = |list: Vec<explain::ConsideredRoute>| {
            list.into_iter()
                .map(|one| Considered {
                    name: one.key,
                    route: one.route,
                    why: one.why,
                })
                .collect::<Vec<_>>()
        };
        Self {
            goes_to: match &from.mobile_originated_to {
                _ if from
                    .number_plan
                    .as_ref()
                    .is_some_and(|planned| !planned.exists) =>
                {
                    Vec::new()
                }
                Some(account) if !from.operator.is_empty() => vec![account.clone()],
                _ => from
                    .targets
                    .iter()
                    .filter(|target| target.chance > 0.0)
                    .map(|target| target.target.clone())
                    .collect(),
            },
            to: from.to,
            from: from.from,
            account: from.account,
            operator: Some(from.operator).filter(|operator| !operator.is_empty()),
            network: Some(from.network).filter(|network| !network.is_empty()),
            number_plan: from.number_plan.map(|planned| Planned {
                class: planned.class.to_owned(),
                range: Some(planned.range).filter(|range| !range.is_empty()),
                exists: planned.exists,
            }),
            looked_up: from.looked_up,
            imsi: from.imsi.map(|state| match state {
                explain::ImsiKnowledge::Known => ImsiState::Known,
                explain::ImsiKnowledge::LookedUp => ImsiState::LookedUp,
                explain::ImsiKnowledge::Unknown => ImsiState::Unknown,
            }),
            account_is_known: from.account_is_known,
            matching: considered(from.matching),
            not_matching: considered(from.not_matching),
            others: from.others as u64,
            targets: from
                .targets
                .into_iter()
                .map(|target| Target {
                    step: target.step as u64,
                    target: target.target,
                    weight: target.weight,
                    available: target.available,
                    state: target.state,
                    chance: target.chance,
                })
                .collect(),
            mobile_originated_to: from.mobile_originated_to,
            no_route_status: smsc_domain::command_status::name(from.no_route_status)
                .map_or_else(|| format!("{:#x}", from.no_route_status), str::to_owned),
        }
    }
}

impl From<explain_mo::MoRuleExplanation> for MoExplanation {
    fn from(from: explain_mo::MoRuleExplanation) -> Self {
        let asked = from.asked.into_iter().map(|one| AskedRule {
            name: one.name,
            order: one.order,
            rule: one.rule,
            why: one.why,
        });
        Self {
            to: from.to,
            from: from.from,
            operator: from.operator,
            operator_is_known: from.operator_is_known,
            keyword: from.keyword,
            owner: from.owner,
            is_opt_out: from.is_opt_out,
            rule: from.rule,
            outcome: from.outcome,
            asked: asked.collect(),
            others: from.others as u64,
            otherwise: from.otherwise.map(Explanation::from),
        }
    }
}
