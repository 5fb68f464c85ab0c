//! Takes fields off octets, and never past their end; notes where each was when somebody asks.
//!
//! Used by the readers of this folder and by [`crate::rp`]. Invariant: `at <= octets.len()`.

use bytes::Bytes;

use super::field::{Fault, Field, Problem};

/// Where a field is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Which field.
    pub field: Field,
    /// Its first octet, from 0.
    pub at: usize,
    /// How many octets it has.
    pub octets: usize,
}

/// What was seen while octets were read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes {
    /// Every field in its order; together they are all octets up to the first error.
    pub fields: Vec<Span>,
    /// What is wrong and did not end the reading, in the order of the octets.
    pub oddities: Vec<Fault>,
}

/// A position in octets.
pub(crate) struct Reader<'a> {
    octets: &'a Bytes,
    at: usize,
    notes: Option<&'a mut Notes>,
}

impl<'a> Reader<'a> {
    /// Starts at the first octet.
    pub fn new(octets: &'a Bytes, notes: Option<&'a mut Notes>) -> Self {
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
    pub fn octet(&mut self, field: Field) -> Result<u8, Fault> {
        self.array::<1>(field).map(|[octet]| octet)
    }

    /// The next octets.
    pub fn array<const N: usize>(&mut self, field: Field) -> Result<[u8; N], Fault> {
        match self.octets[self.at..].first_chunk::<N>() {
            Some(octets) => {
                self.saw(field, N);
                Ok(*octets)
            }
            None => Err(self.short(field, N)),
        }
    }

    /// The next so many octets. Shares the buffer.
    pub fn take(&mut self, field: Field, length: usize) -> Result<Bytes, Fault> {
        if length > self.left() {
            return Err(self.short(field, length));
        }
        let octets = self.octets.slice(self.at..self.at + length);
        self.saw(field, length);
        Ok(octets)
    }

    /// The next so many octets; fewer, with a note, where the octets end.
    pub fn at_most(&mut self, field: Field, length: usize) -> Bytes {
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
    pub fn odd(&mut self, field: Field, at: usize, problem: Problem) {
        if let Some(notes) = &mut self.notes {
            notes.oddities.push(field.fault(at, problem));
        }
    }

    /// Ends the reading: octets left over are ignored, with a note.
    pub fn finish(&mut self) {
        let left = self.left();
        if left > 0 {
            self.odd(Field::Rest, self.at, Problem::LeftOver(left));
            self.saw(Field::Rest, left);
        }
    }

    fn saw(&mut self, field: Field, octets: usize) {
        if let (Some(notes), true) = (&mut self.notes, octets > 0) {
            let at = self.at;
            // One field for what was read in several steps.
            match notes.fields.last_mut() {
                Some(last) if last.field == field => last.octets += octets,
                _ => notes.fields.push(Span { field, at, octets }),
            }
        }
        self.at += octets;
    }

    fn short(&self, field: Field, wanted: usize) -> Fault {
        let left = self.left();
        field.fault(self.at, Problem::Short { wanted, left })
    }
}
