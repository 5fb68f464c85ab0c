//! Routes: from destination, source and account to an ordered list of targets.
//!
//! A route for the network that the number belongs to wins over one without: ported numbers keep their
//! prefix. Then a route with a regular expression wins over one without. Then the longest destination prefix
//! wins, then the longest source prefix, then a route for the account over one for all; the empty prefix is
//! the default and comes last. Of two that are equal in all that, which only expressions can be, the first
//! one wins. The network is looked up only for messages that such a route could take. Without expressions a
//! look-up walks one trie and allocates nothing. Built when the configuration is (re)read, then shared behind
//! a snapshot. Generic over the target: configuration has names, the actors queue numbers.

mod expression;
mod mo;
mod trie;

pub use expression::{check as check_expression, is_match as expression_matches};
pub use mo::MoTable;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;

use super::address;
use expression::Expressions;
pub(super) use trie::Trie;

/// One target's part of a [`RoutingStep`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetShare<T> {
    /// Where to.
    pub target: T,
    /// Relative to the other shares of the step; 0 takes nothing while another is available.
    pub weight: u32,
}

/// Targets of equal rank; the next step is for when none of them is available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutingStep<T> {
    /// At least one.
    pub shares: Vec<TargetShare<T>>,
}

/// Who of a step gets a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sharing {
    /// Each its part, by weight.
    #[default]
    Weight,
    /// Who has least to do; equals share by weight.
    LeastBusy,
    /// Who is cheapest; equals share by weight.
    LeastCost,
}

/// Who goes where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route<T> {
    /// Destination prefix, digits; empty matches everything.
    pub prefix: String,
    /// Source prefix; empty matches everything.
    pub source_prefix: String,
    /// Regular expression that the destination must match, beside the prefix; see [`check_expression`].
    pub matches: Option<String>,
    /// Regular expression that the source must match, beside the prefix.
    pub source_matches: Option<String>,
    /// Only for messages of this account.
    pub account: Option<String>,
    /// Only for numbers of this network.
    pub network: Option<String>,
    /// How the targets of a step share.
    pub sharing: Sharing,
    /// In order of failover.
    pub steps: Vec<RoutingStep<T>>,
}

/// All routes, ready for look-ups.
#[derive(Debug)]
pub struct RouteTable<T> {
    routes: Vec<Route<T>>,
    /// Routes without a network; here and below, those without an expression.
    by_destination: Trie<BySource>,
    by_network: HashMap<Box<str>, Trie<BySource>>,
    /// Routes with any network.
    asking: Trie<BySource>,
    expressions: Option<Expressions>,
    has_networks: bool,
}

/// The fields of a message that routes use. A leading `+` of the addresses is ignored.
#[derive(Debug, Clone, Copy)]
pub struct RouteQuestion<'m> {
    pub destination: &'m [u8],
    pub source: &'m [u8],
    /// system_id of the sender.
    pub account: &'m str,
    /// The network of the destination, empty while it is not known.
    pub network: &'m str,
}

/// The routes of one destination prefix, as indexes into [`RouteTable::routes`].
#[derive(Debug, Default)]
struct BySource {
    for_all: Trie<usize>,
    by_account: HashMap<Box<str>, Trie<usize>>,
}

// === impl RouteTable ===

impl<T> RouteTable<T> {
    /// A table of these routes; of two with the same conditions the first one wins.
    pub fn build(entries: impl IntoIterator<Item = Route<T>>) -> Self {
        let routes: Vec<Route<T>> = entries.into_iter().collect();
        let mut table = Self {
            routes: Vec::new(),
            by_destination: Trie::default(),
            by_network: HashMap::new(),
            asking: Trie::default(),
            expressions: Expressions::build(&routes),
            has_networks: routes.iter().any(|route| route.network.is_some()),
        };
        let plain = |(_, route): &(usize, &Route<T>)| !route.has_expression();
        for (index, route) in routes.iter().enumerate().filter(plain) {
            match &route.network {
                None => add(&mut table.by_destination, route, index),
                Some(network) => {
                    let own = table.by_network.entry(network.as_str().into());
                    add(own.or_default(), route, index);
                    add(&mut table.asking, route, index);
                }
            }
        }
        table.routes = routes;
        table
    }

