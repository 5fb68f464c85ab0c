//! Membership: joining, the heartbeat, removing dead nodes, leaving.
//!
//! Called by the cluster port. Guarantees that a node number has one live owner, that an epoch is
//! never used twice, and that a removed node can write no more: the rows of its lanes, which each of
//! its write transactions locks, are deleted in the transaction that deletes the node.
//!
//! Locks are taken in one order: the node's row, then its lanes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use deadpool_postgres::Transaction;
use futures_util::future;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Row, Statement};

use super::super::PostgresShared;
use super::super::asides;
use super::super::connect::begin_with;
use super::super::doubts;
use super::super::lane::writer_name;
use super::wake::wake_others;
use super::{DbError, DbResult, blocks};
use crate::cluster::{Hint, LeasedResource, Membership, NodeCard, NodeView, ResourceHolder, View};
use crate::{StoreError, StoreResult};
use smsc_domain::id::{Aside, lowest_at};
use smsc_host::clock::{self, Catch};

/// Serialises joins; any number that nothing else in the database uses.
const JOIN_LOCK: i64 = 0x736d_7363_6a6f_696e;
/// How long a burial waits for the writes of the dead node.
const BURIAL_PATIENCE: &str = "SET LOCAL lock_timeout = '5s'; SET LOCAL statement_timeout = 0";
/// More than all locks that a join waits for take; no heartbeat looks for another server meanwhile.
const JOIN_PATIENCE: Duration = Duration::from_secs(30);
/// A silent connection is closed after half a lease, but not before this time.
const BEAT_PATIENCE: Duration = Duration::from_secs(1);

/// The connection of the heartbeat, with its statements.
pub struct Beat {
    client: Client,
    renew: Statement,
    nodes: Statement,
    held: Statement,
}

/// A number in use, when nodes join.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct NodeNumberInUse {
    node: u8,
    /// Its lease is over: it may be removed.
    over: bool,
}

/// Becomes a member.
pub async fn join(
    shared: &Arc<PostgresShared>,
    card: NodeCard,
    lease: Duration,
    preferred: Option<u8>,
) -> StoreResult<Membership> {
    let before = shared.membership();
    let card = to_json(&shared.signed(card))?;
    let joining = async {
        match try_join(shared, before, &card, lease, preferred).await {
            // The node of that number is dead but has a write under way; another number will do.
            Err(error) if error.has(&SqlState::LOCK_NOT_AVAILABLE) => {
                try_join(shared, before, &card, lease, None).await
            }
            joined => joined,
        }
    };
    let joined = tokio::time::timeout(JOIN_PATIENCE, joining).await;
    let joined = joined.unwrap_or_else(|_| {
        let silent = "the database did not answer to a node that joins".to_owned();
        Err(DbError::Store(StoreError::Failed(silent)))
    })?;
    let membership = joined.ok_or_else(|| {
        StoreError::Failed("all 256 node numbers are taken by living nodes".into())
    })?;
    shared.cluster.joined(shared, membership, lease).await;
    shared.become_member(membership);
    Ok(membership)
}

