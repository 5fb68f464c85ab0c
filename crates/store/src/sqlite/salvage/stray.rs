//! Pages that no tree leads to: of which table their rows are, and whether pages are left that nothing explains.
//!
//! Only what can be missing is looked for: a page is taken for one of a table if its rows look like those of no other table and
//! their keys are between those of pages that were lost. So pages that SQLite has given up, whose rows were deleted or moved,
//! are left out; those on the list of free pages, too.

use super::btree::{PageKind, TreePage, word};
use super::new_store::NewStore;
use super::pages::{PageSet, lock_page};
use super::shapes::{TableShape, TreeUse};
use super::walk::{FoundRow, TreeFinding, TreeWalk};
use crate::StoreResult;

/// What there is beside the trees.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StrayPages {
    /// Pages whose rows were taken.
    pub taken: u64,
    /// Pages with rows, or pages above such, that were left out.
    pub left_out: u64,
    /// Pages that are none: unreadable, overwritten, or with octets of lost rows.
    pub illegible: u64,
    /// Illegible pages that no tree leads to: nobody knows what was on them.
    pub unexplained: u64,
}

/// Takes rows from stray pages into the new store, and forgets ranges of keys in which nothing is missing after all.
///
/// # Errors
/// The new store cannot be written.
pub fn take_stray(walk: &mut TreeWalk<'_>, store: &mut NewStore) -> StoreResult<StrayPages> {
    let mut stray = StrayPages::default();
    mark_free(walk);
    store.shapes.iter_mut().for_each(TableShape::complete);
    let mut taken: Vec<Vec<i64>> = vec![Vec::new(); store.shapes.len()];
    let mut is_sound = vec![true; store.shapes.len()];
    for page in each(walk) {
        let Some((rows, is_whole)) = rows_of(walk, page) else {
            continue;
        };
        if let Some(place) = table_of(store, &rows)? {
            stray.taken += 1;
            see(walk, page);
            taken[place].extend(rows.first().map(|row| key(store, place, row)));
            let keys: Vec<i64> = rows.iter().map(|row| key(store, place, row)).collect();
            is_sound[place] &= is_whole && keys.is_sorted();
            for row in rows {
                let is_missing = store.shapes[place].fits(row.rowid, &row.fields)
                    && store.shapes[place].may_miss(key(store, place, &row));
                is_sound[place] &= is_missing && store.take(place, TreeFinding::Row(row))?;
            }
        }
    }
    for page in each(walk) {
        let is_page = is_legible(walk, page) || explains(walk, store, page);
        stray.left_out += u64::from(is_page);
        stray.illegible += u64::from(!is_page);
        stray.unexplained += u64::from(!is_page && !walk.lost.has(page));
    }
    let is_cut = walk.is_cut || walk.length > Some(walk.source.count());
    if stray.unexplained == 0 && !is_cut {
        let sound = taken.into_iter().zip(is_sound);
        let sound: Vec<_> = sound
            .map(|(keys, is_sound)| is_sound.then_some(keys))
            .collect();
        forget_interior(store, &sound, walk.length.is_some());
    }
    Ok(stray)
}

/// Of a lost page with others below it nothing is missing when all pages of the file are accounted for. `taken` has a key of each
/// page that was taken for one of a table, and nothing for a table of which such a page was not as it was written.
fn forget_interior(store: &mut NewStore, taken: &[Option<Vec<i64>>], is_length_known: bool) {
    for (shape, keys) in store.shapes.iter_mut().zip(taken) {
        let Some(keys) = keys else { continue };
        shape.lost.retain(|lost| {
            let is_above = keys.iter().any(|key| (lost.low..=lost.high).contains(key));
            // A table without rows has no page by which it would be found.
            let is_empty = lost.page == 1 && is_length_known;
            !(is_empty || lost.page > 0 && is_above)
        });
    }
}

/// Pages that belong to no tree, in order.
fn each(walk: &TreeWalk<'_>) -> Vec<u32> {
    let lock = lock_page(walk.source.page_size());
    let pages = 2..=walk.source.count();
    pages
        .filter(|page| !walk.seen.has(*page) && *page != lock)
        .collect()
}

