//! Flips in the logs of real stores, as a process that was killed leaves them.

mod killed;

use std::fs;

use rusqlite::Connection;

use self::killed::{BATCH, FRAME, WrittenStore, at};
use super::super::schema::MAIN_FILE;
use super::*;
use crate::StoreError;

/// Places in a frame: page number, commit mark, salts, checksum, the page.
const PLACES: &[(usize, u8)] = &[
    (3, 1),
    (0, 0x80),
    (7, 0xFF),
    (4, 1),
    (8, 1),
    (15, 0x40),
    (16, 1),
    (23, 0x80),
    (24, 1),
    (2000, 0x10),
    (FRAME - 1, 0x80),
];

#[test]
fn a_whole_log_is_no_damage() {
    let killed = WrittenStore::with(8).kill();
    assert!(killed.commits().len() >= 8);
    assert!(killed.damage().is_none());
    settle(&killed.main(), false).unwrap();
    assert_eq!(killed.messages(), 8 * BATCH);
    assert!(killed.copies().is_empty());
}

#[test]
fn a_flip_in_any_frame_is_found_after_a_kill() {
    let killed = WrittenStore::with(6).kill();
    for frame in 1..=killed.frames() {
        for (place, bits) in PLACES {
            let flipped = killed.flipped(at(frame) + place, *bits);
            let damage = flipped.damage();
            let damage = damage.unwrap_or_else(|| panic!("frame {frame}, octet {place}"));
            assert_eq!(damage.frame, frame as u32, "octet {place}");
            assert_eq!(damage.last, killed.frames() as u32);
        }
    }
}

#[test]
fn a_flip_in_any_transaction_but_the_last_is_found_without_the_index() {
    let killed = WrittenStore::with(6).kill().without_index();
    let commits = killed.commits();
    let last = commits[commits.len() - 2];
    for frame in 1..=killed.frames() {
        for (place, bits) in PLACES {
            let flipped = killed.flipped(at(frame) + place, *bits);
            let is_found = flipped.damage().is_some();
            assert_eq!(
                is_found,
                frame <= last,
                "frame {frame} of {last}, octet {place}"
            );
        }
    }
    // A mark that is gone altogether, in the last frame that a later one proves.
    let mut log = killed.log();
    log[at(last) + 4..at(last) + 8].fill(0);
    assert!(killed.with_log(&log).damage().is_some());
    log[at(last)..at(last) + FRAME_HEAD].fill(0xA5);
    assert!(killed.with_log(&log).damage().is_some(), "its whole head");
}

#[test]
fn what_is_left_after_a_flip_is_sound_and_as_much_as_can_be() {
    let killed = WrittenStore::with(6).kill();
    let commits = killed.commits();
    let mut healed = 0;
    for frame in 1..=killed.frames() {
        for (place, bits) in PLACES.iter().skip(frame % 2).step_by(2) {
            let flipped = killed.flipped(at(frame) + place, *bits);
            let said = flipped.refusal();
            let left = flipped.accepted();
            let before = commits.iter().filter(|commit| **commit < frame).count() as i64;
            let is_whole = said.contains("loses nothing");
            healed += i32::from(is_whole);
            if is_whole {
                assert_eq!(left, 6 * BATCH, "frame {frame}, octet {place}: {said}");
            } else {
                assert_eq!(left, before * BATCH, "frame {frame}, octet {place}: {said}");
                // A page that cannot be read tells nothing.
                let lost = format!("would lose {} messages", 6 * BATCH - left);
                let is_told = said.contains(&lost) || frame == killed.frames();
                assert!(is_told || *place == FRAME_HEAD, "octet {place}: {said}");
            }
            // What is in a head follows from the checksums, unless nothing is behind it.
            assert!(
                is_whole || *place >= FRAME_HEAD || frame == killed.frames(),
                "frame {frame}, octet {place}"
            );
        }
    }
    assert!(healed > 0);
}

#[test]
fn lost_blocks_are_found_and_what_is_left_is_a_state_that_was() {
    let mut writing = WrittenStore::with(3);
    // The database is ahead of the oldest commits, but for pages that a later one has.
    let reader = Connection::open(writing.folder.path().join(MAIN_FILE)).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM msg").unwrap();
    writing.write(1);
    writing.checkpoint("PASSIVE");
    writing.write(3);
    let killed = writing.kill();
    for block in [512, 4096, 16_384] {
        for begin in (0..killed.log().len()).step_by(block.max(2048)) {
            let mut log = killed.log();
            let end = (begin + block).min(log.len());
            log[begin..end].fill(0);
            if log == killed.log() {
                continue;
            }
            for (is_known, damaged) in [
                (true, killed.with_log(&log)),
                (false, killed.with_log(&log).without_index()),
            ] {
                let found = damaged.damage().is_some();
                assert!(found || !is_known, "{block} octets at {begin}");
                if !found {
                    continue;
                }
                match settle(&damaged.main(), true) {
                    Ok(()) => {
                        let left = damaged.messages();
                        assert_eq!(left % BATCH, 0, "{block} octets at {begin}");
                    }
                    Err(StoreError::Damaged(text)) => {
                        assert!(text.contains("restore a backup"), "{text}");
                    }
                    Err(other) => panic!("{other}"),
                }
            }
        }
    }
}

