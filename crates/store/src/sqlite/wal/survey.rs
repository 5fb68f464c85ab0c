//! Which frames of a log are what was written, and whether something that was committed is behind one that is not.
//!
//! The checksum of a frame goes on from the one of the frame before. So a frame that continues the checksum that its
//! predecessor has *stored* was written right after it, whatever came before both. A commit is synced before the
//! next transaction begins: a frame that follows a commit proves that all up to that commit was durable once, and that an
//! invalid frame in front of it was damaged later. Within a torn last transaction nothing follows its commit.
//!
//! Which cases are told apart:
//!
//! - Frames from before the log was restarted have other salts, and prove nothing.
//! - A transaction that was rolled back leaves frames with these salts, which continue no commit behind them.
//! - Of the first invalid frame any field may be wrong: its salts, its checksum, its page number, its commit mark. Where
//!   its page is right, page number and mark follow from the checksums before and behind it.
//! - The header may be wrong. Its salts are then those of the first two frames that follow one another; a header with
//!   the next salts was being written when the log was restarted, and all frames are in the database.
//! - Damage in the last transaction cannot be told from a power cut by the log alone; [`WalIndex`] tells it as long as
//!   nothing has opened the database since.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::ops::RangeInclusive;
use std::path::Path;

use super::index::WalIndex;
use super::{HEADER, Salts, Sums, WalFrame, WalFrames, WalLayout, log_path, number_at, offset_of};

/// What is known of a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FrameNote {
    pub page: u32,
    /// The size of the database after the transaction that it ends, in pages; 0 if it ends none.
    pub mark: u32,
    /// It has the salts of this log.
    is_current: bool,
    /// It was written right after the frame before it.
    follows: bool,
    /// It is what was written.
    pub is_intact: bool,
}

