//! Walks the trees of a damaged file from their first pages, and says between which keys something may be missing.

use super::btree::{PageCell, Payload, RawValue, TreePage, decode, word};
use super::pages::{MAGIC, PageSet, PageSource};
use super::shapes::{LostRange, TableShape, TreeUse};
use crate::StoreResult;

/// A tree is never as deep as this.
const DEEPEST: usize = 20;
/// No row has so many octets: its length is wrong.
const LARGEST_ROW: usize = 64 * 1024 * 1024;

/// A row of a table.
#[derive(Debug, Clone)]
pub struct FoundRow {
    pub rowid: Option<i64>,
    pub fields: Vec<RawValue>,
    /// It is where its key belongs.
    pub is_in_place: bool,
}

/// What a walk comes upon.
#[derive(Debug)]
pub enum TreeFinding {
    Row(FoundRow),
    Lost(LostRange),
}

/// Who is told, and answers whether a row is as it was written.
pub type Finder<'a> = dyn FnMut(TreeFinding) -> StoreResult<bool> + 'a;

/// What was read of a file.
pub struct TreeWalk<'a> {
    pub source: &'a dyn PageSource,
    /// Pages that belong to a tree.
    pub seen: PageSet,
    /// Pages that a tree leads to and that cannot be read, with those behind the end of the file.
    pub lost: PageSet,
    /// A tree leads to a page behind the end of the file.
    pub is_cut: bool,
    /// How many pages the file has had by its header; `None` where that is illegible.
    pub length: Option<u32>,
}

/// A cell with its row.
struct ReadCell {
    child: u32,
    key: i64,
    row: Option<FoundRow>,
}

/// The keys of a part of a tree, both included.
#[derive(Clone, Copy)]
struct KeyRange {
    low: i64,
    high: i64,
}

fn told_length(source: &dyn PageSource) -> Option<u32> {
    let header = source.read(1).ok()?;
    let length = word(&header, 28).filter(|_| header.starts_with(MAGIC))?;
    (length > 0).then_some(length)
}

// === impl TreeWalk ===

impl<'a> TreeWalk<'a> {
    pub fn new(source: &'a dyn PageSource) -> Self {
        Self {
            source,
            seen: PageSet::new(source.count()),
            lost: PageSet::new(source.count()),
            is_cut: false,
            length: told_length(source),
        }
    }

    /// Reads the tree of a table from its first page.
    ///
    /// # Errors
    /// Those of `found`.
    pub fn tree(&mut self, shape: &TableShape, root: u32, found: &mut Finder<'_>) -> StoreResult {
        let all = KeyRange {
            low: i64::MIN,
            high: i64::MAX,
        };
        self.part(shape, root, all, 0, found)
    }

    fn part(
        &mut self,
        shape: &TableShape,
        page: u32,
        keys: KeyRange,
        depth: usize,
        found: &mut Finder<'_>,
    ) -> StoreResult {
        let KeyRange { low, high } = keys;
        let content = if depth < DEEPEST && !self.seen.has(page) {
            self.read(page)
        } else {
            None
        };
        let tree = content.as_deref();
        let tree = tree.and_then(|content| TreePage::parse(page, content));
        let has_rowids = shape.tree == TreeUse::Rowid;
        let tree = tree.filter(|tree| tree.kind.is_of_table() == has_rowids);
        let read = tree.and_then(|tree| {
            let cells = self.cells(shape, &tree, keys);
            let is_empty = tree.cells == 0 && depth == 0;
            let is_one = cells.iter().flatten().any(|cell| keys.has(cell.key));
            let last = tree.kind.is_interior().then(|| tree.last_child());
            (is_one || is_empty).then(|| (cells, last, tree.is_full()))
        });
        let Some((cells, last, is_full)) = read else {
            self.is_cut |= page > self.source.count();
            self.lost.add(page);
            return found(TreeFinding::Lost(LostRange { low, high, page })).map(drop);
        };
        self.seen.add(page);
        let mut from = low;
        // Keys of tables are unique; those of the others are only the first column of a key.
        let step = i64::from(has_rowids);
        let mut is_sound = is_full;
        let mut damaged = 0;
        for cell in cells {
            let Some(mut cell) = cell else {
                is_sound = false;
                continue;
            };
            let key = cell.key;
            let is_in_place = (KeyRange { low: from, high }).has(key);
            is_sound &= is_in_place;
            if is_in_place && last.is_some() {
                let below = KeyRange {
                    low: from,
                    high: key,
                };
                self.part(shape, cell.child, below, depth + 1, found)?;
            }
            if let Some(row) = &mut cell.row {
                row.is_in_place = is_in_place;
            }
            if let Some(row) = cell.row {
                damaged += u32::from(!found(TreeFinding::Row(row))?);
            }
            if is_in_place {
                from = key.saturating_add(step);
            }
        }
        // One wrong key makes others look wrong, so that nobody knows where it was. The key of a single damaged row is taken for
        // right where others would be doubted otherwise.
        let most = u32::from(shape.name != "msg");
        if !is_sound || damaged > most {
            found(TreeFinding::Lost(LostRange { low, high, page: 0 }))?;
        }
        let Some(last) = last else {
            return Ok(());
        };
        let above = KeyRange { low: from, high };
        self.part(shape, last, above, depth + 1, found)
    }

