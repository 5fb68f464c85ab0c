//! What was usual of operators and accounts on the days before, by the sums of usage: a process that has just begun has counted
//! nothing yet, and would name whoever always has more than the least share.
//!
//! Called by the task that looks for incidents, once.

use std::collections::BTreeMap;

use crate::actors::context::NodeContext;
use crate::domain::incident::{IncidentKey, IncidentKind, IncidentSubject};
use crate::domain::period::DAY_MS;
use crate::domain::state;
use crate::store::StoreError;
use crate::store::usage::{Dimension, UsageQuestion, UsageRow};

/// The days before today that count.
const DAYS: i32 = 7;
/// Fewer messages say nothing.
const LEAST: u64 = 1_000;
/// Sums that are read at most, of operators and of accounts.
const MOST_SUMS: usize = 20_000;

/// Shares of refusals and of failures, of those with enough messages. `now` in Unix milliseconds.
pub(super) async fn by_usage(
    node: &NodeContext,
    now: i64,
) -> Result<Vec<(IncidentKey, f64)>, StoreError> {
    let today = now.div_euclid(DAY_MS) as i32;
    let sums = |of: Dimension| {
        node.store.usage(UsageQuestion {
            first_day: today - DAYS,
            last_day: today - 1,
            by: vec![of, Dimension::State, Dimension::Kind],
            limit: MOST_SUMS,
            ..UsageQuestion::default()
        })
    };
    let operators = sums(Dimension::Operator).await?;
    let accounts = sums(Dimension::Account).await?;
    let operators = operators
        .iter()
        .map(|row| (IncidentSubject::Operator(row.operator), row));
    let accounts = accounts
        .iter()
        .map(|row| (IncidentSubject::Account(row.account), row));
    Ok(shares(operators.chain(accounts)))
}

fn shares<'r>(
    rows: impl Iterator<Item = (IncidentSubject, &'r UsageRow)>,
) -> Vec<(IncidentKey, f64)> {
    let mut sums: BTreeMap<IncidentSubject, BTreeMap<u8, u64>> = BTreeMap::new();
    for (subject, row) in rows.filter(|(_, row)| !row.is_mo) {
        let of_state = sums.entry(subject).or_default();
        *of_state.entry(row.state).or_default() += row.messages;
    }
    let mut all = Vec::new();
    for (subject, by_state) in sums {
        let of = |state: u8| by_state.get(&state).copied().unwrap_or_default();
        let ended: u64 = by_state.values().sum();
        let arrived = of(state::DELIVERED) + of(state::ACCEPTED);
        // Not those that expired: the receipts that say so come too late to be counted.
        let failed = of(state::UNDELIVERABLE);
        for (kind, part, whole) in [
            (IncidentKind::Refused, of(state::REJECTED), ended),
            (IncidentKind::FailedReceipts, failed, failed + arrived),
        ] {
            if whole >= LEAST {
                all.push(((subject, kind), part as f64 / whole as f64));
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_those_with_enough_messages() {
        let row = |operator, state, messages, is_mo| UsageRow {
            operator,
            state,
            messages,
            is_mo,
            ..UsageRow::default()
        };
        let rows = [
            row(1, state::DELIVERED, 4_500, false),
            row(1, state::EXPIRED, 3_000, false),
            row(1, state::UNDELIVERABLE, 1_500, false),
            row(1, state::REJECTED, 1_000, false),
            row(1, state::REJECTED, 9_000, true),
            row(2, state::REJECTED, 999, false),
        ];
        let rows = rows
            .iter()
            .map(|row| (IncidentSubject::Operator(row.operator), row));
        let operator = IncidentSubject::Operator(1);
        assert_eq!(
            shares(rows),
            [
                ((operator, IncidentKind::Refused), 0.1),
                ((operator, IncidentKind::FailedReceipts), 0.25),
            ]
        );
    }
}