async fn try_join(
    shared: &Arc<PostgresShared>,
    before: Option<Membership>,
    card: &str,
    lease: Duration,
    preferred: Option<u8>,
) -> DbResult<Option<Membership>> {
    let mut client = shared.pool.get().await?;
    let transaction = begin_with(&mut client, BURIAL_PATIENCE).await?;
    transaction
        .execute("SELECT pg_advisory_xact_lock($1)", &[&JOIN_LOCK])
        .await?;
    if let Some(before) = before {
        remove(&transaction, before).await?;
    }
    let now = lowest_at(clock::now_ms());
    let node = loop {
        let select = "SELECT node, lease_until < clock_timestamp() FROM node ORDER BY lease_until";
        let rows = transaction.query(select, &[]).await?;
        let mut taken: Vec<NodeNumberInUse> = rows.iter().map(read_taken).collect();
        // Their ids lie in the future.
        let set_aside = asides::read(&*transaction).await?.into_iter();
        let ahead = set_aside.filter(|aside| aside.last >= now);
        taken.extend(ahead.map(|Aside { node, .. }| NodeNumberInUse { node, over: false }));
        let Some(node) = choose(&taken, preferred) else {
            return Ok(None);
        };
        doubts::doubt_dead(shared, &*transaction, node).await?;
        let delete = "DELETE FROM node WHERE node = $1 AND lease_until < clock_timestamp()";
        let buried = transaction.execute(delete, &[&i16::from(node)]).await?;
        // It may have renewed its lease meanwhile.
        if buried == 1 || taken.iter().all(|taken| taken.node != node) {
            break node;
        }
    };
    let number = i16::from(node);
    transaction
        .execute("DELETE FROM lane WHERE node = $1", &[&i32::from(node)])
        .await?;
    blocks::return_lost(&transaction).await?;
    let asked = Instant::now();
    let insert = "INSERT INTO node(node, epoch, lease_until, since, card)
         VALUES($1, nextval('node_epoch'), clock_timestamp() + $2 * interval '1 second',
           clock_timestamp(), $3::text::jsonb)
         RETURNING epoch, (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let row = transaction
        .query_one(insert, &[&number, &lease.as_secs_f64(), &card])
        .await?;
    clock::follow(row.get(1), asked, Instant::now(), Catch::AtOnce);
    let epoch: i64 = row.get(0);
    let lanes = shared.options.writers.max(1) as i32;
    let insert = "INSERT INTO lane(node, epoch, lane, seq, checksums)
         SELECT $1, $2, lane, 0, true FROM generate_series(0, $3 - 1) lane";
    transaction
        .execute(insert, &[&i32::from(node), &epoch, &lanes])
        .await?;
    // Blocks of an earlier process are obsolete.
    transaction
        .execute("DELETE FROM spill WHERE node = $1", &[&i32::from(node)])
        .await?;
    transaction.commit().await?;
    Ok(Some(Membership {
        node,
        epoch: epoch as u64,
    }))
}

/// The requested number if no live node has it, else the lowest free one, else that of the node
/// that has been dead for longest. `taken` is in the order of the lease ends.
fn choose(taken: &[NodeNumberInUse], preferred: Option<u8>) -> Option<u8> {
    let lives = |preferred: &u8| {
        taken
            .iter()
            .any(|taken| taken.node == *preferred && !taken.over)
    };
    preferred
        .filter(|preferred| !lives(preferred))
        .or_else(|| (0..=u8::MAX).find(|node| taken.iter().all(|taken| taken.node != *node)))
        .or_else(|| {
            taken
                .iter()
                .find(|taken| taken.over)
                .map(|taken| taken.node)
        })
}

/// Renews the lease and reads the cluster, in one round trip on a connection of its own.
pub async fn beat(shared: &Arc<PostgresShared>, card: NodeCard) -> StoreResult<View> {
    let me = shared.membership().ok_or(StoreError::Fenced)?;
    let card = to_json(&shared.signed(card))?;
    let mut connection = shared.cluster.beat.lock().await;
    let lease = shared.cluster.lease();
    let mut last = None;
    // A connection that broke since the last heartbeat costs a second attempt, not a heartbeat.
    for _ in 0..2 {
        let asked = tokio::time::Instant::now();
        let round = async {
            let beat = match connection.take() {
                Some(beat) if !beat.client.is_closed() => beat,
                _ => Beat::open(shared).await?,
            };
            let view = beat.round(me, &card, lease).await?;
            Ok::<_, StoreError>((beat, view))
        };
        match tokio::time::timeout((lease / 2).max(BEAT_PATIENCE), round).await {
            Ok(Ok((beat, view))) => {
                *connection = Some(beat);
                shared.comparison.answered(asked);
                return shared.or_fenced(me, view.ok_or(DbError::Store(StoreError::Fenced)));
            }
            Ok(Err(error)) => last = Some(error),
            Err(_) => {
                return Err(StoreError::Failed("the heartbeat was not answered".into()));
            }
        }
    }
    Err(last.unwrap_or(StoreError::Closed))
}

/// Ends a node whose lease has been over for `margin`.
pub async fn bury(
    shared: &Arc<PostgresShared>,
    node: u8,
    epoch: u64,
    margin: Duration,
) -> StoreResult<bool> {
    match try_bury(shared, node, epoch, margin).await {
        Err(error) if error.has(&SqlState::LOCK_NOT_AVAILABLE) => {
            end_writers(shared, Membership { node, epoch }).await?;
            Err(StoreError::Failed(format!(
                "node {node} is dead, but a transaction of it was still under way; its sessions are ended"
            )))
        }
        buried => Ok(buried?),
    }
}

/// Ends the sessions of a dead node that write or hold its row. What it has open between two statements ends by itself
/// (`connect.rs`), but a write that was cut off in its middle waits for octets that never come, and the result of a
/// take-over for a client that reads no more: both would prevent the removal of the node until the server's TCP
/// gives up, which it never does where only the process stands still.
async fn end_writers(shared: &Arc<PostgresShared>, dead: Membership) -> StoreResult {
    let client = shared.pool.get().await?;
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE application_name = $1 AND datname = current_database()";
    client.query(end, &[&writer_name(dead)]).await?;
    Ok(())
}

async fn try_bury(
    shared: &Arc<PostgresShared>,
    node: u8,
    epoch: u64,
    margin: Duration,
) -> DbResult<bool> {
    let mut client = shared.pool.get().await?;
    let transaction = begin_with(&mut client, BURIAL_PATIENCE).await?;
    doubts::doubt_dead(shared, &*transaction, node).await?;
    // If it sends a heartbeat just now, the condition is checked again when that is committed.
    let delete = "DELETE FROM node WHERE node = $1 AND epoch = $2
         AND lease_until + $3 * interval '1 second' < clock_timestamp()";
    let dead = transaction
        .execute(
            delete,
            &[&i16::from(node), &(epoch as i64), &margin.as_secs_f64()],
        )
        .await?;
    if dead == 0 {
        return Ok(false);
    }
    remove(&transaction, Membership { node, epoch }).await?;
    transaction.commit().await?;
    Ok(true)
}

/// Ends the membership, and notifies the others. The leases need no update: their owner is no member any
/// more.
pub async fn leave(shared: &Arc<PostgresShared>) -> StoreResult {
    let Some(me) = shared.membership() else {
        return Ok(());
    };
    shared.end_membership(me);
    shared.cluster.wake.stop();
    shared.cluster.beat.lock().await.take();
    let mut client = shared.pool.get().await?;
    let transaction = begin_with(&mut client, BURIAL_PATIENCE).await?;
    remove(&transaction, me).await.map_err(StoreError::from)?;
    wake_others(&transaction, me, Hint::Shares).await?;
    transaction.commit().await?;
    Ok(())
}

/// Deletes a node and its lanes, the latter as soon as none of its writes is under way.
async fn remove(transaction: &Transaction<'_>, who: Membership) -> DbResult {
    let delete = "DELETE FROM node WHERE node = $1 AND epoch = $2";
    transaction
        .execute(delete, &[&i16::from(who.node), &(who.epoch as i64)])
        .await?;
    let delete = "DELETE FROM lane WHERE node = $1 AND epoch = $2";
    transaction
        .execute(delete, &[&i32::from(who.node), &(who.epoch as i64)])
        .await?;
    blocks::return_lost(transaction).await
}

fn read_taken(row: &Row) -> NodeNumberInUse {
    NodeNumberInUse {
        node: row.get::<_, i16>(0) as u8,
        over: row.get(1),
    }
}

fn to_json(card: &NodeCard) -> StoreResult<String> {
    serde_json::to_string(card).map_err(|error| StoreError::Failed(error.to_string()))
}

// === impl Beat ===

impl Beat {
    async fn open(shared: &PostgresShared) -> StoreResult<Self> {
        let client = shared.connect.driven().await?;
        let standbys = "SELECT current_setting('synchronous_standby_names') <> ''";
        let is_synchronous = client.query_one(standbys, &[]).await?.try_get(0)?;
        shared.comparison.set_synchronous(is_synchronous);
        let prepare = future::try_join3(
            client.prepare(
                "UPDATE node SET lease_until = clock_timestamp() + $3 * interval '1 second',
                   card = $4::text::jsonb WHERE node = $1 AND epoch = $2",
            ),
            client.prepare(
                "SELECT n.node, n.epoch, n.card::text,
                   (extract(epoch FROM n.lease_until - c.now) * 1000000)::bigint,
                   (extract(epoch FROM n.since) * 1000)::bigint,
                   (extract(epoch FROM c.now) * 1000)::bigint
                 FROM (SELECT clock_timestamp() AS now) c, node n ORDER BY n.node",
            ),
            // Arrays: thousands of leases are a few rows.
            client.prepare(
                "SELECT l.node, l.epoch, l.kind, array_agg(l.name), array_agg(l.part)
                 FROM lease l JOIN node n ON n.node = l.node AND n.epoch = l.epoch
                 GROUP BY l.node, l.epoch, l.kind",
            ),
        );
        let (renew, nodes, held) = prepare.await?;
        Ok(Self {
            client,
            renew,
            nodes,
            held,
        })
    }

    /// `None` when this node is no member any more.
    async fn round(
        &self,
        me: Membership,
        card: &str,
        lease: Duration,
    ) -> StoreResult<Option<View>> {
        let (node, epoch, lease) = (i16::from(me.node), me.epoch as i64, lease.as_secs_f64());
        let asked = Instant::now();
        let renew: [&(dyn tokio_postgres::types::ToSql + Sync); 4] = [&node, &epoch, &lease, &card];
        let (renewed, nodes, held) = future::try_join3(
            self.client.execute(&self.renew, &renew),
            self.client.query(&self.nodes, &[]),
            self.client.query(&self.held, &[]),
        )
        .await?;
        if renewed == 0 {
            return Ok(None);
        }
        let now = nodes.first().map_or(0, |row| row.get(5));
        if now != 0 {
            clock::follow(now, asked, Instant::now(), Catch::Up);
        }
        let nodes: Vec<NodeView> = nodes.iter().map(read_node).collect();
        let mut view = View {
            held: Vec::new(),
            nodes,
            now,
        };
        for row in &held {
            read_held(row, &mut view);
        }
        Ok(Some(view))
    }
}

fn read_node(row: &Row) -> NodeView {
    let left: i64 = row.get(3);
    let micros = Duration::from_micros(left.unsigned_abs());
    NodeView {
        node: row.get::<_, i16>(0) as u8,
        epoch: row.get::<_, i64>(1) as u64,
        // The JSON of another release may have fewer fields; if it cannot be read, it counts as
        // empty.
        card: serde_json::from_str(row.get(2)).unwrap_or_default(),
        lives_for: (left > 0).then_some(micros),
        dead_for: if left > 0 { Duration::ZERO } else { micros },
        since: row.get(4),
    }
}

/// Those of a node that has joined since the nodes were read come with the next heartbeat.
fn read_held(row: &Row, view: &mut View) {
    let node = row.get::<_, i16>(0) as u8;
    let epoch = row.get::<_, i64>(1) as u64;
    let known = |seen: &NodeView| seen.node == node && seen.epoch == epoch;
    if !view.nodes.iter().any(known) {
        return;
    }
    let kind: i16 = row.get(2);
    let (names, parts): (Vec<i32>, Vec<i32>) = (row.get(3), row.get(4));
    let resources = names
        .into_iter()
        .zip(parts)
        .filter_map(|(name, part)| super::lease::resource(kind, name, part));
    view.held
        .extend(resources.map(|resource: LeasedResource| ResourceHolder {
            resource,
            node,
            epoch,
        }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(node: u8, over: bool) -> NodeNumberInUse {
        NodeNumberInUse { node, over }
    }

    #[test]
    fn the_wish_is_granted_when_nobody_living_has_it() {
        let nodes = [taken(7, true), taken(0, false), taken(3, false)];
        assert_eq!(choose(&nodes, Some(9)), Some(9));
        assert_eq!(choose(&nodes, Some(7)), Some(7), "dead");
        assert_eq!(choose(&nodes, Some(3)), Some(1), "lives");
        assert_eq!(choose(&nodes, None), Some(1));
    }

    #[test]
    fn the_dead_make_room_only_when_no_number_is_left() {
        let mut nodes: Vec<NodeNumberInUse> = (0..=255).map(|node| taken(node, false)).collect();
        assert_eq!(choose(&nodes, None), None);
        assert_eq!(choose(&nodes, Some(4)), None);
        nodes[200].over = true;
        assert_eq!(choose(&nodes, Some(4)), Some(200));
        nodes.truncate(255);
        assert_eq!(choose(&nodes, None), Some(255));
    }
}