    /// The best route, or `None`.
    pub fn lookup(&self, message: &RouteQuestion<'_>) -> Option<&Route<T>> {
        let own = if message.network.is_empty() {
            None
        } else {
            self.by_network.get(message.network)
        };
        let by_expression = self.expressions.as_ref().and_then(|expressions| {
            let fits = |only: Option<&str>| only.is_none_or(|only| only == message.network);
            expressions.fitting(&self.routes, message, fits).next()
        });
        let has_network = |index: &usize| self.routes[*index].network.is_some();
        let best = by_expression
            .filter(has_network)
            .or_else(|| own.and_then(|own| best_of(own, message)))
            .or(by_expression)
            .or_else(|| best_of(&self.by_destination, message));
        best.map(|index| &self.routes[index])
    }

    /// Whether any route has a network.
    pub fn has_networks(&self) -> bool {
        self.has_networks
    }

    /// Whether a route with a network could take this message, if it is the right one.
    pub fn asks_network(&self, message: &RouteQuestion<'_>) -> bool {
        self.has_networks
            && (best_of(&self.asking, message).is_some()
                || self.expressions.as_ref().is_some_and(|expressions| {
                    let any = |only: Option<&str>| only.is_some();
                    let mut fitting = expressions.fitting(&self.routes, message, any);
                    fitting.next().is_some()
                }))
    }

    /// Every route that fits, the best one first: for "why did this go there".
    pub fn explain(&self, message: &RouteQuestion<'_>) -> Vec<&Route<T>> {
        let source = address::normalise(message.source);
        let mut found = Vec::new();
        let own = self.by_network.get(message.network);
        for table in own.into_iter().chain([&self.by_destination]) {
            table.walk(address::normalise(message.destination), |_, at| {
                at.for_all.walk(source, |_, index| found.push(*index));
                if let Some(own) = at.by_account.get(message.account) {
                    own.walk(source, |_, index| found.push(*index));
                }
            });
        }
        if let Some(expressions) = &self.expressions {
            let fits = |only: Option<&str>| only.is_none_or(|only| only == message.network);
            found.extend(expressions.fitting(&self.routes, message, fits));
        }
        found.sort_by_key(|index| Reverse(expression::rank(&self.routes[*index], *index)));
        found.into_iter().map(|index| &self.routes[index]).collect()
    }

    /// All routes in the order they were given.
    pub fn routes(&self) -> &[Route<T>] {
        &self.routes
    }
}

/// Puts a route into a trie, unless there is one already.
fn add<T>(table: &mut Trie<BySource>, route: &Route<T>, index: usize) {
    let prefix = address::normalise(route.prefix.as_bytes());
    let at = table.entry(prefix).get_or_insert_default();
    let sources = match &route.account {
        None => &mut at.for_all,
        Some(account) => at.by_account.entry(account.as_str().into()).or_default(),
    };
    let source_prefix = address::normalise(route.source_prefix.as_bytes());
    sources.entry(source_prefix).get_or_insert(index);
}

fn best_of(table: &Trie<BySource>, message: &RouteQuestion<'_>) -> Option<usize> {
    let source = address::normalise(message.source);
    let mut best = None;
    // Longer prefixes come later and win; one without a fitting source leaves `best` alone.
    table.walk(address::normalise(message.destination), |_, at| {
        best = at.best(source, message.account).or(best);
    });
    best
}

impl BySource {
    fn best(&self, source: &[u8], account: &str) -> Option<usize> {
        let for_all = self.for_all.longest(source);
        // Most tables have no routes by account; an empty map is not worth a hash.
        let own = if self.by_account.is_empty() {
            None
        } else {
            self.by_account
                .get(account)
                .and_then(|own| own.longest(source))
        };
        match (own, for_all) {
            (Some((own_length, _)), Some((length, index))) if length > own_length => Some(*index),
            (Some((_, index)), _) | (None, Some((_, index))) => Some(*index),
            (None, None) => None,
        }
    }
}

