//! How one value of the configuration is read, shown and described.
//!
//! A [`Leaf`] is a single value; lists and optional values follow from it, tables come from the
//! `settings!` macro. Reading collects problems instead of stopping at the first one. Values from
//! the environment are text, so leaves are also tried with the parsed text.

use figment::value::{Dict, Tag, Value};
use figment::{Figment, Source};
use serde_json::{Value as Json, json};

use super::problem::{ConfigProblem, did_you_mean};

/// One row of the reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceEntry {
    /// Full key; lists of tables as `account[].window`.
    pub key: String,
    /// What to write: `duration`, `text`, `list of text`, …
    pub kind: String,
    /// The default as TOML, empty when there is none.
    pub default: String,
    /// What it does.
    pub doc: String,
    /// Must be given.
    pub required: bool,
    /// Whether it is a value or the head of a table.
    pub shape: EntryShape,
}

/// What a [`ReferenceEntry`] stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryShape {
    /// A value.
    Value,
    /// `[key]`; its entries follow.
    Table,
    /// `[[key]]`; its entries follow.
    Tables,
}

/// A single value.
pub(super) trait Leaf: Sized + 'static {
    /// How to write it, for "write …".
    const EXAMPLE: &'static str;
    /// What it is called, unless [`Leaf::kind`] says more.
    const KIND: &'static str = "text";
    /// Never shown, not even in an error.
    const SECRET: bool = false;

    /// What it is called.
    fn kind() -> String {
        Self::KIND.to_owned()
    }

    /// Reads it; the error adds details to the kind.
    fn parse(value: &Value) -> Option<Self>;

    /// What its JSON may be, as JSON Schema.
    fn schema() -> Json {
        json!({ "type": "string" })
    }

    /// As TOML.
    fn show(&self) -> String;

    /// As JSON, readable again.
    fn json(&self) -> Json {
        let shown = self.show();
        serde_json::from_str(&shown).unwrap_or(Json::String(shown))
    }

    /// Equality, also for secrets, which do not offer it.
    fn same(&self, other: &Self) -> bool {
        self.show() == other.show()
    }
}

/// Anything that has a key: values, lists, tables.
pub(super) trait Setting: Sized + 'static {
    /// What it is, or what an option or a list has.
    type Single: Setting;

    /// Whether it is a table (or several).
    const TABLE: bool = false;
    /// Never shown.
    const HIDDEN: bool = false;

    /// What it is called in the reference.
    fn kind() -> String;

    /// Reads it; `None` when it cannot be used, with the reason in the reader.
    fn read(value: &Value, key: &str, reader: &mut SettingReader<'_>) -> Option<Self>;

    /// What its JSON may be, as JSON Schema.
    fn schema() -> Json;

    /// As TOML; empty for nothing.
    fn show(&self) -> String;

    /// As JSON; `None` for nothing, and for what shall not be shown.
    fn write(&self, how: Write) -> Option<Json>;

    /// Equality, also for secrets.
    fn same(&self, other: &Self) -> bool;

    /// Shows every single value in it, with its key.
    fn each(&self, key: &str, look: &mut dyn FnMut(&Self::Single, &str));

    /// Adds what is wrong by the marks of a table and those below it; values have none.
    fn check(&self, _key: &str, _problems: &mut Vec<ConfigProblem>) {}

    /// Adds what stands under `key`; tables add their entries after themselves.
    fn describe(&self, mut entry: ReferenceEntry, out: &mut Vec<ReferenceEntry>) {
        entry.kind = Self::kind();
        entry.default = self.show();
        out.push(entry);
    }

    /// Adds the entries of a table with the defaults of a new one; values add nothing.
    fn describe_new(_key: &str, _out: &mut Vec<ReferenceEntry>) {}
}

/// How settings are written as JSON.
#[derive(Debug, Clone, Copy)]
pub(super) struct Write {
    /// Keys that have their default, too; options that are not set as `null`.
    pub every_key: bool,
    /// Secrets, too.
    pub secrets: bool,
}

/// Where values come from, and what was wrong with them.
pub(super) struct SettingReader<'a> {
    figment: &'a Figment,
    pub(super) problems: Vec<ConfigProblem>,
}

/// Name of the environment as a source of values.
pub(super) const ENVIRONMENT: &str = "environment";

// === impl ReferenceEntry ===

impl ReferenceEntry {
    /// The entry of a key; what stands there adds what it is.
    pub(super) fn new(key: String, doc: String, required: bool) -> Self {
        Self {
            key,
            kind: String::new(),
            default: String::new(),
            doc,
            required,
            shape: EntryShape::Value,
        }
    }
}

// === impl Write ===

