//! The resulting configuration while it is built: tables with formatted values, and finally the
//! file.
//!
//! Used by both converters. Keeps names valid for `smsc check-config`: short enough, different from
//! each other, made of the letters that are allowed.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::routes::ConvertedRule;
use super::{ConversionNotes, SourcePlace};

/// system_id: 16 octets with the closing NUL (SMPP 3.4 §5.2.1).
const MAX_SYSTEM_ID: usize = 15;
/// system_type: 13 octets with the closing NUL (SMPP 3.4 §5.2.3).
const MAX_SYSTEM_TYPE: usize = 12;
/// No password has this hash: whoever binds needs another one first.
pub(super) const NO_PASSWORD: &str = "$argon2id$v=19$m=19456,t=2,p=1$u2Nn5JtCtVhHbWq0p4v1xw$Q0m3S8y6bq7mS1cWkU8f3T5o2c9vXh0JtZp4Yd6LrEs";
/// Longest name of an operator.
const MAX_ID: usize = 64;

/// One `[[table]]`, in the order in which it is written.
#[derive(Debug, Clone, Default)]
pub(super) struct DraftTable {
    /// Where it comes from, for the comment above it.
    origin: String,
    keys: Vec<(&'static str, String)>,
}

/// A whole configuration.
#[derive(Debug, Default)]
pub(super) struct ConfigDraft {
    /// Keys of `[smpp]`.
    pub smpp: DraftTable,
    /// Keys of `[retry]`.
    pub retry: DraftTable,
    /// Keys of `[policy]`.
    pub policy: DraftTable,
    accounts: Vec<(String, DraftTable)>,
    operators: Vec<(String, DraftTable)>,
    mo_rules: Vec<(String, DraftTable)>,
}

/// Name, address and system_id of an operator that is to be converted.
#[derive(Debug)]
pub(super) struct DraftOperator<'a> {
    pub id: &'a str,
    pub host: &'a str,
    pub port: &'a str,
    pub system_id: &'a str,
}

/// Text as a TOML string.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                out.push('\\');
                out.push(character);
            }
            control if control.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(control));
            }
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// Texts as a TOML list.
pub(super) fn list<S: AsRef<str>>(texts: &[S]) -> String {
    let written: Vec<String> = texts.iter().map(|text| quoted(text.as_ref())).collect();
    format!("[{}]", written.join(", "))
}

// === impl DraftTable ===

impl DraftTable {
    /// An empty one that comes from there.
    pub fn of(place: &SourcePlace, what: &str) -> Self {
        Self {
            origin: format!("{what}, {place}"),
            keys: Vec::new(),
        }
    }

    /// Sets a key to a value that is TOML already.
    pub fn set(&mut self, key: &'static str, value: impl ToString) {
        match self.keys.iter_mut().find(|(name, _)| *name == key) {
            Some((_, old)) => *old = value.to_string(),
            None => self.keys.push((key, value.to_string())),
        }
    }

    /// Sets a key to a text.
    pub fn text(&mut self, key: &'static str, value: &str) {
        self.set(key, quoted(value));
    }

    /// Sets a key to a duration in seconds.
    pub fn seconds(&mut self, key: &'static str, seconds: u64) {
        self.text(key, &format!("{seconds}s"));
    }

    /// Sets system_type, if it can be one.
    pub fn system_type(&mut self, value: &str, place: &SourcePlace, notes: &mut ConversionNotes) {
        if value.len() > MAX_SYSTEM_TYPE {
            let what = format!("system_type {value:?} is longer than {MAX_SYSTEM_TYPE} octets");
            notes.should(place, what, "left out; agree on a shorter one");
        } else if !value.is_empty() {
            self.text("system_type", value);
        }
    }

    fn write(&self, head: &str, out: &mut String) {
        if self.keys.is_empty() {
            return;
        }
        out.push('\n');
        if !self.origin.is_empty() {
            let _ = writeln!(out, "# {}", self.origin.replace(['\n', '\r'], " "));
        }
        let _ = writeln!(out, "{head}");
        for (key, value) in &self.keys {
            let _ = writeln!(out, "{key} = {value}");
        }
    }
}

// === impl ConfigDraft ===

impl ConfigDraft {
    /// Adds an account; answers whether it could be one.
    pub fn account(
        &mut self,
        system_id: &str,
        password: &str,
        mut table: DraftTable,
        place: &SourcePlace,
        notes: &mut ConversionNotes,
    ) -> bool {
        if system_id.is_empty() || system_id.len() > MAX_SYSTEM_ID || !system_id.is_ascii() {
            let what = format!(
                "{system_id:?} cannot be a system_id: 1 to {MAX_SYSTEM_ID} ASCII characters"
            );
            notes.must(place, what, "left out; give this customer another name");
            return false;
        }
        if self.accounts.iter().any(|(name, _)| name == system_id) {
            let what = format!("there is an account {system_id:?} already");
            notes.must(place, what, "the first one stands; rename one of them");
            return false;
        }
        if password.is_empty() {
            table.text("password", "change-me");
            table.set("enabled", "false");
        } else {
            table.text("password", password);
        }
        let id = ("system_id", quoted(system_id));
        table.keys.insert(0, id);
        self.accounts.push((system_id.to_owned(), table));
        true
    }

