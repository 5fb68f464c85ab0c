//! Reads the sums of usage, for the admin API and for accounts.

use std::sync::Arc;

use crate::actors::context::NodeContext;
use crate::actors::context::plan::{account_name, target_name};
use crate::api::{UsageReport, UsageSum, time};
use crate::domain::period::DAY_MS;
use crate::domain::state;
use crate::pb::Refusal;
use crate::store::usage::{Dimension, UsageQuestion, UsageRow};

/// Most sums of an answer.
const MOST: usize = 10_000;

/// Which sums are asked for, by names.
#[derive(Debug, Clone, Default)]
pub struct AskedUsage {
    /// Days since 1970, UTC.
    pub first_day: i32,
    pub last_day: i32,
    /// Only this account (system_id), operator, country or state; empty for all.
    pub account: String,
    pub operator: String,
    pub country: String,
    pub state: String,
    /// What sums are divided by: day, account, operator, country, state, kind.
    pub by: Vec<String>,
}

/// The sums that were asked for, in the order of their dimensions.
///
/// # Errors
/// Nothing is counted, there is no such account or operator, there are too many sums, or the store does not answer.
pub async fn read(node: Arc<NodeContext>, ask: AskedUsage) -> Result<UsageReport, Refusal> {
    if !node.config().usage.enabled {
        return Err(Refusal::conflict(
            "usage is not counted: set usage.enabled = true in the file of each node, and restart it; what ends before that is in \
             the call detail records only",
        ));
    }
    let question = question(&node, &ask)?;
    let by = question.by.clone();
    let rows = node.store.usage(question).await?;
    if rows.len() > MOST {
        return Err(Refusal::conflict(format!(
            "there are more than {MOST} sums: ask for fewer days, or divide them by less, such as by=day,account"
        )));
    }
    let plan = node.plan();
    let sums = rows.into_iter();
    Ok(UsageReport {
        usage: sums
            .map(|row| sum(&by, |number| plan.name_of(number), row))
            .collect(),
    })
}

fn question(node: &NodeContext, ask: &AskedUsage) -> Result<UsageQuestion, Refusal> {
    let plan = node.plan();
    let number = |asked: &str, name: fn(&str) -> String| match asked {
        "" => Ok(None),
        asked => plan
            .number_of(&name(asked))
            .map(Some)
            .ok_or_else(|| Refusal::not_found(format!("{} is not known", name(asked)))),
    };
    Ok(UsageQuestion {
        first_day: ask.first_day,
        last_day: ask.last_day,
        account: number(&ask.account, account_name)?,
        operator: number(&ask.operator, target_name)?,
        country: (!ask.country.is_empty()).then(|| ask.country.clone()),
        state: state::from_exact_name(&ask.state),
        by: ask
            .by
            .iter()
            .filter_map(|name| Dimension::from_name(name))
            .collect(),
        limit: MOST + 1,
    })
}

/// What sums are not divided by is absent.
fn sum<'n>(by: &[Dimension], name_of: impl Fn(u32) -> &'n str, row: UsageRow) -> UsageSum {
    let named = |dimension, number, kind| {
        let name = by.contains(&dimension).then(|| name_of(number))?;
        // That of a GSM network says what it is.
        Some(name.strip_prefix(kind).unwrap_or(name).to_owned())
    };
    let asked = |dimension, text: &str| by.contains(&dimension).then(|| text.to_owned());
    let day = time(i64::from(row.day) * DAY_MS).unwrap_or_default();
    UsageSum {
        day: asked(Dimension::Day, day.get(..10).unwrap_or_default()),
        account: named(Dimension::Account, row.account, "account:"),
        operator: named(Dimension::Operator, row.operator, "operator:"),
        country: asked(Dimension::Country, &row.country),
        state: asked(Dimension::State, state::name(row.state)),
        kind: asked(Dimension::Kind, if row.is_mo { "MO" } else { "MT" }),
        currency: row.currency,
        messages: row.messages,
        parts: row.parts,
        price: row.price,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_asked_for_is_null() {
        let row = UsageRow {
            day: 20_781,
            account: 7,
            messages: 3,
            ..UsageRow::default()
        };
        let by = [Dimension::Day, Dimension::Account, Dimension::Operator];
        let name_of = |number| if number == 7 { "account:acme" } else { "" };
        let sum = sum(&by, name_of, row);
        assert_eq!(sum.day.as_deref(), Some("2026-11-24"));
        assert_eq!(sum.account.as_deref(), Some("acme"));
        assert_eq!(sum.operator.as_deref(), Some(""));
        assert_eq!((sum.country, sum.state, sum.kind), (None, None, None));
    }
}
