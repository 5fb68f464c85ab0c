//! Routes: from destination, source and account to an ordered list of targets.
//!
//! A route for the network that the number belongs to wins over one without: ported numbers keep
//! their prefix. Then the longest destination prefix wins, then the longest source prefix, then a
//! route of the account's own over one for everybody; the empty prefix is the default and comes last.
//! Which network that is, is found out only for messages that such a route could take. A look-up
//! walks one trie and allocates nothing. Built when the configuration is (re)read, then shared
//! behind a snapshot. Generic over the target: configuration has names, the actors queue numbers.

mod mo;
mod trie;

pub use mo::MoTable;

use std::collections::HashMap;
use std::fmt;

use super::address;
pub(super) use trie::Trie;

/// One target's part of a [`Step`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share<T> {
    /// Where to.
    pub target: T,
    /// Relative to the other shares of the step; 0 takes nothing while another is available.
    pub weight: u32,
}

/// Targets of equal rank; the next step is for when none of them is available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step<T> {
    /// At least one.
    pub shares: Vec<Share<T>>,
}

/// Who goes where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route<T> {
    /// Destination prefix, digits; empty matches everything.
    pub prefix: String,
    /// Source prefix; empty matches everything.
    pub source_prefix: String,
    /// Only for messages of this account.
    pub account: Option<String>,
    /// Only for numbers of this network.
    pub network: Option<String>,
    /// In order of failover.
    pub steps: Vec<Step<T>>,
}

/// All routes, ready for look-ups.
#[derive(Debug)]
pub struct RouteTable<T> {
    routes: Vec<Route<T>>,
    /// Routes without a network.
    by_destination: Trie<BySource>,
    by_network: HashMap<Box<str>, Trie<BySource>>,
    /// Routes with any network.
    asking: Trie<BySource>,
}

