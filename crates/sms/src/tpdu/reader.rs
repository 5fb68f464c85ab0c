//! Takes fields off octets, and never past their end; notes where each was when somebody asks.
//!
//! Used by the readers of this folder and by [`crate::rp`]. Invariant: `at <= octets.len()`.

use bytes::Bytes;

use super::field::{FieldFault, FieldProblem, TpduField};

/// Where a field is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldSpan {
    /// Which field.
    pub field: TpduField,
    /// Its first octet, from 0.
    pub at: usize,
    /// How many octets it has.
    pub octets: usize,
}

/// What was seen while octets were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadNotes {
    /// Every field in its order; together they are all octets up to the first error.
    pub fields: Vec<FieldSpan>,
    /// What is wrong and did not end the reading, in the order of the octets.
    pub oddities: Vec<FieldFault>,
}

/// A position in octets.
pub(crate) struct TpduReader<'a> {
    octets: &'a Bytes,
    at: usize,
    notes: Option<&'a mut ReadNotes>,
}

impl<'a> TpduReader<'a> {
    /// Starts at the first octet.
    pub fn new(octets: &'a Bytes, notes: Option<&'a mut ReadNotes>) -> Self {
        Self {
            octets,
            at: 0,
            notes,
        }
    }

    /// Number of the next octet.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Octets that were not read.
    pub fn left(&self) -> usize {
        self.octets.len() - self.at
    }

    /// The next octet, which stays to be read.
    pub fn peek(&self) -> Option<u8> {
        self.octets.get(self.at).copied()
    }

    /// The next octet.
    pub fn octet(&mut self, field: TpduField) -> Result<u8, FieldFault> {
        self.array::<1>(field).map(|[octet]| octet)
    }

    /// The next octets.
    pub fn array<const N: usize>(&mut self, field: TpduField) -> Result<[u8; N], FieldFault> {
        match self.octets[self.at..].first_chunk::<N>() {
            Some(octets) => {
                self.saw(field, N);
                Ok(*octets)
            }
            None => Err(self.short(field, N)),
        }
    }

    /// The next so many octets. Shares the buffer.
    pub fn take(&mut self, field: TpduField, length: usize) -> Result<Bytes, FieldFault> {
        if length > self.left() {
            return Err(self.short(field, length));
        }
        let octets = self.octets.slice(self.at..self.at + length);
        self.saw(field, length);
        Ok(octets)
    }

    /// The next so many octets; fewer, with a note, where the octets end.
    pub fn at_most(&mut self, field: TpduField, length: usize) -> Bytes {
        let there = length.min(self.left());
        if there < length {
            let problem = self.short(field, length).problem;
            self.odd(field, self.at, problem);
        }
        let octets = self.octets.slice(self.at..self.at + there);
        self.saw(field, there);
        octets
    }

    /// Notes something wrong that does not end the reading.
    pub fn odd(&mut self, field: TpduField, at: usize, problem: FieldProblem) {
        if let Some(notes) = &mut self.notes {
            notes.oddities.push(field.fault(at, problem));
        }
    }

    /// Ends the reading: octets left over are ignored, with a note.
    pub fn finish(&mut self) {
        let left = self.left();
        if left > 0 {
            self.odd(TpduField::Rest, self.at, FieldProblem::LeftOver(left));
            self.saw(TpduField::Rest, left);
        }
    }

    fn saw(&mut self, field: TpduField, octets: usize) {
        if let (Some(notes), true) = (&mut self.notes, octets > 0) {
            let at = self.at;
            // One field for what was read in several steps.
            match notes.fields.last_mut() {
                Some(last) if last.field == field => last.octets += octets,
                _ => notes.fields.push(FieldSpan { field, at, octets }),
            }
        }
        self.at += octets;
    }

    fn short(&self, field: TpduField, wanted: usize) -> FieldFault {
        let left = self.left();
        field.fault(self.at, FieldProblem::Short { wanted, left })
    }
}
