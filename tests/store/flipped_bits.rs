//! One bit of a store flips while nobody looks: no message becomes another one, and what is not as it was is said.
//!
//! The flips are drawn from a seed. `SMSC_FLIPS=10000 cargo test --test store flipped_bits` draws more of them: in turn in
//! `smsc.db`, in one with a low-water mark in its middle, in a backup, and in the log of a store that was killed; of files
//! of PostgreSQL a twentieth as many, because its server is started for each.

mod postgres;

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use prost::Message as _;
use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use smsc::pb::{Message, MessageState, Moved, Replacement};
use smsc::store::damage::{DamageStore as _, DamagedRow};
use smsc::store::sinks::SinkEvent;
use smsc::store::sqlite::{Hooks, SqliteOptions, SqliteStore, backup, fsck};
use smsc::store::{
    Active, ChangeKind, ChangeRow, FinRow, MessageStage, ParkedRow, RetryRow, SentRow, Store,
    Stored, TryRow, WriteBatch,
};

/// Flips in a run of all tests.
const FLIPS: u32 = 400;
const MESSAGES: u64 = 240;
/// Of them in a commit.
const COMMIT: u64 = 40;
/// Who reads events, where they are written.
const SINK: i16 = 101;

/// What a store says.
#[derive(Default)]
struct StoreContent {
    messages: BTreeMap<u64, Stored>,
    active: BTreeMap<u64, Active>,
    parked: Vec<ParkedRow>,
    events: Vec<SinkEvent>,
}

/// What became of the flips.
#[derive(Debug, Default)]
struct FlipCounts {
    unchanged: u32,
    /// The store was not opened, or a reader got an error.
    refused: u32,
    /// Of these, stores that were opened when the loss of a part of the log was accepted.
    had: u32,
    /// Rows were noted as damaged.
    noted: u32,
    /// Only fsck says so.
    by_fsck: u32,
    /// A time, a number of attempts or a mark of an acknowledged receipt, which have no checksum.
    small: u32,
}

fn id(n: u64) -> u64 {
    ((1_700_000_000_000 + n * 7) << 20) | ((n % 3) << 12) | (n % 4096)
}

fn message(n: u64) -> Message {
    Message {
        id: id(n),
        sender: 1 + (n % 3) as u32,
        queue: 7 + (n % 2) as u32,
        accepted_at: (id(n) >> 20) as i64,
        due_at: 5 * (n % 2) as i64,
        expires_at: 9_000_000_000_000,
        source: Bytes::from_static(b"SENDER"),
        destination: Bytes::from(format!("4179{n:07}")),
        dest_ton: 1,
        dest_npi: 1,
        registered_delivery: 1,
        short_message: Bytes::from(format!("text number {n} {}", "x".repeat(n as usize % 90))),
        ..Message::default()
    }
}

/// The operator's id for a message, if it took it.
fn theirs(n: u64, status: u32) -> Bytes {
    match status {
        0 => format!("theirs-{n}").into(),
        _ => Bytes::new(),
    }
}

