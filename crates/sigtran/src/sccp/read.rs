//! Octets → messages: pointers that lie, lengths that lie, and optional parts without an end.

use bytes::Bytes;

use super::{
    CLASS_1, END_OF_OPTIONAL, FIRST, HOPS, IMPORTANCE, MalformedSccp, REMAINING, RETURN,
    SEGMENTATION, SccpForm, SccpMessage, SccpPurpose, Segmentation,
};
use crate::address::SccpAddress;

/// Where something is in a message.
type Found = Result<std::ops::Range<usize>, MalformedSccp>;

pub(super) fn message(octets: &Bytes) -> Result<SccpMessage, MalformedSccp> {
    let cut = MalformedSccp::CutShort;
    let (&message_type, rest) = octets.split_first().ok_or(cut)?;
    let form = SccpForm::of_type(message_type);
    let (form, is_return) = form.ok_or(MalformedSccp::Type(message_type))?;
    let (&second, rest) = rest.split_first().ok_or(cut)?;
    let purpose = if is_return {
        SccpPurpose::Return(second)
    } else {
        of_class(second)?
    };
    let (hops, first_pointer) = if form == SccpForm::Short {
        (HOPS, 2)
    } else {
        (*rest.first().ok_or(cut)?, 3)
    };
    let is_long = form == SccpForm::Long;
    let width = if is_long { 2 } else { 1 };
    let part = |number: usize, is_long_part: bool| {
        let start = target(octets, first_pointer + number * width, is_long)?.ok_or(cut)?;
        with_length(octets, start, is_long_part)
    };
    let (called, calling) = (part(0, false)?, part(1, false)?);
    let data = part(2, is_long)?;
    if is_long && data.len() > form.data_max() {
        return Err(MalformedSccp::Long(data.len()));
    }
    let mut message = SccpMessage {
        form,
        purpose,
        hops,
        called: SccpAddress::decode(&octets[called])?,
        calling: SccpAddress::decode(&octets[calling])?,
        data: octets.slice(data),
        segmentation: None,
        importance: None,
    };
    if form != SccpForm::Short
        && let Some(start) = target(octets, first_pointer + 3 * width, is_long)?
    {
        optional(octets.get(start..).ok_or(cut)?, &mut message)?;
    }
    Ok(message)
}

fn of_class(octet: u8) -> Result<SccpPurpose, MalformedSccp> {
    let class = octet & 0x0F;
    if class > 1 {
        return Err(MalformedSccp::Class(class));
    }
    Ok(SccpPurpose::Data {
        in_order: class == 1,
        return_on_error: octet & RETURN != 0,
    })
}

/// What the pointer at `at` points to; `None` for a pointer of 0.
fn target(octets: &[u8], at: usize, is_long: bool) -> Result<Option<usize>, MalformedSccp> {
    let (distance, own) = if is_long {
        (two(octets, at)?, at + 1)
    } else {
        (one(octets, at)?, at)
    };
    Ok((distance != 0).then_some(own + distance))
}

/// The part behind the length at `at`.
fn with_length(octets: &[u8], at: usize, is_long: bool) -> Found {
    let (length, start) = if is_long {
        (two(octets, at)?, at + 2)
    } else {
        (one(octets, at)?, at + 1)
    };
    let part = start..start + length;
    if part.end > octets.len() {
        return Err(MalformedSccp::CutShort);
    }
    Ok(part)
}

fn one(octets: &[u8], at: usize) -> Result<usize, MalformedSccp> {
    let octet = octets.get(at).ok_or(MalformedSccp::CutShort)?;
    Ok(usize::from(*octet))
}

fn two(octets: &[u8], at: usize) -> Result<usize, MalformedSccp> {
    Ok(one(octets, at)? | one(octets, at + 1)? << 8)
}

/// Reads what follows the data. Unknown parameters are passed over, and the end may lack: it says nothing that
/// the end of the message does not.
fn optional(mut octets: &[u8], message: &mut SccpMessage) -> Result<(), MalformedSccp> {
    while let Some((name, rest)) = octets.split_first() {
        if *name == END_OF_OPTIONAL {
            break;
        }
        let value = with_length(rest, 0, false)?;
        let end = value.end;
        let value = &rest[value];
        match (*name, value) {
            (SEGMENTATION, [first, high, middle, low]) => {
                message.segmentation = Some(Segmentation {
                    is_first: first & FIRST != 0,
                    in_order: first & CLASS_1 != 0,
                    remaining: first & REMAINING,
                    reference: u32::from_be_bytes([0, *high, *middle, *low]),
                });
            }
            (SEGMENTATION, other) => return Err(MalformedSccp::Segmentation(other.len())),
            (IMPORTANCE, [importance]) => message.importance = Some(importance & 0x07),
            _ => {}
        }
        octets = &rest[end..];
    }
    Ok(())
}
