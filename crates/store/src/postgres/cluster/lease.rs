//! Resources and their owners: registered, claimed by compare-and-set, released.
//!
//! Called by the cluster port. Guarantees that a resource has one owner: a claim locks the rows, in
//! the order of their key, and reads the owners only then, with a statement that sees everything
//! committed before the locks were granted. While a claim runs its node cannot be removed. Of a queue either the
//! whole is held or parts: a claim of parts locks the whole, too, and a trigger refuses the other kind.

use std::sync::Arc;

use deadpool_postgres::Transaction;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::super::PostgresShared;
use super::super::connect::{Object as Client, find, find_in, run_in};
use super::super::doubts;
use super::super::lane::writer_name;
use super::{DbError, DbResult};
use crate::cluster::{LeasedResource, Membership, Partition};
use crate::{StoreError, StoreResult};
use smsc_domain::partition::WHOLE;

/// `lease.kind` of a queue's partition.
pub const QUEUE: i16 = 1;
const BIND: i16 = 2;
const JANITOR: i16 = 3;

/// Keys of `lease` as columns, sorted.
#[derive(Debug, Default)]
struct LeaseKeys {
    resources: Vec<LeasedResource>,
    kinds: Vec<i16>,
    names: Vec<i32>,
    parts: Vec<i32>,
}

/// The resource of a row of `lease`; `None` for a kind of a later release.
pub fn resource(kind: i16, name: i32, part: i32) -> Option<LeasedResource> {
    Some(match kind {
        QUEUE => LeasedResource::Queue(Partition {
            queue: name as u32,
            part: part as u8,
        }),
        BIND => LeasedResource::Bind {
            operator: name as u32,
            slot: part as u32,
        },
        JANITOR => LeasedResource::Janitor,
        _ => return None,
    })
}

/// Makes resources known.
pub async fn declare(shared: &Arc<PostgresShared>, resources: Vec<LeasedResource>) -> StoreResult {
    let keys = LeaseKeys::of(resources);
    let client = shared.pool.get().await?;
    let insert = "INSERT INTO lease(kind, name, part)
         SELECT * FROM unnest($1::smallint[], $2::int[], $3::int[]) ON CONFLICT DO NOTHING";
    find(&client, insert, &[&keys.kinds, &keys.names, &keys.parts]).await?;
    Ok(())
}

/// Claims resources without an owner; returns those that this node owns now.
pub async fn claim(
    shared: &Arc<PostgresShared>,
    resources: Vec<LeasedResource>,
) -> StoreResult<Vec<LeasedResource>> {
    let me = shared.membership().ok_or(StoreError::Fenced)?;
    let keys = LeaseKeys::of(resources);
    shared.or_fenced(me, try_claim(shared, me, &keys).await)
}

/// A transaction that has the leases locked.
async fn locked<'c>(
    client: &'c mut Client,
    me: Membership,
    keys: &LeaseKeys,
) -> DbResult<Transaction<'c>> {
    let transaction = client.transaction().await?;
    lock_member(&transaction, me).await?;
    lock(&transaction, &keys.with_wholes()).await?;
    Ok(transaction)
}

async fn try_claim(
    shared: &Arc<PostgresShared>,
    me: Membership,
    keys: &LeaseKeys,
) -> DbResult<Vec<LeasedResource>> {
    let mut client = shared.pool.get().await?;
    let transaction = locked(&mut client, me, keys).await?;
    let (node, epoch) = me.columns();
    // What is free may have been another node's in what the database has lost, until that has claimed it again.
    let may_claim = doubts::have_others_compared(shared, &*transaction, me).await?;
    let update = "UPDATE lease l SET node = $4, epoch = $5, taken = false
         FROM unnest($1::smallint[], $2::int[], $3::int[]) u(kind, name, part)
         WHERE l.kind = u.kind AND l.name = u.name AND l.part = u.part AND $6::bool
           AND NOT EXISTS(SELECT 1 FROM node n WHERE n.node = l.node AND n.epoch = l.epoch)";
    let [kinds, names, parts, node, epoch] = keys.and(&node, &epoch);
    let values: [&(dyn ToSql + Sync); 6] = [kinds, names, parts, node, epoch, &may_claim];
    run_in(&transaction, update, &values).await?;
    let select = "SELECT l.kind, l.name, l.part
         FROM unnest($1::smallint[], $2::int[], $3::int[]) u(kind, name, part)
         JOIN lease l ON l.kind = u.kind AND l.name = u.name AND l.part = u.part
         WHERE l.node = $4 AND l.epoch = $5 ORDER BY l.kind, l.name, l.part";
    let rows = find_in(&transaction, select, &values[..5]).await?;
    transaction.commit().await?;
    Ok(rows.iter().filter_map(read).collect())
}

/// Claims again what this node has read before and holds in memory, as far as nobody else owns it.
pub async fn keep(
    shared: &Arc<PostgresShared>,
    resources: Vec<LeasedResource>,
) -> StoreResult<Vec<LeasedResource>> {
    let me = shared.membership().ok_or(StoreError::Fenced)?;
    shared.caught_up().await?;
    let keys = LeaseKeys::of(resources);
    shared.or_fenced(me, try_keep(shared, me, &keys).await)
}

