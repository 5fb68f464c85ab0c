//! Lists messages for people: by destination, by state, newest first.
//!
//! Called with a connection of the pool; keeps true that one request reads a bounded number of rows,
//! so that a search for something rare cannot occupy the database for long. A list shorter than the
//! limit may therefore be continued with `before` set to its last id.

use deadpool_postgres::Client;
use tokio_postgres::types::ToSql;

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
    let ids = search.ids();
    let (from, below) = (ids.start as i64, ids.end as i64);
    let (to, source) = (forms(&search.to), forms(&search.from));
    let sender = search.sender.map(|sender| sender as i32);
    let state = search.state.map(|state| i32::from(state) as i16);
    let mut values: Vec<&(dyn ToSql + Sync)> = vec![&from, &below, &MAX_SCAN, &limit];
    let mut terms = String::new();
    let mut term = |sql: &str, value| {
        values.push(value);
        terms.push_str(&format!(" AND {sql}").replace('?', &format!("${}", values.len())));
    };
    if let Some(to) = &to {
        term("destination = ANY(?)", to);
    }
    if let Some(source) = &source {
        term("source = ANY(?)", source);
    }
    if let Some(sender) = &sender {
        term("sender = ?", sender);
    }
    // The inner SELECT bounds the walk: without it a rare state would read every partition.
    let walk = |table| {
        format!(
            "SELECT id FROM {table} WHERE id >= $1 AND id < $2{terms} ORDER BY id DESC LIMIT $3"
        )
    };
    let sql = match &state {
        None => format!(
            "SELECT m.id FROM ({}) m ORDER BY m.id DESC LIMIT $4",
            walk("msg")
        ),
        Some(_) if search.state == Some(MessageState::Enroute) => format!(
            "SELECT m.id FROM ({}) m WHERE NOT EXISTS(SELECT 1 FROM fin f WHERE f.id = m.id)
             ORDER BY m.id DESC LIMIT $4",
            walk("msg")
        ),
        Some(state) => {
            // Without other terms the final states themselves are walked.
            let table = if terms.is_empty() { "fin" } else { "msg" };
            let inner = walk(table);
            values.push(state);
            format!(
                "SELECT m.id FROM ({inner}) m WHERE EXISTS(SELECT 1 FROM fin f WHERE f.id = m.id
                   AND f.state = ${}) ORDER BY m.id DESC LIMIT $4",
                values.len()
            )
        }
    };
    let statement = client.prepare_cached(&sql).await?;
    let rows = client.query(&statement, &values).await?;
    let ids = rows
        .iter()
        .map(|row| id_at(row, 0))
        .collect::<Result<Vec<u64>, _>>()?;
    Ok(load(client, &ids).await?.into_iter().flatten().collect())
}

/// An address as it may be stored: with and without its plus.
fn forms(address: &Option<String>) -> Option<Vec<String>> {
    let address = address.as_ref()?;
    let form = |text: &str| text_of(text.as_bytes()).into_owned();
    Some(vec![form(address), form(&format!("+{address}"))])
}
