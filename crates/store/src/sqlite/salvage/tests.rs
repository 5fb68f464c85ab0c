//! A store is filled, damaged in each way, and salvaged: what is in the new one is what was written, and what is not is said.

mod fixture;

use std::collections::HashSet;
use std::path::Path;

use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use rusqlite::Connection;

use self::fixture::{
    BEFORE, FILES, StoreFiles, assert_same, compare, folder_of, given, ids, open, rows, salvaged,
};
use super::btree::{PageKind, TreePage};
use super::pages::PageSource;
use super::*;

const PAGE: usize = 4096;
/// Flips in a run of all tests; `SMSC_FLIPS` and `SMSC_SEED` draw others.
const FLIPS: u64 = 200;

/// The page with this number, to be changed.
fn page(files: &mut StoreFiles, number: u32) -> &mut [u8] {
    let at = (number as usize - 1) * PAGE;
    &mut files.main[at..at + PAGE]
}

fn root(files: &StoreFiles, table: &str) -> u32 {
    let folder = folder_of(files);
    let store = Connection::open(folder.path().join("smsc.db")).expect("opens");
    let root = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
    store
        .query_row(root, [table], |row| row.get(0))
        .expect("a table")
}

/// A child of the first page of a table, by its place.
fn child(files: &mut StoreFiles, above: u32, index: usize) -> u32 {
    let content = page(files, above);
    let tree = TreePage::parse(above, content).expect("a page");
    assert!(tree.kind.is_interior());
    tree.cell(index).expect("a child").child
}

fn leaf(files: &mut StoreFiles, table: &str) -> u32 {
    let mut page_number = root(files, table);
    loop {
        let kind = TreePage::parse(page_number, page(files, page_number)).map(|tree| tree.kind);
        if kind.is_some_and(PageKind::is_interior) {
            page_number = child(files, page_number, 0);
        } else {
            return page_number;
        }
    }
}

#[test]
fn a_sound_store_is_copied_whole() {
    for files in &*FILES {
        let (report, after) = salvaged(files);
        assert!(report.is_whole(), "{report:?}");
        assert_same(&after);
    }
}

#[test]
fn without_the_first_page_everything_is_found() {
    let mut files = FILES[0].clone();
    page(&mut files, 1).fill(0);
    let (report, after) = salvaged(&files);
    assert_same(&after);
    assert_eq!(report.doubtful_messages, 0, "{report:?}");
}

#[test]
fn without_the_whole_schema_messages_are_found_and_none_is_sent_twice() {
    let mut files = FILES[0].clone();
    page(&mut files, 1).fill(0);
    let (from, count) = (folder_of(&files), files.main.len() / PAGE);
    let source = StoreFile::open(&from.path().join("smsc.db")).expect("opens");
    let walk = TreeWalk::new(&source);
    let schema: Vec<u32> = (2..=count as u32)
        .filter(|page| !FirstPages::rows_of(&walk, *page).is_empty())
        .collect();
    assert!(!schema.is_empty());
    for number in schema {
        page(&mut files, number).fill(0);
    }
    let (_, after) = salvaged(&files);
    for table in ["msg", "fin", "sent"] {
        assert!(after[table].len() >= BEFORE[table].len(), "{table}");
    }
}

#[test]
fn of_a_page_above_others_nothing_is_lost() {
    let mut files = FILES[0].clone();
    let above = root(&files, "msg");
    let below = child(&mut files, above, 0);
    for lost in [above, below] {
        let mut files = FILES[0].clone();
        page(&mut files, lost).fill(0);
        let (report, after) = salvaged(&files);
        assert_same(&after);
        assert!(report.stray_pages > 10, "{report:?}");
        assert_eq!(report.doubtful_messages, 0, "{report:?}");
    }
}

