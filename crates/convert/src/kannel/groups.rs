//! The syntax of Kannel's files: groups of `key = value` with empty lines between them, `#` for
//! comments, `\` at a line's end to go on, `include = FILE`.

use crate::{ConversionNotes, ConversionRefused, FileReader, SourcePlace, SourceText};

/// Includes inside includes; more is a circle.
const DEEPEST: usize = 10;

/// One `key = value`.
#[derive(Debug, Clone)]
pub(super) struct KannelEntry {
    pub key: String,
    pub value: String,
    pub place: SourcePlace,
}

/// What stands between two empty lines.
#[derive(Debug, Clone)]
pub(super) struct KannelGroup {
    /// The value of `group`.
    pub kind: String,
    /// Where it begins.
    pub place: SourcePlace,
    /// Everything else in it.
    pub entries: Vec<KannelEntry>,
}

/// Appends the groups of a text and of all that it includes.
pub(super) fn read(
    source: SourceText,
    open: &mut FileReader<'_>,
    groups: &mut Vec<KannelGroup>,
    notes: &mut ConversionNotes,
    depth: usize,
) -> Result<(), ConversionRefused> {
    let mut current: Vec<KannelEntry> = Vec::new();
    for (line, text) in logical_lines(&source.text) {
        let place = SourcePlace {
            file: source.name.clone(),
            line,
        };
        if text.is_empty() {
            close(&mut current, groups, notes);
            continue;
        }
        if text.starts_with('#') {
            continue;
        }
        let Some((key, value)) = text.split_once('=') else {
            notes.should(&place, format!("{text:?}"), "is no `key = value`; left out");
            continue;
        };
        let (key, value) = (key.trim().to_owned(), unquoted(value.trim()));
        if key != "include" {
            current.push(KannelEntry { key, value, place });
            continue;
        }
        if depth == DEEPEST {
            return Err(ConversionRefused {
                file: place.to_string(),
                why: format!("more than {DEEPEST} includes inside each other; is it a circle?"),
            });
        }
        let included = open(&value, &source.name).map_err(|error| ConversionRefused {
            file: place.to_string(),
            why: format!("include {value:?}: {error}; put it beside this file"),
        })?;
        close(&mut current, groups, notes);
        read(included, open, groups, notes, depth + 1)?;
    }
    close(&mut current, groups, notes);
    Ok(())
}

/// Lines with their numbers; those that end with a backslash are joined with the next one.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut begun: Option<(usize, String)> = None;
    for (index, line) in text.lines().enumerate() {
        let (number, mut whole) = begun.take().unwrap_or((index + 1, String::new()));
        let line = line.trim();
        match line.strip_suffix('\\') {
            Some(part) => {
                whole.push_str(part);
                begun = Some((number, whole));
            }
            None => {
                whole.push_str(line);
                lines.push((number, whole));
            }
        }
    }
    lines.extend(begun);
    lines
}

fn unquoted(value: &str) -> String {
    let Some(inner) = value.strip_prefix('"') else {
        return value.to_owned();
    };
    let inner = inner.strip_suffix('"').unwrap_or(inner);
    inner.replace("\\\"", "\"").replace("\\\\", "\\")
}

fn close(
    current: &mut Vec<KannelEntry>,
    groups: &mut Vec<KannelGroup>,
    notes: &mut ConversionNotes,
) {
    let mut entries = std::mem::take(current);
    let Some(first) = entries.first() else {
        return;
    };
    let place = first.place.clone();
    match entries.iter().position(|entry| entry.key == "group") {
        Some(at) => {
            let kind = entries.remove(at).value;
            groups.push(KannelGroup {
                kind,
                place,
                entries,
            });
        }
        None => notes.must(
            &place,
            "keys without a `group`",
            "left out; Kannel ends a group at an empty line",
        ),
    }
}

// === impl KannelGroup ===

impl KannelGroup {
    /// The entry of a key; the last one stands, as in Kannel.
    pub fn get(&self, key: &str) -> Option<&KannelEntry> {
        self.entries.iter().rev().find(|entry| entry.key == key)
    }

    /// The value of a key, empty without it.
    pub fn text(&self, key: &str) -> &str {
        self.get(key).map_or("", |entry| entry.value.as_str())
    }

    /// A whole number; something else is noted.
    pub fn number(&self, key: &str, notes: &mut ConversionNotes) -> Option<u64> {
        let entry = self.get(key)?;
        let number = entry.value.parse().ok();
        if number.is_none() {
            let what = format!("{key} = {:?} is no whole number", entry.value);
            notes.should(&entry.place, what, "left out; the default holds");
        }
        number
    }

    /// Kannel's booleans: true, yes, on and 1.
    pub fn is_set(&self, key: &str) -> bool {
        ["true", "yes", "on", "1"].contains(&self.text(key).to_lowercase().as_str())
    }

    /// A list with semicolons between its elements.
    pub fn list(&self, key: &str) -> Vec<String> {
        let elements = self.text(key).split(';').map(str::trim);
        elements
            .filter(|element| !element.is_empty())
            .map(str::to_owned)
            .collect()
    }

    /// Where a key stands, or the group.
    pub fn place_of(&self, key: &str) -> &SourcePlace {
        self.get(key).map_or(&self.place, |entry| &entry.place)
    }
}
