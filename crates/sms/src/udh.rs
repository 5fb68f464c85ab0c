//! The user data header: elements in front of a text (3GPP TS 23.040 §9.2.3.24).
//!
//! Used where a message with UDHI set is split, put together or explained. Headers are read
//! leniently, as the standard wants it (an element of a wrong length or an impossible value counts
//! as absent), but nothing is dropped: unknown and repeated elements keep their octets and their
//! order. Invariant: `UserDataHeader::split` of what [`UserDataHeader::encode`] wrote gives the same header.

use bytes::Bytes;

use super::language::{Language, Shifts};

/// Concatenation with an 8-bit reference (§9.2.3.24.1).
pub const CONCAT_8: u8 = 0x00;
/// Application ports of 8 bits (§9.2.3.24.3).
pub const PORTS_8: u8 = 0x04;
/// Application ports of 16 bits (§9.2.3.24.4).
pub const PORTS_16: u8 = 0x05;
/// Concatenation with a 16-bit reference (§9.2.3.24.8).
pub const CONCAT_16: u8 = 0x08;
/// National language, single shift (§9.2.3.24.15).
pub const SINGLE_SHIFT: u8 = 0x24;
/// National language, locking shift (§9.2.3.24.16).
pub const LOCKING_SHIFT: u8 = 0x25;

/// Octets of identifier and length before an element's data.
const ELEMENT_HEAD: usize = 2;
/// Most octets that UDHL can count.
const LENGTH_MAX: usize = 255;

/// One information element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    /// Its identifier, IEI.
    pub id: u8,
    /// What follows its length.
    pub data: Bytes,
}

/// A header; the default has no element and no octets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UserDataHeader {
    elements: Vec<Element>,
}

/// Which part of a long text a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Concat {
    /// The number that all parts of one text have.
    pub reference: u16,
    /// Whether the reference has 16 bits on the wire: both widths are different texts.
    pub wide: bool,
    /// How many parts there are, from 1.
    pub total: u8,
    /// Which of them this is, from 1 to `total`.
    pub sequence: u8,
}

/// Application ports: for whom on the phone the text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ports {
    /// The receiving application.
    pub destination: u16,
    /// The sending application.
    pub source: u16,
    /// Whether they have 16 bits on the wire.
    pub wide: bool,
}

/// Octets that cannot be a header; §9.2.3.24 has the whole header ignored then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Not even a length.
    #[error("there is no octet that could be the length of a header")]
    Absent,
    /// UDHL counts more octets than there are.
    #[error("the header says it has {length} octets behind its length, but only {there} follow")]
    TooLong {
        /// UDHL.
        length: u8,
        /// Octets behind it.
        there: usize,
    },
    /// An element counts more octets than the header has left, or has no length.
    #[error("element {id:#04x} at octet {at} does not end within the header")]
    Element {
        /// Its identifier.
        id: u8,
        /// Where it starts, counted from UDHL, which is octet 0.
        at: usize,
    },
}

// === impl UserDataHeader ===

impl UserDataHeader {
    /// Takes the header off user data whose UDHI is set; the rest is the text, fill bits included.
    /// Shares the buffer.
    ///
    /// # Errors
    /// [`HeaderError`], when lengths do not fit.
    pub fn split(user_data: &Bytes) -> Result<(UserDataHeader, Bytes), HeaderError> {
        let length = *user_data.first().ok_or(HeaderError::Absent)?;
        let end = 1 + usize::from(length);
        if end > user_data.len() {
            return Err(HeaderError::TooLong {
                length,
                there: user_data.len() - 1,
            });
        }
        let mut elements = Vec::new();
        let mut at = 1;
        while at < end {
            let id = user_data[at];
            let data = at + ELEMENT_HEAD;
            let after = match user_data[..end].get(at + 1) {
                Some(length) => data + usize::from(*length),
                None => end + 1,
            };
            if after > end {
                return Err(HeaderError::Element { id, at });
            }
            elements.push(Element {
                id,
                data: user_data.slice(data..after),
            });
            at = after;
        }
        Ok((UserDataHeader { elements }, user_data.slice(end..)))
    }

    /// UDHL and the elements; nothing when there is no element.
    pub fn encode(&self) -> Vec<u8> {
        if self.elements.is_empty() {
            return Vec::new();
        }
        let mut octets = Vec::with_capacity(self.octets());
        octets.push((self.octets() - 1) as u8);
        for element in &self.elements {
            octets.extend([element.id, element.data.len() as u8]);
            octets.extend_from_slice(&element.data);
        }
        octets
    }

    /// How many octets [`Self::encode`] gives.
    pub fn octets(&self) -> usize {
        if self.elements.is_empty() {
            0
        } else {
            1 + self.elements.iter().map(Element::octets).sum::<usize>()
        }
    }

    /// The octets of the header without elements that number parts.
    pub fn octets_unnumbered(&self) -> usize {
        let others = self.elements.iter().filter(|one| !one.is_concat());
        match others.map(Element::octets).sum::<usize>() {
            0 => 0,
            octets => 1 + octets,
        }
    }

    /// Whether there is no element.
    pub fn is_empty(&self) -> bool {
        self.elements.is_empty()
    }

