//! `[resolver]`, and its use by routes and accounts.

use super::Findings;
use crate::{Config, ResolverConfig, RouteConfig};
use smsc_domain::network;

pub(super) fn check_resolver(config: &Config, found: &mut Findings) {
    let resolver = &config.resolver;
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