/// A message as far as routes look at it. A leading `+` of the addresses is ignored.
#[derive(Debug, Clone, Copy)]
pub struct Question<'m> {
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
    /// A table of these routes; of two with the same conditions the first one stands.
    pub fn build(entries: impl IntoIterator<Item = Route<T>>) -> Self {
        let routes: Vec<Route<T>> = entries.into_iter().collect();
        let mut table = Self {
            routes: Vec::new(),
            by_destination: Trie::default(),
            by_network: HashMap::new(),
            asking: Trie::default(),
        };
        for (index, route) in routes.iter().enumerate() {
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
    pub fn lookup(&self, message: &Question<'_>) -> Option<&Route<T>> {
        let own = match message.network.is_empty() {
            true => None,
            false => self.by_network.get(message.network),
        };
        let best = own
            .and_then(|own| best_of(own, message))
            .or_else(|| best_of(&self.by_destination, message));
        best.map(|index| &self.routes[index])
    }

    /// Whether any route has a network.
    pub fn has_networks(&self) -> bool {
        !self.by_network.is_empty()
    }

    /// Whether a route with a network could take this message, if it is the right one.
    pub fn asks_network(&self, message: &Question<'_>) -> bool {
        self.has_networks() && best_of(&self.asking, message).is_some()
    }

    /// Every route that fits, the best one first: for "why did this go there".
    pub fn explain(&self, message: &Question<'_>) -> Vec<&Route<T>> {
        let source = address::normalise(message.source);
        let mut found = Vec::new();
        let own = self.by_network.get(message.network);
        for (table, has_network) in own
            .map(|own| (own, true))
            .into_iter()
            .chain([(&self.by_destination, false)])
        {
            table.walk(address::normalise(message.destination), |length, at| {
                at.for_all.walk(source, |from, index| {
                    found.push((has_network, length, from, false, *index))
                });
                if let Some(own) = at.by_account.get(message.account) {
                    own.walk(source, |from, index| {
                        found.push((has_network, length, from, true, *index))
                    });
                }
            });
        }
        found.sort_unstable_by(|a, b| b.cmp(a));
        found
            .into_iter()
            .map(|(.., index)| &self.routes[index])
            .collect()
    }

    /// All routes in the order they were given.
    pub fn routes(&self) -> &[Route<T>] {
        &self.routes
    }
}

/// Puts a route into a trie; one that is there already stands.
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

fn best_of(table: &Trie<BySource>, message: &Question<'_>) -> Option<usize> {
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
        let own = match self.by_account.is_empty() {
            true => None,
            false => self
                .by_account
                .get(account)
                .and_then(|own| own.longest(source)),
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
    /// The target of a message: the first step with an available target, shared by weight.
    ///
    /// `hash` spreads messages: use something stable per message, so that a retry stays where it
    /// was. When nothing is available the first step is chosen all the same, and the message waits
    /// there. `None` only for a route without targets.
    pub fn choose(&self, hash: u64, available: impl Fn(&T) -> bool) -> Option<&T> {
        self.steps
            .iter()
            .find_map(|step| step.choose(hash, &available))
            .or_else(|| self.steps.first()?.choose(hash, &|_| true))
    }

    /// Where a message that waits at `current` may go instead: the rest of its step, then the later
    /// steps, then the earlier ones. `None` when nothing else is available.
    pub fn next_after(&self, current: &T, available: impl Fn(&T) -> bool) -> Option<&T>
    where
        T: PartialEq,
    {
        let own_step = self
            .steps
            .iter()
            .position(|step| step.shares.iter().any(|share| share.target == *current))
            .unwrap_or(0);
        let usable = |target: &T| target != current && available(target);
        let (earlier, rest) = self.steps.split_at(own_step.min(self.steps.len()));
        rest.iter().chain(earlier).find_map(|step| {
            step.shares
                .iter()
                .filter(|share| usable(&share.target))
                .max_by_key(|share| share.weight)
                .map(|share| &share.target)
        })
    }

    /// Whether `other` comes after `current` in the order of failover: going on is a try of the same
    /// round, going back begins a new one.
    pub fn is_later(&self, current: &T, other: &T) -> bool
    where
        T: PartialEq,
    {
        let place = |wanted: &T| self.targets().position(|target| target == wanted);
        place(other) > place(current)
    }

    /// Every target, in order.
    pub fn targets(&self) -> impl Iterator<Item = &T> {
        self.steps
            .iter()
            .flat_map(|step| step.shares.iter().map(|share| &share.target))
    }

    /// The same route with other targets; those that `resolve` does not know are left out, and so
    /// are steps without any.
    pub fn map<U>(&self, mut resolve: impl FnMut(&T) -> Option<U>) -> Route<U> {
        let steps = self.steps.iter().map(|step| Step {
            shares: step
                .shares
                .iter()
                .filter_map(|share| {
                    Some(Share {
                        target: resolve(&share.target)?,
                        weight: share.weight,
                    })
                })
                .collect(),
        });
        Route {
            prefix: self.prefix.clone(),
            source_prefix: self.source_prefix.clone(),
            account: self.account.clone(),
            network: self.network.clone(),
            steps: steps
                .filter(|step: &Step<U>| !step.shares.is_empty())
                .collect(),
        }
    }
}

impl<T: fmt::Display> fmt::Display for Route<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "to \"{}*\"", self.prefix)?;
        if !self.source_prefix.is_empty() {
            write!(f, " from \"{}*\"", self.source_prefix)?;
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
        Ok(())
    }
}

// === impl Step ===

impl<T> Step<T> {
    /// A step with one target.
    pub fn single(target: T) -> Self {
        Self {
            shares: vec![Share { target, weight: 1 }],
        }
    }

    /// An available target, by weight; `None` when no target is available.
    fn choose(&self, hash: u64, available: &impl Fn(&T) -> bool) -> Option<&T> {
        let usable = || self.shares.iter().filter(|share| available(&share.target));
        let total: u64 = usable().map(|share| u64::from(share.weight)).sum();
        if total == 0 {
            return usable().next().map(|share| &share.target);
        }
        let mut point = scramble(hash) % total;
        for share in usable() {
            let weight = u64::from(share.weight);
            if point < weight {
                return Some(&share.target);
            }
            point -= weight;
        }
        // `available` changed its mind between the two passes: take whatever it allows now.
        usable().next().map(|share| &share.target)
    }
}

impl<T: fmt::Display> fmt::Display for Step<T> {
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