#[test]
fn of_a_lost_page_the_range_is_told() {
    for table in ["msg", "fin", "sent", "resent", "change", "told"] {
        let mut files = FILES[0].clone();
        let number = leaf(&mut files, table);
        page(&mut files, number).fill(0);
        let (report, after) = salvaged(&files);
        assert!(!report.is_whole());
        assert_eq!(report.tables[table].missing.len(), 1, "{report:?}");
        assert!(!after[table].is_empty(), "{table}");
        let doubted = matches!(table, "fin" | "sent" | "resent" | "change");
        assert_eq!(report.doubtful_messages > 0, doubted, "{table} {report:?}");
    }
}

#[test]
fn doubtful_messages_wait_if_they_are_to_be_sent() {
    let mut files = FILES[0].clone();
    let number = leaf(&mut files, "fin");
    page(&mut files, number).fill(0);
    let from = folder_of(&files);
    let waiting = [false, true].map(|send_doubtful| {
        let to = tempfile::tempdir().expect("a folder");
        let report = salvage(from.path(), to.path(), send_doubtful).expect("salvaged");
        assert_eq!(report.doubtful_wait, send_doubtful);
        let listed = rows(to.path(), "damaged").len() as u64;
        assert_eq!(listed, report.doubtful_messages);
        let count = (rows(to.path(), "msg").len() - rows(to.path(), "fin").len()) as u64;
        (count, report.doubtful_messages)
    });
    let [(ended, doubtful), (sent, _)] = waiting;
    assert!(doubtful > 0);
    assert_eq!(ended + doubtful, sent);
}

#[test]
fn of_half_a_file_half_is_found() {
    let mut files = FILES[0].clone();
    files.main.truncate(files.main.len() / 2 + 77);
    let (report, after) = salvaged(&files);
    assert!(after["msg"].len() > BEFORE["msg"].len() / 4, "{report:?}");
}

#[test]
fn a_store_of_another_page_size_is_read() {
    let folder = folder_of(&FILES[0]);
    let store = Connection::open(folder.path().join("smsc.db")).expect("opens");
    let vacuum = "PRAGMA journal_mode=DELETE; PRAGMA page_size=16384; VACUUM";
    store.execute_batch(vacuum).expect("vacuumed");
    drop(store);
    let (report, after) = salvaged(&fixture::read_files(folder.path()));
    assert_eq!(report.page_size, 16_384);
    assert!(report.is_whole(), "{report:?}");
    assert_same(&after);
}

#[test]
fn a_table_that_has_got_columns_later_is_known() {
    for step in schema::UPGRADES {
        for change in step.split("ALTER TABLE ").skip(1) {
            let table = change.split(' ').next().unwrap_or_default();
            assert!(
                shapes::first_columns(table).is_some(),
                "shapes.rs needs the number of columns that {table} had before"
            );
        }
    }
}

#[test]
fn of_a_file_without_anything_everything_may_be_missing() {
    let files = StoreFiles {
        main: vec![0; PAGE],
        ..StoreFiles::default()
    };
    let (report, _) = salvaged(&files);
    assert!(!report.tables["msg"].missing.is_empty(), "{report:?}");
}

#[test]
fn noise_on_some_pages_makes_no_other_message() {
    let first = given("SMSC_SEED").unwrap_or(1);
    for seed in first..first + 3 {
        let mut dice = SmallRng::seed_from_u64(seed);
        let mut files = FILES[0].clone();
        let count = files.main.len() / PAGE;
        for _ in 0..count.div_ceil(100) {
            let number = dice.random_range(1..=count as u32);
            page(&mut files, number)
                .iter_mut()
                .for_each(|octet| *octet = dice.random());
        }
        let (_, after) = salvaged(&files);
        assert!(after["msg"].len() > BEFORE["msg"].len() / 2, "seed {seed}");
    }
}

#[test]
fn flips_make_no_other_message() {
    let flips = given("SMSC_FLIPS").unwrap_or(FLIPS);
    let seed = given("SMSC_SEED").unwrap_or(1);
    let mut dice = SmallRng::seed_from_u64(seed);
    let mut files = FILES[0].clone();
    for _ in 0..flips {
        let at = dice.random_range(0..files.main.len());
        files.main[at] ^= 1 << dice.random_range(0..8);
    }
    let (report, after) = salvaged(&files);
    println!(
        "{flips} flips: {} of {} messages",
        after["msg"].len(),
        BEFORE["msg"].len()
    );
    assert!(!report.is_whole());
}

