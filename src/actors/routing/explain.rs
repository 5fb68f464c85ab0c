//! Explains the route of a message: every step of the decision, from the current plan and queues.
//!
//! Called by Admin. Uses the same route table and the same availability as real messages, and changes
//! nothing.

use std::sync::atomic::Ordering;

use crate::actors::context::NodeContext;
use crate::actors::context::plan::{Plan, Targets};
use crate::actors::context::target_health::Availability;
use crate::actors::routing::resolver::{Imsis, Networks};
use crate::api::{Considered, Explanation, ImsiState, Planned, Target};
use crate::config::{RouteConfig, StepSharing};
use crate::domain::queue_name::QueueName;
use crate::domain::route::{RouteQuestion, RouteTable, expression_matches};
use crate::domain::settings::ResourceKind;
use crate::domain::{address, command_status};
use crate::pb::Message;

/// Non-matching routes are listed up to this many; the others are counted.
const LISTED: usize = 50;

/// A question about the route of a message.
pub struct ExplainRoute {
    pub to: String,
    pub from: String,
    /// system_id of the account that sends it; empty for an account without routes of its own.
    pub account: String,
    /// The operator that brings it, instead of an account; empty for none.
    pub operator: String,
    /// The network of the destination; empty for the one that this node knows.
    pub network: String,
}

