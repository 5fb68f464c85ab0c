//! Checks of what is said about sharing: expressions and policies of routes, costs, failover delays
//! and breakers of operators; breakers of GSM networks, too.

use std::time::Duration;

use super::Findings;
use crate::mark::MAX_DIGITS;
use crate::{Config, OperatorConfig, RouteConfig, StepSharing};
use smsc_domain::address;

pub(super) fn check_route(config: &Config, base: &str, route: &RouteConfig, found: &mut Findings) {
    if route.to_domain().has_expression() && route.name.is_none() {
        let message = "is missing; a route with an expression needs one";
        found.problem(format!("{base}.name"), message);
    }
    if route.share != StepSharing::LeastCost {
        return;
    }
    for share in route.to.iter().flat_map(|step| &step.shares) {
        let operator = config.operator.iter().find(|one| one.id == share.target);
        if operator.is_some_and(|one| one.cost.is_none() && one.costs.is_empty()) {
            let message = format!(
                "\"{}\" has no `cost`, so it is taken last; write one in its [[operator]]",
                share.target
            );
            found.warn(format!("{base}.share"), message);
        }
    }
}

pub(super) fn check_operator(base: &str, operator: &OperatorConfig, found: &mut Findings) {
    let key = |name: &str| format!("{base}.{name}");
    let sensible = |cost: f64| cost.is_finite() && cost >= 0.0;
    for (prefix, cost) in operator.costs.iter() {
        let digits = address::normalise(prefix.as_bytes());
        if digits.is_empty() || digits.len() > MAX_DIGITS || !address::is_digits(digits) {
            let message =
                format!("{prefix:?} must be up to {MAX_DIGITS} digits; write `cost` for the rest");
            found.problem(key("costs"), message);
        }
        if !sensible(cost) {
            let message = format!("{cost} for {prefix:?} must be a number from 0 up");
            found.problem(key("costs"), message);
        }
    }
    let (failures, share) = (operator.breaker_failures, operator.breaker_share);
    check_breaker(base, failures, share, operator.breaker_pause, found);
}

/// `breaker_failures`, `breaker_share` and `breaker_pause` of what messages are sent to.
pub(super) fn check_breaker(
    base: &str,
    failures: u32,
    share: f64,
    pause: Duration,
    found: &mut Findings,
) {
    let is_used = failures > 0 || share > 0.0;
    let key = format!("{base}.breaker_pause");
    let fits = !(is_used && pause.is_zero());
    found.require(&key, fits, "must be longer than \"0s\"");
}