#[test]
fn a_flip_in_the_header_is_found_and_loses_nothing() {
    for killed in [
        WrittenStore::with(3).kill(),
        WrittenStore::with(3).kill().without_index(),
    ] {
        for place in 0..HEADER {
            for bits in [1, 0x80, 0xFF] {
                let flipped = killed.flipped(place, bits);
                let damage = flipped.damage();
                let damage = damage.unwrap_or_else(|| panic!("octet {place}"));
                assert_eq!(damage.frame, 0);
                assert_eq!(flipped.accepted(), 3 * BATCH, "octet {place}");
            }
        }
        let mut log = killed.log();
        log[..HEADER].fill(0);
        assert_eq!(killed.with_log(&log).accepted(), 3 * BATCH);
    }
}

#[test]
fn a_torn_last_transaction_is_no_damage() {
    let mut writing = WrittenStore::with(3);
    let before = writing.kill();
    writing.write(1);
    let after = writing.kill();
    let (first, last) = (before.frames() + 1, after.frames());
    let torn = last - first + 1;
    assert!((2..12).contains(&torn), "{torn} frames");
    // An older index may have survived, or none.
    for which in 0..1_u32 << torn {
        for content in [0, 0xEE] {
            let mut log = after.log();
            for frame in first..=last {
                if which & (1 << (frame - first)) != 0 {
                    // All of it, or its second half.
                    let begin = at(frame) + usize::from(content) * 8;
                    log[begin..at(frame) + FRAME].fill(content);
                }
            }
            let damage = before.with_log(&log).damage();
            assert!(damage.is_none(), "{which:b}: {damage:?}");
            let damage = before.with_log(&log).without_index().damage();
            assert!(damage.is_none(), "{which:b}: {damage:?}");
        }
    }
    // Its end may be missing, anywhere.
    for length in (before.log().len()..after.log().len()).step_by(97) {
        let cut = before.with_log(&after.log()[..length]);
        settle(&cut.main(), false).unwrap();
        assert!(cut.messages() >= 3 * BATCH);
    }
}

#[test]
fn frames_of_before_a_restart_are_no_damage() {
    let mut writing = WrittenStore::with(8);
    writing.checkpoint("RESTART");
    let about = writing.kill();
    assert!(about.damage().is_none());
    writing.write(3);
    let killed = writing.kill();
    let salts = |frame: usize| killed.log()[at(frame) + 8..at(frame) + 16].to_vec();
    let current = (1..=killed.frames())
        .filter(|frame| salts(*frame) == salts(1))
        .count();
    assert!(current < killed.frames(), "older frames are left");
    assert!(killed.damage().is_none());
    for frame in 1..=killed.frames() {
        for (place, bits) in PLACES {
            let flipped = killed.flipped(at(frame) + place, *bits);
            assert_eq!(
                flipped.damage().is_some(),
                frame <= current,
                "frame {frame} of {current}"
            );
        }
    }
    let flipped = killed.flipped(at(1) + 24, 1);
    assert!(flipped.accepted() >= 8 * BATCH);
    // A header that was not wholly written when the log was restarted: nothing is behind it.
    let mut log = about.log();
    let next = number_at(&log, 16).wrapping_add(1);
    log[16..20].copy_from_slice(&next.to_be_bytes());
    log[15] ^= 1;
    log[20..24].fill(0x77);
    assert!(about.with_log(&log).without_index().damage().is_none());
}

#[test]
fn frames_that_were_rolled_back_are_no_damage() {
    let mut writing = WrittenStore::with(2);
    writing
        .connection
        .execute_batch("PRAGMA cache_size=5; BEGIN")
        .unwrap();
    writing.batches += 1;
    writing.insert(300);
    writing.connection.execute_batch("ROLLBACK").unwrap();
    let killed = writing.kill();
    assert!(
        killed.frames() > killed.commits().len() + 40,
        "pages were spilled"
    );
    assert!(killed.damage().is_none());
    let frames = killed.frames();
    writing.write(1);
    let killed = writing.kill();
    assert_eq!(
        killed.frames(),
        frames,
        "some are left behind the next transaction"
    );
    assert!(killed.damage().is_none());
    let killed = killed.without_index();
    assert!(killed.damage().is_none());
    let commits = killed.commits();
    // The last transaction torn in front of what is left.
    for frame in commits[commits.len() - 2] + 1..=commits[commits.len() - 1] {
        assert!(
            killed.flipped(at(frame) + 100, 1).damage().is_none(),
            "frame {frame}"
        );
    }
}

