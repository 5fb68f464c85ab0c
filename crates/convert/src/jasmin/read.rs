//! The text of a jcli session as records: tables (`-l`), details (`-s`) and additions (`-a`).

use crate::{SourcePlace, SourceText};

/// Modules of jcli.
const MODULES: [&str; 9] = [
    "smppccm",
    "user",
    "group",
    "filter",
    "mtrouter",
    "morouter",
    "httpccm",
    "mtinterceptor",
    "mointerceptor",
];

/// Heads of tables, and what their rows are.
const TABLES: [(&str, &str); 7] = [
    ("#Connector id", "smppccm"),
    ("#User id", "user"),
    ("#Group id", "group"),
    ("#Filter id", "filter"),
    ("#Httpcc id", "httpccm"),
    ("#Order Type                    Rate", "mtrouter"),
    ("#Order", "morouter"),
];

/// Something with a name and keys.
#[derive(Debug, Clone)]
pub(super) struct Record {
    /// A module of jcli.
    pub kind: String,
    /// cid, uid, fid or order; empty when only the keys tell.
    pub name: String,
    pub place: SourcePlace,
    pub keys: Vec<(String, String, SourcePlace)>,
}

/// A row of a table.
#[derive(Debug, Clone)]
pub(super) struct JasminRow {
    /// The text after `#`.
    pub text: String,
    pub place: SourcePlace,
}

/// Everything that was found.
#[derive(Debug, Default)]
pub(super) struct Captured {
    pub connectors: Vec<Record>,
    pub users: Vec<Record>,
    pub connector_rows: Vec<JasminRow>,
    pub user_rows: Vec<JasminRow>,
    pub filter_rows: Vec<JasminRow>,
    pub mt_rows: Vec<JasminRow>,
    pub mo_rows: Vec<JasminRow>,
    /// Filters and routes as they were added.
    pub filters: Vec<Record>,
    pub mt_routes: Vec<Record>,
    pub mo_routes: Vec<Record>,
    /// HTTP connectors, also those that are only listed: a row has all of them.
    pub http: Vec<Record>,
    /// Interceptors.
    pub others: Vec<Record>,
    groups: usize,
}

/// Where the reader is.
#[derive(Default)]
struct ReaderState {
    /// Of the last command: module and option.
    command: Option<(String, String)>,
    table: Option<&'static str>,
    record: Option<Record>,
}

/// Adds what is in a text.
pub(super) fn read(source: &SourceText, captured: &mut Captured) {
    let mut state = ReaderState::default();
    for (index, line) in source.text.lines().enumerate() {
        let place = SourcePlace {
            file: source.name.clone(),
            line: index + 1,
        };
        let line = line.trim();
        let command = line.strip_prefix("jcli :").map(str::trim);
        if let Some(named) = command_of(command.unwrap_or(line)) {
            captured.close(&mut state);
            state.command = Some(named);
        } else if command.is_some() || line.is_empty() {
            captured.close(&mut state);
            // The rows of a table stand with empty lines between them.
            if command.is_some() {
                state = ReaderState::default();
            }
        } else if let Some((_, kind)) = TABLES.iter().find(|(head, _)| is_head(line, head)) {
            captured.close(&mut state);
            state.table = Some(kind);
        } else if let (Some(row), Some(kind)) = (line.strip_prefix('#'), state.table) {
            captured.row(kind, row, place);
        } else {
            captured.pair(&mut state, line, place);
        }
    }
    captured.close(&mut state);
}

/// Heads are padded to widths that differ between releases.
fn is_head(line: &str, head: &str) -> bool {
    let words =
        |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
    words(line).starts_with(&words(head))
}

/// `user -s foo` as module and option.
fn command_of(line: &str) -> Option<(String, String)> {
    let mut words = line.split_whitespace();
    let module = words.next().filter(|word| MODULES.contains(word))?;
    let option = words.next().filter(|word| word.starts_with('-'))?;
    let option = match option {
        "-s" => "show",
        "-a" | "--add" => "add",
        "-l" | "--list" => "list",
        long if long.starts_with("--show") => "show",
        _ => "other",
    };
    Some((module.to_owned(), option.to_owned()))
}

// === impl Captured ===

impl Captured {
    /// Whether nothing of jcli was found.
    pub fn is_empty(&self) -> bool {
        let rows = [
            &self.connector_rows,
            &self.user_rows,
            &self.mt_rows,
            &self.mo_rows,
        ];
        let records = [
            &self.connectors,
            &self.users,
            &self.mt_routes,
            &self.mo_routes,
        ];
        rows.iter().all(|rows| rows.is_empty())
            && records.iter().all(|records| records.is_empty())
            && self.filter_rows.len() + self.filters.len() + self.http.len() == 0
            && self.others.len() + self.groups == 0
    }

