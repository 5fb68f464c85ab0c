//! Compares the histories after a fault: what the sender received, what the operator accepted, and what
//! the store holds.

// Each test program uses a part of this file.
#![allow(dead_code)]

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::harness::{JournalLine, Smsc, rows};

/// The journal of one run of `smsc load`.
#[derive(Debug, Default)]
pub struct Sender {
    /// Acknowledged: message id → our reference.
    pub accepted: HashMap<u64, String>,
    /// Receipts per message id.
    pub receipts: HashMap<u64, u32>,
}

/// The result of the comparison.
#[derive(Debug)]
pub struct Findings {
    pub acknowledged: usize,
    /// Extra copies that the operator accepted of messages with one id here.
    pub duplicates_by_us: usize,
    /// References with several ids: the sender submitted them again after a lost response.
    pub sent_again: usize,
    /// Receipts for a message after its first one.
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

    /// Adds what another run has sent and received.
    pub fn add(&mut self, other: Self) {
        self.accepted.extend(other.accepted);
        for (id, count) in other.receipts {
            *self.receipts.entry(id).or_default() += count;
        }
    }
}

/// The content of the store after a run.
#[derive(Debug, Default)]
pub struct Stored {
    /// Rows of `msg`.
    messages: usize,
    /// Final states by message id.
    states: HashMap<u64, i64>,
}

// === impl Stored ===

impl Stored {
    /// Reads the embedded store of an SMSC that has stopped.
    pub fn embedded(smsc: &Smsc) -> Self {
        let database = smsc.data_dir().join("smsc.db");
        let connection =
            Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        let mut stored = Self::default();
        let mut statement = connection.prepare("SELECT id, state FROM fin").unwrap();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            stored.add(row.get(0).unwrap(), row.get(1).unwrap());
        }
        let count = "SELECT count(*) FROM msg";
        let messages: i64 = connection.query_row(count, [], |row| row.get(0)).unwrap();
        stored.messages = messages as usize;
        stored
    }

    /// Reads the store that nodes have shared. Fails if a message is unfinished, an account was not
    /// notified, an item waits for another node, or a row was put aside as unwritable.
    pub fn shared(url: &str) -> Self {
        let mut stored = Self::default();
        // What was refused and taken back is no message for anybody.
        let counts = "SELECT id, state::bigint FROM fin WHERE error <> 'taken back'";
        for row in rows(url, counts) {
            stored.add(row.get(0), row.get(1));
        }
        let count =
            |from: &str| -> i64 { rows(url, &format!("SELECT count(*) FROM {from}"))[0].get(0) };
        stored.messages = (count("msg") - count("fin WHERE error = 'taken back'")) as usize;
        for nothing in ["active", "inbox", "dead"] {
            assert_eq!(count(nothing), 0, "rows of {nothing}");
        }
        let without_message = "fin f WHERE NOT EXISTS (SELECT 1 FROM msg m WHERE m.id = f.id)";
        assert_eq!(
            count(without_message),
            0,
            "final states of unknown messages"
        );
        stored
    }

    /// Whether a message is in a final state.
    pub fn has(&self, id: u64) -> bool {
        self.states.contains_key(&id)
    }

    /// Whether every message is in a final state.
    pub fn is_whole(&self) -> bool {
        self.messages == self.states.len()
    }

    fn add(&mut self, id: i64, state: i64) {
        let before = self.states.insert(id as u64, state);
        assert_eq!(before, None, "message {id} has two final states");
    }
}

/// Fails unless every acknowledged message is in exactly one final state, its sender was notified, and
/// it reached the operator; counts duplicates.
pub fn check(stored: &Stored, sender: &Sender, operator: &[JournalLine]) -> Findings {
    let states = &stored.states;
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
    // Every message of the store goes out once, so a reference may reach the operator as often as the
    // store has messages with it. The store also has messages whose response was lost.
    let stored = stored.messages;
    Findings {
        acknowledged: sender.accepted.len(),
        duplicates_by_us: operator.len().saturating_sub(stored),
        sent_again: stored - copies.len().min(stored),
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
