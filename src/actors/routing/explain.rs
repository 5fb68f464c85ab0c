//! Explains the route of a message: every step of the decision, from the current plan and queues.
//!
//! Called by Admin. Uses the same route table and the same availability as real messages, and changes
//! nothing.

use std::sync::atomic::Ordering;

use crate::actors::context::NodeContext;
use crate::actors::context::plan::{Plan, Targets};
use crate::actors::context::target_health::Availability;
use crate::actors::routing::resolver::{Imsis, Networks};
use crate::config::{RouteConfig, StepSharing};
use crate::domain::address;
use crate::domain::queue_name::QueueName;
use crate::domain::route::{RouteQuestion, RouteTable, expression_matches};
use crate::domain::settings::ResourceKind;
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

/// The decision for one message.
#[derive(Debug, Clone, PartialEq)]
pub struct RouteExplanation {
    /// As it is compared: without a leading plus.
    pub to: String,
    pub from: String,
    pub account: String,
    /// The operator that brought it, instead of an account.
    pub operator: String,
    /// The network of the destination, as given or as this node knows it; empty if unknown.
    pub network: String,
    /// What the number plan says of the destination; `None` without a number plan.
    pub number_plan: Option<PlannedNumber>,
    /// Whether a message's network would be looked up before it is routed.
    pub looked_up: bool,
    /// What is known about the IMSI of the destination, if a target needs it.
    pub imsi: Option<ImsiKnowledge>,
    /// Whether there is such an account that may bind, or such an operator.
    pub account_is_known: bool,
    /// Matching routes; the first one is used.
    pub matching: Vec<ConsideredRoute>,
    /// Routes for the destination that do not match for another reason.
    pub not_matching: Vec<ConsideredRoute>,
    /// How many routes are for other destinations or were too many to list.
    pub others: usize,
    /// Targets of the first route, in order.
    pub targets: Vec<ExplainedTarget>,
    /// The account that a mobile-originated message to this number would go to, before any route.
    pub mobile_originated_to: Option<String>,
    /// command_status of the response if no route matches.
    pub no_route_status: u32,
}

/// The place of a destination in the number plan.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedNumber {
    /// `local`, `downstream`, `short_code` or `outside`.
    pub class: &'static str,
    /// Its range; empty for a number in none.
    pub range: String,
    /// Whether there is such a number; otherwise a message to it is refused with ESME_RINVDSTADR.
    pub exists: bool,
}

/// What this node knows about the IMSI of a number. The IMSI itself is not shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImsiKnowledge {
    Known,
    /// A message would wait for the look-up.
    LookedUp,
    /// Nobody has the number: a message ends UNDELIVERABLE.
    Unknown,
}

/// One route, and why it matches or does not.
#[derive(Debug, Clone, PartialEq)]
pub struct ConsideredRoute {
    pub key: String,
    /// In words: `to "44*" from "ACME*": up, then down`.
    pub route: String,
    pub why: String,
}

/// One target of the route that is used.
#[derive(Debug, Clone, PartialEq)]
pub struct ExplainedTarget {
    /// From 1; targets of one step share by weight.
    pub step: usize,
    pub target: String,
    pub weight: u32,
    /// Whether a message would be sent soon.
    pub available: bool,
    pub state: String,
    /// The probability in per cent that the message goes here.
    pub chance: f64,
}

/// Explains the decision for a message of an account, or for one that an operator brings.
pub fn explain(
    node: &NodeContext,
    networks: &Networks,
    imsis: &Imsis,
    ask: &ExplainRoute,
) -> RouteExplanation {
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
    let mut against: Vec<ConsideredRoute> = routes
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
    RouteExplanation {
        account_is_known: sender.is_some(),
        others: routes.len() - fitting.len() - against.len(),
        imsi: imsi_state(imsis, &plan, &targets, destination),
        targets,
        mobile_originated_to: plan
            .mo_account(destination)
            .and_then(|id| plan.account_by_id(id))
            .map(|account| account.config.system_id.clone()),
        no_route_status: plan.no_route_status(),
        number_plan: planned(&plan, destination),
        to: text(destination),
        from: text(source),
        account: account.clone(),
        operator: operator.clone(),
        network,
        looked_up,
        matching,
        not_matching: against,
    }
}

fn planned(plan: &Plan, destination: &[u8]) -> Option<PlannedNumber> {
    let numbers = plan.number_plan();
    let found = numbers.find(destination);
    (!numbers.is_empty()).then(|| PlannedNumber {
        class: found.class.as_str(),
        range: found.range.unwrap_or_default().to_owned(),
        exists: plan.range_without(destination).is_none(),
    })
}

fn prefix(text: &str) -> &[u8] {
    address::normalise(text.as_bytes())
}

fn considered(route: &RouteConfig, why: String) -> ConsideredRoute {
    ConsideredRoute {
        key: route.key(),
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
    targets: &[ExplainedTarget],
    destination: &[u8],
) -> Option<ImsiKnowledge> {
    let bare = Message::default();
    let needs = |target: &ExplainedTarget| {
        let queue = plan.queue_of(&target.target);
        queue.is_some_and(|queue| plan.wants_imsi(queue, &bare))
    };
    targets
        .iter()
        .any(needs)
        .then(|| match imsis.look(plan, destination).as_deref() {
            None => ImsiKnowledge::LookedUp,
            Some("") => ImsiKnowledge::Unknown,
            Some(_) => ImsiKnowledge::Known,
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
) -> Vec<ExplainedTarget> {
    let mut found: Vec<ExplainedTarget> = Vec::new();
    // The value by which the targets of a step are compared, and its name.
    let rank = |target: &ExplainedTarget| match (route.share, plan.queue_of(&target.target)) {
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
            found.push(ExplainedTarget {
                step: at + 1,
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
        let exists = |target: &ExplainedTarget| {
            let id = plan.queue_of(&target.target);
            id.is_some() && id != source
        };
        if let Some(step) = found.iter().find(|one| exists(one)).map(|one| one.step) {
            let may = |target: &ExplainedTarget| target.step == step && exists(target);
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
fn share_out(
    targets: &mut [ExplainedTarget],
    may: impl Fn(&ExplainedTarget) -> bool,
    rank: impl Fn(&ExplainedTarget) -> f64,
) {
    let weighs = |target: &ExplainedTarget| may(target) && target.weight > 0;
    let any_weighs = targets.iter().any(weighs);
    let least = targets
        .iter()
        .filter(|target| weighs(target) || (!any_weighs && may(target)))
        .map(&rank)
        .min_by(f64::total_cmp)
        .unwrap_or(f64::INFINITY);
    let mut chosen: Vec<&mut ExplainedTarget> = targets
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
