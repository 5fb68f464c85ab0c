//! docs/configuration.md agrees with the structs. `SMSC_BLESS=1` writes it.

use std::fs;
use std::path::Path;

use smsc::config::{self, Config, EntryShape};

#[test]
fn the_page_is_generated_from_the_structs() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md");
    let generated = config::markdown();
    if std::env::var_os("SMSC_BLESS").is_some() {
        fs::write(&page, &generated).unwrap();
    }
    let written = fs::read_to_string(&page).unwrap_or_default();
    assert!(
        written == generated,
        "docs/configuration.md is out of date; run SMSC_BLESS=1 cargo test --test docs docs_configuration"
    );
}

#[test]
fn keys_of_several_tables_are_explained_once() {
    let page = config::markdown();
    assert_eq!(page.matches("| `set_npi` |").count(), 1);
    let again = page
        .split("\n## ")
        .find(|one| one.starts_with("`[[gsm.rewrite_out]]`"));
    assert!(
        again.is_some_and(|one| one.ends_with("\nKeys: see `[[account.rewrite_in]]`.\n")),
        "{again:?}"
    );
}

#[test]
fn every_key_is_explained() {
    for entry in config::reference() {
        assert!(entry.doc.len() > 5, "{} has no documentation", entry.key);
        assert!(!entry.kind.is_empty(), "{} has no kind", entry.key);
    }
}

#[test]
fn a_key_stands_under_the_heading_of_its_table() {
    let mut heading = String::new();
    for entry in config::reference() {
        let key = entry.key.replace("[]", "");
        if entry.shape == EntryShape::Value {
            let table = key.rsplit_once('.').map_or("", |(table, _)| table);
            assert_eq!(
                table, heading,
                "in TOML, {key} would be a key of {heading:?}"
            );
        } else {
            heading = key;
        }
    }
}

#[test]
fn the_annotated_defaults_load_and_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("defaults.toml");
    fs::write(&file, config::annotated_toml()).unwrap();
    let loaded = Config::load_with(Some(&file), []).unwrap();
    assert_eq!(loaded, Config::default());
}

#[test]
fn the_defaults_are_valid_and_quiet() {
    assert_eq!(Config::default().validate().unwrap(), []);
}
