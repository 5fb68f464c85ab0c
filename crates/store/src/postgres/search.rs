//! Lists messages for people: by destination, by state, newest first.
//!
//! Called with a connection for administrators; guarantees that one request reads a bounded number of rows,
//! so that a search for something rare cannot occupy the database for long. A page says where the next
//! one begins, even if it is empty.

use tokio_postgres::types::ToSql;

use super::asides;
use super::connect::{Object as Client, find};
use super::reader::load;
use super::record::{ids_of, text_of};
use crate::damage::DamageLog;
use crate::{FoundMessages, MAX_SCAN, Search, StoreResult};
use smsc_proto::MessageState;

/// Largest answer.
const MAX_LIMIT: usize = 10_000;

/// Answers a search.
pub async fn search(
    client: &Client,
    damage: &DamageLog,
    search: &Search,
) -> StoreResult<FoundMessages> {
    let limit = search.limit.min(MAX_LIMIT) as i64;
    let asides = asides::read(&***client).await?;
    let ids = search.ids(&asides);
    let (from, below) = (ids.start as i64, ids.end as i64);
    let (to, source) = (forms(&search.to), forms(&search.from));
    let sender = search.sender.map(|sender| sender as i32);
    let state = search.state.map(|state| i32::from(state) as i16);
    let ends = search.ends();
    let mut values: Vec<&(dyn ToSql + Sync)> = vec![&from, &below, &MAX_SCAN];
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
    // Without other terms the final states themselves are walked.
    let is_final = match search.state {
        None => search.asks_for_ends(),
        Some(state) => state != MessageState::Enroute,
    };
    let table = if is_final && terms.is_empty() {
        "fin"
    } else {
        "msg"
    };
    // Bounded: without that a rare state would read every partition.
    let walk = format!(
        "SELECT id FROM {table} WHERE id >= $1 AND id < $2{terms} ORDER BY id DESC LIMIT $3"
    );
    let walked = values.len();
    values.push(&limit);
    let mut end = String::new();
    if let Some(state) = state.as_ref().filter(|_| is_final) {
        values.push(state);
        end.push_str(&format!(" AND f.state = ${}", values.len()));
    }
    if is_final && search.asks_for_ends() {
        values.extend([&ends.start as &(dyn ToSql + Sync), &ends.end]);
        let last = values.len();
        end.push_str(&format!(" AND f.at >= ${} AND f.at < ${last}", last - 1));
    }
    let condition = match &state {
        _ if is_final => format!("WHERE EXISTS(SELECT 1 FROM fin f WHERE f.id = m.id{end})"),
        None => String::new(),
        Some(_) => "WHERE NOT EXISTS(SELECT 1 FROM fin f WHERE f.id = m.id)".to_owned(),
    };
    let sql = format!(
        "SELECT m.id FROM ({walk}) m {condition} ORDER BY m.id DESC LIMIT ${}",
        walked + 1
    );
    let ids: Vec<u64> = ids_of(&find(client, &sql, &values).await?)?;
    let next_before = match state {
        _ if ids.len() >= limit as usize => ids.last().copied(),
        // All that was walked over is on the page.
        None if !is_final => None,
        _ => end_of_walk(client, &walk, &values[..walked]).await?,
    };
    let messages = load(client, damage, &ids).await?.into_iter().flatten();
    let messages = messages.filter(|stored| search.covers(stored));
    Ok(FoundMessages {
        messages: messages.collect(),
        next_before,
    })
}

/// The lowest id that a walk of at most [`MAX_SCAN`] ids has come to; `None` when it has come to its end.
async fn end_of_walk(
    client: &Client,
    walk: &str,
    values: &[&(dyn ToSql + Sync)],
) -> StoreResult<Option<u64>> {
    let sql = format!("SELECT min(w.id), count(*) FROM ({walk}) w");
    let statement = client.prepare_cached(&sql).await?;
    let row = client.query_one(&statement, values).await?;
    let (lowest, count): (Option<i64>, i64) = (row.try_get(0)?, row.try_get(1)?);
    Ok(lowest.filter(|_| count >= MAX_SCAN).map(|id| id as u64))
}

/// An address as it may be stored: with and without its plus.
fn forms(address: &Option<String>) -> Option<Vec<String>> {
    let address = address.as_ref()?;
    let form = |text: &str| text_of(text.as_bytes()).into_owned();
    Some(vec![form(address), form(&format!("+{address}"))])
}
