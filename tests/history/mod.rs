//! The checker that walks the history after a fault: what the sender was told, what the operator
//! took, what the store holds.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::harness::{JournalLine, Smsc};

/// What one run of `smsc load` left.
#[derive(Debug, Default)]
pub struct Sender {
    /// Acknowledged: message id → our reference.
    pub accepted: HashMap<u64, String>,
    /// Receipts per message id.
    pub receipts: HashMap<u64, u32>,
}

/// What the walk found.
#[derive(Debug)]
pub struct Findings {
    pub acknowledged: usize,
    /// Extra copies that the operator took of a message with one id here.
    pub duplicates_by_us: usize,
    /// References with several ids: the sender sent them again after a lost answer.
    pub sent_again: usize,
    /// Receipts beyond the first, for one message.
    pub repeated_receipts: usize,
}

impl Sender {
    /// Reads the journal of a load run.
    pub fn read(journal: &Path) -> Self {
        let mut sender = Self::default();
        for line in fs::read_to_string(journal).unwrap().lines() {
            let columns: Vec<&str> = line.split('\t').collect();
            match columns[..] {
                ["A", reference, id, ..] => {
                    let before = sender
                        .accepted
                        .insert(id.parse().unwrap(), reference.to_owned());
                    assert_eq!(before, None, "message id {id} was given twice");
                }
                ["R", id, ..] => *sender.receipts.entry(id.parse().unwrap()).or_default() += 1,
                ["F", ..] => {}
                _ => panic!("not a journal line: {line}"),
            }
        }
        sender
    }
}

/// Fails unless every acknowledged message is in exactly one final state, was told to its sender
/// and reached the operator; counts what came twice. The SMSC must have stopped.
pub fn check(smsc: &Smsc, sender: &Sender, operator: &[JournalLine]) -> Findings {
    let database = smsc.data_dir().join("smsc.db");
    let connection =
        Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut states: HashMap<u64, i64> = HashMap::new();
    let mut statement = connection.prepare("SELECT id, state FROM fin").unwrap();
    let mut rows = statement.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let before = states.insert(row.get::<_, i64>(0).unwrap() as u64, row.get(1).unwrap());
        assert_eq!(before, None, "two final states");
    }
    let lost: Vec<_> = sender
        .accepted
        .iter()
        .filter(|(id, _)| !states.contains_key(*id))
        .collect();
    assert!(
        lost.is_empty(),
        "{} of {} acknowledged messages have no final state, such as {:?}",
        lost.len(),
        sender.accepted.len(),
        lost.first()
    );
    let untold = sender
        .accepted
        .keys()
        .filter(|id| !sender.receipts.contains_key(id))
        .count();
    assert_eq!(
        untold, 0,
        "acknowledged messages whose sender heard nothing"
    );

    let mut copies: HashMap<&str, usize> = HashMap::new();
    for line in operator {
        *copies.entry(reference_of(&line.text)).or_default() += 1;
    }
    let mut ids_of: HashMap<&str, usize> = HashMap::new();
    for reference in sender.accepted.values() {
        *ids_of.entry(reference).or_default() += 1;
        assert!(
            copies.contains_key(reference.as_str()),
            "{reference} was acknowledged and never reached the operator"
        );
    }
    // Every message of the store goes out once, so a reference may reach the operator as often as
    // the store has messages with it; the store also has those whose answer was lost.
    let stored: i64 = connection
        .query_row("SELECT count(*) FROM msg", [], |row| row.get(0))
        .unwrap();
    Findings {
        acknowledged: sender.accepted.len(),
        duplicates_by_us: operator.len().saturating_sub(stored as usize),
        sent_again: stored as usize - copies.len().min(stored as usize),
        repeated_receipts: sender
            .receipts
            .values()
            .map(|count| *count as usize - 1)
            .sum(),
    }
}

/// The load generator's texts begin with the reference.
fn reference_of(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or(text)
}
