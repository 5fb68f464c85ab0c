//! BER, as far as TCAP and what it carries need it: elements in definite and indefinite form, small
//! integers, and a writer of the definite form.
//!
//! Called by the readers of this crate, and by whoever reads the parameters of operations. X.690 §8.1;
//! Q.773 §4.1 allows both forms of length. Nothing recurses into what it reads except
//! [`definite`], to a depth that [`DEEPEST`] bounds; every element lies within the octets it was read from.

/// How deep elements of indefinite length may be nested. SMS operations need fewer than twelve levels.
pub const DEEPEST: usize = 32;

/// INTEGER.
pub const INTEGER: u32 = 0x02;
/// OCTET STRING.
pub const OCTET_STRING: u32 = 0x04;
/// NULL.
pub const NULL: u32 = 0x05;
/// OBJECT IDENTIFIER.
pub const OBJECT_IDENTIFIER: u32 = 0x06;
/// EXTERNAL, which is constructed.
pub const EXTERNAL: u32 = 0x28;
/// SEQUENCE, which is constructed.
pub const SEQUENCE: u32 = 0x30;

/// One element, borrowed from what it was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BerElement<'a> {
    /// Its identifier octets as a number: `0x62`, or `0x9F22` with two of them.
    pub tag: u32,
    /// Whether its content is elements.
    pub is_constructed: bool,
    /// What its length counts; without the end of contents.
    pub content: &'a [u8],
    /// All of it, with identifier and length.
    pub whole: &'a [u8],
}

/// Why octets are no element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MalformedBer {
    /// It does not end within the octets that are there.
    #[error("an element does not end within what contains it")]
    CutShort,
    /// An identifier of more than four octets.
    #[error("an identifier is longer than four octets")]
    LongTag,
    /// A length that X.690 §8.1.3 does not have: indefinite on a primitive element, or `FF`.
    #[error("a length has a form that BER does not have")]
    LengthForm,
    /// Nested deeper than [`DEEPEST`].
    #[error("elements are nested too deep")]
    TooDeep,
    /// Another element, or none, stands where this one is expected.
    #[error("an element is missing, or another stands in its place")]
    Unexpected,
}

/// Elements one behind the other; ends behind the first that is malformed.
#[derive(Debug, Clone)]
pub struct BerElements<'a> {
    rest: &'a [u8],
}

/// Identifier and length.
struct BerHead {
    tag: u32,
    is_constructed: bool,
    /// How many octets both take.
    octets: usize,
    /// `None` for the indefinite form.
    length: Option<usize>,
}

// === impl BerHead ===

impl BerHead {
    fn read(input: &[u8]) -> Result<Self, MalformedBer> {
        let octet = |at: usize| input.get(at).copied().ok_or(MalformedBer::CutShort);
        let first = octet(0)?;
        let is_constructed = first & 0x20 != 0;
        let (mut tag, mut octets) = (u32::from(first), 1);
        if first & 0x1F == 0x1F {
            loop {
                let next = octet(octets)?;
                if octets == 4 {
                    return Err(MalformedBer::LongTag);
                }
                tag = tag << 8 | u32::from(next);
                octets += 1;
                if next & 0x80 == 0 {
                    break;
                }
            }
        }
        let form = octet(octets)?;
        octets += 1;
        let length = match form {
            0..=0x7F => Some(usize::from(form)),
            0x80 if is_constructed => None,
            0x80 | 0xFF => return Err(MalformedBer::LengthForm),
            _ => {
                let end = octets + usize::from(form & 0x7F);
                let field = input.get(octets..end).ok_or(MalformedBer::CutShort)?;
                octets = end;
                // A number that does not fit is longer than whatever is there.
                let length = field.iter().try_fold(0_usize, |sum, octet| {
                    sum.checked_mul(256)?.checked_add(usize::from(*octet))
                });
                Some(length.ok_or(MalformedBer::CutShort)?)
            }
        };
        Ok(Self {
            tag,
            is_constructed,
            octets,
            length,
        })
    }
}

// === impl BerElements ===

impl<'a> BerElements<'a> {
    /// The elements that `content` consists of.
    #[must_use]
    pub fn of(content: &'a [u8]) -> Self {
        Self { rest: content }
    }

    /// The next element if it has this tag; otherwise none, and it stays.
    ///
    /// # Errors
    /// [`MalformedBer`] when what comes next is no element.
    pub fn next_if(&mut self, tag: u32) -> Result<Option<BerElement<'a>>, MalformedBer> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (element, rest) = first(self.rest)?;
        if element.tag != tag {
            return Ok(None);
        }
        self.rest = rest;
        Ok(Some(element))
    }

    /// The next element, which must have this tag.
    ///
    /// # Errors
    /// [`MalformedBer`] when it has not, or there is none.
    pub fn expect(&mut self, tag: u32) -> Result<BerElement<'a>, MalformedBer> {
        self.next_if(tag)?.ok_or(MalformedBer::Unexpected)
    }

    /// Octets that were not read yet.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}

impl<'a> Iterator for BerElements<'a> {
    type Item = Result<BerElement<'a>, MalformedBer>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        Some(match first(self.rest) {
            Ok((element, rest)) => {
                self.rest = rest;
                Ok(element)
            }
            Err(malformed) => {
                self.rest = &[];
                Err(malformed)
            }
        })
    }
}