    /// A system_id that no account has, similar to the requested one.
    pub fn account_id(&self, wanted: &str) -> String {
        let taken = |id: &str| self.accounts.iter().any(|(name, _)| name == id);
        let plain = wanted.chars().filter(char::is_ascii_graphic);
        let base: String = plain.take(MAX_SYSTEM_ID - 2).collect();
        let base = if base.is_empty() { "http" } else { &base };
        let mut id = base.to_owned();
        for number in 2..100 {
            if !taken(&id) {
                break;
            }
            id = format!("{base}{number}");
        }
        id
    }

    /// Changes an account that is there.
    pub fn account_mut(&mut self, system_id: &str) -> Option<&mut DraftTable> {
        self.accounts
            .iter_mut()
            .find(|(name, _)| name == system_id)
            .map(|(_, table)| table)
    }

    /// A unique name for an operator, similar to the requested one. Call it when all accounts are
    /// known: an operator may not be named like one.
    pub fn operator_id(&self, wanted: &str) -> String {
        let allowed = |c: char| {
            if c.is_ascii_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '-'
            }
        };
        let mut base: String = wanted.chars().map(allowed).take(MAX_ID - 8).collect();
        if base.is_empty() {
            base.push_str("operator");
        }
        let taken: BTreeSet<&str> = self
            .accounts
            .iter()
            .chain(&self.operators)
            .map(|(name, _)| name.as_str())
            .collect();
        let mut id = base.clone();
        let mut number = 2;
        while taken.contains(id.as_str()) {
            id = format!("{base}-{number}");
            number += 1;
        }
        id
    }

    /// Adds an operator; answers whether it could be one.
    pub fn operator(
        &mut self,
        operator: DraftOperator<'_>,
        mut table: DraftTable,
        place: &SourcePlace,
        notes: &mut ConversionNotes,
    ) -> bool {
        let DraftOperator {
            id,
            host,
            port,
            system_id,
        } = operator;
        if system_id.is_empty() || system_id.len() > MAX_SYSTEM_ID || !system_id.is_ascii() {
            let what = format!(
                "{id}: {system_id:?} cannot be a system_id: 1 to {MAX_SYSTEM_ID} ASCII characters"
            );
            notes.must(place, what, "left out; ask the operator for another one");
            return false;
        }
        let plain = !host.is_empty() && !host.contains(['/', ' ', '[', ']']);
        if !plain || port.parse::<u16>().is_ok_and(|port| port == 0) || port.parse::<u16>().is_err()
        {
            let what = format!("{id}: \"{host}:{port}\" is no address to connect to");
            notes.must(place, what, "left out; write its host and port");
            return false;
        }
        let host = if host.contains(':') {
            format!("[{host}]")
        } else {
            host.to_owned()
        };
        let whom = [
            ("id", quoted(id)),
            ("address", quoted(&format!("{host}:{port}"))),
            ("system_id", quoted(system_id)),
        ];
        table.keys.splice(0..0, whom);
        self.operators.push((id.to_owned(), table));
        true
    }

    /// Adds a rule for messages of mobiles, with a name similar to this one.
    pub fn mo_rule(&mut self, wanted: &str, mut table: DraftTable) {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let base: String = wanted
            .to_lowercase()
            .chars()
            .map(plain)
            .take(MAX_ID - 16)
            .collect();
        let base = format!("keyword-{base}");
        let mut name = base.clone();
        let mut number = 2;
        while self.mo_rules.iter().any(|(known, _)| *known == name) {
            name = format!("{base}-{number}");
            number += 1;
        }
        table.keys.insert(0, ("name", quoted(&name)));
        self.mo_rules.push((name, table));
    }

    /// The file.
    pub fn write(&self, product: &str, rules: &[ConvertedRule]) -> String {
        let mut out = format!(
            "# From the configuration of {product} by `smsc convert`. Read its report, then\n\
             # `smsc check-config --config FILE`. Every other key: docs/configuration.md.\n\
             \ndata_dir = \"./smsc-store\"\n"
        );
        self.smpp.write("[smpp]", &mut out);
        self.retry.write("[retry]", &mut out);
        self.policy.write("[policy]", &mut out);
        for (head, tables) in [
            ("[[account]]", &self.accounts),
            ("[[operator]]", &self.operators),
            ("[[mo_rule]]", &self.mo_rules),
        ] {
            for (_, table) in tables {
                table.write(head, &mut out);
            }
        }
        for rule in rules {
            rule.table().write("[[route]]", &mut out);
        }
        out
    }
}
