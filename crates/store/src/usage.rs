//! The usage port: how many messages ended, by day, account, operator, country and state.
//!
//! Rows are sums. They are written by a reader of the [`outbox`](super::outbox), in the transaction that finishes
//! its events, so that each message counts once; and read by the admin API and the API of accounts.

use super::Reply;
use super::cold::{ColdRecord as _, ColdStatement, ColdTables, record, values};

record! {
    /// Sums of messages that have all of this in common. In an answer, what was not asked for is 0 or empty.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct UsageRow in "usage" {
        /// Days since 1970 (UTC): when the final states became known.
        pub day: i32,
        /// Interned name, 0 for none.
        pub account: u32,
        /// Interned name, 0 for none.
        pub operator: u32,
        /// ISO 3166-1 code; empty if the number says none.
        pub country: String,
        /// As in SMPP 3.4 §5.2.28.
        pub state: u8,
        /// Mobile originated.
        pub is_mo: bool as "kind",
        /// What a credit is.
        pub currency: String,
        pub messages: u64,
        /// Short messages.
        pub parts: u64,
        /// Credits.
        pub price: i64,
    }
}

smsc_domain::named! {
    /// What sums may be divided by, besides currencies, by which they always are.
    /// Its words are those of questions, and the names of columns; in the order of an answer.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Dimension, name {
        Day: "day",
        Account: "account",
        Operator: "operator",
        Country: "country",
        State: "state",
        Kind: "kind",
    }
}

/// Which sums are asked for. Days are those of [`UsageRow::day`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageQuestion {
    pub first_day: i32,
    pub last_day: i32,
    pub account: Option<u32>,
    pub operator: Option<u32>,
    pub country: Option<String>,
    pub state: Option<u8>,
    pub by: Vec<Dimension>,
    /// Most rows of the answer.
    pub limit: usize,
}

/// The usage part of a store. Calls never block.
pub trait UsageStore {
    /// Sums in the order of day, account, operator, country, state and kind.
    fn usage(&self, question: UsageQuestion) -> Reply<Vec<UsageRow>>;

    /// Deletes up to `limit` sums of days before this one; returns how many.
    fn forget_usage(&self, before: i32, limit: usize) -> Reply<u64>;
}

// === impl UsageQuestion ===

impl UsageQuestion {
    /// The columns of the answer in SQL: the dimensions and `currency`.
    pub(crate) fn columns(&self) -> String {
        let column = |one: Dimension| match (self.by.contains(&one), one) {
            (true, _) => one.name(),
            (false, Dimension::Country) => "''",
            (false, _) => "0",
        };
        let columns: Vec<&str> = Dimension::ALL.map(column).into();
        format!("{}, currency", columns.join(", "))
    }

    /// What the sums are divided by, in SQL.
    pub(crate) fn groups(&self) -> String {
        let chosen = Dimension::ALL
            .into_iter()
            .filter(|one| self.by.contains(one));
        chosen
            .map(|one| one.name().to_owned() + ", ")
            .collect::<String>()
            + "currency"
    }
}

impl<S: ColdTables> UsageStore for S {
    fn usage(&self, question: UsageQuestion) -> Reply<Vec<UsageRow>> {
        let sql = format!(
            "SELECT {}, CAST(sum(messages) AS bigint), CAST(sum(parts) AS bigint),
               CAST(sum(price) AS bigint) FROM usage
             WHERE day >= $1 AND day <= $2 AND (CAST($3 AS int) IS NULL OR account = $3)
               AND (CAST($4 AS int) IS NULL OR operator = $4)
               AND (CAST($5 AS text) IS NULL OR country = $5)
               AND (CAST($6 AS int) IS NULL OR state = $6)
             GROUP BY {groups} ORDER BY {groups} LIMIT $7",
            question.columns(),
            groups = question.groups()
        );
        let values = values![
            question.first_day,
            question.last_day,
            question.account,
            question.operator,
            question.country,
            question.state,
            question.limit
        ];
        self.select(ColdStatement::new(sql, values), UsageRow::all)
    }

    fn forget_usage(&self, before: i32, limit: usize) -> Reply<u64> {
        let delete =
            "DELETE FROM usage WHERE (day, account, operator, country, state, kind, currency)
            IN (SELECT day, account, operator, country, state, kind, currency FROM usage
              WHERE day < $1 LIMIT $2)";
        let delete = ColdStatement::new(delete, values![before, limit]);
        self.change(vec![delete], |done| Ok(done.rows))
    }
}