/// The first element, and what is behind it.
///
/// # Errors
/// [`MalformedBer`].
pub fn first(input: &[u8]) -> Result<(BerElement<'_>, &[u8]), MalformedBer> {
    let head = BerHead::read(input)?;
    let (content_end, end) = match head.length {
        Some(length) => {
            let end = end_of(head.octets, length, input.len())?;
            (end, end)
        }
        None => {
            let end = end_of_contents(input, head.octets)?;
            (end - 2, end)
        }
    };
    let element = BerElement {
        tag: head.tag,
        is_constructed: head.is_constructed,
        content: &input[head.octets..content_end],
        whole: &input[..end],
    };
    Ok((element, &input[end..]))
}

/// The element that all of the input is.
///
/// # Errors
/// [`MalformedBer`], also when there is nothing, or something behind it.
pub fn only(input: &[u8]) -> Result<BerElement<'_>, MalformedBer> {
    if input.is_empty() {
        return Err(MalformedBer::Unexpected);
    }
    match first(input)? {
        (element, []) => Ok(element),
        _ => Err(MalformedBer::Unexpected),
    }
}

/// The identifier of an element and what is behind its length, whatever the length says. For what can
/// still be said about an element that does not end.
#[must_use]
pub fn opened(input: &[u8]) -> Option<(u32, &[u8])> {
    let head = BerHead::read(input).ok()?;
    Some((head.tag, input.get(head.octets..)?))
}

/// Where something of `length` octets at `from` ends, if that is within `size`.
fn end_of(from: usize, length: usize, size: usize) -> Result<usize, MalformedBer> {
    let end = from.checked_add(length).filter(|end| *end <= size);
    end.ok_or(MalformedBer::CutShort)
}

/// Where contents of indefinite length end, behind the two zeros that belong to them. Goes over each octet at
/// most once: elements of definite length are passed over as a whole.
fn end_of_contents(input: &[u8], from: usize) -> Result<usize, MalformedBer> {
    let (mut at, mut open) = (from, 1_usize);
    while open > 0 {
        let rest = &input[at..];
        if rest.starts_with(&[0, 0]) {
            at += 2;
            open -= 1;
            continue;
        }
        let head = BerHead::read(rest)?;
        at += head.octets;
        match head.length {
            Some(length) => at = end_of(at, length, input.len())?,
            None if open == DEEPEST => return Err(MalformedBer::TooDeep),
            None => open += 1,
        }
    }
    Ok(at)
}

/// The elements of `input` with definite lengths throughout, so that their readers need to know no other
/// form. `None` when they have them already, or are malformed somewhere inside.
#[must_use]
pub fn definite(input: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(input.len());
    let was_indefinite = write_definite(input, 0, &mut out).ok()?;
    was_indefinite.then_some(out)
}

fn write_definite(input: &[u8], depth: usize, out: &mut Vec<u8>) -> Result<bool, MalformedBer> {
    if depth > DEEPEST {
        return Err(MalformedBer::TooDeep);
    }
    let mut was_indefinite = false;
    for element in BerElements::of(input) {
        let element = element?;
        if element.is_constructed {
            was_indefinite |= BerHead::read(element.whole)?.length.is_none();
            let mut content = Vec::with_capacity(element.content.len());
            was_indefinite |= write_definite(element.content, depth + 1, &mut content)?;
            write(out, element.tag, &content);
        } else {
            write(out, element.tag, element.content);
        }
    }
    Ok(was_indefinite)
}

/// The value of an INTEGER of up to eight octets. X.690 §8.3
#[must_use]
pub fn integer(content: &[u8]) -> Option<i64> {
    let (&first, rest) = content.split_first()?;
    if rest.len() > 7 {
        return None;
    }
    let first = i64::from(i8::from_ne_bytes([first]));
    Some(
        rest.iter()
            .fold(first, |value, octet| value << 8 | i64::from(*octet)),
    )
}

/// Appends an element of definite length, in its shortest form.
pub fn write(out: &mut Vec<u8>, tag: u32, content: &[u8]) {
    write_tag(out, tag);
    if content.len() < 0x80 {
        out.push(content.len() as u8);
    } else {
        let octets = content.len().to_be_bytes();
        let zeros = octets.iter().take_while(|octet| **octet == 0).count();
        let significant = &octets[zeros..];
        out.push(0x80 | significant.len() as u8);
        out.extend_from_slice(significant);
    }
    out.extend_from_slice(content);
}

/// The identifier octets of a tag.
fn write_tag(out: &mut Vec<u8>, tag: u32) {
    let octets = tag.to_be_bytes();
    // The tag 0 is one octet, too.
    let zeros = octets[..3].iter().take_while(|octet| **octet == 0).count();
    out.extend_from_slice(&octets[zeros..]);
}

/// An element of definite length.
#[must_use]
pub fn element(tag: u32, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len() + 4);
    write(&mut out, tag, content);
    out
}

/// Appends an INTEGER that is not negative.
pub fn write_unsigned(out: &mut Vec<u8>, tag: u32, value: u8) {
    if value < 0x80 {
        write(out, tag, &[value]);
    } else {
        write(out, tag, &[0, value]);
    }
}

#[cfg(test)]
mod tests;