/// Of each kind of message some, in turn, in several commits.
fn fill(store: &dyn Store) {
    let mut batch = WriteBatch::default();
    for n in 1..=MESSAGES {
        if n % COMMIT == 0 {
            let batch = std::mem::take(&mut batch);
            store.write(batch).wait().expect("written");
        }
        let id = id(n);
        batch.accept.push(message(n));
        let sent = |attempt, status| SentRow {
            id,
            attempt,
            at: 1_700_000_000_000 + n as i64,
            operator: 3,
            status,
            operator_message_id: theirs(n, status),
            latency_ms: 12,
            correlation: 0,
            bind: 17,
            known_as: None,
        };
        let fin = |state, tell| FinRow {
            at: 1_700_000_000_500 + n as i64,
            state,
            error: Bytes::from_static(b"000"),
            operator: 3,
            tell,
            done_at: 1_700_000_000_400,
            ..FinRow::damaged(id)
        };
        let change = |kind, queue, body: Vec<u8>| ChangeRow {
            id,
            at: 5,
            kind,
            queue,
            by: "alice".to_owned(),
            expires_at: 8_000_000_000_000,
            body: body.into(),
        };
        match n % 8 {
            0 => batch.sent.push(sent(1, 0)),
            1 => {
                batch.sent.push(sent(1, 8));
                batch.sent.push(sent(2, 0));
                batch.fin.push(fin(MessageState::Delivered, 4));
            }
            2 => {
                batch.sent.push(sent(1, 0));
                batch.fin.push(fin(MessageState::Undeliverable, 4));
                batch.told.push(id);
            }
            3 => {
                batch.sent.push(sent(1, 8));
                batch.retry.push(RetryRow {
                    id,
                    due_at: 77,
                    attempts: 1,
                });
            }
            4 => {
                let moved = Moved {
                    towards: 9,
                    ..Moved::default()
                };
                batch
                    .change
                    .push(change(ChangeKind::Move, 8, moved.encode_to_vec()));
            }
            5 => {
                let new = Replacement {
                    short_message: Bytes::from(format!("replaced {n}")),
                    ..Replacement::default()
                };
                batch
                    .change
                    .push(change(ChangeKind::Replace, 7, new.encode_to_vec()));
            }
            6 => {
                batch.fin.push(fin(MessageState::Deleted, 0));
                batch.change.push(change(ChangeKind::Cancel, 0, Vec::new()));
            }
            _ => batch.tries.push(TryRow {
                id,
                attempt: 1,
                at: 5,
                operator: 3,
            }),
        }
    }
    for n in 1..20 {
        batch.park.push(ParkedRow {
            id: id(MESSAGES + n),
            operator: 3,
            operator_message_id: Bytes::from(format!("unknown-{n}")),
            at: 5,
            receipt: Bytes::from_static(b"receipt"),
        });
    }
    store.write(batch).wait().expect("written");
}

fn open(folder: &Path, accept_loss: bool) -> Result<SqliteStore, String> {
    let options = SqliteOptions {
        accept_loss,
        min_free_mib: 1,
        search_index: false,
        ..SqliteOptions::new(folder)
    };
    let hooks = Hooks {
        fatal: Box::new(|_| {}),
        ..Hooks::default()
    };
    match SqliteStore::open_with(options, hooks).map_err(|error| error.to_string()) {
        // A process that another test is just starting has the lock until it executes its program.
        Err(error) if error.contains("is in use") => {
            std::thread::yield_now();
            open(folder, accept_loss)
        }
        opened => opened,
    }
}

fn read(store: &dyn Store) -> Result<StoreContent, String> {
    let mut content = StoreContent::default();
    let text = |error: smsc::store::StoreError| error.to_string();
    let ids: Vec<u64> = (1..=MESSAGES).map(id).collect();
    store
        .recover(None, &mut |active| {
            drop(content.active.insert(active.id, active))
        })
        .map_err(text)?;
    let loaded = store.load(ids).wait().map_err(text)?;
    let loaded = loaded.into_iter().flatten();
    content.messages = loaded.map(|stored| (stored.message.id, stored)).collect();
    // What is active is handed out when it is loaded.
    let active: Vec<u64> = content.active.keys().copied().collect();
    let handed_out = store.load(active.clone()).wait().map_err(text)?;
    for (id, stored) in active.into_iter().zip(handed_out) {
        if stored.is_none() {
            content.active.remove(&id);
        }
    }
    content.parked = store.parked(1_000).map_err(text)?;
    let told = store.read_sink(SINK, usize::MAX).wait().map_err(text)?;
    content.events = told.map(|told| told.events).unwrap_or_default();
    Ok(content)
}

