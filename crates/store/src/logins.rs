//! The logins port: when and from where each account has bound last.
//!
//! Written by the nodes, coarsely: a crash loses the last seconds. Read by the admin API.

use super::Reply;
use super::cold::{ColdColumn as _, ColdRecord as _, ColdTables, record, values};

record! {
    /// The last login of an account.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct LoginRow in "logins" {
        /// Its system_id.
        pub account: String,
        /// Unix milliseconds.
        pub at: i64,
        /// The IP address that it came from.
        pub address: String,
        /// `transmitter`, `receiver` or `transceiver`.
        pub bind_type: String,
        /// The node that it has bound to.
        pub node: u8,
    }
}

/// The logins part of a store. Calls never block.
pub trait LoginStore {
    /// The last login of an account.
    fn login_of(&self, account: String) -> Reply<Option<LoginRow>>;

    /// Keeps logins, where they are later than what is kept, or that is later than `latest` (Unix milliseconds): a clock was
    /// ahead then.
    fn keep_logins(&self, rows: Vec<LoginRow>, latest: i64) -> Reply<()>;

    /// Forgets the login of an account that is gone.
    fn forget_login(&self, account: String) -> Reply<()>;

    /// Forgets the logins of accounts that are not in the configuration; the answer is how many.
    fn sweep_logins(&self) -> Reply<u64>;
}

impl<S: ColdTables> LoginStore for S {
    fn login_of(&self, account: String) -> Reply<Option<LoginRow>> {
        let one = LoginRow::select("WHERE account = $1", values![account]);
        self.look_up(one, LoginRow::first)
    }

    fn keep_logins(&self, mut rows: Vec<LoginRow>, latest: i64) -> Reply<()> {
        // In the same order on each node, so that no two wait for each other.
        rows.sort_unstable_by(|one, other| one.account.cmp(&other.account));
        let conflict = "ON CONFLICT(account) DO UPDATE SET at = excluded.at, address = excluded.address, \
             bind_type = excluded.bind_type, node = excluded.node WHERE excluded.at > logins.at OR logins.at > $6";
        let statement = |row: &LoginRow| {
            let mut insert = row.insert(conflict);
            insert.values.push(latest.to_value());
            insert
        };
        self.change(rows.iter().map(statement).collect(), |_| Ok(()))
    }

    fn forget_login(&self, account: String) -> Reply<()> {
        let delete = LoginRow::delete("WHERE account = $1", values![account]);
        self.change(vec![delete], |_| Ok(()))
    }

    fn sweep_logins(&self) -> Reply<u64> {
        let rest = "WHERE account NOT IN (SELECT name FROM accounts)";
        let delete = LoginRow::delete(rest, Vec::new());
        self.change(vec![delete], |done| Ok(done.rows))
    }
}
