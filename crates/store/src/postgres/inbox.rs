//! Rows of the hand-off table: what one commit brings for a partition of another node.
//!
//! Called where new messages, receipts and divided queues go to their owners. Guarantees that the items of a partition
//! keep the order of their ids, and that no row is empty or much larger than what an owner takes at a time.

use super::columns::{Parameter, StatementCall};
use super::statements::StatementStep;
use crate::RemoteItem;

/// A row of the hand-off table is closed at this size, so that the items that an owner takes out at a time
/// are bounded.
const MAX_INBOX_ROW: usize = 256 * 1024;

/// These items as they share rows of the hand-off table; no row is empty.
pub fn inbox_rows<'a>(items: impl Iterator<Item = &'a RemoteItem>) -> Vec<Vec<&'a RemoteItem>> {
    let mut all: Vec<&RemoteItem> = items.collect();
    all.sort_by_key(|item| (item.queue, item.part, item.id));
    let mut rows = Vec::new();
    for of_partition in all.chunk_by(|a, b| (a.queue, a.part) == (b.queue, b.part)) {
        let (mut row, mut octets) = (Vec::new(), 0);
        for item in of_partition {
            row.push(*item);
            octets += item.octets.len();
            if octets >= MAX_INBOX_ROW {
                rows.push(std::mem::take(&mut row));
                octets = 0;
            }
        }
        if !row.is_empty() {
            rows.push(row);
        }
    }
    rows
}

/// The content of a row of the hand-off table.
pub fn octets_of(row: &[&RemoteItem]) -> Vec<u8> {
    let items = row.iter().map(|item| &item.octets[..]);
    items.collect::<Vec<_>>().concat()
}

/// The statement for rows of the hand-off table: any item of each, for its partition, and the content.
pub fn hand_off<'a>(
    rows: impl Iterator<Item = (&'a RemoteItem, Vec<u8>)>,
) -> StatementCall<'static> {
    let (queues, parts, items) = hand_off_columns(rows);
    let columns: Vec<Parameter<'static>> = vec![Box::new(queues), Box::new(parts), Box::new(items)];
    StatementCall::new(StatementStep::RemoteItems, columns)
}

/// The columns of [`StatementStep::RemoteItems`].
pub fn hand_off_columns<'a>(
    rows: impl Iterator<Item = (&'a RemoteItem, Vec<u8>)>,
) -> (Vec<i32>, Vec<i16>, Vec<Vec<u8>>) {
    let (mut queues, mut parts, mut items) = (Vec::new(), Vec::new(), Vec::new());
    for (item, octets) in rows {
        queues.push(item.queue as i32);
        parts.push(i16::from(item.part));
        items.push(octets);
    }
    (queues, parts, items)
}