/// The frames of a log.
#[derive(Debug)]
pub struct Survey {
    pub layout: WalLayout,
    state: HeaderState,
    /// Of all frames, by number less one.
    notes: Vec<FrameNote>,
    /// The last frame that SQLite will read: a commit; 0 for none.
    pub kept: u32,
    /// The first frame that is not what was written; 0 for the header.
    first: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeaderState {
    /// There is no log, or an empty one.
    Absent,
    Valid,
    Damaged,
    /// It was being written for the next restart.
    Next,
}

/// A log of which SQLite would read less than was committed.
#[derive(Debug)]
pub struct LogDamage {
    pub survey: Survey,
    /// The first frame that is not what was written, or the first one that is missing; 0 for the header.
    pub frame: u32,
    /// The last frame that was committed, as far as can be told.
    pub last: u32,
    /// The last frame that is in the database; 0 if that is unknown.
    pub copied: u32,
}

/// The first invalid frame, until the one behind it was read.
struct BrokenFrame {
    frame: WalFrame,
    before: Sums,
}

/// Looks at the log of a database that no process uses; `None` where SQLite will read all that was committed.
pub fn look(main: &Path) -> io::Result<Option<LogDamage>> {
    let survey = Survey::read(&log_path(main))?;
    let index = WalIndex::read(main);
    Ok(survey.judge(index.as_ref()))
}

// === impl Survey ===

impl Survey {
    pub fn read(log: &Path) -> io::Result<Self> {
        let mut header = [0; HEADER];
        let length = match fs::metadata(log) {
            Ok(about) => about.len(),
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        if length <= HEADER as u64 {
            return Ok(Self::new(WalLayout::read(&header).0, HeaderState::Absent));
        }
        File::open(log)?.read_exact(&mut header)?;
        let (layout, is_valid) = WalLayout::read(&header);
        if is_valid {
            let mut survey = Self::new(layout, HeaderState::Valid);
            let mut frames = WalFrames::open(log, layout.page_size)?;
            if let Some(broken) = survey.read_valid(&mut frames)? {
                survey.read_behind(&mut frames, broken)?;
            }
            return Ok(survey);
        }
        Self::without_header(log, &header, layout)
    }

    /// Whether there is no log, or an empty one.
    pub fn is_absent(&self) -> bool {
        self.state == HeaderState::Absent
    }

    /// Page and number of the frames up to this one that are what was written.
    pub fn intact(&self, upto: u32) -> impl Iterator<Item = (u32, u32)> {
        let upto = self.notes.iter().zip(1..=upto);
        upto.filter(|(note, _)| note.is_intact)
            .map(|(note, number)| (note.page, number))
    }

    fn new(layout: WalLayout, state: HeaderState) -> Self {
        Self {
            layout,
            state,
            notes: Vec::new(),
            kept: 0,
            first: None,
        }
    }

    /// Reads what SQLite will read; the first frame that it will not, and the checksum in front of it.
    fn read_valid(&mut self, frames: &mut WalFrames) -> io::Result<Option<BrokenFrame>> {
        let mut sums = self.layout.start;
        while let Some(frame) = frames.next()? {
            let after = frame.over(sums, self.layout.order);
            let is_current = frame.has(&self.layout.salts);
            let is_valid = is_current && frame.page() > 0 && after == frame.stored();
            self.notes.push(FrameNote {
                page: frame.page(),
                mark: frame.mark(),
                is_current,
                follows: is_valid,
                is_intact: is_valid,
            });
            if !is_valid {
                self.first = Some(frame.number);
                return Ok(Some(BrokenFrame {
                    frame,
                    before: sums,
                }));
            }
            if frame.mark() > 0 {
                self.kept = frame.number;
            }
            sums = after;
        }
        Ok(None)
    }

    /// Reads what is behind the first invalid frame.
    fn read_behind(&mut self, frames: &mut WalFrames, broken: BrokenFrame) -> io::Result<()> {
        let order = self.layout.order;
        let mut stored = broken.frame.stored();
        let mut words = None;
        while let Some(frame) = frames.next()? {
            let is_current = frame.has(&self.layout.salts) && frame.page() > 0;
            if frame.number == broken.frame.number + 1 && is_current {
                let behind = frame.before(order).before(broken.frame.content(), order);
                words = Some(broken.before.between(behind, order));
            }
            self.note_behind(&frame, is_current, frame.before(order) == stored);
            stored = frame.stored();
        }
        if let Some((page, mark)) = words {
            self.correct(broken.frame.number, page, mark);
        }
        self.forget_older();
        Ok(())
    }

    fn note_behind(&mut self, frame: &WalFrame, is_current: bool, continues: bool) {
        let follows = is_current && continues;
        self.notes.push(FrameNote {
            page: frame.page(),
            mark: frame.mark(),
            is_current,
            follows,
            is_intact: follows,
        });
    }

    /// Page number and mark of the first invalid frame by the checksums around it, if its page is what was written.
    fn correct(&mut self, number: u32, page: u32, mark: u32) {
        let sizes = self.sizes();
        let may_be = |page: u32, mark: u32| {
            (1..=*sizes.end()).contains(&page) && (mark == 0 || sizes.contains(&mark))
        };
        let at = number as usize - 1;
        let said = &self.notes[at];
        // If it is the page that was damaged, both come out wrong, perhaps by little.
        let is_other = said.page != page && said.mark != mark;
        if !may_be(page, mark) || is_other && may_be(said.page, said.mark) {
            return;
        }
        for (note, number) in self.notes[at..].iter_mut().zip(0..2) {
            note.is_current = true;
            note.is_intact = true;
            note.follows = true;
            if number == 0 {
                (note.page, note.mark) = (page, mark);
            }
        }
    }

    /// How large the database may have been behind what SQLite will read, in pages.
    fn sizes(&self) -> RangeInclusive<u32> {
        let kept = self.note(self.kept).map_or(1, |note| note.mark);
        let proved = self.notes.iter().filter(|note| note.follows);
        let most = proved.map(|note| note.mark).max().unwrap_or(0).max(kept);
        // Of a transaction of which no commit mark is left.
        kept..=most.saturating_add(self.notes.len() as u32)
    }

    /// Frames of before the log was restarted are none of this log.
    fn forget_older(&mut self) {
        let last = self.notes.iter().rposition(|note| note.is_current);
        self.notes.truncate(last.map_or(0, |last| last + 1));
    }

    /// What can be read of a log whose header is not what was written.
    fn without_header(
        log: &Path,
        header: &[u8; HEADER],
        mut layout: WalLayout,
    ) -> io::Result<Self> {
        let Some(salts) = salts_of_frames(log, header, &layout)? else {
            let mut survey = Self::new(layout, HeaderState::Damaged);
            survey.first = Some(0);
            return Ok(survey);
        };
        let mut corrected = *header;
        corrected[16..24].copy_from_slice(&salts);
        let is_ours = WalLayout::read(&corrected).1 || header[16..24] == salts;
        let next = number_at(&salts, 0).wrapping_add(1);
        let state = if number_at(header, 16) == next && !is_ours {
            HeaderState::Next
        } else {
            HeaderState::Damaged
        };
        layout.salts = salts;
        let mut survey = Self::new(layout, state);
        survey.first = Some(0);
        let (_, fresh) = layout.header();
        let mut frames = WalFrames::open(log, layout.page_size)?;
        let mut stored = None;
        while let Some(frame) = frames.next()? {
            let before = frame.before(layout.order);
            let is_current = frame.has(&salts) && frame.page() > 0;
            let continues = match stored {
                Some(stored) => before == stored,
                None => starts(before, fresh, header, &layout),
            };
            survey.note_behind(&frame, is_current, continues);
            stored = Some(frame.stored());
        }
        survey.forget_older();
        Ok(survey)
    }

    fn note(&self, number: u32) -> Option<&FrameNote> {
        self.notes.get((number as usize).checked_sub(1)?)
    }

    /// Whether SQLite will read less than was committed.
    fn judge(self, index: Option<&WalIndex>) -> Option<LogDamage> {
        // The log was about to be restarted: all of it is in the database.
        let next = number_at(&self.layout.salts, 0).wrapping_add(1);
        let is_over =
            index.is_some_and(|index| index.committed == 0 && number_at(&index.salts, 0) == next);
        // What the index says of this log: of one without a header, the last thing that is known.
        let index = index.filter(|index| match self.state {
            HeaderState::Valid | HeaderState::Next => index.salts == self.layout.salts,
            HeaderState::Damaged => self.notes.is_empty() || index.salts == self.layout.salts,
            HeaderState::Absent => index.committed > index.copied,
        });
        let committed = index.map_or(0, |index| index.committed);
        let proved = match self.state {
            HeaderState::Next => 0,
            _ => self.last_proved(),
        };
        let last = committed.max(proved);
        if last <= self.kept {
            return None;
        }
        let missing = self.notes.len() as u32 + 1;
        let frame = match self.state {
            HeaderState::Absent => 0,
            _ => self.first.unwrap_or(missing),
        };
        let last = last.max(self.last_whole(last));
        Some(LogDamage {
            frame,
            last,
            copied: if is_over {
                last
            } else {
                index.map_or(0, |index| index.copied)
            },
            survey: self,
        })
    }

    /// The last commit that something was written behind; 0 for none behind what SQLite will read.
    fn last_proved(&self) -> u32 {
        let sizes = self.sizes();
        let behind = self.notes.iter().zip(1_u32..).skip(self.kept as usize);
        let proved = behind.filter(|(note, number)| {
            let is_commit = note.is_current && note.mark > 0;
            let is_followed = self.note(number + 1).is_some_and(|next| next.follows);
            // Only a header is synced before anything is behind it.
            let is_whole = self.state == HeaderState::Damaged && note.follows;
            let is_told = note.is_intact || sizes.contains(&note.mark);
            is_commit && is_told && (is_followed || is_whole)
        });
        proved.last().map_or(0, |(_, number)| number)
    }

    /// The last commit behind this one up to which every frame is what was written: at most one transaction more.
    fn last_whole(&self, proved: u32) -> u32 {
        let behind = self.notes.iter().zip(1_u32..).skip(proved as usize);
        let whole = behind.take_while(|(note, _)| note.is_intact);
        let commits = whole.filter(|(note, _)| note.mark > 0);
        commits.last().map_or(0, |(_, number)| number)
    }
}

/// The salts of the first frames of which one was written right after the other, or after this header.
fn salts_of_frames(
    log: &Path,
    header: &[u8; HEADER],
    layout: &WalLayout,
) -> io::Result<Option<Salts>> {
    let mut frames = WalFrames::open(log, layout.page_size)?;
    let mut last: Option<WalFrame> = None;
    while let Some(frame) = frames.next()? {
        let mut salts = Salts::default();
        salts.copy_from_slice(&frame.octets[8..16]);
        let before = frame.before(layout.order);
        let is_proved = match &last {
            Some(last) => last.has(&salts) && before == last.stored(),
            None => before == Sums::read(header, 24) || before == layout.start,
        };
        if is_proved && frame.page() > 0 {
            return Ok(Some(salts));
        }
        last = Some(frame);
    }
    Ok(None)
}

/// Whether the first frame was written behind this header, or one with these salts and another count of restarts.
fn starts(before: Sums, fresh: Sums, header: &[u8; HEADER], layout: &WalLayout) -> bool {
    let order = layout.order;
    let (head, _) = layout.header();
    let sizes = before.before(&head[16..24], order);
    let (size, _) = Sums::START.over(&head[..8], order).between(sizes, order);
    before == fresh
        || before == layout.start
        || before == Sums::read(header, 24)
        || size == layout.page_size as u32
}

// === impl LogDamage ===

impl LogDamage {
    /// Where the damage begins in the file, in octets.
    pub fn offset(&self) -> u64 {
        offset_of(self.frame, self.survey.layout.page_size)
    }

    /// Whether it is not there at all.
    pub fn is_missing(&self) -> bool {
        match self.frame {
            0 => self.survey.state == HeaderState::Absent,
            frame => frame > self.survey.notes.len() as u32,
        }
    }

    /// The frames up to the last one that was committed, as far as they are there.
    pub fn notes(&self) -> impl Iterator<Item = (u32, &FrameNote)> {
        let notes = &self.survey.notes;
        let known = notes.len().min(self.last as usize);
        (1..).zip(&notes[..known])
    }
}
