//! The configuration of the store as the admin API shows it: from what actors answer to the JSON of [`crate::api`].

use serde_json::Value;

use crate::actors::control::settings as live;
use crate::api::{Changed, Configuration, Resource, ResourceChange, Version, findings, time};
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
