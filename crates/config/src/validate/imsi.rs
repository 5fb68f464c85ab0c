//! `[imsi]`, and its use by routes.

use super::Findings;
use crate::{Config, ImsiSource, RouteConfig};
use smsc_domain::queue_name::QueueName;

pub(super) fn check_imsi(config: &Config, found: &mut Findings) {
    let imsi = &config.imsi;
    if imsi.url.is_none() && imsi.token.is_some() {
        found.warn("imsi.token", "means nothing without imsi.url");
    }
    for (key, is_set, source) in [
        ("imsi.hlr", imsi.hlr.is_some(), ImsiSource::Hlr),
        ("imsi.url", imsi.url.is_some(), ImsiSource::Http),
    ] {
        if is_set && !imsi.ask.contains(&source) {
            found.warn(key, format!("is not asked; add \"{source}\" to imsi.ask"));
        }
    }
}

/// A route to a GSM interface needs somebody who knows IMSIs, unless the network finds them itself, as with MAP.
pub(super) fn check_targets(
    config: &Config,
    base: &str,
    route: &RouteConfig,
    found: &mut Findings,
) {
    let mut targets = route.to.iter().flat_map(|step| &step.shares);
    let is_of_map = |name: &str| (config.gsm.iter()).any(|one| one.name == name && one.is_map());
    let needs_imsi = |target: &str| match QueueName::parse(target) {
        QueueName::Gsm(name) => !is_of_map(name),
        _ => false,
    };
    if !config.imsi.has_source() && targets.any(|share| needs_imsi(&share.target)) {
        found.problem(
            format!("{base}.to"),
            "leads to a GSM interface, which needs the IMSIs of numbers; set imsi.hlr, imsi.url, imsi.table or imsi.ask",
        );
    }
}
