//! Takes the fields of one PDU off its octets and notes each with its place.
//!
//! Used by the tables of `pdu.rs`. Nothing is read past the end of the PDU; a field that has no octets
//! left ends the reading with a [`Stop`] that says which field it was. Errors that do not prevent
//! further reading are recorded as problems.

use bytes::Bytes;

use super::bits::OctetMeaning;
use super::report::{DecodeProblem, DecodeReport, DecodedField};
use super::{hex, times};

/// Why nothing more can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop(pub DecodeProblem);

/// The text of a message, as found in short_message or message_payload.
#[derive(Debug, Clone)]
pub struct MessageText {
    pub at: usize,
    pub octets: Bytes,
}

/// A position in a PDU, and what was found before it.
#[derive(Debug)]
pub struct PduReader {
    octets: Bytes,
    /// Where the PDU starts in what was given.
    base: usize,
    at: usize,
    /// What was found.
    pub report: DecodeReport,
    /// The last value of these fields.
    pub esm_class: u8,
    pub data_coding: u8,
    pub message: Option<MessageText>,
}

// === impl PduReader ===

impl PduReader {
    /// Starts at the first octet of `octets`, which is number `base` of what was given.
    pub fn new(octets: Bytes, base: usize, report: DecodeReport) -> Self {
        Self {
            octets,
            base,
            at: 0,
            report,
            esm_class: 0,
            data_coding: 0,
            message: None,
        }
    }

    /// All octets of the PDU.
    pub fn frame(&self) -> &Bytes {
        &self.octets
    }

    /// Everything from here on belongs to something else.
    pub fn end_at(&mut self, length: usize) {
        self.octets.truncate(length);
    }

    /// Number of the next octet in what was given.
    pub fn position(&self) -> usize {
        self.base + self.at
    }

    /// Octets that were not read yet.
    pub fn left(&self) -> usize {
        self.octets.len() - self.at
    }

    /// Notes something wrong at an octet of what was given.
    pub fn problem(&mut self, at: usize, field: &str, text: impl Into<String>) {
        self.report.problem(at, field, text);
    }

    /// Notes a field.
    pub fn note(&mut self, field: DecodedField) {
        self.report.note(field);
    }

    /// An integer of one octet.
    pub fn octet(&mut self, name: &str, explain: OctetMeaning) -> Result<u8, Stop> {
        let at = self.position();
        let octet = self.take(name, 1)?[0];
        match explain {
            OctetMeaning::EsmClass | OctetMeaning::EsmClassDelivered => self.esm_class = octet,
            OctetMeaning::DataCoding => self.data_coding = octet,
            _ => {}
        }
        let mut field = DecodedField::number(at, 1, name, octet.into());
        if explain.is_hexadecimal() {
            field.shown = format!("0x{octet:02X}");
        }
        (field.meaning, field.details) = explain.octet(octet);
        self.note(field);
        Ok(octet)
    }

    /// An integer of four octets, written in decimal.
    pub fn word(&mut self, name: &str) -> Result<u32, Stop> {
        let at = self.position();
        let word = self.four(name)?;
        self.note(DecodedField::number(at, 4, name, word));
        Ok(word)
    }

    /// An integer of four octets, written in hexadecimal, with its meaning.
    pub fn code(&mut self, name: &str, meaning: impl FnOnce(u32) -> String) -> Result<u32, Stop> {
        let at = self.position();
        let word = self.four(name)?;
        let mut field = DecodedField::number(at, 4, name, word).meaning(meaning(word));
        field.shown = format!("0x{word:08X}");
        self.note(field);
        Ok(word)
    }

    /// A C-octet string, which the standard allows `max` octets, its NUL included (§3.1).
    pub fn c_string(&mut self, name: &str, max: usize) -> Result<(), Stop> {
        let at = self.position();
        let string = self.until_nul(name, max)?;
        self.note(DecodedField::string(
            at,
            self.position() - at,
            name,
            &shown(&string),
        ));
        Ok(())
    }

    /// A C-octet string with a time (§7.1.1).
    pub fn time(&mut self, name: &str) -> Result<(), Stop> {
        let at = self.position();
        let string = self.until_nul(name, 17)?;
        let mut field = DecodedField::string(at, self.position() - at, name, &shown(&string));
        match times::explain(&string) {
            Ok(meaning) => field.meaning = meaning,
            Err(error) => self.problem(at, name, error),
        }
        self.note(field);
        Ok(())
    }

    /// The text that sm_length counts (§5.2.22).
    pub fn message(&mut self, name: &str, length: usize) -> Result<(), Stop> {
        let at = self.position();
        if length > self.left() {
            let left = self.left();
            self.problem(
                at,
                name,
                format!("sm_length is {length}; left in the PDU: {left}"),
            );
        }
        let octets = self.take(name, length.min(self.left()))?;
        let mut field = DecodedField::hex(at, name, &octets);
        field.shown = hex::counted(octets.len(), "octet");
        self.note(field);
        if !octets.is_empty() {
            self.message = Some(MessageText { at, octets });
        }
        Ok(())
    }

    /// Everything that is left, as octets.
    pub fn rest(&mut self, name: &str) {
        let at = self.position();
        let octets = self.octets.slice(self.at..);
        self.at = self.octets.len();
        self.note(DecodedField::hex(at, name, &octets));
    }

    /// The next so many octets.
    pub fn take(&mut self, name: &str, length: usize) -> Result<Bytes, Stop> {
        if length > self.left() {
            let octets = match (length, self.left()) {
                (_, 0) => "the PDU ends before it".to_owned(),
                (length, left) => format!("it has {length} octets; left in the PDU: {left}"),
            };
            return Err(Stop::at(self.position(), name, octets));
        }
        let octets = self.octets.slice(self.at..self.at + length);
        self.at += length;
        Ok(octets)
    }

    /// The next octets, which stay to be read; fewer at the end.
    pub fn peek(&self, length: usize) -> Bytes {
        self.octets
            .slice(self.at..self.octets.len().min(self.at + length))
    }

    fn four(&mut self, name: &str) -> Result<u32, Stop> {
        let octets = self.take(name, 4)?;
        Ok((octets.first_chunk()).map_or(0, |octets| u32::from_be_bytes(*octets)))
    }

    fn until_nul(&mut self, name: &str, max: usize) -> Result<Bytes, Stop> {
        let at = self.position();
        let rest = &self.octets[self.at..];
        let Some(length) = rest.iter().position(|octet| *octet == 0) else {
            if rest.is_empty() {
                return Err(Stop::at(at, name, "the PDU ends before it"));
            }
            self.problem(
                at,
                name,
                "the NUL at its end is missing; the PDU ends with it",
            );
            return self.take(name, self.left());
        };
        if length >= max {
            let allowed = max - 1;
            self.problem(
                at,
                name,
                format!("{length} characters; the standard allows {allowed}"),
            );
        }
        let string = self.take(name, length)?;
        self.at += 1;
        Ok(string)
    }
}

// === impl Stop ===

impl Stop {
    /// Stops at an octet of what was given.
    pub fn at(at: usize, field: &str, text: impl Into<String>) -> Self {
        Self(DecodeProblem::new(at, field, text))
    }
}

/// Octets of a C-octet string: ASCII as it is, others as `\xE9`.
pub fn shown(octets: &[u8]) -> String {
    let mut text = String::with_capacity(octets.len());
    for octet in octets {
        match octet {
            b' '..=b'~' => text.push(char::from(*octet)),
            other => text.push_str(&format!("\\x{other:02X}")),
        }
    }
    text
}