    /// The cells of a page; those that are not as they must be are `None`.
    fn cells(
        &mut self,
        shape: &TableShape,
        tree: &TreePage<'_>,
        keys: KeyRange,
    ) -> Vec<Option<ReadCell>> {
        let cells = (0..tree.cells).map(|index| {
            let cell = tree.cell(index)?;
            if !tree.kind.has_rows() {
                return Some(ReadCell {
                    child: cell.child,
                    key: cell.rowid?,
                    row: None,
                });
            }
            let row = self.row(&cell)?;
            shape
                .fits(row.rowid, &row.fields)
                .then(|| shape.key(row.rowid, &row.fields))
                .map(|key| ReadCell {
                    child: cell.child,
                    key,
                    row: Some(row),
                })
        });
        let cells: Vec<_> = cells.collect();
        // Pages with further octets of a row that is not here are no part of it.
        if cells.iter().flatten().any(|cell| keys.has(cell.key)) {
            for index in (0..tree.cells).filter(|index| cells[*index].is_some()) {
                let payload = tree.cell(index).and_then(|cell| cell.payload);
                if let Some(payload) = payload {
                    self.see_overflow(&payload);
                }
            }
        }
        cells
    }

    /// The row of a cell, if it is whole.
    pub fn row(&self, cell: &PageCell<'_>) -> Option<FoundRow> {
        let payload = cell.payload.as_ref()?;
        if payload.length > LARGEST_ROW {
            return None;
        }
        let mut octets = payload.local.to_vec();
        let mut next = payload.overflow;
        while octets.len() < payload.length {
            let page = self.read(next)?;
            next = word(&page, 0)?;
            let rest = payload.length - octets.len();
            octets.extend_from_slice(&page[4..page.len().min(4 + rest)]);
        }
        Some(FoundRow {
            rowid: cell.rowid,
            fields: decode(&octets)?,
            is_in_place: true,
        })
    }

    /// Marks the pages with further octets of a row that was read.
    pub fn see_overflow(&mut self, payload: &Payload<'_>) {
        let mut next = payload.overflow;
        let mut left = payload.length - payload.local.len();
        while left > 0 {
            let Some(page) = self.read(next) else { return };
            self.seen.add(next);
            next = word(&page, 0).unwrap_or(0);
            left = left.saturating_sub(page.len() - 4);
        }
    }

    /// A page of the file that can be read.
    pub fn read(&self, page: u32) -> Option<Vec<u8>> {
        let is_there = (1..=self.source.count()).contains(&page);
        is_there.then(|| self.source.read(page).ok()).flatten()
    }
}

// === impl KeyRange ===

impl KeyRange {
    fn has(self, key: i64) -> bool {
        (self.low..=self.high).contains(&key)
    }
}