    fn row(&mut self, kind: &str, row: &str, place: SourcePlace) {
        let row = JasminRow {
            text: row.trim().to_owned(),
            place,
        };
        match kind {
            "smppccm" => self.connector_rows.push(row),
            "user" => self.user_rows.push(row),
            "filter" => self.filter_rows.push(row),
            "mtrouter" => self.mt_rows.push(row),
            "morouter" => self.mo_rows.push(row),
            "group" => self.groups += 1,
            "httpccm" => self.http_row(&row),
            other => {
                let name = row.text.split_whitespace().next().unwrap_or_default();
                self.others.push(Record {
                    kind: other.to_owned(),
                    name: name.to_owned(),
                    place: row.place,
                    keys: Vec::new(),
                });
            }
        }
    }

    /// `http_1 HttpConnector GET http://10.10.20.125/mo.php`
    fn http_row(&mut self, row: &JasminRow) {
        let words: Vec<&str> = row.text.split_whitespace().collect();
        let [cid, _, method, url, ..] = words.as_slice() else {
            return;
        };
        let key = |name: &str, value: &str| (name.to_owned(), value.to_owned(), row.place.clone());
        self.http.push(Record {
            kind: "httpccm".to_owned(),
            name: (*cid).to_owned(),
            place: row.place.clone(),
            keys: vec![key("method", method), key("url", url)],
        });
    }

    /// A line `key value` of details or of an addition; others (greetings, totals) are passed over.
    fn pair(&mut self, state: &mut ReaderState, line: &str, place: SourcePlace) {
        let line = line.strip_prefix('>').map_or(line, str::trim);
        if line == "ok" || line == "ko" {
            if line == "ko" {
                state.record = None;
            }
            self.close(state);
            return;
        }
        let words: Vec<&str> = line.splitn(2, char::is_whitespace).collect();
        let (first, rest) = (words[0], words.get(1).map_or("", |rest| rest.trim()));
        let is_key = first
            .chars()
            .all(|c| c.is_ascii_lowercase() || "_0123456789".contains(c));
        let (kind, option) = match state.command.clone() {
            Some(command) => command,
            // The command was not captured; what follows looks like details.
            None => (String::new(), "show".to_owned()),
        };
        if !is_key || !["show", "add"].contains(&option.as_str()) {
            return;
        }
        // mt_messaging_cred quota balance 5: three words are the key.
        let (key, value) = if first.ends_with("_cred") {
            let parts: Vec<&str> = rest.splitn(3, char::is_whitespace).collect();
            let [section, name, value] = parts.as_slice() else {
                return;
            };
            (format!("{first} {section} {name}"), value.trim())
        } else {
            (first.to_owned(), rest)
        };
        let repeated = |record: &Record| record.get(&key).is_some();
        if option == "show" && state.record.as_ref().is_some_and(repeated) {
            self.close(state);
        }
        let record = state.record.get_or_insert_with(|| Record {
            kind,
            name: String::new(),
            place: place.clone(),
            keys: Vec::new(),
        });
        record.keys.push((key, value.to_owned(), place));
    }

    fn close(&mut self, state: &mut ReaderState) {
        let Some(mut record) = state.record.take() else {
            return;
        };
        let named = ["cid", "uid", "fid", "gid", "order"]
            .into_iter()
            .find_map(|key| record.get(key));
        record.name = named.unwrap_or_default().to_owned();
        // Without the command in front, the keys tell what it is.
        if record.kind.is_empty() {
            let kind = if record.get("cid").is_some() && record.get("host").is_some() {
                "smppccm"
            } else if record.get("username").is_some() {
                "user"
            } else {
                return;
            };
            record.kind = kind.to_owned();
        }
        match record.kind.as_str() {
            "smppccm" => self.connectors.push(record),
            "user" => self.users.push(record),
            "filter" => self.filters.push(record),
            "mtrouter" if record.get("type").is_some() => self.mt_routes.push(record),
            "morouter" if record.get("type").is_some() => self.mo_routes.push(record),
            "group" => self.groups += 1,
            "httpccm" => self.http.push(record),
            "mtrouter" | "morouter" => {}
            _ => self.others.push(record),
        }
    }
}

// === impl Record ===

impl Record {
    /// The value of a key; the last one stands.
    pub fn get(&self, key: &str) -> Option<&str> {
        let found = self.keys.iter().rev().find(|(name, ..)| name == key);
        found.map(|(_, value, _)| value.as_str())
    }

    /// Where a key stands, or the record.
    pub fn place_of(&self, key: &str) -> &SourcePlace {
        let found = self.keys.iter().rev().find(|(name, ..)| name == key);
        found.map_or(&self.place, |(_, _, place)| place)
    }
}