#[test]
fn what_was_copied_into_the_database_is_not_lost() {
    let writing = WrittenStore::with(6);
    writing.checkpoint("PASSIVE");
    let all = writing.kill();
    let copied = all.frames();
    for frame in 1..=copied {
        let flipped = all.flipped(at(frame) + 2000, 1);
        assert!(flipped.refusal().contains("loses nothing"));
        assert_eq!(flipped.accepted(), 6 * BATCH, "frame {frame}");
    }
    // The log goes on: a reader keeps it from being restarted.
    let reader = Connection::open(writing.folder.path().join(MAIN_FILE)).unwrap();
    let mut writing = WrittenStore::with(0);
    drop(reader);
    writing.write(6);
    let reader = Connection::open(writing.folder.path().join(MAIN_FILE)).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM msg").unwrap();
    writing.write(2);
    writing.checkpoint("PASSIVE");
    writing.write(2);
    let killed = writing.kill();
    let commits = killed.commits();
    let copied = commits[5];
    assert_eq!(
        index::WalIndex::read(&killed.main()).unwrap().copied,
        copied as u32
    );
    for frame in 1..=killed.frames() {
        let flipped = killed.flipped(at(frame) + 2000, 1);
        let said = flipped.refusal();
        let left = flipped.accepted();
        if said.contains("loses nothing") {
            assert_eq!(left, 10 * BATCH, "frame {frame}");
        } else {
            assert!(frame > copied && left >= 5 * BATCH, "frame {frame}: {said}");
        }
    }
    // The log was copied, and is about to be restarted.
    drop(reader);
    writing.checkpoint("RESTART");
    let over = writing.kill();
    let flipped = over.flipped(at(3) + 2000, 1);
    assert_eq!(flipped.accepted(), 10 * BATCH);
}

#[test]
fn a_log_that_lacks_its_end_or_is_missing_is_damage_after_a_kill() {
    let killed = WrittenStore::with(4).kill();
    let commits = killed.commits();
    let cut = killed.with_log(&killed.log()[..at(commits[1] + 1)]);
    let said = cut.refusal();
    assert!(said.contains("it ends in front of frame"), "{said}");
    assert_eq!(cut.accepted(), 2 * BATCH);
    let empty = killed.with_log(&[]);
    assert!(empty.refusal().contains("it is empty or missing"));
    assert_eq!(empty.accepted(), 0);
    let gone = killed.with_log(&[]);
    fs::remove_file(log_path(&gone.main())).unwrap();
    assert!(gone.refusal().contains("it is empty or missing"));
    assert_eq!(gone.accepted(), 0);
    assert!(gone.copies().is_empty());
    // Nobody can tell after a reboot.
    assert!(killed.with_log(&[]).without_index().damage().is_none());
}

#[test]
fn a_copy_of_the_log_is_kept_once() {
    let killed = WrittenStore::with(4).kill();
    let flipped = killed.flipped(at(2) + 2000, 1);
    let log = flipped.log();
    let said = flipped.refusal();
    let copies = flipped.copies();
    assert_eq!(copies.len(), 1);
    assert!(said.contains(&copies[0].display().to_string()), "{said}");
    flipped.refusal();
    assert_eq!(flipped.copies(), copies);
    assert_eq!(fs::read(&copies[0]).unwrap(), log);
    assert_eq!(flipped.log(), log, "it is as it was");
    // Another damage at the same time has a copy of its own.
    let mut other = log.clone();
    other[at(3) + 2000] ^= 1;
    flipped.set_log(&other);
    flipped.refusal();
    let copies = flipped.copies();
    assert_eq!(copies.len(), 2);
    flipped.accepted();
    assert_eq!(flipped.copies().len(), 2);
    assert!(!flipped.0.path().join("smsc.db-look").exists());
}

#[test]
fn a_store_at_rest_is_left_alone() {
    let killed = WrittenStore::with(4).kill();
    at_rest(&killed.main()).unwrap();
    let flipped = killed.flipped(at(2) + 2000, 1);
    let files = || {
        let mut names: Vec<_> = fs::read_dir(flipped.0.path())
            .unwrap()
            .map(|file| file.unwrap().path())
            .collect();
        names.sort();
        let read = |path: PathBuf| (fs::read(&path).unwrap(), path);
        names.into_iter().map(read).collect::<Vec<_>>()
    };
    let before = files();
    let said = unless_in_use(&flipped.main()).unwrap_err().to_string();
    assert!(said.contains("frame 2, at offset 4152"), "{said}");
    assert_eq!(files(), before);
}
