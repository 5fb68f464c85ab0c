//! Messages that may have been sent before the database went back in time, as far as nobody can know.
//!
//! Partitions become *doubtful* when attempts of their holder may be lost: it had more to write again than it had kept, or
//! it died before it could. Whoever reads a doubtful partition anew *holds* what waits in it: these messages are in no queue
//! until somebody orders it. A holder that lives knows what waits, and holds only what it does not know.
//!
//! That a dead node may have lost attempts is seen by its card: it names the history (system and timeline) of the database
//! with which the node has compared what it had written.

use std::time::Duration;

use ahash::{AHashMap, AHashSet};
use deadpool_postgres::Transaction;
use tokio::time::Instant;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, GenericClient, Row};

use super::cold::change_all;
use super::connect::find_in;
use super::failure::{DbResult, failed};
use super::{PgStore, PostgresShared};
use crate::cluster::{Membership, Partition};
use crate::cold::{ColdRecord as _, ColdStatement, ColdTables as _, ids_of, values};
use crate::held::{Doubt, HeldCounts, HeldMessage, HeldStore};
use crate::{Active, Reply, StoreResult, signed};
use smsc_domain::id::lowest_at;
use smsc_domain::partition::WHOLE;
use smsc_host::clock;

const LIST: &str = "SELECT h.id, h.at FROM held h WHERE h.id > $1
    AND NOT EXISTS(SELECT 1 FROM fin f WHERE f.id = h.id) ORDER BY h.id LIMIT $2";
/// Other members than $1 that have compared with another history of the database than this one ($2), which did not wait for
/// a standby: what they will write again is missing.
const NOT_COMPARED: &str = "SELECT 1 FROM node n WHERE n.node <> $1
    AND coalesce(n.card->>'database', '') NOT IN ('', $2)
    AND NOT coalesce((n.card->>'is_synchronous')::bool, false)";
/// How often it is looked whether they have.
const LOOK: Duration = Duration::from_millis(200);
/// Those that have ended are held no longer.
const FORGET_ENDED: &str = "DELETE FROM held h USING fin f WHERE f.id = h.id";
const RELEASE: &str = "DELETE FROM held WHERE id IN (SELECT h.id FROM held h
    WHERE $1::bigint IS NULL OR h.id = $1 ORDER BY h.id LIMIT $2) RETURNING id";

/// Writes are transactions whose steps are waited for: a single statement could be carried out late by a host that was
/// silent, against what was ordered since. Only `FORGET_ENDED` is right at any time.
impl HeldStore for PgStore {
    fn held(&self, after: u64, limit: usize) -> Reply<Vec<HeldMessage>> {
        let list = ColdStatement::new(LIST, values![after, limit]);
        // Orders about a message look for that one alone.
        match limit {
            1 => self.look_up(list, HeldMessage::all),
            _ => self.select(list, HeldMessage::all),
        }
    }

    fn count_held(&self) -> Reply<HeldCounts> {
        let count = "SELECT (SELECT count(*) FROM held), (SELECT count(*) FROM doubtful)";
        let statements = [FORGET_ENDED, count].map(|sql| ColdStatement::new(sql, Vec::new()));
        self.ask(|shared| async move {
            let mut client = shared.admin_reader().await?;
            let mut counts = HeldCounts::default();
            for mut row in change_all(&mut client, &statements).await?.returned {
                counts.messages = row.take("the count of held messages")?;
                counts.partitions = row.take("the count of doubtful partitions")?;
            }
            Ok(counts)
        })
    }

    fn hold(&self, ids: Vec<u64>) -> Reply<()> {
        self.ask(|shared| async move {
            let mut client = shared.reader().await?;
            let transaction = client.transaction().await?;
            hold(&*transaction, &ids).await?;
            Ok(transaction.commit().await?)
        })
    }

    fn release_held(&self, id: Option<u64>, limit: usize) -> Reply<Vec<u64>> {
        let release = ColdStatement::new(RELEASE, values![id, limit]);
        self.change(vec![release], |done| ids_of(done.returned))
    }

    fn doubts(&self) -> Reply<Vec<Doubt>> {
        self.ask(|shared| async move {
            let client = shared.reader().await?;
            Ok(read(&**client).await?)
        })
    }

    fn end_doubts(&self, of: Option<Vec<Partition>>) -> Reply<()> {
        self.ask(|shared| async move {
            let mut client = shared.reader().await?;
            let transaction = client.transaction().await?;
            match of {
                None => transaction.execute("DELETE FROM doubtful", &[]).await?,
                Some(partitions) => end(&*transaction, &partitions).await?,
            };
            Ok(transaction.commit().await?)
        })
    }
}

