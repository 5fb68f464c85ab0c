//! Answers to requests with an Idempotency-Key: the bound of their index, and kill -9.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use bytes::Bytes;
use smsc::store::idempotency::{Claimed, IdempotencyStore, KeyClaim};
use smsc::store::sqlite::{SqliteOptions, SqliteStore};
use smsc::store::{Store, WriteBatch};

use super::{CHILD, accept, folder, id, open, options};

const AT: i64 = 1_700_000_000_000;

fn claim(n: u64) -> KeyClaim {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&n.to_le_bytes());
    KeyClaim {
        account: 1,
        key,
        request: [0; 32],
        at: AT,
        since: 0,
    }
}

fn claimed(store: &SqliteStore, n: u64) -> Claimed {
    store.claim_key(claim(n)).wait().expect("answers")
}

fn answered(n: u64) -> WriteBatch {
    WriteBatch {
        idempotency: vec![claim(n).answered(Bytes::copy_from_slice(&n.to_le_bytes()))],
        ..accept([id(n)])
    }
}

fn done(n: u64) -> Claimed {
    Claimed::Done(Bytes::copy_from_slice(&n.to_le_bytes()))
}

#[test]
fn new_keys_of_an_account_are_refused_beyond_its_share_and_none_is_forgotten() {
    let folder = folder();
    let small = |most| SqliteOptions {
        idempotency_keys: most,
        ..options(folder.path())
    };
    // One account alone has half.
    let store = SqliteStore::open(small(6)).expect("opens");
    for n in 1..=3 {
        assert_eq!(claimed(&store, n), Claimed::New);
        store.write(answered(n)).wait().expect("written");
    }
    assert_eq!(claimed(&store, 4), Claimed::Full);
    assert_eq!(store.stats().idempotency_keys, 3);
    drop(store);
    // Less room than before.
    let store = SqliteStore::open(small(4)).expect("opens");
    assert_eq!(claimed(&store, 4), Claimed::Full);
    for n in 1..=3 {
        assert_eq!(claimed(&store, n), done(n));
    }
    assert_eq!(store.forget_keys(AT + 1, 2).wait(), Ok(2));
    assert_eq!(claimed(&store, 3), done(3));
    assert_eq!(claimed(&store, 4), Claimed::New);
    assert_eq!(claimed(&store, 5), Claimed::Full);
}

#[test]
fn a_kill_leaves_answers_and_messages_together() {
    if let Some(folder) = std::env::var_os(CHILD) {
        return answer_until_killed(Path::new(&folder));
    }
    let folder = folder();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "store_sqlite::idempotency::a_kill_leaves_answers_and_messages_together",
            "--nocapture",
        ])
        .env(CHILD, folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let durable = |line: String| line.strip_prefix("durable ")?.parse::<u64>().ok();
    let mut answered: Vec<u64> = Vec::new();
    for n in lines.map_while(Result::ok).filter_map(durable) {
        answered.push(n);
        if answered.len() == 50 {
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(answered.len() >= 50);
    let store = open(folder.path());
    // Beyond what was answered: what was under way is there as a whole, or not at all.
    let last = answered.last().copied().unwrap() + 10;
    let stored = store.load((1..=last).map(id).collect()).wait().unwrap();
    for (n, message) in (1..=last).zip(stored) {
        let expected = match message {
            Some(_) => done(n),
            None => Claimed::New,
        };
        assert_eq!(claimed(&store, n), expected, "{n}");
        assert!(!answered.contains(&n) || expected == done(n), "{n} is lost");
    }
}

/// Carries out requests, several at a time, and prints which are durable.
fn answer_until_killed(folder: &Path) {
    let store = open(folder);
    for first in (1..).step_by(4) {
        let several = first..first + 4;
        let tickets: Vec<_> = several
            .clone()
            .map(|n| {
                assert_eq!(claimed(&store, n), Claimed::New);
                store.write(answered(n))
            })
            .collect();
        for (n, ticket) in several.zip(tickets) {
            ticket.wait().unwrap();
            let mut out = std::io::stdout().lock();
            writeln!(out, "durable {n}").unwrap();
            out.flush().unwrap();
        }
    }
}
