//! What can be had of a damaged log: the newest state of the database of which every page is there.
//!
//! A checkpoint may have copied any pages before the process ended: those whose newest frame it knew, and no others. So the
//! database can be ahead of a part of the log, and a state is only what was written if each page of it is. Of
//! a damaged frame the page may be in the database; its checksum proves that. Frames that a later one replaces are not
//! needed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::survey::{FrameNote, LogDamage};
use super::{FRAME_HEAD, Sums, WalFrame, WalFrames, log_path};

/// A frame of a new log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WantedFrame {
    /// Its number in the old one.
    pub number: u32,
    pub page: u32,
    pub mark: u32,
}

/// A state of the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Salvage {
    /// The commit that it is the state after; 0 for the one before the log.
    pub upto: u32,
    /// The size of the database then, in pages.
    pub mark: u32,
    /// What the database lacks of it, without marks.
    pub frames: Vec<WantedFrame>,
}

/// A frame of the old log.
#[derive(Debug, Clone, Copy)]
struct KnownFrame {
    number: u32,
    note: FrameNote,
    /// The database has this page as it is in this frame.
    is_in_database: bool,
}

// === impl Salvage ===

impl Salvage {
    /// The newest state, from a database that no process uses; `None` if there is none.
    pub fn find(main: &Path, damage: &LogDamage) -> io::Result<Option<Self>> {
        if damage.copied >= damage.last {
            return Ok(Some(Self {
                upto: damage.last,
                mark: 0,
                frames: Vec::new(),
            }));
        }
        let known = compare(main, damage)?;
        let commits = known.iter().rev().filter(|frame| {
            let is_told = frame.note.is_intact || frame.is_in_database;
            is_told && frame.note.mark > 0 && frame.number >= damage.survey.kept
        });
        let states = commits.map(|commit| (commit.number, commit.note.mark));
        let nothing = (damage.survey.kept == 0).then_some((0, u32::MAX));
        let mut states = states.chain(nothing);
        Ok(states.find_map(|(upto, mark)| Self::at(&known, upto, mark)))
    }

    /// The state after this commit, if every page of it is there.
    fn at(known: &[KnownFrame], upto: u32, mark: u32) -> Option<Self> {
        let mut newest: BTreeMap<u32, KnownFrame> = BTreeMap::new();
        for frame in known.iter().take_while(|frame| frame.number <= upto) {
            newest.insert(frame.note.page, *frame);
        }
        let is_there = |frame: &KnownFrame| frame.note.is_intact || frame.is_in_database;
        let is_ahead = |frame: &KnownFrame| {
            let page = frame.note.page;
            frame.is_in_database && page <= mark && !newest.contains_key(&page)
        };
        let behind = known.iter().skip_while(|frame| frame.number <= upto);
        if !newest.values().all(is_there) || behind.into_iter().any(is_ahead) {
            return None;
        }
        let mut frames: Vec<WantedFrame> = newest
            .into_values()
            .filter(|frame| !frame.is_in_database)
            .map(|frame| WantedFrame {
                number: frame.number,
                page: frame.note.page,
                mark: 0,
            })
            .collect();
        frames.sort_by_key(|frame| frame.number);
        Some(Self { upto, mark, frames })
    }
}

/// The frames of a log with what the database has of them.
fn compare(main: &Path, damage: &LogDamage) -> io::Result<Vec<KnownFrame>> {
    let layout = &damage.survey.layout;
    let mut known = Vec::new();
    if damage.is_missing() && damage.frame == 0 {
        return Ok(known);
    }
    let database = File::open(main)?;
    let mut frames = WalFrames::open(&log_path(main), layout.page_size)?;
    let mut before = layout.start;
    let mut page = vec![0; layout.page_size];
    for (number, note) in damage.notes() {
        let Some(frame) = frames.next()? else {
            break;
        };
        let at = u64::from(note.page.saturating_sub(1)) * layout.page_size as u64;
        let is_read = note.page > 0 && database.read_exact_at(&mut page, at).is_ok();
        let is_same = |page: &[u8]| {
            if note.is_intact {
                page == frame.content()
            } else {
                is_of(&frame, page, before, damage)
            }
        };
        let is_in_database = is_read && is_same(&page);
        known.push(KnownFrame {
            number,
            note: *note,
            is_in_database,
        });
        before = frame.stored();
    }
    Ok(known)
}

/// Whether this is the page that a damaged frame had.
fn is_of(frame: &WalFrame, page: &[u8], before: Sums, damage: &LogDamage) -> bool {
    let mut octets = frame.octets.clone();
    octets[FRAME_HEAD..].copy_from_slice(page);
    let restored = WalFrame {
        number: frame.number,
        octets,
    };
    restored.over(before, damage.survey.layout.order) == frame.stored()
}
