//! `[resolver]`, and its use by routes and accounts.

use super::Findings;
use crate::{Config, ResolverConfig, RouteConfig};
use smsc_domain::network;

/// Where the number goes in the URL.
pub(super) const PLACE: &str = "{msisdn}";
/// A thread each.
pub(super) const MAX_CONCURRENCY: usize = 256;

pub(super) fn check_resolver(config: &Config, found: &mut Findings) {
    let resolver = &config.resolver;
    if let Some(url) = &resolver.url {
        let has_scheme = url.starts_with("http://") || url.starts_with("https://");
        found.require(
            "resolver.url",
            has_scheme && url.contains(PLACE),
            "must be an http or https URL with {msisdn} where the number goes; write \
             \"https://mnp.example/v1/{msisdn}\"",
        );
    }
    found.require(
        "resolver.pointer",
        resolver.pointer.is_empty() || resolver.pointer.starts_with('/'),
        "is no JSON pointer; write \"/network\", or \"\" when the whole answer is the network",
    );
    found.require(
        "resolver.concurrency",
        (1..=MAX_CONCURRENCY).contains(&resolver.concurrency),
        "must be between 1 and 256",
    );
    found.at_least_one(
        "resolver.breaker_failures",
        u64::from(resolver.breaker_failures),
    );
    found.at_least_one("resolver.cache", resolver.cache as u64);
    found.check_positive("resolver.timeout", resolver.timeout);
    found.check_positive("resolver.breaker_pause", resolver.breaker_pause);
    for (index, delay) in resolver.delays.iter().enumerate() {
        found.check_positive(&format!("resolver.delays[{index}]"), *delay);
    }
    let labels = resolver.enum_zone.trim_matches('.').split('.');
    let is_label = |label: &str| {
        let allowed = |octet: u8| octet.is_ascii_alphanumeric() || b"-_".contains(&octet);
        (1..=63).contains(&label.len()) && label.bytes().all(allowed)
    };
    found.require(
        "resolver.enum_zone",
        labels.clone().all(is_label) && resolver.enum_zone.len() <= 200,
        "is no domain name; write \"e164.arpa\"",
    );
    found.require(
        "resolver.enum_parameter",
        !resolver.enum_parameter.is_empty()
            && resolver
                .enum_parameter
                .bytes()
                .all(|octet| octet.is_ascii_alphanumeric() || octet == b'-'),
        "is no parameter of a URI; write \"rn\"",
    );
    if resolver.url.is_none() && resolver.token.is_some() {
        found.warn("resolver.token", "means nothing without resolver.url");
    }
    if !knows(resolver) {
        for (index, account) in config.account.iter().enumerate() {
            if account.resolve {
                found.warn(
                    format!("account[{index}].resolve"),
                    "has no effect without a source of networks; set resolver.table, resolver.url or resolver.enum_servers",
                );
            }
        }
    }
}

/// A route's network is a name, and there is a source of networks.
pub(super) fn check_network(
    config: &Config,
    base: &str,
    route: &RouteConfig,
    found: &mut Findings,
) {
    let Some(name) = &route.network else { return };
    let key = format!("{base}.network");
    if !network::is_name(name) {
        let most = network::MAX_NAME;
        let message = format!("must be up to {most} letters, digits, `-`, `_` or `.`");
        found.problem(key, message);
    } else if !knows(&config.resolver) {
        found.problem(
            key,
            "needs somebody who knows networks; set resolver.table or resolver.url",
        );
    }
}

fn knows(resolver: &ResolverConfig) -> bool {
    resolver.table.is_some() || resolver.has_source()
}