#[test]
fn without_its_log_nothing_is_sent_that_may_have_ended() {
    let mut files = FILES[1].clone();
    assert!(!files.log.is_empty() && !files.index.is_empty());
    files.log.clear();
    let (report, after) = salvaged(&files);
    assert!(report.log.is_some());
    let waiting = ids(&after["msg"]).difference(&ids(&after["fin"])).count();
    assert_eq!(waiting, 0);
}

#[test]
fn pages_of_the_log_take_the_place_of_damaged_ones() {
    let mut files = FILES[1].clone();
    files.main.fill(0x5a);
    let (report, after) = salvaged(&files);
    assert_eq!(after["msg"].len(), BEFORE["msg"].len(), "{report:?}");
    // The database is gone.
    files.main.clear();
    let (_, after) = salvaged(&files);
    assert_eq!(after["msg"].len(), BEFORE["msg"].len());
    // A frame of the middle is damaged.
    let middle = files.log.len() / 2;
    files.log[middle] ^= 1;
    salvaged(&files);
}

/// A disk that cannot read some pages.
struct FailingDisk {
    octets: Vec<u8>,
    bad: HashSet<u32>,
}

impl PageSource for FailingDisk {
    fn page_size(&self) -> usize {
        PAGE
    }

    fn count(&self) -> u32 {
        (self.octets.len() / PAGE) as u32
    }

    fn read(&self, page: u32) -> io::Result<Vec<u8>> {
        if self.bad.contains(&page) {
            return Err(io::Error::from_raw_os_error(5));
        }
        let at = (page as usize - 1) * PAGE;
        Ok(self.octets[at..at + PAGE].to_vec())
    }
}

#[test]
fn what_a_dying_disk_cannot_read_is_left_out() {
    let octets = FILES[0].main.clone();
    let count = (octets.len() / PAGE) as u32;
    for bad in [1..2, count / 3..count / 3 + 16, 2..count] {
        let to = tempfile::tempdir().expect("a folder");
        let main = to.path().join("smsc.db");
        let bad: HashSet<u32> = bad.collect();
        let illegible = bad.len() as u64;
        let disk = FailingDisk {
            octets: octets.clone(),
            bad,
        };
        let report = fill(&disk, None, &main, false).expect("salvaged");
        assert!(report.illegible_pages + 1 >= illegible, "{report:?}");
        compare(to.path(), &report);
    }
}

#[test]
fn a_store_in_use_a_used_folder_and_a_full_disk_are_refused() {
    let from = folder_of(&FILES[0]);
    let to = tempfile::tempdir().expect("a folder");
    std::fs::write(to.path().join("other"), "").expect("written");
    let refused = |from: &Path, to: &Path| match salvage(from, to, false) {
        Err(error) => error.to_string(),
        Ok(report) => panic!("{report:?}"),
    };
    assert!(refused(from.path(), to.path()).contains("something in it"));
    assert!(refused(from.path(), from.path()).contains("something in it"));
    let inside = from.path().join("new");
    assert!(refused(from.path(), &inside).contains("stays as it is"));
    assert!(!inside.exists());
    let nothing = to.path().join("nothing");
    assert!(refused(&nothing, &inside).contains("is not there"));
    let empty = tempfile::tempdir().expect("a folder");
    let refused_empty = refused(empty.path(), &to.path().join("new"));
    assert!(refused_empty.contains("is not there"), "{refused_empty}");
    let store = open(from.path());
    let new = to.path().join("new");
    assert!(refused(from.path(), &new).contains("in use"));
    assert!(!new.exists());
    drop(store);
    let small = Path::new("/dev/full");
    assert!(!refused(from.path(), small).is_empty());
}
