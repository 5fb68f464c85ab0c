//! The balance port: balances and quotas (purses) of accounts, and top-ups.
//!
//! Used by `actors/billing/balance.rs`. A charge is a [`ChargeRow`] of the batch that stores its message, so
//! both are durable or neither. Guarantees that a charge counts only if its message was written, and
//! that no correction takes a balance below zero.
//!
//! `left` of a quota counts down from 0: after 30 segments it is -30, and the configured quota is
//! how far down it may go. So a quota may change in the middle of a day.

use super::cold::{ColdRecord as _, ColdRow, ColdStatement, record, values};
use super::{Reply, StoreResult};
use smsc_domain::price::Purse;

/// The charge of a message, in the transaction that stores the message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChargeRow {
    /// The message; when its row is rejected, nothing is charged.
    pub id: u64,
    pub purse: Purse,
    /// Credits, or segments of a quota; below zero when credits are returned.
    pub amount: i64,
    /// The membership under which it was reserved; 0 with a store of one node. See
    /// [`Membership`](super::cluster::Membership).
    pub epoch: u64,
}

/// The content of a purse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PurseRow {
    pub purse: Purse,
    /// What no node has reserved.
    pub left: i64,
    /// The unspent part of the blocks that nodes have reserved; 0 with a store of one node.
    pub reserved: i64,
}

record! {
    /// What was added to a balance, or taken from it.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct TopUpRow in "top_ups" {
        /// From the sequence of message ids: it carries the time.
        pub id: u64,
        /// Interned name of the account.
        pub account: u32,
        /// Credits; below zero for a correction.
        pub amount: i64,
        /// Unique among those of the account, where there is one.
        pub reference: Option<String>,
        /// Who ordered it.
        pub by: String,
    }
}

/// What became of a top-up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TopUpOutcome {
    /// It is in the balance.
    Done,
    /// There is one with this reference already; nothing was changed.
    Repeated(TopUpRow),
    /// The balance would be below zero; nothing was changed.
    TooLow,
}

/// A change of a node's block of a purse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockOrder {
    pub purse: Purse,
    /// The membership of the node. An order for another one is refused with
    /// [`StoreError::Fenced`](super::StoreError::Fenced).
    pub epoch: u64,
    /// Ascends by purse and membership: a lower number than the last one is carried out as a read.
    pub number: i64,
    pub change: BlockChange,
}

/// The kind of a [`BlockOrder`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockChange {
    /// Nothing; only the answer is needed.
    Look,
    /// Reserves more: `want` while that is a small part of what is left, else `lack` if available,
    /// else everything above `floor`.
    Take { lack: i64, want: i64, floor: i64 },
    /// Gives back.
    Give { amount: i64 },
}

/// Blocks of purses in a store of many nodes. Calls never block.
pub trait BlockStore {
    /// Carries a request out; returns what this membership has reserved of the purse less what it
    /// returned.
    fn order_block(&self, order: BlockOrder) -> Reply<i64>;
}

/// The balance part of a store. Calls never block.
pub trait BalanceStore {
    /// Every purse of an account, or of all: balances, and the quotas of the last days.
    fn purses(&self, account: Option<u32>) -> Reply<Vec<PurseRow>>;

    /// Adds to a balance, or takes what no node has reserved, if at least `floor` is left then.
    fn top_up(&self, row: TopUpRow, floor: i64) -> Reply<TopUpOutcome>;

    /// Top-ups of an account below an id, newest first.
    fn top_ups(&self, account: u32, below: u64, limit: usize) -> Reply<Vec<TopUpRow>>;

    /// Forgets the quotas of the days before this one.
    fn forget_quotas(&self, day: u32) -> Reply<()>;
}

// === impl PurseRow ===

impl PurseRow {
    /// The statement that reads those of an account, or all; `reserved` is that column.
    pub(crate) fn of(account: Option<u32>, reserved: &str) -> ColdStatement {
        let sql = format!(
            "SELECT p.account, p.day, p.credits, {reserved} FROM purse p
             WHERE CAST($1 AS int) IS NULL OR p.account = $1 ORDER BY p.account, p.day"
        );
        ColdStatement::new(sql, values![account])
    }

    /// What [`Self::of`] has found.
    pub(crate) fn all(rows: Vec<ColdRow>) -> StoreResult<Vec<Self>> {
        let read = |mut row: ColdRow| {
            Ok(Self {
                purse: Purse {
                    account: row.take("purse.account")?,
                    day: row.take("purse.day")?,
                },
                left: row.take("purse.credits")?,
                reserved: row.take("what is reserved of a purse")?,
            })
        };
        rows.into_iter().map(read).collect()
    }

    /// The statement that writes what is left in it.
    pub(crate) fn insert(&self) -> ColdStatement {
        let Purse { account, day } = self.purse;
        let sql = "INSERT INTO purse(account, day, credits) VALUES($1, $2, $3)";
        ColdStatement::new(sql, values![account, day, self.left])
    }

    /// The statement that forgets the quotas of the days before this one.
    pub(crate) fn forget(table: &str, day: u32) -> ColdStatement {
        let sql = format!("DELETE FROM {table} WHERE day > 0 AND day < $1");
        ColdStatement::new(sql, values![day])
    }
}

// === impl TopUpRow ===

impl TopUpRow {
    /// The statement that reads those of an account below an id, newest first.
    pub(crate) fn below(account: u32, below: u64, limit: usize) -> ColdStatement {
        let rest = "WHERE account = $1 AND id < $2 ORDER BY id DESC LIMIT $3";
        Self::select(rest, values![account, below, limit])
    }

    /// The statement that reads the one with the same reference.
    pub(crate) fn known(&self) -> ColdStatement {
        let rest = "WHERE account = $1 AND reference = $2";
        Self::select(rest, values![self.account, self.reference])
    }
}