impl Write {
    /// As the store keeps it.
    pub(super) const KEPT: Self = Self {
        every_key: false,
        secrets: true,
    };
    /// As people see it.
    pub(super) const SHOWN: Self = Self {
        every_key: true,
        secrets: false,
    };
}

// === impl SettingReader ===

impl<'a> SettingReader<'a> {
    pub(super) fn new(figment: &'a Figment) -> Self {
        Self {
            figment,
            problems: Vec::new(),
        }
    }

    /// The table at `key`; keys that are not `known` are problems.
    pub(super) fn table<'v>(
        &mut self,
        value: &'v Value,
        key: &str,
        known: &[&str],
    ) -> Option<&'v Dict> {
        let Value::Dict(_, dict) = value else {
            let message = format!("expected a table, found {}", found(value));
            self.add(value.tag(), key, message);
            return None;
        };
        for (name, value) in dict {
            if !known.contains(&name.as_str()) {
                let message = format!("unknown key, {}", did_you_mean(name, known));
                self.add(value.tag(), &join(key, name), message);
            }
        }
        Some(dict)
    }

    /// Notes a problem with the value of this tag.
    pub(super) fn add(&mut self, tag: Tag, key: &str, message: String) {
        let origin = self.figment.get_metadata(tag).map(|metadata| {
            if metadata.name == ENVIRONMENT {
                format!("the environment, {}", variable(key))
            } else {
                // Not figment's own form, which makes the path relative to the working directory.
                let file = metadata.source.as_ref().and_then(Source::file_path);
                file.map_or_else(
                    || metadata.name.to_string(),
                    |file| file.display().to_string(),
                )
            }
        });
        self.problems.push(ConfigProblem {
            origin,
            ..ConfigProblem::new(key, message)
        });
    }

    /// The text of a value from the environment.
    fn environment_text<'v>(&self, value: &'v Value) -> Option<&'v str> {
        let metadata = self.figment.get_metadata(value.tag())?;
        (metadata.name == ENVIRONMENT).then(|| value.as_str())?
    }
}

/// `smpp` and `listen` → `smpp.listen`.
pub(super) fn join(parent: &str, name: &str) -> String {
    if parent.is_empty() {
        name.to_owned()
    } else {
        format!("{parent}.{name}")
    }
}

/// The environment variable of a key: `http.admin_token` → `SMSC_HTTP__ADMIN_TOKEN`.
pub(super) fn variable(key: &str) -> String {
    format!("SMSC_{}", key.replace('.', "__").to_uppercase())
}

/// What was written, for an error.
pub(super) fn found(value: &Value) -> String {
    match value {
        Value::String(_, text) => format!("the text {text:?}"),
        Value::Char(_, text) => format!("the text \"{text}\""),
        Value::Bool(_, flag) => format!("{flag}"),
        Value::Num(_, number) => {
            let whole = number.to_i128().map(|number| number.to_string());
            let unsigned = || number.to_u128().map(|number| number.to_string());
            let broken = || number.to_f64().map(|number| number.to_string());
            let text = whole.or_else(unsigned).or_else(broken);
            text.map_or_else(
                || "a number".to_owned(),
                |text| format!("the number {text}"),
            )
        }
        Value::Empty(..) => "nothing".to_owned(),
        Value::Dict(..) => "a table".to_owned(),
        Value::Array(..) => "a list".to_owned(),
    }
}

/// What kind of value was found, without its content, for secrets.
fn found_secret(value: &Value) -> &'static str {
    match value {
        Value::String(..) | Value::Char(..) => "a text",
        Value::Num(..) => "a number without quotes",
        Value::Bool(..) => "true or false",
        Value::Dict(..) => "a table",
        Value::Array(..) => "a list",
        Value::Empty(..) => "nothing",
    }
}

// === Setting for leaves, lists and optional values ===

impl<T: Leaf> Setting for T {
    type Single = T;

    const HIDDEN: bool = T::SECRET;

    fn kind() -> String {
        <T as Leaf>::kind()
    }

    fn read(value: &Value, key: &str, reader: &mut SettingReader<'_>) -> Option<Self> {
        let spelled = || {
            let text = reader.environment_text(value)?;
            T::parse(&text.parse().ok()?)
        };
        let parsed = T::parse(value).or_else(spelled);
        if parsed.is_none() {
            let found = if T::SECRET {
                found_secret(value).to_owned()
            } else {
                found(value)
            };
            let expected = <T as Leaf>::kind();
            let message = format!("expected {expected}, found {found}; write {}", T::EXAMPLE);
            reader.add(value.tag(), key, message);
        }
        parsed
    }

    fn schema() -> Json {
        <T as Leaf>::schema()
    }

