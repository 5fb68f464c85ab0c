//! A store that SQLite cannot open any more: `smsc salvage` reads what can be read into a new one, names what cannot be, and nothing that
//! an operator has is sent to it again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::harness::{Peer, PeerError, Scene, Smsc, submit};
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use rusqlite::Connection;
use serde_json::Value;

/// EX_DATAERR of sysexits.h.
const DAMAGED: i32 = 65;
const PAGE: usize = 4096;
/// Messages that the operator accepts; it delivers those with an even number.
const SENT: usize = 40;
/// Messages that wait in a suspended queue.
const WAITING: usize = 300;
/// Flips in a run of all tests; `SMSC_FLIPS` and `SMSC_SEED` draw others.
const FLIPS: u64 = 100;
/// Long enough for another message to arrive, if there were one.
const QUIET: Duration = Duration::from_millis(700);

/// What a message is like in a store: its recipient and text as stored, and whether it has ended.
type StoredMessages = BTreeMap<i64, (Value, bool)>;

/// A killed SMSC, and the ids of its messages: those that were sent, and those that wait.
fn killed() -> (Scene, Vec<i64>, Vec<i64>) {
    let mut scene = Scene::new("");
    let sent: Vec<String> = (0..SENT)
        .map(|n| scene.submit_as(&format!("up-{n}")))
        .collect();
    for n in (0..SENT).step_by(2) {
        scene.report(&format!("up-{n}"), "DELIVRD");
    }
    for id in sent.iter().step_by(2) {
        assert_eq!(scene.smsc.final_state(id), "DELIVERED");
    }
    let admin = scene.smsc.admin();
    assert_eq!(admin.post("/v1/queues/operator:up/suspend").0, 200);
    let text = "a message of some length ".repeat(5);
    let waiting = (0..WAITING).map(|n| scene.esme.submit(submit(&format!("4477009{n:05}"), &text)));
    let waiting: Vec<String> = waiting.collect();
    scene.smsc.kill();
    let numbers = |ids: Vec<String>| ids.iter().map(|id| id.parse().unwrap()).collect();
    (scene, numbers(sent), numbers(waiting))
}

/// A copy of the store, all of which is in `smsc.db` unless it keeps its log.
fn copy(smsc: &Smsc, name: &str, with_log: bool) -> PathBuf {
    let folder = smsc.file(name);
    fs::create_dir(&folder).unwrap();
    for name in ["smsc.db", "smsc.db-wal", "smsc.db-shm"] {
        let _ = fs::copy(smsc.data_dir().join(name), folder.join(name));
    }
    if !with_log {
        let store = Connection::open(folder.join("smsc.db")).unwrap();
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        store.query_row(checkpoint, [], |_| Ok(())).unwrap();
    }
    folder
}

fn change(folder: &Path, act: impl FnOnce(&mut Vec<u8>)) {
    let file = folder.join("smsc.db");
    let mut octets = fs::read(&file).unwrap();
    act(&mut octets);
    fs::write(file, octets).unwrap();
}

/// Pages of the tree of a table: the first one, and, where there is one, a leaf below it.
fn pages(folder: &Path, table: &str) -> (usize, usize) {
    let store = Connection::open(folder.join("smsc.db")).unwrap();
    let root = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
    let root: u32 = store.query_row(root, [table], |row| row.get(0)).unwrap();
    let root = root as usize;
    drop(store);
    let octets = fs::read(folder.join("smsc.db")).unwrap();
    let page = &octets[(root - 1) * PAGE..root * PAGE];
    let leaf = match page[0] {
        5 => {
            let at = usize::from(u16::from_be_bytes([page[12], page[13]]));
            u32::from_be_bytes(page[at..at + 4].try_into().unwrap()) as usize
        }
        _ => root,
    };
    (root, leaf)
}

fn zero(folder: &Path, page: usize) {
    change(folder, |octets| {
        octets[(page - 1) * PAGE..page * PAGE].fill(0)
    });
}