/// Partitions of this membership, and those that no other living node holds, are doubtful from now on, for what was accepted
/// until now: what it claimed last may be lost as well. Of a queue that has parts these are marked, whoever reads the whole.
pub async fn doubt(client: &impl GenericClient, holder: Membership) -> DbResult<u64> {
    let now = clock::now_ms();
    let sql = "INSERT INTO doubtful(queue, part, below, at)
         SELECT l.name, l.part, $3, $4 FROM lease l WHERE l.kind = 1
           AND NOT EXISTS(SELECT 1 FROM lease h JOIN node n ON n.node = h.node AND n.epoch = h.epoch
             WHERE h.kind = 1 AND h.name = l.name AND h.part IN (l.part, 255)
               AND (n.node <> $1 OR n.epoch <> $2) AND n.lease_until > clock_timestamp())
           AND (l.part <> 255 OR NOT EXISTS(SELECT 1 FROM lease p
             WHERE p.kind = 1 AND p.name = l.name AND p.part <> 255))
         ON CONFLICT(queue, part) DO UPDATE SET below = excluded.below";
    let (node, epoch) = (i16::from(holder.node), holder.epoch as i64);
    let values: [&(dyn ToSql + Sync); 4] = [&node, &epoch, &signed(lowest_at(now)), &now];
    Ok(client.execute(sql, &values).await?)
}

/// [`doubt`] in a transaction of its own, whose steps are waited for.
pub async fn doubt_in_turn(client: &mut Client, holder: Membership) -> DbResult {
    let transaction = client.transaction().await?;
    doubt(&transaction, holder).await?;
    Ok(transaction.commit().await?)
}

/// These partitions are doubtful from now on, for what was accepted until now; nothing without `postgres.after_step_back`.
///
/// # Errors
/// The database does not answer.
pub async fn doubt_these(shared: &PostgresShared, partitions: &[Partition]) -> StoreResult {
    if !shared.options.hold_after_step_back {
        return Ok(());
    }
    let queues: Vec<i32> = partitions.iter().map(|at| at.queue as i32).collect();
    let parts: Vec<i16> = partitions.iter().map(|at| at.part.into()).collect();
    let now = clock::now_ms();
    let sql = "INSERT INTO doubtful(queue, part, below, at)
         SELECT u.queue, u.part, $3, $4 FROM unnest($1::int[], $2::smallint[]) u(queue, part)
         ON CONFLICT(queue, part) DO UPDATE SET below = excluded.below";
    let values: [&(dyn ToSql + Sync); 4] = [&queues, &parts, &signed(lowest_at(now)), &now];
    let mut client = shared.reader().await?;
    let transaction = client.transaction().await?;
    transaction.execute(sql, &values).await?;
    Ok(transaction.commit().await?)
}

/// Doubts the partitions of a node that is about to be removed, if attempts of it may be lost: since it spoke to the
/// database last, that has another history, and the one before did not wait for a standby.
pub async fn doubt_dead(
    shared: &PostgresShared,
    client: &impl GenericClient,
    node: u8,
) -> DbResult {
    let history = shared.connect.hosts().history();
    if history.is_empty() || !shared.options.hold_after_step_back {
        return Ok(());
    }
    let sql =
        "SELECT epoch FROM node WHERE node = $1 AND coalesce(card->>'database', '') NOT IN ('', $2)
           AND NOT coalesce((card->>'is_synchronous')::bool, false)
           AND lease_until < clock_timestamp()";
    let row = client.query_opt(sql, &[&i16::from(node), &history]).await?;
    let Some(row) = row else { return Ok(()) };
    let epoch = row.try_get::<_, i64>(0)? as u64;
    let partitions = doubt(client, Membership { node, epoch }).await?;
    if partitions > 0 {
        tracing::error!(
            node,
            epoch,
            partitions,
            "a node died before it could compare what it had written with a database that may have gone back in time: \
             what waits in its partitions is held"
        );
    }
    Ok(())
}

/// Whether all other members have compared what they had written with the database as it is now, or are removed.
pub async fn have_others_compared(
    shared: &PostgresShared,
    client: &impl GenericClient,
    me: Membership,
) -> Result<bool, tokio_postgres::Error> {
    let history = shared.connect.hosts().history();
    if history.is_empty() {
        return Ok(true);
    }
    let rows = client
        .query(NOT_COMPARED, &[&i16::from(me.node), &history])
        .await?;
    Ok(rows.is_empty())
}

