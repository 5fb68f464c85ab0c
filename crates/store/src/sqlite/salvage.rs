//! `smsc salvage`: reads what can be read of a store that SQLite cannot open, page by page, into a new one.
//!
//! Called by the command line while no server runs on the store, which is never written to. Each tree is walked from its first page; between
//! the keys of pages that cannot be read, pages that no tree leads to are looked for (`stray`). A row is taken as it was written, or, if its checksum
//! is wrong, listed as damaged. A message that may have gone on by rows that cannot be read is not sent again, unless that is asked for
//! (`settle`). Memory grows with the number of pages by some bits each, not with that of rows.

mod btree;
mod configuration;
mod new_store;
mod pages;
mod report;
mod settle;
mod shapes;
mod stray;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use self::btree::{PageKind, TreePage};
use self::new_store::NewStore;
use self::pages::{PageSource, StoreFile};
use self::shapes::{LostRange, TableShape};
use self::stray::{StrayPages, take_stray};
use self::walk::{FoundRow, TreeFinding, TreeWalk};
use super::folder_lock::{own_folder, share_folder};
use super::fsck::fsck;
use super::schema::{self, failed};
use crate::{StoreError, StoreResult};
use smsc_host::clock;

pub use self::report::{MissingRows, SalvageReport, SalvagedTable};

/// Ids within this time before the newest one may have been committed behind it (60,000 ms).
const ABOUT: i64 = 60_000 << 20;
/// The new store until it is finished.
const PARTIAL: &str = "smsc.db.partial";

/// The first page of each table and index.
#[derive(Default)]
struct FirstPages {
    pages: BTreeMap<String, u32>,
    /// Tables that are not in it are none of the store.
    is_whole: bool,
}

/// Reads the store in the data folder `from`, or in a file, into a new one in the folder `to`. With `send_doubtful`, messages go on that
/// may have ended.
///
/// # Errors
/// A server runs on the store, or there is none; the new folder has something in it, or cannot be written. What cannot be read is
/// no error but in the report.
pub fn salvage(from: &Path, to: &Path, send_doubtful: bool) -> StoreResult<SalvageReport> {
    schema::check_library()?;
    let main = schema::main_path(from);
    let folder = parent(&main);
    // A log whose database is gone has pages, too.
    if !main.is_file() && !main.with_extension("db-wal").is_file() {
        return Err(failed(format!("{} is not there", main.display())));
    }
    let unreadable = |error: io::Error| failed(format!("cannot read {}: {error}", main.display()));
    let Some(_lock) = share_folder(folder).map_err(unreadable)? else {
        return Err(failed(format!(
            "the data folder {} is in use by another smsc process",
            folder.display()
        )));
    };
    refuse_used(folder, to)?;
    let source = StoreFile::open(&main).map_err(unreadable)?;
    let _own = own_folder(to)?;
    let partial = to.join(PARTIAL);
    let written = fill(&source, source.lost_log(), &partial, send_doubtful).and_then(|report| {
        let named = fs::rename(&partial, to.join(schema::MAIN_FILE))
            .and_then(|()| File::open(to)?.sync_all());
        named.map_err(|error| failed(error.to_string()))?;
        Ok(report)
    });
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    let cannot_write = |error| match error {
        StoreError::Failed(why) => failed(format!("cannot write {}: {why}", to.display())),
        other => other,
    };
    let mut report = written.map_err(cannot_write)?;
    let checked = fsck(&to.join(schema::MAIN_FILE))?;
    report.problems = checked.problems;
    Ok(report)
}

