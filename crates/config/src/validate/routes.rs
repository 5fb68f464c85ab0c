//! Checks of routes and of what number ranges say of targets: every target exists and can be sent to, no two
//! routes are the same.

use std::borrow::Cow;
use std::collections::HashMap;

use super::{Findings, accounts};
use crate::mark::MAX_DIGITS;
use crate::problem::did_you_mean;
use crate::{BindKind, Config, RouteConfig, RouteStep, TEST_TARGETS};
use smsc_domain::address;
use smsc_domain::queue_name::QueueName;

/// What a target is, as far as routes care.
#[derive(Clone, Copy)]
enum TargetKind {
    Usable,
    Disabled,
    ReceiveOnly,
}

pub(super) fn check_routes(config: &Config, found: &mut Findings) {
    let targets = targets(config);
    let accounts = accounts(config);
    let mut seen = HashMap::new();
    let mut names = HashMap::new();
    for (index, route) in config.route.iter().enumerate() {
        let base = format!("route[{index}]");
        let prefix = address::normalise(route.prefix.as_bytes());
        if !(prefix.is_empty() || address::is_digits(prefix)) || prefix.len() > MAX_DIGITS {
            let message = format!(
                "{:?} must be up to {MAX_DIGITS} digits, or empty",
                route.prefix
            );
            found.problem(format!("{base}.prefix"), message);
        }
        check_name(&base, route, &mut names, index, found);
        if let Some(account) = &route.account {
            found.check_known(&format!("{base}.account"), "account", account, &accounts);
        }
        if route.mobile_originated && route.account.is_some() {
            found.problem(
                format!("{base}.account"),
                "cannot be together with mobile_originated: what operators bring is of no account",
            );
        }
        super::resolver::check_network(config, &base, route, found);
        super::imsi::check_targets(config, &base, route, found);
        let source = route.source_prefix.as_deref().unwrap_or_default();
        let conditions = (
            prefix,
            address::normalise(source.as_bytes()),
            &route.account,
            &route.network,
            &route.matches,
            &route.source_matches,
            route.mobile_originated,
        );
        let first = *seen.entry(conditions).or_insert(index);
        if first != index {
            let message = format!("has the same conditions as route[{first}]; join their targets");
            found.problem(base.clone(), message);
        }
        check_targets(&base, &route.to, &targets, found);
        super::sharing::check_route(config, &base, route, found);
    }
    for (index, range) in config.number_range.iter().enumerate() {
        check_targets(
            &format!("number_range[{index}]"),
            &range.to,
            &targets,
            found,
        );
    }
    let leads_somewhere =
        !config.route.is_empty() || config.number_range.iter().any(|range| !range.to.is_empty());
    if !leads_somewhere && !config.account.is_empty() {
        found.warn(
            "route",
            "there is none: every message is refused; add a [[route]]",
        );
    }
}

/// A name is one that no route has by its conditions.
fn check_name<'a>(
    base: &str,
    route: &'a RouteConfig,
    names: &mut HashMap<&'a str, usize>,
    index: usize,
    found: &mut Findings,
) {
    let Some(name) = &route.name else { return };
    let key = format!("{base}.name");
    if name == "explain" {
        found.problem(key, "is the path of `smsc route explain`; choose another");
    } else if name == "default" || address::is_digits(name.as_bytes()) {
        let message = format!(
            "{name:?} is what a route without a name is called by its prefix; choose a word, or \
             leave it out (then this one is {:?})",
            route.conditions()
        );
        found.problem(key, message);
    } else {
        let first = *names.entry(name).or_insert(index);
        if first != index {
            found.problem(key, format!("\"{name}\" is already route[{first}]"));
        }
    }
}

fn check_targets(
    base: &str,
    to: &[RouteStep],
    targets: &HashMap<Cow<'_, str>, TargetKind>,
    found: &mut Findings,
) {
    let key = format!("{base}.to");
    let mut used: Vec<&str> = Vec::new();
    for (at, step) in to.iter().enumerate() {
        let key = format!("{key}[{at}]");
        if step.shares.iter().all(|share| share.weight == 0) {
            found.problem(key.clone(), "has no weight above 0");
        }
        for share in &step.shares {
            let target = share.target.as_str();
            if used.contains(&target) {
                found.problem(key.clone(), format!("\"{target}\" is in this route twice"));
            }
            used.push(target);
            match targets.get(target) {
                Some(TargetKind::Usable) => {}
                Some(TargetKind::Disabled) => {
                    found.warn(key.clone(), format!("\"{target}\" is not enabled"));
                }
                Some(TargetKind::ReceiveOnly) => {
                    let message = format!("\"{target}\" binds as receiver and cannot send");
                    found.problem(key.clone(), message);
                }
                None => {
                    let mut known: Vec<&str> = targets.keys().map(|name| &**name).collect();
                    known.sort_unstable();
                    let hint = did_you_mean(target, &known);
                    let message = format!("there is no target \"{target}\", {hint}");
                    found.problem(key.clone(), message);
                }
            }
        }
    }
}

fn targets(config: &Config) -> HashMap<Cow<'_, str>, TargetKind> {
    let kind = |is_enabled: bool| {
        if is_enabled {
            TargetKind::Usable
        } else {
            TargetKind::Disabled
        }
    };
    let operators = config.operator.iter().map(|operator| {
        let target = match operator.bind {
            BindKind::Receiver => TargetKind::ReceiveOnly,
            _ => kind(operator.enabled),
        };
        (Cow::from(&operator.id), target)
    });
    let accounts = config.account.iter();
    let accounts = accounts.map(|one| (Cow::from(&one.system_id), kind(one.enabled)));
    let gsm = config.gsm.iter().map(|one| {
        let name = QueueName::Gsm(&one.name).to_string();
        (Cow::from(name), kind(one.enabled))
    });
    let built_in = TEST_TARGETS
        .into_iter()
        .map(|name| (Cow::from(name), TargetKind::Usable));
    operators
        .chain(accounts)
        .chain(gsm)
        .chain(built_in)
        .filter(|(name, _)| !name.is_empty())
        .collect()
}
