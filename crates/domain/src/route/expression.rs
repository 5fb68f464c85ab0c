//! Routes by regular expression: which of them match a message, the best one first.
//!
//! Part of [`super::RouteTable`]. A table without expressions has none of this. With them, a look-up
//! runs one set of expressions over the destination, and one over the source if an otherwise
//! matching route needs it: the cost does not grow with every route. Expressions are matched against
//! the address without a leading plus, octet by octet, in time that is linear in its length.

use std::cell::OnceCell;
use std::cmp::Reverse;

use regex::bytes::{RegexBuilder, RegexSet, RegexSetBuilder};

use super::{Route, RouteQuestion};
use crate::address;

/// Longest expression.
pub const MAX_EXPRESSION: usize = 500;
/// Largest program that one expression may become, octets: `[0-9]{1000}{1000}` must not fill the
/// memory.
const MAX_PROGRAM: usize = 256 * 1024;

/// The routes with an expression, in their order of preference.
#[derive(Debug)]
pub(super) struct Expressions {
    /// Places in the table.
    order: Vec<usize>,
    /// One pattern per route of `order`; that of a route without one fits everything.
    destinations: RegexSet,
    sources: RegexSet,
}

/// Whether an expression may be used, and why not.
///
/// # Errors
/// In words: what is wrong with it.
pub fn check(expression: &str) -> Result<(), String> {
    if expression.is_empty() {
        return Err("is empty; leave it out to match everything".to_owned());
    }
    if expression.len() > MAX_EXPRESSION {
        return Err(format!("is longer than {MAX_EXPRESSION} octets"));
    }
    RegexBuilder::new(expression)
        .unicode(false)
        .size_limit(MAX_PROGRAM)
        .build()
        .map(drop)
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => "repeats too much; make it simpler".to_owned(),
            other => format!("is no regular expression: {other}"),
        })
}

/// Whether one expression matches an address; for explanations, it is compiled each time.
pub fn is_match(expression: &str, address: &[u8]) -> bool {
    let compiled = RegexBuilder::new(expression).unicode(false).build();
    compiled.is_ok_and(|compiled| compiled.is_match(address::normalise(address)))
}

// === impl Expressions ===

impl Expressions {
    /// `None` when no route has an expression. One that [`check`] refuses fits nothing.
    pub(super) fn build<T>(routes: &[Route<T>]) -> Option<Self> {
        let mut order: Vec<usize> = (0..routes.len())
            .filter(|at| routes[*at].has_expression())
            .filter(|at| {
                let route = &routes[*at];
                let mut both = route.matches.iter().chain(&route.source_matches);
                both.all(|one| check(one).is_ok())
            })
            .collect();
        if order.is_empty() {
            return None;
        }
        order.sort_by_key(|at| Reverse(rank(&routes[*at], *at)));
        let set = |of: fn(&Route<T>) -> Option<&String>| {
            let patterns = order
                .iter()
                .map(|at| of(&routes[*at]).map_or("", String::as_str));
            // The size of each was checked alone; the limit of all together grows with their
            // number.
            RegexSetBuilder::new(patterns)
                .unicode(false)
                .size_limit(usize::MAX)
                .build()
                .unwrap_or_else(|_| RegexSet::empty())
        };
        Some(Self {
            destinations: set(|route| route.matches.as_ref()),
            sources: set(|route| route.source_matches.as_ref()),
            order,
        })
    }

    /// The routes that fit, as places in the table, the best one first. `network` decides whether a
    /// route's network matches.
    pub(super) fn fitting<'a, T>(
        &'a self,
        routes: &'a [Route<T>],
        message: &RouteQuestion<'a>,
        network: impl Fn(Option<&str>) -> bool + 'a,
    ) -> impl Iterator<Item = usize> + 'a {
        let destination = address::normalise(message.destination);
        let source = address::normalise(message.source);
        let account = message.account;
        let from = OnceCell::new();
        self.destinations
            .matches(destination)
            .into_iter()
            .map(|at| (at, self.order[at]))
            .filter(move |(at, index)| {
                let route = &routes[*index];
                destination.starts_with(address::normalise(route.prefix.as_bytes()))
                    && source.starts_with(address::normalise(route.source_prefix.as_bytes()))
                    && route.account.as_deref().is_none_or(|only| only == account)
                    && network(route.network.as_deref())
                    && (route.source_matches.is_none()
                        || from
                            .get_or_init(|| self.sources.matches(source))
                            .matched(*at))
            })
            .map(|(_, index)| index)
    }
}

/// What makes a route better than others: as among routes without expressions, and of two that are
/// equal in that the first one.
pub(super) fn rank<T>(route: &Route<T>, at: usize) -> impl Ord + use<T> {
    let length = |prefix: &str| address::normalise(prefix.as_bytes()).len();
    (
        route.network.is_some(),
        route.has_expression(),
        length(&route.prefix),
        length(&route.source_prefix),
        route.account.is_some(),
        Reverse(at),
    )
}
