//! The reference: every key with its type, default and meaning, as data, Markdown and TOML.

use super::Config;
use super::setting::{EntryShape, ReferenceEntry, Setting, without_article};

/// What stands above docs/configuration.md.
const INTRODUCTION: &str = include_str!("introduction.md");

/// Every key, in the order of the structs.
pub fn reference() -> Vec<ReferenceEntry> {
    let mut entries = Vec::new();
    let head = ReferenceEntry {
        key: String::new(),
        kind: String::new(),
        default: String::new(),
        doc: String::new(),
        required: false,
        shape: EntryShape::Table,
    };
    Config::default().describe(head, &mut entries);
    entries
}

/// docs/configuration.md.
pub fn markdown() -> String {
    const HEADER: &str = "\n| Key | Type | Default | Meaning |\n|---|---|---|---|\n";
    let mut page = format!("{INTRODUCTION}\n## Top level\n{HEADER}");
    for entry in reference() {
        match entry.shape {
            EntryShape::Table => {
                page.push_str(&format!(
                    "\n## `[{}]`\n\n{}\n{HEADER}",
                    plain(&entry.key),
                    entry.doc
                ));
            }
            EntryShape::Tables => {
                page.push_str(&format!(
                    "\n## `[[{}]]`\n\n{}\n{HEADER}",
                    plain(&entry.key),
                    entry.doc
                ));
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
            EntryShape::Table => {
                in_list = entry.key.contains("[]");
                let mark = if in_list { "# " } else { "" };
                let name = plain(&entry.key);
                text.push_str(&format!("# {}\n{mark}[{name}]\n", entry.doc));
            }
            EntryShape::Tables => {
                in_list = true;
                text.push_str(&format!("# {}\n# [[{}]]\n", entry.doc, plain(&entry.key)));
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

/// The key as in a TOML header: without the marks of lists.
fn plain(key: &str) -> String {
    key.replace("[]", "")
}

fn last(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}
