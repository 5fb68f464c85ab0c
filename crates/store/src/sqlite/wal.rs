//! The write-ahead log on the disk, looked at before SQLite opens it.
//!
//! SQLite reads `smsc.db-wal` up to the first frame whose checksum is wrong and says nothing of what follows. After a
//! power cut that is right: the last transaction was being written, and nobody was told that it is durable. But a
//! frame that was damaged later ends the log as well, and all commits behind it are gone in silence. Called by
//! [`SqliteStore::open`](super::SqliteStore::open) under the folder's lock ([`settle`]) and by the commands that read a store
//! at rest ([`at_rest`]); the latter change nothing.
//!
//! Here is the format (sqlite.org/fileformat.html §4, sqlite.org/walformat.html); `survey` tells damage from a torn last
//! transaction; `accept` keeps a copy and takes what is left into use; `newest` gives the pages to `smsc salvage`.

mod accept;
mod index;
mod look;
mod newest;
mod salvage;
mod survey;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

pub use self::accept::{at_rest, settle, unless_in_use};
pub use self::newest::LogPages;

/// Octets of the log's header.
const HEADER: usize = 32;
/// Octets in front of the page of a frame.
const FRAME_HEAD: usize = 24;
/// The first word of a log; one more if its checksums are over big-endian words.
const MAGIC: u32 = 0x377f_0682;
const VERSION: u32 = 3_007_000;
/// Every store has this page size, in octets, unless somebody has changed it; for a header that does not tell.
const USUAL_PAGE: usize = 4096;
/// Octets read at a time.
const READ: usize = 1024 * 1024;

/// What all frames since the log was last restarted have in common.
type Salts = [u8; 8];

/// SQLite's cumulative checksum. Each step can be undone, so that it can be computed from either end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sums(u32, u32);

/// The order of the octets in the words that a checksum is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByteOrder {
    Big,
    Little,
}

/// How to read a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WalLayout {
    page_size: usize,
    order: ByteOrder,
    salts: Salts,
    /// Checksum of the header, which the first frame's goes on from.
    start: Sums,
}

/// One frame: a page as a transaction has left it.
#[derive(Debug, Clone)]
struct WalFrame {
    /// From 1.
    number: u32,
    /// Its head and its page.
    octets: Vec<u8>,
}

/// Reads the frames of a log one after the other.
struct WalFrames {
    file: BufReader<File>,
    page_size: usize,
    read: u32,
}

/// The log of a database file.
fn log_path(main: &Path) -> PathBuf {
    beside(main, "-wal")
}

/// The file with this end in place of nothing.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// The big-endian number at this place.
fn number_at(octets: &[u8], at: usize) -> u32 {
    let word = octets.get(at..at + 4).and_then(|four| four.try_into().ok());
    word.map_or(0, u32::from_be_bytes)
}

/// Where a frame begins, in octets; where the log ends for the frame after the last one.
fn offset_of(frame: u32, page_size: usize) -> u64 {
    match frame {
        0 => 0,
        _ => HEADER as u64 + u64::from(frame - 1) * (FRAME_HEAD + page_size) as u64,
    }
}

// === impl ByteOrder ===

impl ByteOrder {
    const NATIVE: Self = if cfg!(target_endian = "big") {
        Self::Big
    } else {
        Self::Little
    };

    fn word(self, octets: [u8; 4]) -> u32 {
        match self {
            Self::Big => u32::from_be_bytes(octets),
            Self::Little => u32::from_le_bytes(octets),
        }
    }

    /// A word as the big-endian number that it is in the file.
    fn number(self, word: u32) -> u32 {
        match self {
            Self::Big => word,
            Self::Little => word.swap_bytes(),
        }
    }

    fn pairs(self, octets: &[u8]) -> impl DoubleEndedIterator<Item = (u32, u32)> {
        let (pairs, _) = octets.as_chunks::<8>();
        pairs.iter().map(move |&[a, b, c, d, e, f, g, h]| {
            (self.word([a, b, c, d]), self.word([e, f, g, h]))
        })
    }
}

// === impl Sums ===

impl Sums {
    /// Of nothing.
    const START: Self = Self(0, 0);

    /// As it is stored.
    fn read(octets: &[u8], at: usize) -> Self {
        Self(number_at(octets, at), number_at(octets, at + 4))
    }

    fn store(self, octets: &mut [u8]) {
        let [a, b, c, d] = self.0.to_be_bytes();
        let [e, f, g, h] = self.1.to_be_bytes();
        octets.copy_from_slice(&[a, b, c, d, e, f, g, h]);
    }

    fn over(self, octets: &[u8], order: ByteOrder) -> Self {
        let mut sums = self;
        for (first, second) in order.pairs(octets) {
            sums.0 = sums.0.wrapping_add(first).wrapping_add(sums.1);
            sums.1 = sums.1.wrapping_add(second).wrapping_add(sums.0);
        }
        sums
    }

