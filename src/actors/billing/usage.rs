//! Reads the sums of usage, for the admin API and for accounts.

use std::sync::Arc;

use crate::actors::context::NodeContext;
use crate::actors::context::plan::{account_name, target_name};
use crate::domain::state;
use crate::pb::{ReadUsage, Refusal, UsageList, UsageView};
use crate::store::usage::{Dimension, UsageQuestion, UsageRow};

/// Most sums of an answer.
const MOST: usize = 10_000;

/// The sums that were asked for, in the order of their dimensions.
///
/// # Errors
/// Nothing is counted, there is no such account or operator, there are too many sums, or the store does not answer.
pub async fn read(node: Arc<NodeContext>, ask: ReadUsage) -> Result<UsageList, Refusal> {
    if !node.config().usage.enabled {
        return Err(Refusal::conflict(
            "usage is not counted: set usage.enabled = true and restart",
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
    let views = rows.iter().map(|row| view(&node, &by, row));
    Ok(UsageList {
        usage: views.collect(),
        by: by.iter().map(|one| one.name().to_owned()).collect(),
    })
}

fn question(node: &NodeContext, ask: &ReadUsage) -> Result<UsageQuestion, Refusal> {
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
            .filter_map(|name| Dimension::of_name(name))
            .collect(),
        limit: MOST + 1,
    })
}

fn view(node: &NodeContext, by: &[Dimension], row: &UsageRow) -> UsageView {
    let plan = node.plan();
    let name = |number, kind| {
        let name = plan.name_of(number);
        // That of a GSM network says what it is.
        name.strip_prefix(kind).unwrap_or(name).to_owned()
    };
    let has = |dimension| by.contains(&dimension);
    let given = |dimension, text: &str| {
        if has(dimension) {
            text.to_owned()
        } else {
            String::new()
        }
    };
    UsageView {
        day: row.day,
        account: name(row.account, "account:"),
        operator: name(row.operator, "operator:"),
        country: row.country.clone(),
        state: given(Dimension::State, state::name(row.state)),
        kind: given(Dimension::Kind, if row.is_mo { "MO" } else { "MT" }),
        currency: row.currency.clone(),
        messages: row.messages,
        parts: row.parts,
        price: row.price,
    }
}