/// Waits until they have.
pub async fn wait_for_others(shared: &PostgresShared, me: Membership) -> StoreResult {
    let until = Instant::now() + shared.options.write_timeout;
    loop {
        let client = shared.reader().await?;
        if have_others_compared(shared, &**client, me).await? {
            return Ok(());
        }
        drop(client);
        if Instant::now() >= until {
            return Err(failed(
                "another node has not compared yet what it had written before the database moved, and is not removed",
            ));
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn read(client: &impl GenericClient) -> Result<Vec<Doubt>, tokio_postgres::Error> {
    let rows = client
        .query("SELECT queue, part, below FROM doubtful", &[])
        .await?;
    let read = |row: &Row| Doubt {
        partition: Partition {
            queue: row.get::<_, i32>(0) as u32,
            part: row.get::<_, i16>(1) as u8,
        },
        below: row.get::<_, i64>(2) as u64,
    };
    Ok(rows.iter().map(read).collect())
}

async fn hold(client: &impl GenericClient, ids: &[u64]) -> StoreResult {
    let ids: Vec<i64> = ids.iter().map(|id| *id as i64).collect();
    let sql =
        "INSERT INTO held(id, at) SELECT i, $2 FROM unnest($1::bigint[]) i ON CONFLICT DO NOTHING";
    client.execute(sql, &[&ids, &clock::now_ms()]).await?;
    Ok(())
}

/// The parts of a queue are doubtful with the whole, but not the whole with some of them.
async fn end(
    client: &impl GenericClient,
    partitions: &[Partition],
) -> Result<u64, tokio_postgres::Error> {
    let queues: Vec<i32> = partitions.iter().map(|at| at.queue as i32).collect();
    let parts: Vec<i16> = partitions.iter().map(|at| at.part.into()).collect();
    let whole = i16::from(WHOLE);
    let sql = "DELETE FROM doubtful d USING unnest($1::int[], $2::smallint[]) u(queue, part)
         WHERE d.queue = u.queue AND (d.part = u.part OR u.part = $3)";
    client.execute(sql, &[&queues, &parts, &whole]).await
}

/// Of partitions that are read anew: holds what is doubtful and waits, and leaves out what is held. `active` has the parts
/// of their messages.
pub async fn hold_doubtful(
    transaction: &Transaction<'_>,
    holds: bool,
    doubts: &AHashMap<Partition, u64>,
    active: &mut Vec<Active>,
) -> DbResult {
    if !doubts.is_empty() && holds {
        let of = |queue, part| doubts.get(&Partition { queue, part }).copied();
        let is_doubtful = |one: &&Active| {
            let below = of(one.queue, one.part).max(of(one.queue, WHOLE));
            one.waits() && below.is_some_and(|below| one.id < below)
        };
        let ids: Vec<u64> = (active.iter().filter(is_doubtful))
            .map(|one| one.id)
            .collect();
        if !ids.is_empty() {
            hold(&**transaction, &ids).await?;
            tracing::warn!(
                messages = ids.len(),
                first = ids.first(),
                "messages that may have been sent before the database went back in time are held"
            );
        }
    }
    leave_out_held(transaction, active).await
}

/// The doubts about partitions that are read anew; they end with the transaction.
pub async fn take(
    transaction: &Transaction<'_>,
    partitions: &[Partition],
) -> DbResult<AHashMap<Partition, u64>> {
    let all = read(&**transaction).await?;
    if all.is_empty() {
        return Ok(AHashMap::new());
    }
    end(&**transaction, partitions).await?;
    Ok(all.iter().map(|one| (one.partition, one.below)).collect())
}

/// Leaves out what waits for an order.
pub async fn leave_out_held(transaction: &Transaction<'_>, active: &mut Vec<Active>) -> DbResult {
    let ids: Vec<i64> = (active.iter().filter(|one| one.waits()))
        .map(|one| one.id as i64)
        .collect();
    if ids.is_empty() {
        return Ok(());
    }
    let select = "SELECT id FROM held WHERE id = ANY($1)";
    let held = find_in(transaction, select, &[&ids]).await?;
    if !held.is_empty() {
        let held: AHashSet<u64> = (held.iter().map(|row| row.get::<_, i64>(0) as u64)).collect();
        active.retain(|one| !one.waits() || !held.contains(&one.id));
    }
    Ok(())
}