    /// What it was before these octets.
    fn before(self, octets: &[u8], order: ByteOrder) -> Self {
        let mut sums = self;
        for (first, second) in order.pairs(octets).rev() {
            sums.1 = sums.1.wrapping_sub(second).wrapping_sub(sums.0);
            sums.0 = sums.0.wrapping_sub(first).wrapping_sub(sums.1);
        }
        sums
    }

    /// The two numbers between this checksum and that one.
    fn between(self, after: Self, order: ByteOrder) -> (u32, u32) {
        let first = after.0.wrapping_sub(self.0).wrapping_sub(self.1);
        let second = after.1.wrapping_sub(self.1).wrapping_sub(after.0);
        (order.number(first), order.number(second))
    }
}

// === impl WalLayout ===

impl WalLayout {
    /// Of a header, and whether the header is what was written.
    fn read(header: &[u8; HEADER]) -> (Self, bool) {
        let (magic, size) = (number_at(header, 0), number_at(header, 8));
        let told = match magic & 1 {
            0 => ByteOrder::Little,
            _ => ByteOrder::Big,
        };
        let is_size = size.is_power_of_two() && (512..=65_536).contains(&size);
        let is_whole = Sums::START.over(&header[..24], told) == Sums::read(header, 24);
        let is_valid = magic & !1 == MAGIC && is_size && is_whole;
        let (order, page_size) = if is_valid {
            (told, size as usize)
        } else {
            (ByteOrder::NATIVE, USUAL_PAGE)
        };
        let mut salts = Salts::default();
        salts.copy_from_slice(&header[16..24]);
        let layout = Self {
            page_size,
            order,
            salts,
            start: Sums::START.over(&header[..24], order),
        };
        (layout, is_valid)
    }

    /// The header of a log with these frames and no others.
    fn header(&self) -> ([u8; HEADER], Sums) {
        let mut header = [0; HEADER];
        let magic = match self.order {
            ByteOrder::Big => MAGIC | 1,
            ByteOrder::Little => MAGIC,
        };
        let numbers = [magic, VERSION, self.page_size as u32, 0];
        let (words, _) = header.as_chunks_mut::<4>();
        for (word, number) in words.iter_mut().zip(numbers) {
            *word = number.to_be_bytes();
        }
        header[16..24].copy_from_slice(&self.salts);
        let start = Sums::START.over(&header[..24], self.order);
        start.store(&mut header[24..]);
        (header, start)
    }
}

// === impl WalFrame ===

impl WalFrame {
    /// The number of the page that it holds.
    fn page(&self) -> u32 {
        number_at(&self.octets, 0)
    }

    /// The size of the database after the transaction that it ends, in pages; 0 if it ends none.
    fn mark(&self) -> u32 {
        number_at(&self.octets, 4)
    }

    fn has(&self, salts: &Salts) -> bool {
        self.octets[8..16] == *salts
    }

    fn stored(&self) -> Sums {
        Sums::read(&self.octets, 16)
    }

    fn content(&self) -> &[u8] {
        &self.octets[FRAME_HEAD..]
    }

    /// The checksum after it, from the one before it.
    fn over(&self, before: Sums, order: ByteOrder) -> Sums {
        before
            .over(&self.octets[..8], order)
            .over(self.content(), order)
    }

    /// The checksum before it, by the one that it has.
    fn before(&self, order: ByteOrder) -> Sums {
        let content = self.stored().before(self.content(), order);
        content.before(&self.octets[..8], order)
    }
}

// === impl WalFrames ===

impl WalFrames {
    /// From the first one.
    fn open(log: &Path, page_size: usize) -> io::Result<Self> {
        let mut file = BufReader::with_capacity(READ, File::open(log)?);
        file.seek(SeekFrom::Start(HEADER as u64))?;
        Ok(Self {
            file,
            page_size,
            read: 0,
        })
    }

    /// The next one; `None` where there is no whole one.
    fn next(&mut self) -> io::Result<Option<WalFrame>> {
        let mut octets = vec![0; FRAME_HEAD + self.page_size];
        match self.file.read_exact(&mut octets) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        self.read += 1;
        Ok(Some(WalFrame {
            number: self.read,
            octets,
        }))
    }

    /// The one with this number.
    fn at(&mut self, number: u32) -> io::Result<WalFrame> {
        let skipped = i64::from(number) - 1 - i64::from(self.read);
        let octets = (FRAME_HEAD + self.page_size) as i64;
        self.file.seek_relative(skipped * octets)?;
        self.read = number - 1;
        self.next()?.ok_or_else(|| ErrorKind::UnexpectedEof.into())
    }
}