async fn try_keep(
    shared: &Arc<PostgresShared>,
    me: Membership,
    keys: &LeaseKeys,
) -> DbResult<Vec<LeasedResource>> {
    let mut client = shared.pool.get().await?;
    let transaction = locked(&mut client, me, keys).await?;
    let (node, epoch) = me.columns();
    // Not the whole of a queue: whoever takes that over must read what was handed off for its parts.
    let update = "UPDATE lease l SET node = $4, epoch = $5, taken = l.kind = 1
         FROM unnest($1::smallint[], $2::int[], $3::int[]) u(kind, name, part)
         WHERE l.kind = u.kind AND l.name = u.name AND l.part = u.part
           AND (l.kind <> 1 OR l.part <> 255) AND (l.node = $4 AND l.epoch = $5
             OR NOT EXISTS(SELECT 1 FROM node n WHERE n.node = l.node AND n.epoch = l.epoch))";
    let parameters = keys.and(&node, &epoch);
    transaction.execute(update, &parameters).await?;
    let select = "SELECT l.kind, l.name, l.part
         FROM unnest($1::smallint[], $2::int[], $3::int[]) u(kind, name, part)
         JOIN lease l ON l.kind = u.kind AND l.name = u.name AND l.part = u.part
         WHERE l.node = $4 AND l.epoch = $5 AND (l.kind <> 1 OR l.taken)";
    let rows = transaction.query(select, &parameters).await?;
    transaction.commit().await?;
    Ok(rows.iter().filter_map(read).collect())
}

/// Releases those that this node owns.
pub async fn release(shared: &Arc<PostgresShared>, resources: Vec<LeasedResource>) -> StoreResult {
    let Some(me) = shared.membership() else {
        // Removed: it owns nothing.
        return Ok(());
    };
    // Nothing may be taken out of the hand-off table for a partition that is another node's by then.
    let _still = shared.cluster.collecting.write().await;
    shared.cluster.forget(&resources).await;
    let keys = LeaseKeys::of(resources);
    let work = async {
        let mut client = shared.pool.get().await?;
        let transaction = client.transaction().await?;
        lock(&transaction, &keys).await?;
        let update = "UPDATE lease l SET node = NULL, epoch = NULL, taken = false
             FROM unnest($1::smallint[], $2::int[], $3::int[]) u(kind, name, part)
             WHERE l.kind = u.kind AND l.name = u.name AND l.part = u.part
               AND l.node = $4 AND l.epoch = $5";
        let (node, epoch) = me.columns();
        run_in(&transaction, update, &keys.and(&node, &epoch)).await?;
        transaction.commit().await?;
        Ok::<_, DbError>(())
    };
    Ok(work.await?)
}

/// Prevents the removal of this node until the transaction ends.
///
/// The lock lets heartbeats through: they change no key. Until then the session has the name of this node's writers, so
/// that whoever buries the node can end it: a session whose client stands still in the middle of a result ends by
/// no timeout.
pub async fn lock_member(transaction: &Transaction<'_>, me: Membership) -> DbResult {
    let lock = "SELECT set_config('application_name', $3, true)
         FROM node WHERE node = $1 AND epoch = $2 FOR KEY SHARE";
    let (node, epoch) = me.columns();
    let rows = find_in(transaction, lock, &[&node, &epoch, &writer_name(me)]).await?;
    if rows.is_empty() {
        return Err(StoreError::Fenced.into());
    }
    Ok(())
}

/// Locks rows in the order of their key, so that two nodes never wait for each other.
async fn lock(transaction: &Transaction<'_>, keys: &LeaseKeys) -> DbResult {
    let lock = "SELECT 1 FROM lease l
         WHERE (l.kind, l.name, l.part) IN
           (SELECT * FROM unnest($1::smallint[], $2::int[], $3::int[]))
         ORDER BY l.kind, l.name, l.part FOR UPDATE";
    run_in(transaction, lock, &[&keys.kinds, &keys.names, &keys.parts]).await?;
    Ok(())
}

fn read(row: &Row) -> Option<LeasedResource> {
    resource(row.get(0), row.get(1), row.get(2))
}

// === impl LeaseKeys ===

impl LeaseKeys {
    fn of(mut resources: Vec<LeasedResource>) -> Self {
        resources.sort_unstable();
        resources.dedup();
        let mut keys = Self::default();
        for resource in &resources {
            let (kind, name, part) = match *resource {
                LeasedResource::Queue(at) => (QUEUE, at.queue, u32::from(at.part)),
                LeasedResource::Bind { operator, slot } => (BIND, operator, slot),
                LeasedResource::Janitor => (JANITOR, 0, 0),
            };
            keys.kinds.push(kind);
            keys.names.push(name as i32);
            keys.parts.push(part as i32);
        }
        keys.resources = resources;
        keys
    }

    /// Parameters of the statements about the leases of a node.
    fn and<'a>(&'a self, node: &'a i16, epoch: &'a i64) -> [&'a (dyn ToSql + Sync); 5] {
        [&self.kinds, &self.names, &self.parts, node, epoch]
    }

    /// These, and the whole of each queue of which they have parts.
    fn with_wholes(&self) -> Self {
        let whole = |resource: &LeasedResource| match *resource {
            LeasedResource::Queue(Partition { queue, .. }) => {
                Some(LeasedResource::Queue(Partition { queue, part: WHOLE }))
            }
            _ => None,
        };
        let wholes = self.resources.iter().filter_map(whole);
        Self::of(wholes.chain(self.resources.iter().copied()).collect())
    }
}
