//! The reference: every key with its type, default and meaning, as data, Markdown and TOML.

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

/// docs/configuration.md.
pub fn markdown() -> String {
    const HEADER: &str = "\n| Key | Type | Default | Meaning |\n|---|---|---|---|\n";
    let mut page = format!("{INTRODUCTION}\n## Top level\n{HEADER}");
    for entry in reference() {
        match entry.shape {
            EntryShape::Table | EntryShape::Tables => {
                let head = head_of(&entry);
                page.push_str(&format!("\n## `{head}`\n\n{}\n{HEADER}", entry.doc));
            }
            EntryShape::Value => {
                let default = match (entry.required, entry.default.as_str()) {
                    (true, _) => "required".to_owned(),
                    (false, "") => "none".to_owned(),
                    (false, default) => format!("`{default}`"),
                };
                page.push_str(&format!(
                    "| `{}` | {} | {default} | {} |\n",
                    last(&entry.key),
                    without_article(&entry.kind).replace('|', "\\|"),
                    entry.doc.replace('|', "\\|"),
                ));
            }
        }
    }
    page
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
