//! Checks of `[compat.smpp_connector]`, and of what an operator with `managed = true` must not have.

use super::Findings;
use crate::{Config, OperatorConfig, OperatorProtocol};
use secrecy::ExposeSecret as _;

pub(super) fn check_compat(config: &Config, found: &mut Findings) {
    let compat = &config.compat.smpp_connector;
    let key = |name: &str| format!("compat.smpp_connector.{name}");
    let url = compat.management_url.as_deref();
    // It may hold a password by mistake, so no message repeats any of it.
    let host = url.map(|url| {
        let rest = ["http://", "https://"]
            .iter()
            .find_map(|scheme| url.strip_prefix(scheme));
        rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or_default())
    });
    match host {
        None => {}
        Some(None | Some("")) => found.problem(
            key("management_url"),
            "is no URL; write \"https://operators.example:3000\"",
        ),
        Some(Some(host)) if host.contains('@') => found.problem(
            key("management_url"),
            "must hold no user; log in with management_token or management_cert",
        ),
        Some(Some(_)) if url.is_some_and(|url| url.contains(['?', '#'])) => found.problem(
            key("management_url"),
            "must end before any `?` or `#`, because a path is appended to it",
        ),
        Some(Some(_)) => {}
    }
    if compat.management_cert.is_some() != compat.management_key.is_some() {
        found.problem(
            key("management_cert"),
            "needs management_key, and management_key needs it",
        );
    }
    for (index, id) in compat.operators.iter().enumerate() {
        if compat.operators[..index].contains(id) {
            found.problem(key(&format!("operators[{index}]")), "is there twice");
        }
    }
    // Before it is in the store, where a later correction would not count.
    super::nats::check_servers(&key("nats_servers"), &compat.nats_servers, found);
    if url.is_none() && !compat.operators.is_empty() {
        let message = "is missing: the operators of `operators` (OPERATOR_IDS) have their credentials from there; set it, or OPERATOR_MGMT_URL";
        found.problem(key("management_url"), message);
    }
    let managed = config.operator.iter().any(|operator| operator.managed);
    if managed && compat.management_url.is_none() {
        found.warn(
            key("management_url"),
            "is not set, so this node cannot bind to operators with `managed = true`",
        );
    }
}

/// What comes from the management service must not be configured beside it.
pub(super) fn check_managed(base: &str, operator: &OperatorConfig, found: &mut Findings) {
    if operator.protocol != OperatorProtocol::Smpp {
        let message = "is only for operators over SMPP; remove it";
        found.problem(format!("{base}.managed"), message);
    }
    let password = !operator.password.expose_secret().is_empty();
    for (name, given) in [
        ("address", !operator.address.is_empty()),
        ("system_id", !operator.system_id.is_empty()),
        ("password", password && operator.password_file.is_none()),
        ("password_file", operator.password_file.is_some()),
    ] {
        if given {
            let message = "comes from the management service, because of `managed = true`; remove one of them";
            found.problem(format!("{base}.{name}"), message);
        }
    }
}
