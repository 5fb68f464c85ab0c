//! Asks a queue which messages it does not have: in its lists, with its sessions, or out of memory.
//!
//! For the janitor, which compares queues with the store, and for the cluster actor, when the hand-off table may have what
//! was taken out of it before.

use std::collections::HashSet;
use std::time::Duration;

use super::items_of;
use crate::actors::context::NodeContext;
use crate::actors::context::item::Seed;
use crate::actors::context::messages::{Compare, Compared};
use crate::actors::context::ports::QueuePort;
use crate::pb::delivery::What;
use crate::store::StoreError;

/// How often to ask a queue that is reading the store.
const TRIES: usize = 10;
const TRY_AGAIN: Duration = Duration::from_millis(100);

/// Those that the queue does not have; `None` if that is not known, because it reads the store or brings items back into
/// memory.
///
/// # Errors
/// What is out of memory cannot be read.
pub async fn unknown_to(
    node: &NodeContext,
    port: &QueuePort,
    expected: &[Seed],
) -> Result<Option<Vec<Seed>>, StoreError> {
    match ask(port, expected).await {
        None => Ok(None),
        Some(compared) => not_spilled(node, port.id, compared).await,
    }
}

async fn ask(port: &QueuePort, expected: &[Seed]) -> Option<Compared> {
    for _ in 0..TRIES {
        let expected = expected.to_vec();
        match port.send(Compare { expected }).await {
            Ok(None) => tokio::time::sleep(TRY_AGAIN).await,
            Ok(compared) => return compared,
            Err(_) => return None,
        }
    }
    None
}

/// Those that are in no block out of memory either; `None` if a block came back into memory meanwhile.
async fn not_spilled(
    node: &NodeContext,
    queue: u32,
    compared: Compared,
) -> Result<Option<Vec<Seed>>, StoreError> {
    let mut missing = compared.missing;
    for block in compared.blocks {
        if missing.is_empty() {
            break;
        }
        let Some(octets) = node.store.read_block(queue, block).await? else {
            return Ok(None);
        };
        let there: HashSet<(u64, What)> =
            items_of(&octets).map(|item| (item.id, item.what)).collect();
        missing.retain(|seed| !there.contains(&(seed.item.id, seed.item.what)));
    }
    Ok(Some(missing))
}
