//! Cuts a long text into parts that fit a short message (3GPP TS 23.040 §9.2.3.24.1).
//!
//! Called for a text of more than 140 octets of user data if the peer takes no longer one.
//! Invariants: the parts in order are the text; each fits with the header that the form needs; no
//! part ends inside an escape pair of the default alphabet (§6.2.1.1 of 23.038) or inside a
//! surrogate pair; [`count`] is the number of parts that [`split`] gives.

use bytes::Bytes;

use super::udh::{Concat, UserDataHeader};

/// Octets of user data in one short message, header included (§9.2.3.24).
pub const USER_DATA: usize = 140;
/// Most parts that an element can count.
pub const PARTS_MAX: usize = 255;

/// The escape to the extension table.
const ESCAPE: u8 = 0x1B;

/// What the elements of a text are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Units {
    /// A septet string: one septet per octet, packed to seven bits later.
    Septets,
    /// Octets that mean something else.
    Octets,
    /// UTF-16BE.
    Ucs2,
}

/// How the parts will be numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PartNumbering {
    /// In the header, with an 8-bit reference.
    Eight,
    /// In the header, with a 16-bit reference.
    Sixteen,
    /// Outside the user data, as the SAR parameters of SMPP do. Leaves the room that `Eight` needs,
    /// so that the parts can be numbered in the header when they are sent.
    Fields,
}

/// Why a text cannot be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TextTooLong {
    /// More parts than can be numbered.
    #[error("the text would need {parts} parts; 255 are possible")]
    Parts {
        /// How many.
        parts: usize,
    },
    /// The header alone fills the message.
    #[error("a header of {octets} octets leaves no room for text")]
    Header {
        /// Octets of the header of every part.
        octets: usize,
    },
}

/// How long a text may be beside a header of so many octets (UDHL included): in septets or octets;
/// for UCS-2 octets as well, an even number.
pub fn room(units: Units, header_octets: usize) -> usize {
    let octets = USER_DATA.saturating_sub(header_octets);
    match units {
        // Fill bits put the text on a septet boundary: what is left of a septet is lost.
        Units::Septets => octets * 8 / 7,
        Units::Octets => octets,
        Units::Ucs2 => octets & !1,
    }
}

/// Whether a text of this length fits beside a header of so many octets.
pub fn fits(length: usize, units: Units, header_octets: usize) -> bool {
    length <= room(units, header_octets)
}

/// Into how many parts the text goes: 1 when it fits beside `header` as it is. `usize::MAX` when
/// the header leaves no room at all.
pub fn count(octets: &[u8], units: Units, header: &UserDataHeader, form: PartNumbering) -> usize {
    if fits(octets.len(), units, header.octets()) {
        1
    } else {
        count_numbered(octets, units, header, form)
    }
}

/// How many messages it takes to send what has to be numbered even if it is a single one: a part of a longer text. At least 1.
pub fn count_numbered(
    octets: &[u8],
    units: Units,
    header: &UserDataHeader,
    form: PartNumbering,
) -> usize {
    let room = room(units, header_of_parts(header, form));
    if octets.len() <= room {
        return 1;
    }
    let mut parts = 0;
    let mut start = 0;
    while start < octets.len() {
        match end_of_part(octets, start, units, room) {
            Some(end) => start = end,
            None => return usize::MAX,
        }
        parts += 1;
    }
    parts
}

/// The parts of a text, without their headers; one part when it fits beside `header`. The header is repeated in every
/// part, with another number of parts than it may have. Shares the buffer.
///
/// # Errors
/// [`TextTooLong`]: more than 255 parts, or no room.
pub fn split(
    octets: &Bytes,
    units: Units,
    header: &UserDataHeader,
    form: PartNumbering,
) -> Result<Vec<Bytes>, TextTooLong> {
    let needed = count(octets, units, header, form);
    let header_octets = header_of_parts(header, form);
    match needed {
        1 => return Ok(vec![octets.clone()]),
        usize::MAX => {
            return Err(TextTooLong::Header {
                octets: header_octets,
            });
        }
        parts if parts > PARTS_MAX => return Err(TextTooLong::Parts { parts }),
        _ => {}
    }
    let room = room(units, header_octets);
    let mut parts = Vec::with_capacity(needed);
    let mut start = 0;
    while let Some(end) = end_of_part(octets, start, units, room) {
        parts.push(octets.slice(start..end));
        start = end;
    }
    Ok(parts)
}

/// Octets of the header of each part once it is numbered, in place of any number that it has.
fn header_of_parts(header: &UserDataHeader, form: PartNumbering) -> usize {
    header.octets_unnumbered().max(1) + Concat::octets(form == PartNumbering::Sixteen)
}

/// Where the part that begins at `start` ends; `None` at the end of the text, or when not even its
/// first character has room.
fn end_of_part(octets: &[u8], start: usize, units: Units, room: usize) -> Option<usize> {
    let end = octets.len().min(start + room);
    let end = match units {
        _ if end == octets.len() => end,
        Units::Octets => end,
        // An odd number of escapes before the cut: the last one belongs to what follows.
        Units::Septets => end - escapes_before(&octets[start..end]) % 2,
        Units::Ucs2 if is_inside_pair(octets, end) => end - 2,
        Units::Ucs2 => end,
    };
    (end > start).then_some(end)
}

fn escapes_before(part: &[u8]) -> usize {
    part.iter()
        .rev()
        .take_while(|septet| **septet == ESCAPE)
        .count()
}

/// Whether the unit before `at` is the first half of a surrogate pair and the one behind the second.
fn is_inside_pair(octets: &[u8], at: usize) -> bool {
    let (before, behind) = octets.split_at(at);
    match (before, behind) {
        ([.., high, _], [low, ..]) => high & 0xFC == 0xD8 && low & 0xFC == 0xDC,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
