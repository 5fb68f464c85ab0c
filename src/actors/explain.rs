//! Why a message would go where it goes: every step of the decision, from the plan and the queues
//! as they are now.
//!
//! Called by Admin. Asks the same table and the same availability as the path of a message does, and
//! changes nothing.

use std::sync::atomic::Ordering;

use crate::actors::hub::Hub;
use crate::actors::plan::Plan;
use crate::config::Route;
use crate::domain::address;
use crate::domain::route::{Question, RouteTable};
use crate::domain::settings::Kind;
use crate::pb::Message;

/// Routes that do not fit are listed up to this many; the rest is counted.
const LISTED: usize = 50;

/// The decision for one message.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// As it is compared: without a leading plus.
    pub to: String,
    pub from: String,
    pub account: String,
    /// Of the destination, as it was given or as this node knows it; empty when it does not.
    pub network: String,
    /// A message would be looked up before it is routed.
    pub looked_up: bool,
    /// Whether there is such an account that may bind.
    pub account_is_known: bool,
    /// Routes that fit, the one that is used first.
    pub matching: Vec<Considered>,
    /// Routes for the destination that do not fit all the same.
    pub not_matching: Vec<Considered>,
    /// Routes for other destinations, and what was too much to list.
    pub others: usize,
    /// Targets of the first route, in order.
    pub targets: Vec<Target>,
    /// The account that a mobile-originated message to this number would go to, before any route.
    pub mobile_originated_to: Option<String>,
    /// command_status of the answer when nothing fits.
    pub no_route_status: u32,
}

/// One route and what speaks for or against it.
#[derive(Debug, Clone, PartialEq)]
pub struct Considered {
    pub key: String,
    /// In words: `to "44*" from "ACME*": up, then down`.
    pub route: String,
    pub why: String,
}

/// One target of the route that is used.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// From 1; targets of one step share by weight.
    pub step: usize,
    pub target: String,
    pub weight: u32,
    /// Whether a message would be sent soon.
    pub available: bool,
    pub state: String,
    /// The message goes here, or has this part of the chances, in per cent.
    pub chance: f64,
}

/// Explains the decision for a message of an account.
pub fn explain(hub: &Hub, to: &str, from: &str, account: &str, network: &str) -> Explanation {
    let plan = hub.plan();
    let (destination, source) = (
        address::normalise(to.as_bytes()),
        address::normalise(from.as_bytes()),
    );
    let (network, looked_up) = network_of(hub, &plan, (to, from, account), network);
    let asked = Question {
        destination,
        source,
        account,
        network: &network,
    };
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    let routes = &plan.config.route;
    let table = RouteTable::build(routes.iter().map(Route::to_domain));
    // The table gives references into itself; their place is that in the configuration.
    let place = |found: &crate::domain::route::Route<String>| {
        table
            .routes()
            .iter()
            .position(|one| std::ptr::eq(one, found))
    };
    let fitting: Vec<usize> = table
        .explain(&asked)
        .into_iter()
        .filter_map(place)
        .collect();
    let best = fitting.first().and_then(|at| routes.get(*at));
    let matching = fitting
        .iter()
        .filter_map(|at| routes.get(*at))
        .map(|route| {
            considered(
                route,
                best.map_or_else(String::new, |best| why(route, best)),
            )
        })
        .collect();
    let mut against: Vec<Considered> = routes
        .iter()
        .enumerate()
        .filter(|(at, _)| !fitting.contains(at))
        .filter(|(_, route)| destination.starts_with(prefix(&route.prefix)))
        .map(|(_, route)| considered(route, why_not(route, &asked)))
        .collect();
    against.truncate(LISTED);
    Explanation {
        account_is_known: plan.account(account).is_some(),
        others: routes.len() - fitting.len() - against.len(),
        targets: best.map_or_else(Vec::new, |route| targets(hub, &plan, route)),
        mobile_originated_to: plan
            .mo_account(destination)
            .and_then(|id| plan.account_by_id(id))
            .map(|account| account.config.system_id.clone()),
        no_route_status: plan.no_route_status(),
        to: text(destination),
        from: text(source),
        account: account.to_owned(),
        network,
        looked_up,
        matching,
        not_matching: against,
    }
}

fn prefix(text: &str) -> &[u8] {
    address::normalise(text.as_bytes())
}

fn considered(route: &Route, why: String) -> Considered {
    Considered {
        key: route.key(),
        route: route.to_domain().to_string(),
        why,
    }
}

