//! How the targets of a route share, and what a message costs at one of them: words and values of
//! `[[route]]` and `[[operator]]`.

use std::collections::BTreeMap;

use super::section::settings;
use super::setting::Leaf;
use super::value::table_by_name;
use smsc_domain::cost::TargetTariff;
use smsc_domain::route;

settings! {
    /// Who of a step gets a message.
    pub enum StepSharing for route::Sharing {
        /// By weight.
        Weight = "weight",
        /// The least loaded: waiting and unanswered messages relative to `rate` or windows. Equals share by weight.
        LeastBusy = "least_busy",
        /// The lowest `cost` for the destination. Equals share by weight.
        LeastCost = "least_cost",
    }
}

/// Costs by destination prefix.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Costs(BTreeMap<String, f64>);

// === impl Costs ===

impl Costs {
    /// Every prefix with its cost.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.0.iter().map(|(prefix, cost)| (prefix.as_str(), *cost))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The prices of a target; `base` where no prefix fits.
    pub fn tariff(&self, base: Option<f64>) -> TargetTariff {
        TargetTariff::new(base, self.iter())
    }
}

table_by_name!(
    Costs of f64,
    "a table of prefixes with numbers",
    "{ \"44\" = 3, \"4477\" = 2.5 }",
    <f64 as Leaf>::parse
);
