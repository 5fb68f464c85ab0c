//! Tables of what is shown claim only what tests show (smpp-conformance.md and behaviours.md of docs/developers): each
//! line names tests, and each of them exists.

use std::fs;
use std::path::Path;

use smsc::domain::command_status::{self, RefusalClass};

/// The cells of each table row, without heads and rulers.
fn rows(page: &str) -> Vec<Vec<&str>> {
    let mut rows = Vec::new();
    let mut lines = page.lines().peekable();
    while let Some(line) = lines.next() {
        let is_head = lines.peek().is_some_and(|next| next.starts_with("|---"));
        if line.starts_with('|') && !line.starts_with("|---") && !is_head {
            rows.push(line.trim_matches('|').split(" | ").map(str::trim).collect());
        }
    }
    rows
}

/// Pages with such tables, and at least how many lines they have.
const TABLES: [(&str, usize); 2] = [
    ("docs/developers/smpp-conformance.md", 50),
    ("docs/developers/behaviours.md", 100),
];

#[test]
fn each_line_names_tests_that_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (file, least) in TABLES {
        let page = fs::read_to_string(root.join(file)).unwrap();
        let rows = rows(&page);
        assert!(rows.len() > least, "{file}: only {} lines", rows.len());
        let missing = missing_tests(root, &rows);
        assert!(missing.is_empty(), "{file}: {}", missing.join("\n"));
    }
}

/// What the lines claim without a test.
fn missing_tests(root: &Path, rows: &[Vec<&str>]) -> Vec<String> {
    let mut missing = Vec::new();
    for row in rows {
        let (what, shown_by) = (row[0], row[row.len() - 1]);
        let named: Vec<(&str, &str)> = shown_by
            .split('`')
            .filter_map(|word| word.split_once("::"))
            .collect();
        if named.is_empty() {
            missing.push(format!("{what}: names no test"));
        }
        for (file, name) in named {
            let source = fs::read_to_string(root.join(file)).unwrap_or_default();
            if !source.contains(&format!("fn {name}(")) {
                missing.push(format!("{what}: {file} has no {name}"));
            }
        }
    }
    missing
}

#[test]
fn each_complaint_has_a_test_with_its_number() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/developers/behaviours.md")).unwrap();
    let (_, complaints) = page.split_once("## What goes wrong elsewhere").unwrap();
    let mut numbers = Vec::new();
    for row in rows(complaints) {
        let Ok(number) = row[0].parse::<u32>() else {
            continue;
        };
        let name = format!("::pain_{number:02}_");
        assert!(row[row.len() - 1].contains(&name), "{number}: no {name}");
        numbers.push(number);
    }
    assert_eq!(numbers, [(1..=22).collect(), vec![25]].concat());
}

#[test]
fn the_classes_of_statuses_are_those_of_the_code() {
    for file in ["docs/developers/smpp-conformance.md", "docs/connections.md"] {
        check_classes(file);
    }
    for vendor in 0x400..=0x4FF {
        assert_eq!(
            command_status::class(vendor),
            RefusalClass::Permanent,
            "{vendor:#x}"
        );
    }
}

/// The page names each status of the classes that are not permanent.
fn check_classes(file: &str) {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let rows = rows(&page);
    for (word, class) in [
        ("temporary", RefusalClass::Temporary),
        ("throttled", RefusalClass::Throttled),
    ] {
        let row = rows.iter().find(|row| row[0] == word).expect(word);
        let documented: Vec<&str> = row[1].split('`').skip(1).step_by(2).collect();
        let of_class = |name: &&str| {
            let status = command_status::parse(name).unwrap();
            status != command_status::ESME_ROK && command_status::class(status) == class
        };
        // Those of GSM networks are in docs/gsm.md.
        let of_smpp = |name: &&str| name.starts_with("ESME_");
        let in_code = command_status::names().filter(of_smpp).filter(of_class);
        let in_code: Vec<&str> = in_code.collect();
        assert_eq!(documented, in_code, "{file}: {word}");
    }
}
