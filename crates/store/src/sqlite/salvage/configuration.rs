//! The configuration of a salvaged store: what is lost of its history is marked as lost, and one more version says what it is
//! now.

use std::collections::BTreeMap;

use super::super::balance;
use super::super::cold::run;
use super::super::settings;
use super::new_store::NewStore;
use crate::StoreResult;
use crate::settings::{StoredSetting, encode};
use smsc_domain::id;
use smsc_domain::settings::{ResourceKind, ResourceUpdate, Resources, difference};

/// Lost versions that are filled in at most; more are a number that is wrong.
const MOST_LOST: u64 = 100_000;
/// Who has made what fills the gaps.
const BY: &str = "smsc salvage";

impl NewStore {
    /// Resources whose rows are lost come from the history, and the history leads to the resources again. In words what was
    /// done.
    ///
    /// # Errors
    /// The new store cannot be written.
    pub fn mend_settings(&self) -> StoreResult<Vec<String>> {
        let connection = &self.connection;
        let problems = settings::problems(connection)?;
        if problems.is_empty() {
            return Ok(problems);
        }
        let mut said = problems;
        let history = self.history()?;
        let mut replayed = Resources::new();
        for ResourceUpdate { key, after, .. } in history.values().flatten().flatten() {
            match after {
                Some(body) => replayed.insert(key.clone(), body.clone()),
                None => replayed.remove(key),
            };
        }
        let there = settings::read(connection)?;
        let newest = there.settings.iter().map(|setting| setting.version);
        let newest = newest.filter(|version| *version < MOST_LOST).max();
        let last = history.keys().max().copied().max(newest).unwrap_or(0);
        if last > MOST_LOST + history.len() as u64 {
            return Ok(said);
        }
        let resources = there.resources();
        let mut restored = Vec::new();
        for (key, body) in &replayed {
            let is_lost = self.has_lost(key.kind);
            if is_lost && !resources.contains_key(key) {
                restored.push(StoredSetting {
                    key: key.clone(),
                    version: last,
                    body: body.clone(),
                });
                said.push(format!("configuration: {key} comes from its history"));
            }
        }
        for setting in &restored {
            run(connection, &setting.put())?;
        }
        let is_lost = |version: &u64| !matches!(history.get(version), Some(Some(_)));
        for version in (1..=last).filter(is_lost) {
            let insert = "INSERT OR REPLACE INTO config_versions(version, at, who, what, changes)
                 VALUES(?1, ?2, ?3, 'lost', '[]')";
            connection.execute(insert, (version as i64, self.now, BY))?;
        }
        for kind in ResourceKind::ALL {
            let set = format!(
                "UPDATE {} SET version = ?1 WHERE version NOT BETWEEN 1 AND ?1",
                kind.plural()
            );
            connection.execute(&set, [last.max(1) as i64])?;
        }
        let now = settings::read(connection)?.resources();
        let changes = encode(&difference(&replayed, &now))?;
        let insert = "INSERT INTO config_versions(version, at, who, what, changes)
             VALUES(?1, ?2, ?3, 'what could be read', ?4)";
        connection.execute(insert, (last as i64 + 1, self.now, BY, changes))?;
        Ok(said)
    }

    /// The changes of each version; `None` for those that cannot be read.
    fn history(&self) -> StoreResult<BTreeMap<u64, Option<Vec<ResourceUpdate>>>> {
        let kept = settings::history(&self.connection)?;
        let kept = kept.iter();
        Ok(kept.map(|one| (one.version, one.decode().ok())).collect())
    }

    fn has_lost(&self, kind: ResourceKind) -> bool {
        let place = self.place(kind.plural());
        place.is_some_and(|place| !self.shapes[place].lost.is_empty())
    }

    /// A balance that is more than was put in had top-ups that are lost. In words what was done.
    pub fn mend_balances(&self) -> rusqlite::Result<Vec<String>> {
        let mut said = Vec::new();
        let first = id::lowest_at(self.now) as i64;
        for (number, (account, credits, put_in)) in
            (0..).zip(balance::wrong_balances(&self.connection)?)
        {
            let missing = credits.saturating_sub(put_in);
            said.push(format!(
                "account {account} has {credits} credits, of {put_in} whose top-ups are left"
            ));
            if credits > 0 && missing > 0 {
                self.connection.execute(
                    "INSERT INTO top_ups(id, account, amount, reference, by) VALUES(?1, ?2, ?3, NULL, ?4)",
                    (first + number, account, missing, BY),
                )?;
            }
        }
        Ok(said)
    }
}