    /// The elements in their order.
    pub fn elements(&self) -> &[Element] {
        &self.elements
    }

    /// Appends an element; `false`, and nothing changes, when UDHL could not count it any more.
    pub fn push(&mut self, element: Element) -> bool {
        let fits = self.octets().max(1) + element.octets() <= 1 + LENGTH_MAX;
        if fits {
            self.elements.push(element);
        }
        fits
    }

    /// Takes out all elements of these kinds.
    pub fn remove(&mut self, ids: &[u8]) {
        self.elements.retain(|element| !ids.contains(&element.id));
    }

    /// Which part of a long text this is. Of several elements the last one counts; one with a
    /// total or a number of 0, or a number above the total, counts as absent (§9.2.3.24.1).
    pub fn concat(&self) -> Option<Concat> {
        self.elements.iter().rev().find_map(|element| {
            let concat = match (element.id, &element.data[..]) {
                (CONCAT_8, [reference, total, sequence]) => Concat {
                    reference: u16::from(*reference),
                    wide: false,
                    total: *total,
                    sequence: *sequence,
                },
                (CONCAT_16, [high, low, total, sequence]) => Concat {
                    reference: u16::from_be_bytes([*high, *low]),
                    wide: true,
                    total: *total,
                    sequence: *sequence,
                },
                _ => return None,
            };
            concat.is_possible().then_some(concat)
        })
    }

    /// Replaces every concatenation element by this one, where the first of them was, or in front.
    /// A reference that is not wide is cut to 8 bits. `false`, and only the old ones are gone, when
    /// UDHL could not count it.
    pub fn set_concat(&mut self, concat: Option<Concat>) -> bool {
        let place = self.elements.iter().position(Element::is_concat);
        let place = place.unwrap_or(0);
        self.remove(&[CONCAT_8, CONCAT_16]);
        concat.is_none_or(|concat| {
            let added = self.push(concat.element());
            if added {
                self.elements[place..].rotate_right(1);
            }
            added
        })
    }

    /// The tables that a text in the 7-bit alphabet is written with (§9.2.3.24.15, §9.2.3.24.16). Of
    /// several elements the last one counts; a language that does not exist counts as absent.
    pub fn shifts(&self) -> Shifts {
        let language = |id| {
            let named = self.elements.iter().rev().find_map(|element| {
                match (element.id == id, &element.data[..]) {
                    (true, [identifier]) => Language::from_identifier(*identifier),
                    _ => None,
                }
            });
            named.unwrap_or_default()
        };
        Shifts {
            locking: language(LOCKING_SHIFT),
            single: language(SINGLE_SHIFT),
        }
    }

    /// Replaces the elements that name tables, at the end; default tables have none. `false` when
    /// UDHL could not count them.
    pub fn set_shifts(&mut self, shifts: Shifts) -> bool {
        self.remove(&[SINGLE_SHIFT, LOCKING_SHIFT]);
        [
            (SINGLE_SHIFT, shifts.single),
            (LOCKING_SHIFT, shifts.locking),
        ]
        .into_iter()
        .filter(|(_, language)| *language != Language::Default)
        .all(|(id, language)| {
            self.push(Element {
                id,
                data: Bytes::copy_from_slice(&[language.identifier()]),
            })
        })
    }

    /// For which application the text is; the last element with ports counts (§9.2.3.24). Reserved
    /// ports are kept as they are: the phone decides about them.
    pub fn ports(&self) -> Option<Ports> {
        self.elements
            .iter()
            .rev()
            .find_map(|element| match (element.id, &element.data[..]) {
                (PORTS_8, [destination, source]) => Some(Ports {
                    destination: u16::from(*destination),
                    source: u16::from(*source),
                    wide: false,
                }),
                (PORTS_16, [to_high, to_low, from_high, from_low]) => Some(Ports {
                    destination: u16::from_be_bytes([*to_high, *to_low]),
                    source: u16::from_be_bytes([*from_high, *from_low]),
                    wide: true,
                }),
                _ => None,
            })
    }
}

// === impl Element ===

impl Element {
    /// Identifier, length and data.
    fn octets(&self) -> usize {
        ELEMENT_HEAD + self.data.len()
    }

    /// Whether its kind numbers parts, whatever it says.
    fn is_concat(&self) -> bool {
        [CONCAT_8, CONCAT_16].contains(&self.id)
    }
}

// === impl Concat ===

impl Concat {
    /// Octets of its element in a header, identifier and length included.
    pub const fn octets(wide: bool) -> usize {
        if wide {
            ELEMENT_HEAD + 4
        } else {
            ELEMENT_HEAD + 3
        }
    }

    /// Whether number and total make sense together (§9.2.3.24.1).
    pub fn is_possible(&self) -> bool {
        (1..=self.total).contains(&self.sequence)
    }

    fn element(self) -> Element {
        let [high, low] = self.reference.to_be_bytes();
        let (id, data) = if self.wide {
            (CONCAT_16, vec![high, low, self.total, self.sequence])
        } else {
            (CONCAT_8, vec![low, self.total, self.sequence])
        };
        Element {
            id,
            data: data.into(),
        }
    }
}

#[cfg(test)]
mod tests;