/// What is wrong with a store after a flip; whether what has no checksum is other than it was.
fn compare(
    before: &StoreContent,
    after: &StoreContent,
    noted: &[DamagedRow],
) -> Result<bool, String> {
    // What a row was of is shown without it: the message that is noted, or any if the row names none.
    let is_lost = |table: &str, id: &u64| {
        let is_of = |row: &DamagedRow| row.id == *id || !before.messages.contains_key(&row.id);
        noted.iter().any(|row| row.table == table && is_of(row))
    };
    let mut small = false;
    for (id, stored) in &after.messages {
        let was = &before.messages[id];
        let mut is = stored.clone();
        is.attempts = was.attempts;
        small |= stored.attempts != was.attempts;
        if is.fin == Some(FinRow::damaged(*id)) {
            is.fin.clone_from(&was.fin);
        }
        if is.fin.is_none() && is_lost("fin", id) {
            is.fin.clone_from(&was.fin);
        }
        if is_lost("change", id) {
            (is.queue, is.message) = (was.queue, was.message.clone());
        }
        if is.sent_at == 0 {
            is.sent_at = was.sent_at;
        }
        if is != *was {
            return Err(format!("message {id} was {was:?}, is {stored:?}"));
        }
    }
    for (id, active) in &after.active {
        let Some(was) = before.active.get(id) else {
            let told = matches!(active.stage, MessageStage::Untold { .. });
            match before.messages.get(id).map(|stored| &stored.fin) {
                // `told` has no checksum: a receipt is told again rather than never.
                Some(Some(fin)) if told && fin.tell != 0 => small = true,
                _ => {
                    return Err(format!(
                        "{active:?} goes on, and had ended or was never there"
                    ));
                }
            }
            continue;
        };
        let mut is = active.clone();
        (is.due_at, is.attempts) = (was.due_at, was.attempts);
        small |= is != *active;
        // A try that is not known is one that was not made, and the other way round.
        let tries = [MessageStage::Waiting, MessageStage::OutcomeUnknown];
        if tries.contains(&is.stage) && tries.contains(&was.stage) && is.stage != was.stage {
            (is.stage, small) = (was.stage.clone(), true);
        }
        if is != *was {
            return Err(format!("{was:?} goes on as {active:?}"));
        }
    }
    if let Some(row) = after.parked.iter().find(|row| !before.parked.contains(row)) {
        return Err(format!("{row:?} was never parked"));
    }
    match after.events.iter().find(|one| !before.events.contains(one)) {
        Some(event) => Err(format!("{event:?} never happened")),
        None => Ok(small),
    }
}

fn is_whole(before: &StoreContent, after: &StoreContent) -> bool {
    after.messages == before.messages
        && after.active == before.active
        && after.parked == before.parked
        && after.events == before.events
}

