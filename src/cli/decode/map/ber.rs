//! Elements of BER: tag, length, value (ITU-T X.690 §8.1). Pure.
//!
//! Lengths of all forms are read, also without an end that is told; tags of up to three octets. Invariants: nothing is read
//! behind what was given, and an element within elements is found only down to [`DEEPEST`].

use bytes::Bytes;

/// Elements within elements that are followed; MAP has fewer than half as many.
pub const DEEPEST: usize = 32;
/// The bit of a tag that says that the value is made of elements.
const CONSTRUCTED: u8 = 0x20;
/// The low bits of a tag of several octets.
const LONG_TAG: u8 = 0x1F;
/// A length that is told by two octets of zero behind the value (§8.1.3.6).
const INDEFINITE: u8 = 0x80;
const END_OF_CONTENTS: [u8; 2] = [0, 0];

/// One element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BerElement {
    /// Its octets of the tag, as one number: `0x62`, `0x9F21`.
    pub tag: u32,
    /// Octets of tag and length.
    pub head: usize,
    pub value: Bytes,
    /// Octets behind the value that end it: 2 for an indefinite length.
    pub end: usize,
    pub is_constructed: bool,
}

/// What is no element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BerProblem {
    /// The octet at which it shows.
    pub at: usize,
    pub text: String,
}

/// The element at the beginning of these octets.
pub fn first(octets: &Bytes) -> Result<BerElement, BerProblem> {
    within(octets, 0)
}

fn within(octets: &Bytes, depth: usize) -> Result<BerElement, BerProblem> {
    let problem = |at: usize, text: String| BerProblem { at, text };
    let ends = |at| problem(at, "the octets end within the head of an element".to_owned());
    let one = *octets.first().ok_or_else(|| ends(0))?;
    let mut tag = u32::from(one);
    let mut at = 1;
    if one & LONG_TAG == LONG_TAG {
        loop {
            let more = *octets.get(at).ok_or_else(|| ends(at))?;
            tag = tag << 8 | u32::from(more);
            at += 1;
            if more & 0x80 == 0 {
                break;
            }
            if at == 3 {
                return Err(problem(at, "a tag of more than three octets".to_owned()));
            }
        }
    }
    let length = *octets.get(at).ok_or_else(|| ends(at))?;
    let is_constructed = one & CONSTRUCTED != 0;
    let element = |head: usize, value: Bytes, end: usize| BerElement {
        tag,
        head,
        value,
        end,
        is_constructed,
    };
    let (head, length) = match length {
        0..=0x7F => (at + 1, usize::from(length)),
        INDEFINITE if is_constructed => {
            let head = at + 1;
            let value = until_the_end(&octets.slice(head..), depth)
                .map_err(|inner| problem(head + inner.at, inner.text))?;
            return Ok(element(head, octets.slice(head..head + value), 2));
        }
        0x81..=0x84 => {
            let count = usize::from(length & 0x7F);
            let octets = octets.get(at + 1..at + 1 + count).ok_or_else(|| ends(at))?;
            let length = octets
                .iter()
                .fold(0_usize, |length, octet| length << 8 | usize::from(*octet));
            (at + 1 + count, length)
        }
        _ => return Err(problem(at, format!("0x{length:02X} is no length"))),
    };
    let left = octets.len() - head;
    if length > left {
        let text = format!("the element is said to have {length} octets; {left} follow");
        return Err(problem(at, text));
    }
    Ok(element(head, octets.slice(head..head + length), 0))
}

/// How many octets elements have up to the end of contents.
fn until_the_end(octets: &Bytes, depth: usize) -> Result<usize, BerProblem> {
    let mut at = 0;
    loop {
        let left = octets.slice(at..);
        if left.starts_with(&END_OF_CONTENTS) {
            return Ok(at);
        }
        let problem = |inner: BerProblem| BerProblem {
            at: at + inner.at,
            text: inner.text,
        };
        if depth == DEEPEST {
            let text = "too many elements within elements".to_owned();
            return Err(problem(BerProblem { at: 0, text }));
        }
        at += within(&left, depth + 1).map_err(problem)?.octets();
    }
}