/// What speaks for a route that fits: that it is the most specific one, or what another has over it.
fn why(route: &Route, best: &Route) -> String {
    let source = |route: &Route| prefix(route.source_prefix.as_deref().unwrap_or_default()).len();
    if route.key() == best.key() {
        return "used: it fits, and none that fits is more specific".to_owned();
    }
    let over = if best.network.is_some() && route.network.is_none() {
        "the network"
    } else if prefix(&best.prefix).len() > prefix(&route.prefix).len() {
        "a longer destination prefix"
    } else if source(best) > source(route) {
        "a longer source prefix"
    } else {
        "the account"
    };
    format!("fits, but {:?} has {over}", best.key())
}

/// The network that is routed by, and whether a message would wait for it.
fn network_of(
    hub: &Hub,
    plan: &Plan,
    (to, from, account): (&str, &str, &str),
    given: &str,
) -> (String, bool) {
    let mut message = Message {
        sender: plan.account(account).map_or(0, |account| account.id),
        destination: to.to_owned().into(),
        source: from.to_owned().into(),
        network: given.to_owned(),
        ..Message::default()
    };
    let looked_up = plan.wants_network(&message) && !hub.networks.tell(plan, &mut message);
    (message.network, looked_up)
}

fn why_not(route: &Route, asked: &Question<'_>) -> String {
    let wanted = route.source_prefix.as_deref().unwrap_or_default();
    if let Some(only) = route
        .network
        .as_deref()
        .filter(|only| *only != asked.network)
    {
        return format!("only for numbers of the network {only:?}");
    }
    if let Some(only) = route
        .account
        .as_deref()
        .filter(|only| *only != asked.account)
    {
        return format!("only for the account {only:?}");
    }
    if !asked.source.starts_with(prefix(wanted)) {
        return format!("only for sources that start with {wanted:?}");
    }
    "another route with the same conditions comes first".to_owned()
}

fn targets(hub: &Hub, plan: &Plan, route: &Route) -> Vec<Target> {
    let mut found = Vec::new();
    let mut is_taken = false;
    for (at, step) in route.to.iter().enumerate() {
        let first = found.len();
        for share in &step.shares {
            let id = plan.queue_of(&share.target);
            found.push(Target {
                step: at + 1,
                target: share.target.clone(),
                weight: share.weight,
                available: id.is_some_and(|id| hub.available(id)),
                state: state(hub, plan, &share.target, id),
                chance: 0.0,
            });
        }
        let step = &mut found[first..];
        if !is_taken && step.iter().any(|target| target.available) {
            is_taken = true;
            share_out(step, |target| target.available);
        }
    }
    if !is_taken {
        // Nothing is available: the message waits at the first step that exists.
        let exists = |target: &Target| plan.queue_of(&target.target).is_some();
        if let Some(step) = found.iter().find(|one| exists(one)).map(|one| one.step) {
            share_out(&mut found, |target| target.step == step && exists(target));
        }
    }
    found
}

/// Gives the chances of one step to those that may have them, by weight.
fn share_out(targets: &mut [Target], may: impl Fn(&Target) -> bool) {
    let weights: u64 = targets
        .iter()
        .filter(|target| may(target))
        .map(|target| u64::from(target.weight))
        .sum();
    let mut is_first = true;
    for target in targets.iter_mut().filter(|target| may(target)) {
        target.chance = match weights {
            // Only weights of zero: the first one takes all.
            0 if is_first => 100.0,
            0 => 0.0,
            _ => 100.0 * f64::from(target.weight) / weights as f64,
        };
        is_first = false;
    }
}

fn state(hub: &Hub, plan: &Plan, name: &str, id: Option<u32>) -> String {
    let Some(id) = id else {
        return "not enabled: left out".to_owned();
    };
    let Some(port) = hub.queue(id) else {
        return "has no queue on this node yet".to_owned();
    };
    let bound = port.bound.load(Ordering::Relaxed);
    let waiting = port.depth.load(Ordering::Relaxed);
    let kind = match plan.operator(id) {
        Some(_) => Kind::Operator.as_str(),
        None if name.starts_with("test:") => "built in",
        None => Kind::Account.as_str(),
    };
    let elsewhere = match hub.tenure.is_shared() && hub.tenure.neighbours().serves(id) {
        true => ", bound on other nodes",
        false => "",
    };
    let suspended = match port.suspended.load(Ordering::Relaxed) {
        true => ", its queue is suspended",
        false => "",
    };
    format!("{kind}, {bound} sessions here{elsewhere}, {waiting} messages in its queue{suspended}")
}