    fn show(&self) -> String {
        Leaf::show(self)
    }

    fn write(&self, how: Write) -> Option<Json> {
        (how.secrets || !T::SECRET).then(|| self.json())
    }

    fn same(&self, other: &Self) -> bool {
        Leaf::same(self, other)
    }

    fn each(&self, key: &str, look: &mut dyn FnMut(&T, &str)) {
        look(self, key);
    }
}

impl<T: Setting> Setting for Option<T> {
    type Single = T::Single;

    const TABLE: bool = T::TABLE;
    const HIDDEN: bool = T::HIDDEN;

    fn kind() -> String {
        T::kind()
    }

    fn read(value: &Value, key: &str, reader: &mut SettingReader<'_>) -> Option<Self> {
        T::read(value, key, reader).map(Some)
    }

    fn schema() -> Json {
        T::schema()
    }

    fn show(&self) -> String {
        self.as_ref().map(T::show).unwrap_or_default()
    }

    fn write(&self, how: Write) -> Option<Json> {
        self.as_ref()?.write(how)
    }

    fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Some(own), Some(other)) => own.same(other),
            (None, None) => true,
            _ => false,
        }
    }

    fn each(&self, key: &str, look: &mut dyn FnMut(&T::Single, &str)) {
        if let Some(one) = self {
            one.each(key, look);
        }
    }

    fn describe(&self, mut entry: ReferenceEntry, out: &mut Vec<ReferenceEntry>) {
        let key = entry.key.clone();
        entry.kind = Self::kind();
        entry.default = self.show();
        if T::TABLE {
            entry.shape = EntryShape::Table;
        }
        out.push(entry);
        T::describe_new(&key, out);
    }
}

impl<T: Setting> Setting for Vec<T> {
    type Single = T::Single;

    const TABLE: bool = T::TABLE;

    fn kind() -> String {
        format!("list: {}", without_article(&T::kind()))
    }

    fn read(value: &Value, key: &str, reader: &mut SettingReader<'_>) -> Option<Self> {
        let from_environment;
        let elements = match value {
            Value::Array(_, elements) => elements,
            _ if T::TABLE => {
                let message = format!(
                    "expected a list of tables, found {}; write [[{key}]]",
                    found(value)
                );
                reader.add(value.tag(), key, message);
                return None;
            }
            _ => {
                from_environment = split(value, reader);
                &from_environment
            }
        };
        let before = reader.problems.len();
        let list = elements
            .iter()
            .enumerate()
            .filter_map(|(index, element)| {
                let key = match value {
                    Value::Array(..) => format!("{key}[{index}]"),
                    _ => key.to_owned(),
                };
                T::read(element, &key, reader)
            })
            .collect();
        // A list of tables stays usable, so that the check of the rest finds more at once.
        (T::TABLE || reader.problems.len() == before).then_some(list)
    }

    fn schema() -> Json {
        json!({ "type": "array", "items": T::schema() })
    }

    fn show(&self) -> String {
        if T::TABLE {
            return String::new();
        }
        let list: Vec<String> = self.iter().map(T::show).collect();
        format!("[{}]", list.join(", "))
    }

    fn write(&self, how: Write) -> Option<Json> {
        Some(self.iter().filter_map(|one| one.write(how)).collect())
    }

    fn same(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().zip(other).all(|(own, other)| own.same(other))
    }

    fn each(&self, key: &str, look: &mut dyn FnMut(&T::Single, &str)) {
        for (index, one) in self.iter().enumerate() {
            one.each(&format!("{key}[{index}]"), look);
        }
    }

    fn describe(&self, mut entry: ReferenceEntry, out: &mut Vec<ReferenceEntry>) {
        let key = format!("{}[]", entry.key);
        entry.kind = Self::kind();
        entry.default = self.show();
        if T::TABLE {
            entry.shape = EntryShape::Tables;
        }
        out.push(entry);
        T::describe_new(&key, out);
    }
}

/// `a duration` → `duration`, for tables and lists of kinds.
pub(super) fn without_article(kind: &str) -> &str {
    kind.strip_prefix("a ")
        .or_else(|| kind.strip_prefix("an "))
        .unwrap_or(kind)
}

/// A single value where a list may stand; text from the environment may be `a,b` or `["a", "b"]`.
fn split(value: &Value, reader: &SettingReader<'_>) -> Vec<Value> {
    let tag = value.tag();
    let Some(text) = reader.environment_text(value) else {
        return vec![value.clone()];
    };
    if text.trim_start().starts_with('[')
        && let Ok(Value::Array(_, elements)) = text.parse()
    {
        return elements;
    }
    text.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| Value::String(tag, part.to_owned()))
        .collect()
}