/// A store at rest, or as it was killed.
struct StoreImage {
    /// The last one is flipped.
    files: Vec<(&'static str, Vec<u8>)>,
}

// === impl StoreImage ===

impl StoreImage {
    fn of(folder: &Path, names: &[&'static str]) -> Self {
        let file = |name| (name, std::fs::read(folder.join(name)).expect("reads"));
        Self {
            files: names.iter().copied().map(file).collect(),
        }
    }

    fn put(&self, folder: &Path, (at, bit): (usize, u8)) {
        for file in std::fs::read_dir(folder).expect("reads") {
            std::fs::remove_file(file.expect("a file").path()).expect("removes");
        }
        for (number, (name, octets)) in self.files.iter().enumerate() {
            let mut octets = octets.clone();
            if number + 1 == self.files.len() {
                octets[at] ^= 1 << bit;
            }
            std::fs::write(folder.join(name), octets).expect("written");
        }
    }

    fn flip(&self, folder: &Path, flip: (usize, u8), before: &StoreContent, all: &mut FlipCounts) {
        self.put(folder, flip);
        let ((at, bit), name) = (flip, self.files[self.files.len() - 1].0);
        let place = format!("bit {bit} of octet {at} of {name}");
        let Ok(store) = open(folder, false) else {
            all.refused += 1;
            // What is left of a log has whole commits only.
            if let Ok(store) = open(folder, true) {
                let left = read(&store).expect("reads");
                let compared = compare(before, &left, &store.take_damage());
                compared.unwrap_or_else(|wrong| panic!("{place}, loss accepted: {wrong}"));
                all.had += 1;
            }
            return;
        };
        let after = read(&store);
        let noted = store.take_damage();
        drop(store);
        let said = || {
            self.put(folder, flip);
            fsck(folder).map_or(true, |report| !report.is_clean())
        };
        all.count(&place, before, after, &noted, said);
    }
}

// === impl FlipCounts ===

impl FlipCounts {
    /// Counts what became of a flip; `said` asks whether fsck finds it.
    fn count(
        &mut self,
        place: &str,
        before: &StoreContent,
        after: Result<StoreContent, String>,
        noted: &[DamagedRow],
        said: impl FnOnce() -> bool,
    ) {
        let Ok(after) = after else {
            self.refused += 1;
            return;
        };
        match compare(before, &after, noted) {
            Err(wrong) => panic!("{place}: {wrong}; noted {noted:?}"),
            _ if is_whole(before, &after) => self.unchanged += 1,
            _ if !noted.is_empty() => self.noted += 1,
            Ok(true) => self.small += 1,
            Ok(false) => {
                assert!(said(), "{place}: nobody says what is missing");
                self.by_fsck += 1;
            }
        }
    }
}

fn given(name: &str) -> Option<u32> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

fn dice() -> SmallRng {
    SmallRng::seed_from_u64(given("SMSC_SEED").unwrap_or(1).into())
}

fn anywhere(dice: &mut SmallRng, octets: &[u8]) -> (usize, u8) {
    (dice.random_range(0..octets.len()), dice.random_range(0..8))
}

/// Moves the low-water mark to the middle.
fn carry_half(file: &Path) {
    let mark = id(MESSAGES / 2);
    let store = rusqlite::Connection::open(file).expect("opens");
    store
        .execute_batch(&format!(
            "INSERT INTO carry SELECT id FROM active WHERE id < {mark};
             INSERT INTO meta VALUES('low_water', {mark})
               ON CONFLICT(key) DO UPDATE SET value = excluded.value;
             PRAGMA wal_checkpoint(TRUNCATE);"
        ))
        .expect("carried");
}

#[test]
fn no_message_becomes_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = open(folder.path(), false).expect("opens");
    fill(&store);
    let before = read(&store).expect("reads");
    assert_eq!(before.messages.len() as u64, MESSAGES);
    assert!(store.take_damage().is_empty());
    let killed = StoreImage::of(folder.path(), &["smsc.db", "smsc.db-shm", "smsc.db-wal"]);
    drop(store);
    let file = folder.path().join("smsc.db");
    let plain = StoreImage::of(folder.path(), &["smsc.db"]);
    let copy = tempfile::tempdir().expect("a folder");
    assert_eq!(backup(&file, &copy.path().join("smsc.db")), Ok(0));
    let backup = StoreImage::of(copy.path(), &["smsc.db"]);
    carry_half(&file);
    let carried = StoreImage::of(folder.path(), &["smsc.db"]);
    let flips = given("SMSC_FLIPS").unwrap_or(FLIPS);
    let mut dice = dice();
    for (name, image, share) in [
        ("smsc.db", plain, 3),
        ("smsc.db with a mark", carried, 3),
        ("a backup", backup, 3),
        ("the log", killed, 16),
    ] {
        let mut all = FlipCounts::default();
        let octets = &image.files[image.files.len() - 1].1;
        for _ in 0..flips / share {
            let flip = anywhere(&mut dice, octets);
            image.flip(folder.path(), flip, &before, &mut all);
        }
        println!("{} flips in {name}: {all:?}", flips / share);
    }
}
