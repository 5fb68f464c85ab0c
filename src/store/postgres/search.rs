//! Lists messages for people: by destination, by state, newest first.
//!
//! Called with a connection of the pool; keeps true that one request reads a bounded number of rows,
//! so that a search for something rare cannot occupy the database for long. A list shorter than the
//! limit may therefore be continued with `before` set to its last id.

use deadpool_postgres::Client;

use super::reader::load;
use super::record::{id_at, text_of};
use crate::pb::MessageState;
use crate::store::{Search, StoreError, Stored};

/// Rows looked at per request.
const MAX_SCAN: i64 = 500_000;
/// Largest answer.
const MAX_LIMIT: usize = 10_000;

/// Answers a search.
pub async fn search(client: &Client, search: &Search) -> Result<Vec<Stored>, StoreError> {
    let limit = search.limit.min(MAX_LIMIT) as i64;
    let before = search
        .before
        .map_or(i64::MAX, |id| i64::try_from(id).unwrap_or(i64::MAX));
    let to = search.to.as_ref().map(|to| text_of(to.as_bytes()));
    // The inner SELECT bounds the walk: without it a rare state would read every partition.
    let matching = match &to {
        None => "SELECT id FROM msg WHERE id < $1 AND $2::text IS NULL ORDER BY id DESC LIMIT $3",
        Some(_) => {
            "SELECT id FROM msg WHERE destination = $2 AND id < $1 ORDER BY id DESC LIMIT $3"
        }
    };
    let in_state = match search.state {
        None => "$4::smallint IS NULL",
        Some(MessageState::Enroute) => {
            "$4::smallint IS NOT NULL AND NOT EXISTS(SELECT 1 FROM fin f WHERE f.id = m.id)"
        }
        Some(_) => "EXISTS(SELECT 1 FROM fin f WHERE f.id = m.id AND f.state = $4)",
    };
    let sql = match (&to, search.state) {
        (None, Some(state)) if state != MessageState::Enroute => {
            "SELECT id FROM (SELECT id, state FROM fin WHERE id < $1 AND $2::text IS NULL
               ORDER BY id DESC LIMIT $3) m WHERE state = $4 ORDER BY id DESC LIMIT $5"
                .to_owned()
        }
        _ => {
            format!("SELECT m.id FROM ({matching}) m WHERE {in_state} ORDER BY m.id DESC LIMIT $5")
        }
    };
    let state = search.state.map(|state| i32::from(state) as i16);
    let statement = client.prepare_cached(&sql).await?;
    let rows = client
        .query(&statement, &[&before, &to, &MAX_SCAN, &state, &limit])
        .await?;
    let ids = rows
        .iter()
        .map(|row| id_at(row, 0))
        .collect::<Result<Vec<u64>, _>>()?;
    Ok(load(client, &ids).await?.into_iter().flatten().collect())
}