// === impl Route ===

impl<T> Route<T> {
    /// The target of a message: the first step with an available target, shared as the route says.
    ///
    /// `hash` spreads messages by weight: use something stable per message, so that a retry keeps its
    /// target. `rank` is used where the lowest wins, load or cost. When nothing is available the first
    /// step is chosen, and the message waits there. `None` only for a route without targets.
    pub fn choose(
        &self,
        hash: u64,
        available: impl Fn(&T) -> bool,
        rank: impl Fn(&T) -> f64,
    ) -> Option<&T> {
        let mut steps = self.steps.iter();
        steps
            .find_map(|step| self.best_of(step, hash, &available, &rank))
            .or_else(|| self.best_of(self.steps.first()?, hash, &|_| true, &rank))
    }

    fn best_of<'r>(
        &'r self,
        step: &'r RoutingStep<T>,
        hash: u64,
        available: &dyn Fn(&T) -> bool,
        rank: &dyn Fn(&T) -> f64,
    ) -> Option<&'r T> {
        match self.sharing {
            Sharing::Weight => step.choose(hash, available),
            Sharing::LeastBusy | Sharing::LeastCost => step.choose_least(hash, available, rank),
        }
    }

    /// Where a message that waits at `current` may go instead: the rest of its step, then the later
    /// steps, then the earlier ones. `None` when nothing else is available.
    pub fn next_after(
        &self,
        current: &T,
        available: impl Fn(&T) -> bool,
        rank: impl Fn(&T) -> f64,
    ) -> Option<&T>
    where
        T: PartialEq,
    {
        let own_step = self
            .steps
            .iter()
            .position(|step| step.shares.iter().any(|share| share.target == *current))
            .unwrap_or(0);
        let usable = |share: &&TargetShare<T>| share.target != *current && available(&share.target);
        let (earlier, rest) = self.steps.split_at(own_step.min(self.steps.len()));
        rest.iter().chain(earlier).find_map(|step| {
            let others = step.shares.iter().filter(usable);
            let chosen = match self.sharing {
                Sharing::Weight => others.max_by_key(|share| share.weight),
                Sharing::LeastBusy | Sharing::LeastCost => others
                    .map(|share| (rank(&share.target), share))
                    .min_by(|(one, a), (other, b)| {
                        one.total_cmp(other).then(b.weight.cmp(&a.weight))
                    })
                    .map(|(_, share)| share),
            };
            chosen.map(|share| &share.target)
        })
    }

    /// Whether `other` comes after `current` in the order of failover: going forward belongs to the
    /// same round, going back begins a new one.
    pub fn is_later(&self, current: &T, other: &T) -> bool
    where
        T: PartialEq,
    {
        let place = |wanted: &T| self.targets().position(|target| target == wanted);
        place(other) > place(current)
    }

    /// Whether it has a regular expression.
    pub fn has_expression(&self) -> bool {
        self.matches.is_some() || self.source_matches.is_some()
    }

    /// Every target, in order.
    pub fn targets(&self) -> impl Iterator<Item = &T> {
        self.steps
            .iter()
            .flat_map(|step| step.shares.iter().map(|share| &share.target))
    }

    /// The route with other targets; those unknown to `resolve` are left out, and so are steps
    /// without any.
    pub fn map<U>(&self, mut resolve: impl FnMut(&T) -> Option<U>) -> Route<U> {
        let steps = self.steps.iter().map(|step| RoutingStep {
            shares: step
                .shares
                .iter()
                .filter_map(|share| {
                    Some(TargetShare {
                        target: resolve(&share.target)?,
                        weight: share.weight,
                    })
                })
                .collect(),
        });
        Route {
            prefix: self.prefix.clone(),
            source_prefix: self.source_prefix.clone(),
            matches: self.matches.clone(),
            source_matches: self.source_matches.clone(),
            account: self.account.clone(),
            network: self.network.clone(),
            sharing: self.sharing,
            steps: steps
                .filter(|step: &RoutingStep<U>| !step.shares.is_empty())
                .collect(),
        }
    }
}

