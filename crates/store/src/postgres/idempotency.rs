//! The idempotency port on PostgreSQL. Claims are rows, made by a transaction of their own; answers are set by the
//! transaction that writes the messages, which fails when the claim was lost.

use bytes::Bytes;
use futures_util::future::join_all;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Transaction};

use super::columns::{Parameter, StatementCall};
use super::connect::{Object, find};
use super::failure::{CommitResult, failed};
use super::statements::StatementStep;
use super::{PgStore, PostgresShared};
use crate::cluster::Membership;
use crate::cold::{ColdStatement, ColdTables as _, values};
use crate::idempotency::{ABANDONED, Claimed, IdempotencyRow, IdempotencyStore, KeyClaim};
use crate::{Reply, StoreError, StoreResult, WriteBatch};
use smsc_domain::period::DAY_MS;

/// Keys of one transaction: each takes a lock of the server's table of locks, which has room for thousands.
const PART: usize = 128;

impl IdempotencyStore for PgStore {
    fn claim_key(&self, claim: KeyClaim) -> Reply<Claimed> {
        self.ask(|shared| async move { claim_key(&shared, &claim).await })
    }

    fn claim_keys(&self, claims: Vec<KeyClaim>) -> Reply<Vec<Claimed>> {
        self.ask(|shared| async move { claim_keys(&shared, &claims).await })
    }

    fn release_key(&self, claim: KeyClaim) -> Reply<()> {
        self.ask(|shared| async move { release_key(&shared, &claim).await })
    }

    fn forget_keys(&self, before: i64, limit: usize) -> Reply<u64> {
        let delete = "DELETE FROM idempotency i USING (
               SELECT day, account, key FROM idempotency WHERE claimed_at < $1
               ORDER BY claimed_at LIMIT $2) o
             WHERE i.day = o.day AND i.account = o.account AND i.key = o.key
               AND i.claimed_at < $1";
        let delete = ColdStatement::new(delete, values![before, limit]);
        self.change(vec![delete], |done| Ok(done.rows))
    }
}

async fn claim_key(shared: &PostgresShared, claim: &KeyClaim) -> StoreResult<Claimed> {
    let member = shared.membership().ok_or(StoreError::Fenced)?;
    let client = shared.reader().await?;
    let statement = client
        .prepare_cached(
            "SELECT outcome, its_answer FROM claim_idempotency($1, $2, $3, $4, $5, $6, $7, $8)",
        )
        .await?;
    let row = client
        .query_one(
            &statement,
            &[
                &(claim.account as i32),
                &&claim.key[..],
                &&claim.request[..],
                &i32::from(member.node),
                &(member.epoch as i64),
                &claim.at,
                &claim.since,
                &(claim.at - ABANDONED),
            ],
        )
        .await?;
    claimed(&row)
}

async fn claim_keys(shared: &PostgresShared, claims: &[KeyClaim]) -> StoreResult<Vec<Claimed>> {
    let client = shared.reader().await?;
    // On one connection, each part behind the one before without waiting for its answer.
    let parts = claims
        .chunks(PART)
        .map(|part| claim_part(shared, &client, part));
    let parts = join_all(parts).await;
    drop(client);
    if let Some(error) = parts.iter().find_map(|part| part.as_ref().err().cloned()) {
        give_back(shared, claims, &parts).await;
        return Err(error);
    }
    Ok(parts.into_iter().flatten().flatten().collect())
}

/// Frees what these parts have claimed, or may have claimed. Nobody else knows, and nobody will answer.
async fn give_back(
    shared: &PostgresShared,
    claims: &[KeyClaim],
    parts: &[StoreResult<Vec<Claimed>>],
) {
    let is_claimed = |(part, at): (usize, usize)| {
        let outcomes = parts[part].as_ref();
        outcomes.map_or(true, |outcomes| outcomes[at] == Claimed::New)
    };
    let places = (0..claims.len()).map(|place| (place / PART, place % PART));
    let claimed = claims.iter().zip(places);
    for (claim, _) in claimed.filter(|(_, place)| is_claimed(*place)) {
        if let Err(error) = release_key(shared, claim).await {
            tracing::warn!(%error, "claimed keys are free after a while only");
            return;
        }
    }
}

/// Claims keys in a transaction of their own.
async fn claim_part(
    shared: &PostgresShared,
    client: &Object,
    claims: &[KeyClaim],
) -> StoreResult<Vec<Claimed>> {
    let member = shared.membership().ok_or(StoreError::Fenced)?;
    let accounts: Vec<i32> = claims.iter().map(|claim| claim.account as i32).collect();
    let keys: Vec<&[u8]> = claims.iter().map(|claim| &claim.key[..]).collect();
    let requests: Vec<&[u8]> = claims.iter().map(|claim| &claim.request[..]).collect();
    let times: Vec<i64> = claims.iter().map(|claim| claim.at).collect();
    let since: Vec<i64> = claims.iter().map(|claim| claim.since).collect();
    let sql =
        "SELECT outcome, its_answer FROM claim_idempotency_keys($1, $2, $3, $4, $5, $6, $7, $8)
         ORDER BY place";
    let values: [&(dyn ToSql + Sync); 8] = [
        &accounts,
        &keys,
        &requests,
        &i32::from(member.node),
        &(member.epoch as i64),
        &times,
        &since,
        &ABANDONED,
    ];
    let rows = find(client, sql, &values).await?;
    if rows.len() != claims.len() {
        let count = rows.len();
        return Err(failed(format!("claim_idempotency_keys gave {count} rows")));
    }
    rows.iter().map(claimed).collect()
}

