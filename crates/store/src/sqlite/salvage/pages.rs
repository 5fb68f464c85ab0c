//! The pages of a store as they are on the disk, each as far as it can be read: `smsc.db` with the newest pages of its log.
//!
//! Read as plain octets, because SQLite opens no file whose header is damaged, and gives up a table at its first bad page.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::super::wal::LogPages;

/// What every file of SQLite begins with.
pub const MAGIC: &[u8] = b"SQLite format 3\0";
/// Octets of the header of the file, in front of the first page's own.
pub const FILE_HEADER: usize = 100;
/// SQLite puts its locks on the page that has this octet, and never writes that page.
const LOCK_OCTET: u64 = 0x4000_0000;

/// Where pages come from; in tests a disk that fails.
pub trait PageSource {
    /// Octets of a page.
    fn page_size(&self) -> usize;

    /// The number of the last page.
    fn count(&self) -> u32;

    /// A page, from 1.
    ///
    /// # Errors
    /// The disk, or the file ends before.
    fn read(&self, page: u32) -> io::Result<Vec<u8>>;
}

/// A database file and its log.
pub struct StoreFile {
    /// `None` where only the log is left.
    main: Option<File>,
    log: LogPages,
    page_size: usize,
    count: u32,
}

/// One bit for each page of a file.
pub struct PageSet(Vec<u64>);

// === impl StoreFile ===

impl StoreFile {
    /// Opens a file that no process uses.
    ///
    /// # Errors
    /// It cannot be opened at all, or neither it nor its log is there.
    pub fn open(path: &Path) -> io::Result<Self> {
        let log = LogPages::read(path);
        let main = match File::open(path) {
            Ok(main) => Some(main),
            Err(error) if error.kind() == io::ErrorKind::NotFound && log.highest() > 0 => None,
            Err(error) => return Err(error),
        };
        let mut header = [0; FILE_HEADER];
        let (mut page_size, mut octets) = (log.page_size, 0);
        if let Some(main) = &main {
            if main.read_exact_at(&mut header, 0).is_ok() {
                page_size = told_size(&header).unwrap_or(page_size);
            }
            octets = main.metadata()?.len();
        }
        let pages = octets.div_ceil(page_size as u64);
        let count = u32::try_from(pages).unwrap_or(u32::MAX).max(log.highest());
        Ok(Self {
            main,
            log,
            page_size,
            count,
        })
    }

    /// What is wrong with the log, if anything that was committed is lost with it.
    pub fn lost_log(&self) -> Option<&str> {
        self.log.lost.as_deref()
    }
}

impl PageSource for StoreFile {
    fn page_size(&self) -> usize {
        self.page_size
    }

    fn count(&self) -> u32 {
        self.count
    }

    fn read(&self, page: u32) -> io::Result<Vec<u8>> {
        if let Some(content) = self.log.page(page)?
            && content.len() == self.page_size
        {
            return Ok(content);
        }
        let main = self.main.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let mut content = vec![0; self.page_size];
        let at = u64::from(page.saturating_sub(1)) * self.page_size as u64;
        main.read_exact_at(&mut content, at)?;
        Ok(content)
    }
}

/// Octets of a page by the header of a file, if that says so.
fn told_size(header: &[u8; FILE_HEADER]) -> Option<usize> {
    let told = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        size => usize::from(size),
    };
    (header.starts_with(MAGIC) && told.is_power_of_two() && told >= 512).then_some(told)
}

/// The page that SQLite leaves alone.
pub fn lock_page(page_size: usize) -> u32 {
    (LOCK_OCTET / page_size as u64) as u32 + 1
}

// === impl PageSet ===

impl PageSet {
    /// None of so many.
    pub fn new(count: u32) -> Self {
        Self(vec![0; count as usize / 64 + 1])
    }

    pub fn has(&self, page: u32) -> bool {
        let word = self.0.get(page as usize / 64);
        word.is_some_and(|word| word & 1 << (page % 64) != 0)
    }

    pub fn add(&mut self, page: u32) {
        if let Some(word) = self.0.get_mut(page as usize / 64) {
            *word |= 1 << (page % 64);
        }
    }
}