fn stored(folder: &Path) -> StoredMessages {
    let store = Connection::open(folder.join("smsc.db")).unwrap();
    let mut select = store
        .prepare(
            "SELECT m.id, CAST(m.destination AS TEXT), hex(m.body), f.id IS NOT NULL
             FROM msg m LEFT JOIN fin f ON f.id = m.id",
        )
        .unwrap();
    let rows = select.query_map([], |row| {
        let content = [row.get::<_, String>(1)?, row.get(2)?];
        Ok((row.get(0)?, (Value::from(content.to_vec()), row.get(3)?)))
    });
    rows.unwrap().map(Result::unwrap).collect()
}

/// Salvages a folder, and compares the new one with what was acknowledged.
fn salvage(smsc: &Smsc, from: &Path, before: &StoredMessages, case: &str) -> (PathBuf, Value) {
    let to = smsc.file(&format!("new-{case}"));
    let (from_text, to_text) = (from.to_str().unwrap(), to.to_str().unwrap());
    let done = smsc.run(&[
        "salvage",
        "--data-dir",
        from_text,
        "--into",
        to_text,
        "--json",
    ]);
    let report: Value = serde_json::from_str(&done.stdout)
        .unwrap_or_else(|error| panic!("{case}: {error}: {}{}", done.stdout, done.stderr));
    let checked = smsc.run(&["fsck", to_text]);
    assert!(
        checked.success,
        "{case}: {}{}",
        checked.stdout, checked.stderr
    );

    let after = stored(&to);
    // Flips may have hit nothing.
    let expected = match case {
        "sound" | "sound-killed" => 0,
        "flips" if done.code == Some(0) && after == *before => 0,
        _ => DAMAGED,
    };
    let said = &done.stderr;
    assert_eq!(done.code, Some(expected), "{case}: {report} {said}");
    for (id, (content, has_ended)) in &after {
        let (was, had_ended) = &before[id];
        assert_eq!(content, was, "{case}: message {id}");
        assert!(
            *has_ended || !had_ended,
            "{case}: message {id} goes on and had ended: {report}"
        );
    }
    let store = Connection::open(to.join("smsc.db")).unwrap();
    let mut listed = store.prepare("SELECT id FROM damaged").unwrap();
    let listed: BTreeSet<i64> = listed
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let ranges = report["tables"]["msg"]["missing"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let is_told = |id: i64| {
        let is_in = |range: &Value| {
            let end = |key: &str| range[key].as_str().unwrap().parse::<u64>().unwrap();
            (end("from")..=end("to")).contains(&(id as u64))
        };
        listed.contains(&id) || ranges.iter().any(is_in)
    };
    for id in before.keys().filter(|id| !after.contains_key(id)) {
        assert!(
            is_told(*id),
            "{case}: message {id} is gone and not named: {report}"
        );
    }
    for (id, (_, has_ended)) in &after {
        let ended_now = *has_ended && !before[id].1;
        assert!(
            !ended_now || listed.contains(id),
            "{case}: message {id} has ended and is not named: {report}"
        );
    }
    (to, report)
}

/// A hundredth of the pages overwritten, and bits flipped anywhere.
fn with_noise(smsc: &Smsc, before: &StoredMessages) {
    let mut dice = SmallRng::seed_from_u64(given("SMSC_SEED").unwrap_or(1));
    let noise = copy(smsc, "noise", false);
    change(&noise, |octets| {
        let pages = octets.len() / PAGE;
        for _ in 0..pages.div_ceil(100) {
            let at = dice.random_range(1..pages) * PAGE;
            octets[at..at + PAGE].fill_with(|| dice.random());
        }
    });
    salvage(smsc, &noise, before, "noise");

    let flips = copy(smsc, "flips", false);
    change(&flips, |octets| {
        for _ in 0..given("SMSC_FLIPS").unwrap_or(FLIPS) {
            let at = dice.random_range(0..octets.len());
            octets[at] ^= 1 << dice.random_range(0..8);
        }
    });
    salvage(smsc, &flips, before, "flips");
}

/// A number that the caller of the test gives.
fn given(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Starts the SMSC on another folder, suspended.
fn start_on(scene: &mut Scene, folder: &Path) {
    fs::remove_dir_all(scene.smsc.data_dir()).unwrap();
    fs::rename(folder, scene.smsc.data_dir()).unwrap();
    scene.smsc.start_again_with(&["--suspended"]);
    scene.bind = scene.operator.accept_bind();
    scene.smsc.wait_for_binds("up", 1);
    scene.esme = Peer::bind(scene.smsc.smpp(), "test", "test");
}

#[test]
fn what_can_be_read_of_a_damaged_store_goes_on() {
    let (mut scene, sent, waiting) = killed();
    let smsc = &scene.smsc;
    let before = stored(&copy(smsc, "whole", false));
    assert_eq!(before.len(), SENT + WAITING);

    let sound = copy(smsc, "sound", false);
    salvage(smsc, &sound, &before, "sound");
    let (_, leaf) = pages(&sound, "msg");
    salvage(smsc, &copy(smsc, "killed", true), &before, "sound-killed");

    let no_log = copy(smsc, "no-log", true);
    fs::remove_file(no_log.join("smsc.db-wal")).unwrap();
    let (_, report) = salvage(smsc, &no_log, &before, "no-log");
    assert!(report["log"].is_string(), "{report}");

    let half = copy(smsc, "half", false);
    change(&half, |octets| octets.truncate(octets.len() / 2));
    salvage(smsc, &half, &before, "half");

    let lost_leaf = copy(smsc, "leaf", false);
    zero(&lost_leaf, leaf);
    let (leaf_new, report) = salvage(smsc, &lost_leaf, &before, "leaf");
    assert_eq!(report["illegible_pages"], 1, "{report}");
    let left = stored(&leaf_new);

    let lost_ends = copy(smsc, "ends", false);
    let (ends, _) = pages(&lost_ends, "fin");
    zero(&lost_ends, ends);
    let (_, report) = salvage(smsc, &lost_ends, &before, "ends");
    assert!(
        report["doubtful_messages"].as_u64().unwrap() >= WAITING as u64,
        "{report}"
    );

    let interior = copy(smsc, "interior", false);
    let (root, leaf) = pages(&interior, "msg");
    assert_ne!(root, leaf);
    zero(&interior, root);
    let (new, report) = salvage(smsc, &interior, &before, "interior");
    assert_eq!(stored(&new), before, "{report}");

    with_noise(smsc, &before);

    // SQLite opens it no more, and neither does the SMSC.
    let header = copy(smsc, "header", false);
    zero(&header, 1);
    let (new, report) = salvage(smsc, &header, &before, "header");
    assert_eq!(stored(&new), before, "{report}");
    let refused = smsc.run(&["fsck", header.to_str().unwrap()]);
    assert!(!refused.success);

    // The store whose leaf is lost goes on: what the operator has is not sent again.
    start_on(&mut scene, &leaf_new);
    assert_eq!(
        scene.bind.next(QUIET),
        Err(PeerError::Silence),
        "sent while suspended"
    );
    let admin = scene.smsc.admin();
    for id in sent.iter().step_by(2).filter(|id| left.contains_key(id)) {
        assert_eq!(scene.smsc.final_state(&id.to_string()), "DELIVERED");
    }
    assert_eq!(admin.post("/v1/queues/operator:up/resume").0, 200);
    let expected: BTreeSet<i64> = waiting
        .into_iter()
        .filter(|id| left.contains_key(id))
        .collect();
    for n in 0..expected.len() {
        scene.take(&format!("again-{n}"));
    }
    assert_eq!(
        scene.bind.next(QUIET),
        Err(PeerError::Silence),
        "sent again"
    );
    for id in expected.iter().take(3) {
        assert_eq!(scene.attempts(&id.to_string()).len(), 1);
    }
    scene.smsc.assert_no_panic();
}

#[test]
fn a_store_in_use_is_not_salvaged() {
    let scene = Scene::new("");
    let data = scene.smsc.data_dir();
    let new = scene.smsc.file("new");
    let done = scene.smsc.run(&[
        "salvage",
        "--data-dir",
        data.to_str().unwrap(),
        "--into",
        new.to_str().unwrap(),
    ]);
    assert!(
        !done.success && done.stderr.contains("in use"),
        "{}",
        done.stderr
    );
    assert!(!new.exists());
}