impl<T: fmt::Display> fmt::Display for Route<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "to \"{}*\"", self.prefix)?;
        if let Some(expression) = &self.matches {
            write!(f, " matching /{expression}/")?;
        }
        if !self.source_prefix.is_empty() {
            write!(f, " from \"{}*\"", self.source_prefix)?;
        }
        if let Some(expression) = &self.source_matches {
            write!(f, " from sources matching /{expression}/")?;
        }
        if let Some(account) = &self.account {
            write!(f, " of account {account}")?;
        }
        if let Some(network) = &self.network {
            write!(f, " in network {network}")?;
        }
        for (index, step) in self.steps.iter().enumerate() {
            f.write_str(if index == 0 { ": " } else { ", then " })?;
            write!(f, "{step}")?;
        }
        match self.sharing {
            Sharing::Weight => Ok(()),
            Sharing::LeastBusy => f.write_str(", the least busy first"),
            Sharing::LeastCost => f.write_str(", the cheapest first"),
        }
    }
}

// === impl RoutingStep ===

impl<T> RoutingStep<T> {
    /// A step with one target.
    pub fn single(target: T) -> Self {
        Self {
            shares: vec![TargetShare { target, weight: 1 }],
        }
    }

    /// An available target, by weight; `None` when no target is available.
    fn choose(&self, hash: u64, available: &dyn Fn(&T) -> bool) -> Option<&T> {
        let usable = || self.shares.iter().filter(|share| available(&share.target));
        let total: u64 = usable().map(|share| u64::from(share.weight)).sum();
        // `available` may change between the passes: then any allowed target is taken.
        by_weight(hash, total, usable()).or_else(|| usable().next().map(|share| &share.target))
    }

    /// The available target that ranks least, by weight among equals. One with weight 0 takes nothing
    /// while another is available.
    fn choose_least(
        &self,
        hash: u64,
        available: &dyn Fn(&T) -> bool,
        rank: &dyn Fn(&T) -> f64,
    ) -> Option<&T> {
        let mut usable: Vec<&TargetShare<T>> = self
            .shares
            .iter()
            .filter(|share| available(&share.target))
            .collect();
        if usable.iter().any(|share| share.weight > 0) {
            usable.retain(|share| share.weight > 0);
        }
        // Read once each, because a load changes between two reads.
        let ranks: Vec<f64> = usable.iter().map(|share| rank(&share.target)).collect();
        let least = ranks.iter().copied().min_by(f64::total_cmp)?;
        let equal = || {
            let ranked = usable.iter().zip(&ranks);
            ranked.filter_map(|(share, rank)| (*rank <= least).then_some(*share))
        };
        let total = equal().map(|share| u64::from(share.weight)).sum();
        by_weight(hash, total, equal()).or_else(|| equal().next().map(|share| &share.target))
    }
}

/// The target whose part of `total` a message falls into; `None` when all weigh nothing.
fn by_weight<'s, T>(
    hash: u64,
    total: u64,
    shares: impl Iterator<Item = &'s TargetShare<T>>,
) -> Option<&'s T> {
    let mut point = scramble(hash).checked_rem(total)?;
    for share in shares {
        let weight = u64::from(share.weight);
        if point < weight {
            return Some(&share.target);
        }
        point -= weight;
    }
    None
}

impl<T: fmt::Display> fmt::Display for RoutingStep<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = self.shares.as_slice() {
            return write!(f, "{}", only.target);
        }
        for (index, share) in self.shares.iter().enumerate() {
            let separator = if index == 0 { "" } else { " + " };
            write!(f, "{separator}{} ({})", share.target, share.weight)?;
        }
        Ok(())
    }
}

/// Message ids ascend one by one; without mixing, shares would come in runs (splitmix64).
fn scramble(hash: u64) -> u64 {
    let mixed = (hash ^ (hash >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests;