/// Explains the decision for a message of an account, or for one that an operator brings.
pub fn explain(
    node: &NodeContext,
    networks: &Networks,
    imsis: &Imsis,
    ask: &ExplainRoute,
) -> Explanation {
    let ExplainRoute {
        to,
        from,
        account,
        operator,
        network,
    } = ask;
    let plan = node.plan();
    let (destination, source) = (
        address::normalise(to.as_bytes()),
        address::normalise(from.as_bytes()),
    );
    let is_transit = !operator.is_empty();
    let sender = if is_transit {
        plan.queue_of(operator)
            .filter(|id| plan.operator(*id).is_some())
    } else {
        plan.account(account).map(|account| account.id)
    };
    let (network, looked_up) = network_of(networks, &plan, to, from, sender, network);
    let asked = RouteQuestion {
        destination,
        source,
        account: if is_transit { operator } else { account },
        network: &network,
    };
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    let routes = plan.config.all_routes();
    let of_its_kind: Vec<usize> = (0..routes.len())
        .filter(|at| routes[*at].mobile_originated == is_transit)
        .collect();
    let table = RouteTable::build(of_its_kind.iter().map(|at| routes[*at].to_domain()));
    // The table returns references into itself; an explanation needs the route's place in the
    // configuration.
    let place = |found: &crate::domain::route::Route<String>| {
        let at = table
            .routes()
            .iter()
            .position(|one| std::ptr::eq(one, found))?;
        of_its_kind.get(at).copied()
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
        .map(|(_, route)| {
            let why = match (route.mobile_originated, is_transit) {
                (true, false) => "only for what operators bring (mobile_originated)".to_owned(),
                (false, true) => "only for what accounts submit (no mobile_originated)".to_owned(),
                _ => why_not(route, &asked),
            };
            considered(route, why)
        })
        .collect();
    against.truncate(LISTED);
    let targets = best.map_or_else(Vec::new, |route| {
        let source = sender.filter(|_| is_transit);
        targets(node, &plan, route, destination, source)
    });
    let number_plan = planned(&plan, destination);
    let mobile_originated_to = plan
        .mo_account(destination)
        .and_then(|id| plan.account_by_id(id))
        .map(|account| account.config.system_id.clone());
    let taker = mobile_originated_to.as_deref().filter(|_| is_transit);
    Explanation {
        account_is_known: sender.is_some(),
        others: (routes.len() - fitting.len() - against.len()) as u64,
        imsi: imsi_state(imsis, &plan, &targets, destination),
        goes_to: goes_to(number_plan.as_ref(), taker, &targets),
        targets,
        mobile_originated_to,
        no_route_status: status_name(plan.no_route_status()),
        number_plan,
        to: text(destination),
        from: text(source),
        account: account.clone(),
        operator: some(operator),
        network: some(&network),
        looked_up,
        matching,
        not_matching: against,
    }
}

/// Where a message goes now; `taker` is the account that takes it before any route.
fn goes_to(found: Option<&Planned>, taker: Option<&str>, targets: &[Target]) -> Vec<String> {
    match taker {
        _ if found.is_some_and(|found| !found.exists) => Vec::new(),
        Some(account) => vec![account.to_owned()],
        None => {
            let likely = targets.iter().filter(|target| target.chance > 0.0);
            likely.map(|target| target.target.clone()).collect()
        }
    }
}

fn status_name(status: u32) -> String {
    command_status::name(status).map_or_else(|| format!("{status:#x}"), str::to_owned)
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn planned(plan: &Plan, destination: &[u8]) -> Option<Planned> {
    let numbers = plan.number_plan();
    let found = numbers.find(destination);
    (!numbers.is_empty()).then(|| Planned {
        class: found.class.as_str().to_owned(),
        range: some(found.range.unwrap_or_default()),
        exists: plan.range_without(destination).is_none(),
    })
}

fn prefix(text: &str) -> &[u8] {
    address::normalise(text.as_bytes())
}

fn considered(route: &RouteConfig, why: String) -> Considered {
    Considered {
        name: route.key(),
        route: route.to_domain().to_string(),
        why,
    }
}

/// Why a matching route is used or not: it is the most specific one, or another one has precedence.
fn why(route: &RouteConfig, best: &RouteConfig) -> String {
    let source =
        |route: &RouteConfig| prefix(route.source_prefix.as_deref().unwrap_or_default()).len();
    if route.key() == best.key() {
        return "used: it fits, and none that fits is more specific".to_owned();
    }
    let over = if best.network.is_some() && route.network.is_none() {
        "the network"
    } else if best.to_domain().has_expression() && !route.to_domain().has_expression() {
        "an expression"
    } else if prefix(&best.prefix).len() > prefix(&route.prefix).len() {
        "a longer destination prefix"
    } else if source(best) > source(route) {
        "a longer source prefix"
    } else if best.account.is_some() && route.account.is_none() {
        "the account"
    } else {
        "the name that comes first"
    };
    format!("fits, but {:?} has {over}", best.key())
}

/// The network used for routing, and whether a message would wait for a look-up.
fn network_of(
    networks: &Networks,
    plan: &Plan,
    to: &str,
    from: &str,
    sender: Option<u32>,
    given: &str,
) -> (String, bool) {
    let mut message = Message {
        sender: sender.unwrap_or(0),
        destination: to.to_owned().into(),
        source: from.to_owned().into(),
        network: given.to_owned(),
        ..Message::default()
    };
    let looked_up = plan.wants_network(&message) && !networks.tell(plan, &mut message);
    (message.network, looked_up)
}

/// What is known about the IMSI of the destination, if one of the targets needs it.
fn imsi_state(
    imsis: &Imsis,
    plan: &Plan,
    targets: &[Target],
    destination: &[u8],
) -> Option<ImsiState> {
    let bare = Message::default();
    let needs = |target: &Target| {
        let queue = plan.queue_of(&target.target);
        queue.is_some_and(|queue| plan.wants_imsi(queue, &bare))
    };
    targets
        .iter()
        .any(needs)
        .then(|| match imsis.look(plan, destination).as_deref() {
            None => ImsiState::LookedUp,
            Some("") => ImsiState::Unknown,
            Some(_) => ImsiState::Known,
        })
}

fn why_not(route: &RouteConfig, asked: &RouteQuestion<'_>) -> String {
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
    let misses = |expression: &Option<String>, text: &[u8]| {
        let expression = expression.as_deref()?;
        (!expression_matches(expression, text)).then(|| expression.to_owned())
    };
    if let Some(expression) = misses(&route.matches, asked.destination) {
        return format!("only for destinations that match /{expression}/");
    }
    if let Some(expression) = misses(&route.source_matches, asked.source) {
        return format!("only for sources that match /{expression}/");
    }
    "another route with the same conditions comes first".to_owned()
}

/// `source` is the operator that brought the message; it never gets the message back.
fn targets(
    node: &NodeContext,
    plan: &Plan,
    route: &RouteConfig,
    destination: &[u8],
    source: Option<u32>,
) -> Vec<Target> {
    let mut found: Vec<Target> = Vec::new();
    // The value by which the targets of a step are compared, and its name.
    let rank = |target: &Target| match (route.share, plan.queue_of(&target.target)) {
        (StepSharing::LeastBusy, Some(queue)) => node.load(queue),
        (StepSharing::LeastCost, Some(queue)) => plan.cost_of(queue, destination),
        (StepSharing::Weight, _) | (_, None) => 0.0,
    };
    let mut is_taken = false;
    for (at, step) in route.to.iter().enumerate() {
        let first = found.len();
        for share in &step.shares {
            let id = plan.queue_of(&share.target);
            let is_source = id.is_some() && id == source;
            found.push(Target {
                step: at as u64 + 1,
                target: share.target.clone(),
                weight: share.weight,
                available: !is_source && id.is_some_and(|id| node.available(id)),
                state: if is_source {
                    "brought the message: it does not get it back".to_owned()
                } else {
                    state(node, plan, &share.target, id)
                },
                chance: 0.0,
            });
        }
        let step = &mut found[first..];
        if !is_taken && step.iter().any(|target| target.available) {
            is_taken = true;
            share_out(step, |target| target.available, rank);
        }
    }
    if !is_taken {
        // No target is available: the message waits at the first step that exists.
        let exists = |target: &Target| {
            let id = plan.queue_of(&target.target);
            id.is_some() && id != source
        };
        if let Some(step) = found.iter().find(|one| exists(one)).map(|one| one.step) {
            let may = |target: &Target| target.step == step && exists(target);
            share_out(&mut found, may, rank);
        }
    }
    if route.share != StepSharing::Weight {
        for target in &mut found {
            let what = match (route.share, rank(target)) {
                (StepSharing::LeastBusy, load) => format!("load {load:.2}"),
                (_, cost) if cost.is_infinite() => "without a cost".to_owned(),
                (_, cost) => format!("cost {cost}"),
            };
            target.state = format!("{what}; {}", target.state);
        }
    }
    found
}

/// Divides the chances of one step, by weight, among the eligible targets with the lowest rank.
fn share_out(targets: &mut [Target], may: impl Fn(&Target) -> bool, rank: impl Fn(&Target) -> f64) {
    let weighs = |target: &Target| may(target) && target.weight > 0;
    let any_weighs = targets.iter().any(weighs);
    let least = targets
        .iter()
        .filter(|target| weighs(target) || (!any_weighs && may(target)))
        .map(&rank)
        .min_by(f64::total_cmp)
        .unwrap_or(f64::INFINITY);
    let mut chosen: Vec<&mut Target> = targets
        .iter_mut()
        .filter(|target| weighs(target) || (!any_weighs && may(target)))
        .filter(|target| rank(target) <= least)
        .collect();
    let weights: u64 = chosen.iter().map(|target| u64::from(target.weight)).sum();
    match chosen.as_mut_slice() {
        // All weights are zero: the first target gets everything.
        [first, ..] if weights == 0 => first.chance = 100.0,
        all => all.iter_mut().for_each(|target| {
            target.chance = 100.0 * f64::from(target.weight) / weights as f64;
        }),
    }
}

fn state(node: &NodeContext, plan: &Plan, name: &str, id: Option<u32>) -> String {
    let Some(id) = id else {
        return "not enabled: left out".to_owned();
    };
    let Some(port) = node.queue(id) else {
        return "has no queue on this node yet".to_owned();
    };
    let bound = port.bound.load(Ordering::Relaxed);
    let waiting = port.depth.load(Ordering::Relaxed);
    let kind = match plan.operator(id) {
        Some(_) => ResourceKind::Operator.as_str(),
        None if QueueName::parse(name).is_test() => "built in",
        None if plan.gsm(id).is_some() => "GSM network",
        None => ResourceKind::Account.as_str(),
    };
    let elsewhere = if node.local_lease.is_shared() && node.local_lease.cluster_view().serves(id) {
        ", bound on other nodes"
    } else {
        ""
    };
    let governed = match (
        port.target_health.availability(),
        port.snapshot.get().breaker.as_str(),
    ) {
        (Availability::Unavailable, "open" | "half open") => ", left alone because it failed",
        (Availability::Unavailable, _) if bound > 0 => ", not back for long enough",
        (Availability::Available, _) if !node.is_served(&port) => ", away for a moment only",
        _ => "",
    };
    let suspended = if port.suspended.load(Ordering::Relaxed) {
        ", its queue is suspended"
    } else {
        ""
    };
    format!(
        "{kind}, {bound} sessions here{elsewhere}, {waiting} messages in its queue{governed}{suspended}"
    )
}
