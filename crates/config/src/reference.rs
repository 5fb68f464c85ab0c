//! The reference: every key with its type, default and meaning, as data, Markdown and TOML.

use std::collections::HashMap;

use super::Config;
use super::setting::{EntryShape, ReferenceEntry, Setting, without_article};

/// What stands above docs/configuration.md.
const INTRODUCTION: &str = include_str!("introduction.md");

/// Every key, in the order of the structs.
pub fn reference() -> Vec<ReferenceEntry> {
    let mut entries = Vec::new();
    let head = ReferenceEntry::new(String::new(), String::new(), false);
    Config::default().describe(head, &mut entries);
    entries
}

/// docs/configuration.md. A table with the keys of an earlier one refers to that, which helm/generate/schema.py reads.
pub fn markdown() -> String {
    let mut page = INTRODUCTION.to_owned();
    let mut explained: HashMap<String, String> = HashMap::new();
    let entries = reference();
    for table in entries.chunk_by(|_, next| next.shape == EntryShape::Value) {
        let (head, keys) = match table {
            [head, keys @ ..] if head.shape != EntryShape::Value => (Some(head), keys),
            keys => (None, keys),
        };
        let name = head.map_or("Top level".to_owned(), |head| {
            format!("`{}`", head_of(head))
        });
        page.push_str(&format!("\n## {name}\n"));
        if let Some(head) = head {
            page.push_str(&format!("\n{}\n", head.doc));
        }
        let rows: String = keys.iter().map(row).collect();
        match explained.get(&rows) {
            _ if rows.is_empty() => {}
            Some(first) => page.push_str(&format!("\nKeys: see {first}.\n")),
            None => {
                page.push_str("\n| Key | Type | Default | Meaning |\n|---|---|---|---|\n");
                page.push_str(&rows);
                explained.insert(rows, name);
            }
        }
    }
    page
}

/// The row of a key.
fn row(entry: &ReferenceEntry) -> String {
    let default = match (entry.required, entry.default.as_str()) {
        (true, _) => "required".to_owned(),
        (false, "") => "none".to_owned(),
        (false, default) => format!("`{default}`"),
    };
    format!(
        "| `{}` | {} | {default} | {} |\n",
        last(&entry.key),
        without_article(&entry.kind).replace('|', "\\|"),
        entry.doc.replace('|', "\\|"),
    )
}

/// The defaults as a TOML file with every key explained; what has no default is commented out.
pub fn annotated_toml() -> String {
    let mut text = "# Every key with its default. Delete what you do not change.\n".to_owned();
    let mut in_list = false;
    for entry in reference() {
        text.push('\n');
        match entry.shape {
            shape @ (EntryShape::Table | EntryShape::Tables) => {
                in_list = shape == EntryShape::Tables || entry.key.contains("[]");
                let mark = if in_list { "# " } else { "" };
                text.push_str(&format!("# {}\n{mark}{}\n", entry.doc, head_of(&entry)));
            }
            EntryShape::Value => {
                let name = last(&entry.key);
                text.push_str(&format!(
                    "# {} ({})\n",
                    entry.doc,
                    without_article(&entry.kind)
                ));
                let line = match (entry.required, entry.default.as_str()) {
                    (true, _) => format!("# {name} =   # required\n"),
                    (false, "") => format!("# {name} =\n"),
                    (false, default) if in_list => format!("# {name} = {default}\n"),
                    (false, default) => format!("{name} = {default}\n"),
                };
                text.push_str(&line);
            }
        }
    }
    text
}

/// The head of a table in TOML, whose key has no marks of lists.
fn head_of(entry: &ReferenceEntry) -> String {
    let name = entry.key.replace("[]", "");
    match entry.shape {
        EntryShape::Tables => format!("[[{name}]]"),
        EntryShape::Table | EntryShape::Value => format!("[{name}]"),
    }
}

fn last(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}
