//! What an explanation is made of, ready to be shown or written as JSON.
//!
//! Filled by the readers of this folder, shown by `show.rs`.

use serde::Serialize;
use serde_json::Value;

use super::hex;

/// One PDU, TPDU or frame, or one piece of user data.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct DecodeReport {
    /// `pdu`, `user_data`, `tpdu`, `rp`, `gsup`, `m3ua`, `sccp`, `tcap`, `cmpp`, `sgip` or `smgp`; `map` for none of its layers.
    pub kind: &'static str,
    /// The operation's name, or what the octets are.
    pub title: String,
    /// Where it starts in what was given, in octets.
    pub at: usize,
    /// How many octets it has.
    pub octets: usize,
    /// Field by field in the order of the octets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<DecodedField>,
    /// The text and what is in front of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_data: Option<DecodedUserData>,
    /// The content of a delivery receipt.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub receipt: Vec<FieldDetail>,
    /// What is wrong, in the order of the octets; empty when everything was read.
    pub problems: Vec<DecodeProblem>,
}

/// One field.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DecodedField {
    /// Its first octet, counted from the start of what was given.
    pub at: usize,
    /// How many octets it has.
    pub octets: usize,
    /// Its name in the standard.
    pub name: String,
    /// Where the standard defines it; empty for PDUs of SMPP.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub section: String,
    /// A number, or a string.
    pub value: Value,
    /// The value as people read it.
    #[serde(skip)]
    pub shown: String,
    /// What the value means.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub meaning: String,
    /// Its bits or parts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<FieldDetail>,
}

/// A group of bits, an element, a part of a receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldDetail {
    /// Which part.
    pub name: String,
    /// Its value as people read it.
    pub value: String,
    /// What it means.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub meaning: String,
}

/// User data: a header and a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DecodedUserData {
    /// Its first octet, counted from the start of what was given.
    pub at: usize,
    /// How many octets it has.
    pub octets: usize,
    /// The elements of the header.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub header: Vec<FieldDetail>,
    /// How the octets behind the header are read.
    pub alphabet: String,
    /// How many characters that gives; for data, octets.
    pub characters: usize,
    /// The text; `None` for data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Data in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// What else the octets could be.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub or: Vec<FieldDetail>,
}

/// Something that is wrong with the octets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DecodeProblem {
    /// The octet at which it shows.
    pub at: usize,
    /// Which field was being read.
    pub field: String,
    /// What is wrong with it.
    pub text: String,
}

// === impl DecodeReport ===

impl DecodeReport {
    /// One without fields, of octets of which the first is number `at` of what was given.
    pub fn new(kind: &'static str, title: impl Into<String>, octets: &[u8], at: usize) -> Self {
        Self {
            kind,
            title: title.into(),
            at,
            octets: octets.len(),
            ..Self::default()
        }
    }

    /// Notes a field.
    pub fn note(&mut self, field: DecodedField) {
        self.fields.push(field);
    }

    /// Notes something wrong at an octet of what was given.
    pub fn problem(&mut self, at: usize, field: &str, text: impl Into<String>) {
        self.problems.push(DecodeProblem::new(at, field, text));
    }
}

// === impl DecodeProblem ===

impl DecodeProblem {
    /// What is wrong with a field.
    pub fn new(at: usize, field: &str, text: impl Into<String>) -> Self {
        Self {
            at,
            field: field.to_owned(),
            text: text.into(),
        }
    }
}

// === impl DecodedField ===

impl DecodedField {
    fn new(at: usize, octets: usize, name: &str, value: Value, shown: String) -> Self {
        Self {
            at,
            octets,
            name: name.to_owned(),
            section: String::new(),
            value,
            shown,
            meaning: String::new(),
            details: Vec::new(),
        }
    }

    /// A number of `octets` octets, shown in decimal.
    pub fn number(at: usize, octets: usize, name: &str, value: u32) -> Self {
        Self::new(at, octets, name, value.into(), value.to_string())
    }

    /// A number of one octet, shown in hexadecimal, with its meaning.
    pub fn code(at: usize, name: &str, value: u8, meaning: impl Into<String>) -> Self {
        let mut field = Self::number(at, 1, name, value.into()).meaning(meaning);
        field.set_code(value);
        field
    }

    /// A string, shown in quotes.
    pub fn string(at: usize, octets: usize, name: &str, value: &str) -> Self {
        let mut field = Self::new(at, octets, name, Value::Null, String::new());
        field.set_string(value);
        field
    }

    /// Octets, shown in hexadecimal digits.
    pub fn hex(at: usize, name: &str, octets: &[u8]) -> Self {
        let digits = hex::spaced(octets);
        Self::new(at, octets.len(), name, digits.clone().into(), digits)
    }

    /// The value is this number, shown in decimal.
    pub fn set_number(&mut self, value: u32) {
        self.value = value.into();
        self.shown = value.to_string();
    }

    /// The value is this octet, shown in hexadecimal.
    pub fn set_code(&mut self, value: u8) {
        self.value = value.into();
        self.shown = format!("0x{value:02X}");
    }

    /// The value is this string, shown in quotes.
    pub fn set_string(&mut self, value: &str) {
        self.value = value.into();
        self.shown = format!("\"{value}\"");
    }

    /// Adds what the value of the field means.
    pub fn meaning(mut self, meaning: impl Into<String>) -> Self {
        self.meaning = meaning.into();
        self
    }
}

// === impl FieldDetail ===

impl FieldDetail {
    /// One detail.
    pub fn new(
        name: impl Into<String>,
        value: impl Into<String>,
        meaning: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
            meaning: meaning.into(),
        }
    }
}