// === impl BerElement ===

impl BerElement {
    /// All its octets.
    pub fn octets(&self) -> usize {
        self.head + self.value.len() + self.end
    }
}

/// An INTEGER or ENUMERATED (§8.3); `None` for none and for more than four octets.
pub fn integer(value: &[u8]) -> Option<i32> {
    let (first, _) = value.split_first().filter(|_| value.len() <= 4)?;
    let start = if first & 0x80 == 0 { 0 } else { -1 };
    Some(
        value
            .iter()
            .fold(start, |number: i32, octet| number << 8 | i32::from(*octet)),
    )
}

/// An OBJECT IDENTIFIER as numbers with dots (§8.19); `None` for what is none.
pub fn object_identifier(value: &[u8]) -> Option<String> {
    let mut numbers: Vec<u64> = Vec::new();
    let (mut number, mut is_open) = (0_u64, false);
    for octet in value {
        number = number.checked_mul(128)? + u64::from(octet & 0x7F);
        is_open = octet & 0x80 != 0;
        if !is_open {
            if numbers.is_empty() {
                let first = (number / 40).min(2);
                numbers.extend([first, number - first * 40]);
            } else {
                numbers.push(number);
            }
            number = 0;
        }
    }
    if numbers.is_empty() || is_open {
        return None;
    }
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    Some(numbers.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::decode::hex;

    fn octets(text: &str) -> Bytes {
        hex::parse(text).unwrap()
    }

    #[test]
    fn elements_of_all_forms_are_read() {
        for (text, tag, head, value, end) in [
            ("0201 05", 0x02, 2, 1, 0),
            ("048103 010203 FF", 0x04, 3, 3, 0),
            ("30820002 0500", 0x30, 4, 2, 0),
            ("9F2101 AA", 0x9F21, 3, 1, 0),
            ("3080 0201 05 0000 99", 0x30, 2, 3, 2),
            ("3080 A080 0500 0000 0000", 0x30, 2, 6, 2),
        ] {
            let element = first(&octets(text)).unwrap();
            assert_eq!(
                (element.tag, element.head, element.value.len(), element.end),
                (tag, head, value, end),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_element_is_named_by_its_octet() {
        for (text, at, said) in [
            ("02", 1, "end within the head"),
            ("0205 01", 1, "said to have 5 octets; 1 follow"),
            ("0280 00", 1, "0x80 is no length"),
            ("0285 0000000001", 1, "0x85 is no length"),
            ("1FFFFFFF01 00", 3, "three octets"),
            ("3080 0201", 3, "said to have 1 octets; 0 follow"),
            ("3080 0500", 4, "end within the head"),
        ] {
            let problem = first(&octets(text)).unwrap_err();
            assert_eq!(problem.at, at, "{text}: {problem:?}");
            assert!(problem.text.contains(said), "{text}: {problem:?}");
        }
        let deep = Bytes::from([0x30, 0x80].repeat(10_000));
        assert!(first(&deep).unwrap_err().text.contains("too many"));
    }

    #[test]
    fn numbers_are_read() {
        for (value, number) in [
            (&[5][..], Some(5)),
            (&[0xFF], Some(-1)),
            (&[0x00, 0x80], Some(128)),
            (&[0x80, 0, 0, 0], Some(i32::MIN)),
            (&[], None),
            (&[0; 5], None),
        ] {
            assert_eq!(integer(value), number, "{value:?}");
        }
        let map = object_identifier(&[4, 0, 0, 1, 0, 25, 3]);
        assert_eq!(map.as_deref(), Some("0.4.0.0.1.0.25.3"));
        let dialogue = object_identifier(&[0, 0x11, 0x86, 5, 1, 1, 1]);
        assert_eq!(dialogue.as_deref(), Some("0.0.17.773.1.1.1"));
        assert_eq!(object_identifier(&[]), None);
        assert_eq!(object_identifier(&[4, 0x80]), None);
        assert_eq!(object_identifier(&[0xFF; 40]), None);
    }
}