/// Marks the pages on the list of free ones, which may have rows that were deleted.
fn mark_free(walk: &mut TreeWalk<'_>) {
    let count = walk.source.count();
    let first = walk.read(1).and_then(|header| word(&header, 32));
    let mut trunks: Vec<u32> = each(walk);
    trunks.extend(first.filter(|first| (2..=count).contains(first)));
    let mut free = PageSet::new(count);
    for trunk in trunks {
        let Some(content) = walk.read(trunk) else {
            continue;
        };
        let listed = word(&content, 4).unwrap_or(0) as usize;
        let is_short = (1..=content.len() / 4 - 2).contains(&listed);
        if !is_short || word(&content, 0).is_none_or(|next| next > count) {
            continue;
        }
        let pages: Vec<u32> = (0..listed)
            .filter_map(|index| word(&content, 8 + 4 * index))
            .collect();
        let is_free = |page: &u32| (2..=count).contains(page) && !walk.seen.has(*page);
        if pages.iter().all(is_free) {
            pages
                .iter()
                .chain([&trunk])
                .for_each(|page| free.add(*page));
        }
    }
    for page in (2..=count).filter(|page| free.has(*page)) {
        walk.seen.add(page);
    }
}

fn key(store: &NewStore, place: usize, row: &FoundRow) -> i64 {
    store.shapes[place].key(row.rowid, &row.fields)
}

/// The rows of a page that are whole, and whether they are all that it had; `None` for a page without any.
fn rows_of(walk: &TreeWalk<'_>, page: u32) -> Option<(Vec<FoundRow>, bool)> {
    let content = walk.read(page)?;
    let tree = TreePage::parse(page, &content)?;
    if !tree.kind.has_rows() {
        return None;
    }
    let cells = (0..tree.cells).filter_map(|index| tree.cell(index));
    let rows: Vec<FoundRow> = cells.filter_map(|cell| walk.row(&cell)).collect();
    let is_whole = tree.is_full() && rows.len() == tree.cells;
    (!rows.is_empty()).then_some((rows, is_whole))
}

/// Marks a page and those with further octets of its rows.
fn see(walk: &mut TreeWalk<'_>, page: u32) {
    walk.seen.add(page);
    let Some(content) = walk.read(page) else {
        return;
    };
    let Some(tree) = TreePage::parse(page, &content) else {
        return;
    };
    for cell in (0..tree.cells).filter_map(|index| tree.cell(index)) {
        if walk.row(&cell).is_some()
            && let Some(payload) = cell.payload
        {
            walk.see_overflow(&payload);
        }
    }
}

/// The table that these rows are of, if they can be of one only.
fn table_of(store: &NewStore, rows: &[FoundRow]) -> StoreResult<Option<usize>> {
    let mut most = (0, None);
    for (place, shape) in store.shapes.iter().enumerate() {
        if shape.lost.is_empty() || !shape.may_be_found() {
            continue;
        }
        let mut count = 0;
        for row in rows {
            let fits = shape.fits(row.rowid, &row.fields) && shape.may_miss(key(store, place, row));
            if fits {
                let values = shape.values(row.rowid, row.fields.clone());
                let checked = store.check(place, &values)?;
                count += usize::from(checked.is_ok());
            }
        }
        most = match count {
            0 => most,
            _ if count > most.0 => (count, Some(place)),
            // Two tables that look the same.
            _ if count == most.0 => (count, None),
            _ => most,
        };
    }
    Ok(most
        .1
        .filter(|place| store.shapes[*place].tree != TreeUse::Index))
}

/// Whether a page is one above others, or one without rows.
fn is_legible(walk: &TreeWalk<'_>, page: u32) -> bool {
    let Some(content) = walk.read(page) else {
        return false;
    };
    TreePage::parse(page, &content).is_some_and(|tree| {
        let children = (0..tree.cells).filter_map(|index| tree.cell(index));
        let is_child = |child: u32| (2..=walk.source.count()).contains(&child);
        match tree.kind {
            PageKind::TableInterior => children
                .map(|cell| cell.child)
                .chain([tree.last_child()])
                .all(is_child),
            kind => !kind.is_interior() && tree.cells == 0,
        }
    })
}

/// Whether the rows of a page look like those of a table or an index, and none can be one that is missing.
fn explains(walk: &TreeWalk<'_>, store: &NewStore, page: u32) -> bool {
    let fits = |row: &FoundRow, is_missing: bool| {
        (store.shapes.iter()).any(|shape| {
            let is_one = shape.fits(row.rowid, &row.fields);
            is_one && (!is_missing || shape.may_miss(shape.key(row.rowid, &row.fields)))
        })
    };
    rows_of(walk, page).is_some_and(|(rows, _)| {
        rows.iter().any(|row| fits(row, false)) && !rows.iter().any(|row| fits(row, true))
    })
}
