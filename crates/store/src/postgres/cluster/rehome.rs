//! Items of the hand-off table that were written for a queue as a whole while it is held in parts, or for parts
//! while it is held as a whole.
//!
//! Called by take-overs, and by the cluster port now and then. Nodes learn at different moments that a queue is
//! divided, and builds before know it only as a whole; what they write meanwhile is under the other kind of
//! partition, where nobody looks. Guarantees that an item is moved once: it is deleted and written again in one
//! transaction.

use std::sync::Arc;

use ahash::{AHashMap, AHashSet};
use deadpool_postgres::Transaction;
use prost::Message as _;
use tokio_postgres::Row;

use super::super::PostgresShared;
use super::super::connect::{find_in, run_in};
use super::super::inbox::{hand_off_columns, inbox_rows, octets_of};
use super::super::reader::among;
use super::super::statements::StatementStep;
use super::DbResult;
use super::lease::lock_member;
use crate::cluster::{Membership, Partition};
use crate::hand_off::are_sound;
use crate::{RemoteItem, StoreError, StoreResult, hand_off_octets, signed};
use smsc_domain::partition::WHOLE;
use smsc_proto::{Enqueue, QueueItem};

const OF_WHOLES: &str =
    "DELETE FROM inbox WHERE queue = ANY($1) AND part = 255 RETURNING queue, items";
const OF_PARTS: &str =
    "DELETE FROM inbox WHERE queue = ANY($1) AND part < 255 RETURNING queue, items";
const PARTS: &str = concat!("SELECT id, part FROM msg WHERE ", among!("id"));

/// Moves what is under the other kind of partition; returns the partitions that have new rows.
pub async fn rehome(
    shared: &Arc<PostgresShared>,
    whole: &[u32],
    divided: &[u32],
) -> StoreResult<Vec<Partition>> {
    let me = shared.membership().ok_or(StoreError::Fenced)?;
    shared.or_fenced(me, try_rehome(shared, me, whole, divided).await)
}

async fn try_rehome(
    shared: &Arc<PostgresShared>,
    me: Membership,
    whole: &[u32],
    divided: &[u32],
) -> DbResult<Vec<Partition>> {
    let columns = |queues: &[u32]| -> Vec<i32> { queues.iter().map(|one| *one as i32).collect() };
    let mut client = shared.pool.get().await?;
    let transaction = client.transaction().await?;
    lock_member(&transaction, me).await?;
    let rows = find_in(&transaction, OF_PARTS, &[&columns(whole)]).await?;
    let mut moved: Vec<RemoteItem> = items(&rows)
        .map(|(queue, item)| remote(queue, WHOLE, item))
        .collect();
    moved.extend(take_of_wholes(&transaction, &columns(divided)).await?);
    if moved.is_empty() {
        transaction.rollback().await?;
        return Ok(Vec::new());
    }
    put(&transaction, &moved).await?;
    transaction.commit().await?;
    Ok(partitions(&moved))
}

/// For a take-over of parts of these queues: moves what was written for them as a whole, except what the take-over
/// reads anyway.
pub async fn divide(
    transaction: &Transaction<'_>,
    queues: &[i32],
    except: &AHashSet<Partition>,
) -> DbResult {
    let mut moved = take_of_wholes(transaction, queues).await?;
    moved.retain(|item| {
        !except.contains(&Partition {
            queue: item.queue,
            part: item.part,
        })
    });
    if moved.is_empty() {
        Ok(())
    } else {
        put(transaction, &moved).await
    }
}

/// Takes out what was written for whole queues, each item with its partition. An item has the partition of the
/// message that it is about; without that message it is nothing that must be continued.
async fn take_of_wholes(
    transaction: &Transaction<'_>,
    queues: &[i32],
) -> DbResult<Vec<RemoteItem>> {
    if queues.is_empty() {
        return Ok(Vec::new());
    }
    let rows = find_in(transaction, OF_WHOLES, &[&queues]).await?;
    let mut ids = items(&rows)
        .map(|(_, item)| signed(item.id))
        .collect::<Vec<i64>>();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    ids.sort_unstable();
    let found = find_in(transaction, PARTS, &[&ids]).await?;
    let parts: AHashMap<i64, i16> = found.iter().map(|row| (row.get(0), row.get(1))).collect();
    let with_part = |(queue, item): (u32, QueueItem)| {
        let part = *parts.get(&signed(item.id))?;
        Some(remote(queue, part as u8, item))
    };
    Ok(items(&rows).filter_map(with_part).collect())
}

/// What rows of queue and items have.
fn items(rows: &[Row]) -> impl Iterator<Item = (u32, QueueItem)> {
    rows.iter().flat_map(|row| {
        let queue = row.get::<_, i32>(0) as u32;
        let octets: &[u8] = row.get(1);
        let sound = Some(octets).filter(|octets| are_sound(octets));
        let decoded = sound.and_then(|octets| Enqueue::decode(octets).ok());
        let decoded = decoded.unwrap_or_else(|| {
            // Its messages are active still: the next takeover of the partition finds them.
            tracing::error!(queue, "a row of the hand-off table is damaged");
            Enqueue::default()
        });
        decoded.items.into_iter().map(move |item| (queue, item))
    })
}

fn remote(queue: u32, part: u8, item: QueueItem) -> RemoteItem {
    let item = QueueItem {
        // Builds before look at it.
        part: part.into(),
        ..item
    };
    RemoteItem {
        queue,
        part,
        id: item.id,
        octets: hand_off_octets(&item),
    }
}

async fn put(transaction: &Transaction<'_>, moved: &[RemoteItem]) -> DbResult {
    let rows = inbox_rows(moved.iter());
    let rows = rows.iter().map(|row| (row[0], octets_of(row)));
    let (queues, parts, items) = hand_off_columns(rows);
    let insert = StatementStep::RemoteItems.sql();
    run_in(transaction, insert, &[&queues, &parts, &items]).await?;
    Ok(())
}

fn partitions(moved: &[RemoteItem]) -> Vec<Partition> {
    let mut all: Vec<Partition> = moved
        .iter()
        .map(|item| Partition {
            queue: item.queue,
            part: item.part,
        })
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}