/// What the database says of a key.
fn claimed(row: &Row) -> StoreResult<Claimed> {
    match row.try_get::<_, i32>(0)? {
        0 => Ok(Claimed::New),
        1 => Ok(Claimed::Done(Bytes::from(row.try_get::<_, Vec<u8>>(1)?))),
        2 => Ok(Claimed::Other),
        3 => Ok(Claimed::InProgress),
        other => Err(failed(format!("claim_idempotency answered {other}"))),
    }
}

async fn release_key(shared: &PostgresShared, claim: &KeyClaim) -> StoreResult {
    // Claims of an earlier membership are over already.
    let Some(member) = shared.membership() else {
        return Ok(());
    };
    let client = shared.reader().await?;
    client
        .execute(
            "DELETE FROM idempotency WHERE day = $1 AND account = $2 AND key = $3
             AND claimed_at = $4 AND node = $5 AND epoch = $6 AND answer IS NULL",
            &[
                &day(claim.at),
                &(claim.account as i32),
                &&claim.key[..],
                &claim.at,
                &i32::from(member.node),
                &(member.epoch as i64),
            ],
        )
        .await?;
    Ok(())
}

/// The columns of some rows.
struct Columns<'a> {
    days: Vec<i32>,
    accounts: Vec<i32>,
    keys: Vec<&'a [u8]>,
    times: Vec<i64>,
    answers: Vec<&'a [u8]>,
}

impl<'a> Columns<'a> {
    fn of(rows: impl Iterator<Item = &'a IdempotencyRow> + Clone) -> Self {
        Self {
            days: rows.clone().map(|row| day(row.at)).collect(),
            accounts: rows.clone().map(|row| row.account as i32).collect(),
            keys: rows.clone().map(|row| &row.key[..]).collect(),
            times: rows.clone().map(|row| row.at).collect(),
            answers: rows.map(|row| &row.answer[..]).collect(),
        }
    }
}

/// The statement that answers the requests of these batches.
pub fn answers<'a>(batches: &[&'a WriteBatch], member: Membership) -> Option<StatementCall<'a>> {
    let rows = batches.iter().flat_map(|batch| &batch.idempotency);
    rows.clone().next()?;
    let columns = Columns::of(rows);
    let columns: Vec<Parameter<'a>> = vec![
        Box::new(columns.days),
        Box::new(columns.accounts),
        Box::new(columns.keys),
        Box::new(columns.times),
        Box::new(columns.answers),
        Box::new(i32::from(member.node)),
        Box::new(member.epoch as i64),
    ];
    Some(StatementCall::new(StatementStep::Answer, columns))
}

/// Claims the keys of a batch that was written before and is not there any more. Returns how many are its own again; not
/// those that were answered since.
pub async fn claim_again(
    client: &Client,
    batch: &WriteBatch,
    member: Membership,
) -> CommitResult<usize> {
    let mut own = 0;
    for row in &batch.idempotency {
        let sql = "INSERT INTO idempotency AS i(day, account, key, request, node, epoch, claimed_at)
             VALUES($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT(day, account, key) DO UPDATE SET request = excluded.request, node = excluded.node,
               epoch = excluded.epoch, claimed_at = excluded.claimed_at
             WHERE i.answer IS NULL";
        let claimed = client
            .execute(
                sql,
                &[
                    &day(row.at),
                    &(row.account as i32),
                    &&row.key[..],
                    &&row.request[..],
                    &i32::from(member.node),
                    &(member.epoch as i64),
                    &row.at,
                ],
            )
            .await?;
        own += claimed as usize;
    }
    Ok(own)
}

/// Forgets the answers of these batches in their transaction, so that their keys are free. Returns those that stay,
/// because a repeated request was told them.
pub async fn withdraw<'a>(
    client: &Client,
    batches: &[&'a WriteBatch],
    member: Membership,
) -> CommitResult<Vec<&'a IdempotencyRow>> {
    let mut given = Vec::new();
    for row in batches.iter().flat_map(|batch| &batch.idempotency) {
        let deleted = client
            .execute(
                "DELETE FROM idempotency WHERE day = $1 AND account = $2 AND key = $3
                 AND claimed_at = $4 AND node = $5 AND epoch = $6 AND NOT given",
                &[
                    &day(row.at),
                    &(row.account as i32),
                    &&row.key[..],
                    &row.at,
                    &i32::from(member.node),
                    &(member.epoch as i64),
                ],
            )
            .await?;
        if deleted == 0 {
            given.push(row);
        }
    }
    Ok(given)
}

/// Writes answers of another store; later rows of a key replace earlier ones.
pub async fn import(
    transaction: &Transaction<'_>,
    rows: &[IdempotencyRow],
) -> Result<(), tokio_postgres::Error> {
    if rows.is_empty() {
        return Ok(());
    }
    let columns = Columns::of(rows.iter());
    let requests: Vec<&[u8]> = rows.iter().map(|row| &row.request[..]).collect();
    let insert =
        "INSERT INTO idempotency(day, account, key, request, node, epoch, claimed_at, answer)
         SELECT DISTINCT ON (u.day, u.account, u.key)
           u.day, u.account, u.key, u.request, 0, 0, u.at, u.answer
         FROM unnest($1::int[], $2::int[], $3::bytea[], $4::bytea[], $5::bigint[], $6::bytea[])
           WITH ORDINALITY u(day, account, key, request, at, answer, n)
         ORDER BY u.day, u.account, u.key, u.n DESC
         ON CONFLICT(day, account, key) DO UPDATE SET request = excluded.request,
           claimed_at = excluded.claimed_at, answer = excluded.answer";
    transaction
        .execute(
            insert,
            &[
                &columns.days,
                &columns.accounts,
                &columns.keys,
                &requests,
                &columns.times,
                &columns.answers,
            ],
        )
        .await?;
    Ok(())
}

fn day(at: i64) -> i32 {
    (at / DAY_MS) as i32
}
