//! `[[number_range]]`: the number plan.
//!
//! [`number_plan`] compiles the ranges in the order of their names; the validation calls it to report every error,
//! the plan to use the result. What a range says in `to` becomes routes ([`NumberRange::routes`]), which stand
//! behind those of `[[route]]`.

use super::policy::CompiledPolicies;
use super::problem::ConfigProblem;
use super::section::settings;
use super::sharing::StepSharing;
use super::{Config, RouteConfig, RouteStep};
use smsc_domain::number_plan::{DestinationClass, NumberPlan, NumberPlanRange};

/// Most digits of an address (SMPP 3.4 §5.2.9).
pub(super) const MOST_DIGITS: u32 = 20;

settings! {
    /// Class of the numbers of a range.
    pub enum NumberClass for DestinationClass {
        /// Our own: of handsets of our core network, or of accounts.
        Local = "local",
        /// Those of a peer behind us.
        Downstream = "downstream",
        /// Short codes.
        ShortCode = "short_code",
        /// The rest of the world.
        Outside = "outside",
    }

    /// `[[number_range]]`: a part of the number plan. Ranges with `min_digits` or `max_digits` win, then the longest prefix. A number in no range is `outside`.
    pub struct NumberRange {
        /// Name in the API, metrics and explanations.
        @required @name name: String = String::new(),
        /// Class of its numbers.
        class: NumberClass = NumberClass::Local,
        /// First digits of its numbers: `["4477009"]`; `""` for all. Compared after rewriting.
        @filled("is missing; write [\"\"] for every number")
        @required prefixes: Vec<String> = Vec::new(),
        /// Fewest digits of its numbers.
        @must(|digits| (1..=MOST_DIGITS).contains(digits), "must be 1 to 20")
        min_digits: Option<u32> = None,
        /// Most digits of its numbers.
        @must(|digits| (1..=MOST_DIGITS).contains(digits), "must be 1 to 20")
        max_digits: Option<u32> = None,
        /// Existing numbers, notation as `senders` of an account: `["447700900123", "list:subscribers"]`; all if empty. Others get ESME_RINVDSTADR, unless an account has them in `addresses`.
        numbers: Vec<String> = Vec::new(),
        /// Targets for these numbers, as `to` of a route. A `[[route]]` with the same or a longer prefix, a network or an expression wins; without `to`, only routes decide.
        to: Vec<RouteStep> = Vec::new(),
    }
}

/// Compiles the ranges; what is wrong with them goes to `problems`.
pub fn number_plan(
    config: &Config,
    policies: &CompiledPolicies,
    problems: &mut Vec<ConfigProblem>,
) -> NumberPlan {
    let mut order: Vec<usize> = (0..config.number_range.len()).collect();
    order.sort_by_key(|at| &config.number_range[*at].name);
    let compile = |at: usize| {
        let range = &config.number_range[at];
        let key = format!("number_range[{at}].numbers");
        let compiled = NumberPlanRange {
            name: range.name.clone(),
            class: range.class.into(),
            digits: range
                .counted()
                .map(|(min, max)| min as usize..=max as usize),
            numbers: policies.sets(&key, &range.numbers, problems),
        };
        (range.prefixes.clone(), compiled)
    };
    NumberPlan::build(order.into_iter().map(compile).collect::<Vec<_>>())
}

// === impl Config ===

impl Config {
    /// Every route: those of `[[route]]`, and behind them those of number ranges.
    pub fn all_routes(&self) -> Vec<RouteConfig> {
        let mut ranges: Vec<&NumberRange> = self.number_range.iter().collect();
        ranges.sort_by_key(|range| &range.name);
        let of_ranges = ranges.into_iter().flat_map(NumberRange::routes);
        self.route.iter().cloned().chain(of_ranges).collect()
    }

    /// Whether a route names others for messages that a target does not take.
    pub fn has_stand_in(&self, target: &str) -> bool {
        self.all_routes().iter().any(|route| {
            let names = |step: &RouteStep| step.shares.iter().any(|share| share.target == target);
            let step = route.to.iter().position(names);
            step.is_some_and(|at| at + 1 < route.to.len())
        })
    }
}

// === impl NumberRange ===

impl NumberRange {
    /// The fewest and the most digits of its numbers, if it says anything of them.
    pub(super) fn counted(&self) -> Option<(u32, u32)> {
        (self.min_digits.is_some() || self.max_digits.is_some()).then(|| {
            let min = self.min_digits.unwrap_or(1);
            (min, self.max_digits.unwrap_or(MOST_DIGITS))
        })
    }

    /// The routes that `to` stands for: for each prefix one for messages of accounts and one for those of
    /// operators. Their names cannot be those of others: no route may have a colon in its name.
    pub(super) fn routes(&self) -> Vec<RouteConfig> {
        let prefixes = self.prefixes.iter().filter(|_| !self.to.is_empty());
        let both = prefixes.flat_map(|prefix| [(prefix, false), (prefix, true)]);
        both.map(|(prefix, mobile_originated)| RouteConfig {
            name: Some(format!("range:{}:{prefix}", self.name)),
            prefix: prefix.clone(),
            matches: self
                .counted()
                .map(|(min, max)| format!("^[0-9]{{{min},{max}}}$")),
            to: self.to.clone(),
            share: StepSharing::Weight,
            mobile_originated,
            ..RouteConfig::default()
        })
        .collect()
    }
}
