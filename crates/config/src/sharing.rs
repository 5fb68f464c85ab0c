//! How the targets of a route share, and what a message costs at one of them: words and values of
//! `[[route]]` and `[[operator]]`.

use std::collections::BTreeMap;

use figment::value::Value;
use serde_json::Value as Json;

use super::section::choice;
use super::setting::Leaf;
use super::value::{quoted, table_of};
use smsc_domain::cost::TargetTariff;
use smsc_domain::route;

choice! {
    /// Who of a step gets a message.
    pub enum StepSharing {
        /// Each its part.
        Weight = "weight",
        /// Who has least to do for what it can take: waiting and unanswered messages for each of its `rate`, or of its windows. Equals share by weight.
        LeastBusy = "least_busy",
        /// Who has the lowest `cost` for the destination. Equals share by weight.
        LeastCost = "least_cost",
    }
}

/// Costs by destination prefix.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Costs(BTreeMap<String, f64>);

// === impl Sharing ===

impl From<StepSharing> for route::Sharing {
    fn from(sharing: StepSharing) -> Self {
        match sharing {
            StepSharing::Weight => Self::Weight,
            StepSharing::LeastBusy => Self::LeastBusy,
            StepSharing::LeastCost => Self::LeastCost,
        }
    }
}

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

impl Leaf for Costs {
    const EXAMPLE: &'static str = "{ \"44\" = 3, \"4477\" = 2.5 }";

    fn kind() -> String {
        "a table of prefixes with numbers".to_owned()
    }

    fn schema() -> Json {
        table_of(<f64 as Leaf>::schema())
    }

    fn parse(value: &Value) -> Option<Self> {
        value
            .as_dict()?
            .iter()
            .map(|(prefix, cost)| Some((prefix.clone(), <f64 as Leaf>::parse(cost)?)))
            .collect::<Option<_>>()
            .map(Self)
    }

    fn show(&self) -> String {
        let costs: Vec<String> = self
            .iter()
            .map(|(prefix, cost)| format!("{} = {cost}", quoted(prefix)))
            .collect();
        if costs.is_empty() {
            "{}".to_owned()
        } else {
            format!("{{ {} }}", costs.join(", "))
        }
    }

    fn json(&self) -> Json {
        let cost = |(prefix, cost): (&str, f64)| (prefix.to_owned(), Json::from(cost));
        self.iter().map(cost).collect()
    }
}
