//! Administrators' commands for other nodes, passed through a table.
//!
//! Called by the cluster port. A command for a dead node is dropped when it is old: another node
//! has taken over by then.

use std::sync::Arc;

use super::super::PostgresShared;
use super::super::connect::{execute_in_turn, find};
use crate::{StoreError, StoreResult};

/// Commands that were not taken out for this time are dropped.
const OUTDATED: &str = "DELETE FROM orders WHERE at < now() - interval '1 minute'";

/// Leaves an order for each of these nodes; none later, when its sender was told that it failed.
pub async fn order(shared: &Arc<PostgresShared>, nodes: Vec<u8>, body: Vec<u8>) -> StoreResult {
    let nodes: Vec<i16> = nodes.into_iter().map(i16::from).collect();
    let mut client = shared.pool.get().await?;
    find(&client, OUTDATED, &[]).await?;
    let leave = "INSERT INTO orders(node, body) SELECT node, $2 FROM unnest($1::smallint[]) node";
    execute_in_turn(&mut client, leave, &[&nodes, &body]).await?;
    Ok(())
}

/// Takes this node's orders, oldest first.
pub async fn take(shared: &Arc<PostgresShared>) -> StoreResult<Vec<Vec<u8>>> {
    let me = shared.membership().ok_or(StoreError::Fenced)?;
    let client = shared.pool.get().await?;
    // Looking costs no commit, and nearly always there is nothing.
    let look = "SELECT seq FROM orders WHERE node = $1";
    let found = find(&client, look, &[&i16::from(me.node)]).await?;
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let found = found
        .iter()
        .map(|row| row.try_get(0))
        .collect::<Result<Vec<i64>, tokio_postgres::Error>>()?;
    // These and no others: a host that was silent may delete late, when there are new ones that nobody has read.
    let delete = "DELETE FROM orders WHERE seq = ANY($1) RETURNING seq, body";
    let rows = client.query(delete, &[&found]).await?;
    let mut taken = rows
        .iter()
        .map(|row| Ok((row.try_get::<_, i64>(0)?, row.try_get(1)?)))
        .collect::<Result<Vec<(i64, Vec<u8>)>, tokio_postgres::Error>>()?;
    taken.sort_unstable_by_key(|(seq, _)| *seq);
    Ok(taken.into_iter().map(|(_, body)| body).collect())
}