/// The new folder is empty or not there, and no part of the damaged store.
fn refuse_used(from: &Path, to: &Path) -> StoreResult {
    let cannot = |error: io::Error| failed(format!("cannot use {}: {error}", to.display()));
    match fs::read_dir(to) {
        Ok(mut entries) => {
            // A run that failed has left its lock.
            let is_ours = |name: &OsStr| name == "smsc.lock";
            if entries.any(|entry| !entry.is_ok_and(|entry| is_ours(&entry.file_name()))) {
                return Err(failed(format!(
                    "{} has something in it: name a folder that is new or empty",
                    to.display()
                )));
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(cannot(error)),
    }
    let above: PathBuf = parent(to).canonicalize().map_err(cannot)?;
    let from = from.canonicalize().map_err(cannot)?;
    if above.starts_with(from) {
        return Err(failed(format!(
            "{} is in the damaged data folder, which stays as it is: name another place",
            to.display()
        )));
    }
    Ok(())
}

fn parent(path: &Path) -> &Path {
    let parent = path.parent();
    parent
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Reads everything into a new file.
fn fill(
    source: &dyn PageSource,
    lost_log: Option<&str>,
    partial: &Path,
    send_doubtful: bool,
) -> StoreResult<SalvageReport> {
    let mut store = NewStore::create(partial, clock::now_ms())?;
    let mut report = SalvageReport {
        pages: source.count(),
        page_size: source.page_size(),
        log: lost_log.map(str::to_owned),
        doubtful_wait: send_doubtful,
        ..SalvageReport::default()
    };
    let mut walk = TreeWalk::new(source);
    let first = FirstPages::read(&mut walk);
    walk_all(&mut walk, &mut store, &first)?;
    if let Some(length) = walk.length.filter(|length| *length > source.count()) {
        report.remarks.push(format!(
            "the file ends at page {}, of {length} that it had",
            source.count()
        ));
    }
    let is_lost = store.shapes.iter().any(|shape| !shape.lost.is_empty()) || !first.is_whole;
    let stray = if is_lost {
        take_stray(&mut walk, &mut store)?
    } else {
        StrayPages::default()
    };
    for name in first.pages.keys() {
        if store.place(name).is_none() && !name.starts_with("sqlite_") {
            report.remarks.push(format!(
                "{name} is no table of this release: it was left out"
            ));
        }
    }
    let names = store.mend_names()?;
    let settled = store.settle_messages(lost_log.is_some(), send_doubtful)?;
    report.count(&store, stray, settled);
    report.illegible_pages += u64::from(!first.is_whole);
    if lost_log.is_some() {
        let newest = "SELECT coalesce(max(id), 0) FROM msg";
        let newest: i64 = (store.connection).query_row(newest, [], |row| row.get(0))?;
        report.miss("msg", newest.saturating_sub(ABOUT), i64::MAX);
    }
    report.remarks.extend(names);
    report.remarks.extend(store.mend_settings()?);
    let balances = store.mend_balances()?;
    report.remarks.extend(balances);
    store.mend_sequence()?;
    store.finish(partial)?;
    Ok(report)
}

/// Reads every tree: the tables first, so that they get their rows where two trees claim a page.
fn walk_all(walk: &mut TreeWalk<'_>, store: &mut NewStore, first: &FirstPages) -> StoreResult {
    let mut places: Vec<usize> = (0..store.shapes.len()).collect();
    places.sort_by_key(|place| !store.shapes[*place].is_table());
    for place in places {
        let shape = store.shapes[place].clone();
        match first.pages.get(&shape.name) {
            Some(root) => walk.tree(&shape, *root, &mut |found| store.take(place, found))?,
            None if first.is_whole => {}
            None => store.shapes[place].lost.push(LostRange {
                low: i64::MIN,
                high: i64::MAX,
                page: 1,
            }),
        }
    }
    Ok(())
}

// === impl FirstPages ===

impl FirstPages {
    /// From the tree on page 1, and, where that is not whole, from every page that looks like one of it.
    fn read(walk: &mut TreeWalk<'_>) -> Self {
        let mut first = Self {
            is_whole: true,
            ..Self::default()
        };
        let mut is_whole = true;
        // It never fails.
        let _ = walk.tree(&TableShape::schema(), 1, &mut |found| {
            match found {
                TreeFinding::Row(row) => first.add(&row),
                TreeFinding::Lost(_) => is_whole = false,
            }
            Ok(true)
        });
        first.is_whole &= is_whole;
        if first.is_whole {
            return first;
        }
        for page in (2..=walk.source.count())
            .filter(|page| !walk.seen.has(*page))
            .collect::<Vec<_>>()
        {
            let rows = Self::rows_of(walk, page);
            if !rows.is_empty() {
                walk.seen.add(page);
                rows.iter().for_each(|row| first.add(row));
            }
        }
        first
    }

    /// The rows of a page of which all are of the schema.
    fn rows_of(walk: &TreeWalk<'_>, page: u32) -> Vec<FoundRow> {
        let shape = TableShape::schema();
        let Some(content) = walk.read(page) else {
            return Vec::new();
        };
        let tree = TreePage::parse(page, &content);
        let Some(tree) = tree.filter(|tree| tree.kind == PageKind::TableLeaf) else {
            return Vec::new();
        };
        let cells = (0..tree.cells).map(|index| walk.row(&tree.cell(index)?));
        let rows: Option<Vec<FoundRow>> = cells.collect();
        let is_kind = |row: &FoundRow| {
            let kind = row.fields.first().and_then(|field| field.text());
            kind.is_some_and(|kind| ["table", "index", "view", "trigger"].contains(&kind))
        };
        rows.unwrap_or_default()
            .into_iter()
            .filter(|row| shape.fits(row.rowid, &row.fields) && is_kind(row))
            .collect()
    }

    /// Takes a row of the schema, unless its parts contradict one another: it has no checksum.
    fn add(&mut self, row: &FoundRow) {
        let [kind, name, table, page, sql] = &row.fields[..] else {
            self.is_whole = false;
            return;
        };
        let (kind, name) = (kind.text().unwrap_or(""), name.text().unwrap_or(""));
        let page = page.int().and_then(|page| u32::try_from(page).ok());
        let is_told = match kind {
            "table" => {
                let begins = format!("CREATE TABLE {name}(");
                table.text() == Some(name) && sql.text().is_some_and(|sql| sql.starts_with(&begins))
            }
            "index" | "view" | "trigger" => true,
            _ => false,
        };
        match page {
            Some(0) if is_told => {}
            Some(page) if is_told => drop(self.pages.entry(name.to_owned()).or_insert(page)),
            _ => self.is_whole = false,
        }
    }
}
